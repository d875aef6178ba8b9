"""What the checks know about the board: the netlist as KiCad exports it, the parts, the figures the program uses. Read only."""
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "hardware" / "m2-interposer"
SCHEMATIC = FOLDER / "m2-interposer.kicad_sch"


# KiCad writes its settings somewhere; not into the home of whoever runs the checks.
os.environ.setdefault("KICAD_CONFIG_HOME", tempfile.mkdtemp(prefix="wattrig-kicad-"))


class Netlist:
    """nets: name -> set of (reference, pin); parts: reference -> {value, fields...}."""

    def __init__(self, nets, parts):
        self.nets, self.parts = nets, parts

    def net_of(self, reference, pin):
        return next((name for name, pins in self.nets.items() if (reference, pin) in pins), None)

    def neighbours(self, name):
        return {reference for reference, _ in self.nets.get(name, ())}

    def other_end(self, reference, net):
        """The net on the other side of a part with two legs."""
        ends = [name for name, pins in self.nets.items() if any(r == reference for r, _ in pins)]
        others = [name for name in ends if name != net]
        return others[0] if len(others) == 1 else None

    def through(self, reference):
        return {name for name, pins in self.nets.items() if any(r == reference for r, _ in pins)}

    def text(self):
        lines = [f"{name}: {' '.join(sorted(f'{r}.{p}' for r, p in pins))}" for name, pins in sorted(self.nets.items())]
        return "\n".join(lines) + "\n"

    @staticmethod
    def from_kicad(path):
        tree = xml.etree.ElementTree.parse(path).getroot()
        nets = {n.get("name"): {(p.get("ref"), p.get("pin")) for p in n.findall("node")} for n in tree.find("nets")}
        parts = {}
        for component in tree.find("components"):
            fields = {f.get("name"): f.text or "" for f in component.iter("field")}
            fields["Value"] = component.findtext("value")
            fields["Footprint"] = component.findtext("footprint") or ""
            parts[component.get("ref")] = fields
        return Netlist(nets, parts)


def tree(text):
    """KiCad's S-expressions as nested lists; quoted texts and words alike."""
    root, stack = [], []
    stack.append(root)
    for quoted, bracket, word in re.findall(r'"((?:[^"\\]|\\.)*)"|([()])|([^\s()"]+)', text):
        if bracket == "(":
            new = []
            stack[-1].append(new)
            stack.append(new)
        elif bracket == ")":
            stack.pop()
        else:
            stack[-1].append(quoted or word)
    return root[0]


def ohms(text):
    """'4.02k' -> 4020, '10m' -> 0.01, '100n C0G' -> 1e-7, '100' -> 100."""
    match = re.match(r"([0-9.]+)\s*([numkMpR]?)", text)
    scale = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "R": 1.0, "k": 1e3, "M": 1e6}
    return float(match.group(1)) * scale[match.group(2)]


def front_end_figures(text=None):
    """The defaults of power::FrontEnd and power::Tolerances: the one source of component figures."""
    power = ROOT / "host" / "power"
    text = text or (power / "calibration.hpp").read_text() + (power / "tolerances.hpp").read_text()
    figures = {}
    for struct, prefix in (("FrontEnd", ""), ("Tolerances", "tolerance_")):
        body = re.search(rf"struct {struct} \{{(.*?)\n\}};", text, re.S)
        if body is None:
            continue
        for name, expression in re.findall(r"double (\w+) = ([^;]+);", body.group(1)):
            if re.fullmatch(r"[0-9.e+\-*/() ]+", expression):
                figures[prefix + name] = float(eval(expression, {"__builtins__": {}}))  # numbers and operators alone, see above
    return figures


def board_pins(text):
    """board.hpp: name -> GPIO."""
    block = re.search(r"namespace wattrig::rp2040::pin \{(.*?)\n\}", text, re.S).group(1)
    return {name: int(number) for name, number in re.findall(r"constexpr std::uint32_t (\w+) = (\d+);", block)}


def board_constants(text):
    """board.hpp: name -> number, for constants written as plain arithmetic."""
    out = {}
    for name, cast, plain in re.findall(r"constexpr std::u?int32_t (\w+) = (?:static_cast<std::int32_t>\(([^;]*)\)|([^;(]+));", text):
        expression = (cast or plain).replace("'", "")
        if re.fullmatch(r"[0-9.e+\-*/ ]+", expression):
            out[name] = int(eval(expression, {"__builtins__": {}}))  # numbers and operators alone
    return out


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
