#!/usr/bin/env python3
"""All checks of the board: `hardware_test.py [--build FOLDER] [--board FILE]`; `--self-test` plants a fault for each check and
sees it found. Without KiCad the committed netlist and parts list are still checked and the rest is called skipped; exit 77 then,
which ctest prints as skipped."""
import argparse
import csv
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import netlist_checks as checks
import spice_checks
from design import FOLDER, ROOT, SCHEMATIC, Netlist, board_constants, board_pins, front_end_figures, run, tree

NETLIST, PARTS = FOLDER / "netlist.txt", FOLDER / "bom.csv"
BOM_FIELDS = ("Refs", "Value", "Part", "Manufacturer", "MPN", "Tolerance", "TempCo", "SecondSource", "Build", "Footprint")
# ERC warnings that may stand: (type, words in the description) -> why. Empty: there is none.
ALLOWED_WARNINGS = {}
# Differences to host/power/calibration.hpp that are known: (start of the text, value there) -> why. An entry that no longer
# fits is a failure, so the list cannot outlive its reason.
KNOWN_DIFFERENCES = {}
# ... and to firmware/rp2040/board.hpp, likewise.
KNOWN_BOARD_DIFFERENCES = {}
# Our symbol -> KiCad's, for the comparison of pin numbers.
LIBRARY_SYMBOLS = {"ADS131M04": ("Analog_ADC", "ADS131M04xPW"), "INA240A1": ("Amplifier_Current", "INA240A1PW"),
                   "INA228": ("Sensor_Energy", "INA228"), "PICO": ("MCU_Module", "RaspberryPi_Pico"),
                   "LM4040": ("Reference_Voltage", "LM4040DBZ-3"), "REF3312": ("Reference_Voltage", "REF3012"),
                   "LP5907": ("Regulator_Linear", "LP5907MFX-3.3"), "TPS3808": ("Power_Supervisor", "TPS3808DBV"),
                   "EEPROM": ("Memory_EEPROM", "24LC64"), "ADUM3160": ("Interface_USB", "ADUM3160"),
                   "ESD_4": ("Power_Protection", "TPD4E05U06DQA"), "ISOLATED_5V": ("Regulator_Switching", "NXE1S0505MC"),
                   "BUFFER_2": ("74xGxx", "74LVC2G17")}


def kicad():
    return shutil.which("kicad-cli") and run("kicad-cli", "version").stdout.startswith("9.")


def parse_symbols(text):
    """A library of KiCad -> {symbol: {pin number: name}}, inheritance resolved."""
    symbols = {s[1]: s for s in tree(text) if isinstance(s, list) and s[0] == "symbol"}

    def pins(item):
        for child in item:
            if isinstance(child, list):
                if child[0] == "pin":
                    get = {c[0]: c[1] for c in child if isinstance(c, list) and len(c) > 1}
                    yield get["number"], get["name"]
                else:
                    yield from pins(child)
    out = {}
    for name, symbol in symbols.items():
        base = next((c[1] for c in symbol if isinstance(c, list) and c[0] == "extends"), None)
        out[name] = dict(pins(symbols[base] if base else symbol))
    return out


def generated_is_current(folder):
    """The generator, run again, must write what is committed."""
    result = run(sys.executable, ROOT / "hardware" / "generate" / "schematic.py", folder)
    problems = [line for line in result.stdout.split("\n") if line]
    if result.returncode and not problems:
        problems.append(result.stderr.strip()[-300:])
    for path in sorted(folder.glob("*")):
        committed = FOLDER / path.name
        if not committed.exists() or committed.read_bytes() != path.read_bytes():
            problems.append(f"{path.name} is not what the generator writes; run hardware/generate/schematic.py")
    return problems


def erc_problems(report):
    problems = []
    for sheet in report["sheets"]:
        for violation in sheet["violations"]:
            text = f"{sheet['path']} {violation['type']}: {violation['description']}"
            allowed = any(kind == violation["type"] and words in violation["description"] for kind, words in ALLOWED_WARNINGS)
            if violation["severity"] == "error" or not allowed:
                problems.append(f"ERC {violation['severity']} {text}")
    return problems


def erc(schematic, folder):
    result = run("kicad-cli", "sch", "erc", "--severity-all", "--format", "json", "-o", folder / "erc.json", schematic)
    if not (folder / "erc.json").exists():
        return [f"ERC did not run: {result.stderr.strip()[:200]}"]
    return erc_problems(json.loads((folder / "erc.json").read_text()))


def export(schematic, folder):
    """Netlist and parts list as KiCad sees them."""
    xml, table = folder / "netlist.xml", folder / "bom.csv"
    for command in (("netlist", "--format", "kicadxml", "-o", xml),
                    ("bom", "--fields", ",".join(["Reference", *BOM_FIELDS[1:]]), "--labels", ",".join(BOM_FIELDS),
                     "--group-by", "", "--sort-field", "Reference", "-o", table)):
        result = run("kicad-cli", "sch", "export", *command, schematic)
        if result.returncode:
            raise RuntimeError(result.stderr)
    netlist = Netlist.from_kicad(xml)
    return netlist, table.read_text()


def committed_netlist():
    nets = {}
    for line in NETLIST.read_text().split("\n"):
        if line:
            name, pins = line.rsplit(": ", 1)
            nets[name] = {tuple(p.rsplit(".", 1)) for p in pins.split()}
    parts = {row["Refs"]: row for row in bom_rows(PARTS.read_text())}
    return Netlist(nets, parts)


def error_budget_is_current(figures, written):
    """The document against what its generator makes of the figures as they are now."""
    sys.path.insert(0, str(ROOT / "hardware" / "generate"))
    import error_budget
    return [] if error_budget.text(figures) == written else ["ERROR_BUDGET.md is stale; run hardware/generate/error_budget.py"]


def bom_rows(text):
    return list(csv.DictReader(text.splitlines()))


def e11(figures, lsb):
    return [p for ohm, ampere in checks.BUILDS.items()
            for p in checks.between_steps(lsb, figures["peak_zero_volt"], figures["amplifier_gain"], ohm, ampere)]


def split_known(problems, listed=None):
    left, known = list(problems), []
    for (start, value), why in (KNOWN_DIFFERENCES if listed is None else listed).items():
        match = [p for p in left if p.startswith(start) and p.endswith(value)]
        if match:
            left.remove(match[0])
            known.append((match[0], why))
        else:
            left.append(f"'{start}' no longer differs as listed; take it out of the known differences")
    return left, known


class Run:
    def __init__(self):
        self.failed = self.skipped = 0

    def __call__(self, name, problems):
        print(f"{'FAIL' if problems else 'ok  '} {name}")
        for problem in problems:
            print(f"     {problem}")
        self.failed += bool(problems)

    def skip(self, name, why):
        print(f"SKIPPED {name}: {why}")
        self.skipped += 1


def main(build, board):
    check = Run()
    figures, parts_table = front_end_figures(), json.loads((FOLDER / "parts.json").read_text())
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        check("the schematic is what its generator writes, no text on another", generated_is_current(Path(scratch)))
    netlist, table = committed_netlist(), PARTS.read_text()
    if kicad():
        check("electrical rules", erc(SCHEMATIC, build))
        netlist, table = export(SCHEMATIC, build)
        check("netlist.txt is KiCad's netlist", [] if netlist.text() == NETLIST.read_text() else ["stale; run ./dev hardware --update"])
        check("bom.csv is KiCad's parts list", [] if table == PARTS.read_text() else ["stale; run ./dev hardware --update"])
        own = parse_symbols((FOLDER / "wattrig.kicad_sym").read_text())
        problems = []
        for symbol, (library, name) in LIBRARY_SYMBOLS.items():
            path = Path("/usr/share/kicad/symbols") / f"{library}.kicad_sym"
            problems += [f"{symbol}: {p}" for p in checks.symbol_pins(own[symbol], parse_symbols(path.read_text())[name])]
        check("pin numbers of the chips against KiCad's library", problems)
    else:
        check.skip("ERC, fresh netlist and parts list, pin numbers", "no kicad-cli 9; the committed netlist is checked instead")
    if board.exists():
        check("pin map of the firmware (board.hpp)", checks.pin_map(netlist, board_pins(board.read_text())))
        constants = checks.firmware_constants(netlist, board_constants(board.read_text()))
        differences, known = split_known(constants, KNOWN_BOARD_DIFFERENCES)
        for text, why in known:
            print(f"KNOWN DIFFERENCE {text}\n     {why}")
        check("figures of the firmware (board.hpp)", differences)
    else:
        check.skip("pin map of the firmware", f"{board.name} is not in this tree")
    check("signals end at the right pins", checks.signals_end(netlist))
    check("M.2 connectors", checks.connectors(netlist))
    check("signal chain and power switch", checks.front_end(netlist))
    differences, known = split_known(checks.figures(netlist, figures))
    for text, why in known:
        print(f"KNOWN DIFFERENCE {text}\n     {why}")
    check("values against host/power/calibration.hpp", differences)
    protocol = (ROOT / "firmware" / "protocol" / "protocol.hpp").read_text()
    ticks = int(re.search(r"peak_delay_ticks = (\d+);", protocol).group(1))
    check("delay of the peak path against the protocol", checks.peak_delay(netlist, ticks))
    check("peak path between the RP2040-E11 steps", e11(figures, checks.peak_lsb(netlist)))
    check("error budget", error_budget_is_current(figures, (ROOT / "hardware" / "ERROR_BUDGET.md").read_text()))
    check("parts list", checks.bom(bom_rows(table), netlist, parts_table))
    if shutil.which("ngspice"):
        check("ngspice", spice_checks.check(netlist, figures))
    else:
        check.skip("ngspice", "not installed")
    layout = FOLDER / "m2-interposer.kicad_pcb"
    if not kicad():
        check.skip("design rules of the layout", "no kicad-cli 9")
    elif layout.exists():
        import layout_checks
        check("layout: design rules, nets, what is routed", layout_checks.check(layout, netlist, build))
    print(f"{check.failed} failed, {check.skipped} skipped")
    return 1 if check.failed else 77 if check.skipped else 0


def update():
    with tempfile.TemporaryDirectory() as scratch:
        netlist, table = export(SCHEMATIC, Path(scratch))
        NETLIST.write_text(netlist.text())
        PARTS.write_text(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "hardware")
    parser.add_argument("--board", type=Path, default=ROOT / "firmware" / "rp2040" / "board.hpp")
    parser.add_argument("--update", action="store_true", help="writes netlist.txt and bom.csv anew")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.update:
        update()
    if arguments.self_test:
        import planted_faults
        sys.exit(planted_faults.main())
    sys.exit(main(arguments.build, arguments.board))
