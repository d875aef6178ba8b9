"""Checks on the layout: KiCad's design rules, pads against the netlist, what is placed and what honestly is not."""
import json
import re
import shutil
import tempfile
from pathlib import Path

from design import FOLDER, run, tree

# DRC warnings that may stand: (type, words) -> why.
ALLOWED = {("lib_footprint_mismatch", "M.2_2280-xx-M"): "J1 is KiCad's card edge without its drawing of a whole 2280 card"}
# The part of the board that is laid out. Everything else of the standard build is not placed: hardware/README.md says so too.
PLACED = {"J1", "D1", "C1", "R1", "Q1", "U1", "C3", "C4", "R3", "C5", "U3", "C30", "C31", "R20", "R21", "C21", "U4", "U5", "C20", "C25",
          "C26", "C24", "C23", "R25", "R24", "R26", "R28", "R27", "C28", "U6", "C29", "R22", "R23", "C22", "R2", "C2", "C6", "R8", "R4", "Q2"}
# Nets that must be complete on the board; +3V3_DRIVE ends in copper where the socket will stand.
COMPLETE = ("SHUNT_P", "SHUNT_N")
WIDEST_PATH = ("+3V3_HOST", "+3V3_SWITCHED", "+3V3_DRIVE")  # carried by copper areas


def children(item, name):
    return [c for c in item if isinstance(c, list) and c and c[0] == name]


def reference_of(footprint):
    return next(p[2] for p in children(footprint, "property") if p[1] == "Reference")


def pads_agree(board, netlist):
    problems = []
    for footprint in children(board, "footprint"):
        reference = reference_of(footprint)
        for pad in children(footprint, "pad"):
            net = children(pad, "net")
            here, wanted = net[0][2] if net else None, netlist.net_of(reference, pad[1])
            if here != wanted and pad[1]:
                problems.append(f"{reference} pad {pad[1]} is {here} in the layout and {wanted} in the netlist")
    return problems


def placement(board, netlist):
    here = {reference_of(f) for f in children(board, "footprint")}
    problems = [f"{r} is placed and not listed, or listed and not placed" for r in sorted(here ^ PLACED)]
    zones = {children(z, "net_name")[0][1] for z in children(board, "zone")}
    problems += [f"{net} has no copper area" for net in WIDEST_PATH if net not in zones]
    problems += [f"{net} must be traces from the sense contact, not an area" for net in COMPLETE if net in zones]
    for net in COMPLETE:
        missing = {r for r, _ in netlist.nets[net]} - here
        if missing:
            problems.append(f"{net} is not complete: {sorted(missing)}")
    return problems


def kelvin(board):
    """Both meters leave each sense contact on traces of their own: two traces begin at the contact's middle, and no other trace
    end of that net is shared by three."""
    problems = []
    numbers = {n[2]: n[1] for n in children(board, "net")}
    for net in COMPLETE:
        ends = {}
        for segment in children(board, "segment"):
            if children(segment, "net")[0][1] == numbers[net]:
                for which in ("start", "end"):
                    point = tuple(round(float(v), 2) for v in children(segment, which)[0][1:])
                    ends[point] = ends.get(point, 0) + 1
        crossroads = [p for p, count in ends.items() if count > 2]
        at_contact = sum(count for (x, y), count in ends.items() if abs(x - 100) < 1.7 and min(abs(y - 58.57), abs(y - 65.43)) < 0.2)
        if crossroads or at_contact < 2:
            problems.append(f"{net}: the traces of both meters must part at the shunt's contact")
    return problems


def drc(layout, folder):
    run("kicad-cli", "pcb", "drc", "--severity-all", "--format", "json", "-o", folder / "drc.json", layout)
    if not (folder / "drc.json").exists():
        return ["DRC did not run"]
    report = json.loads((folder / "drc.json").read_text())
    problems = []
    for violation in report["violations"] + report["unconnected_items"]:
        words = violation["description"] + " ".join(i["description"] for i in violation["items"])
        if violation["severity"] == "error" or not any(k == violation["type"] and w in words for k, w in ALLOWED):
            problems.append(f"DRC {violation['severity']} {violation['type']}: {words[:160]}")
    return problems


def check(layout, netlist, folder):
    board = tree(layout.read_text())
    total = len([n for n in netlist.nets.values() if len(n) > 1])
    done = len([n for n in netlist.nets.values() if len(n) > 1 and {r for r, _ in n} <= PLACED])
    print(f"  {len(PLACED)} of {len([r for r in netlist.parts if not r.startswith('#')])} parts are placed, {done} of {total} nets are complete")
    return drc(layout, folder) + pads_agree(board, netlist) + placement(board, netlist) + kelvin(board)


def changed(layout, old, new):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "design"
        shutil.copytree(FOLDER, folder)
        path = folder / layout.name
        text = path.read_text()
        assert re.search(old, text), "the fault does not fit the layout any more"
        path.write_text(re.sub(old, new, text, count=1))
        return drc(path, Path(scratch))


def faults(layout, netlist):
    text = layout.read_text()
    start = re.search(r'\(segment\s+\(start [0-9.]+ 61\.675\)', text).group(0)
    yield "DRC: a trace moved onto another", lambda: changed(layout, re.escape(start), start.replace("61.675", "62.3"))
    yield "DRC: a trace removed", lambda: changed(layout, r"\(segment\s+\(start 109\.2 6[0-9.]+\)\s+\(end [0-9. ]+\)", "(segment (start 71 98) (end 72 98)")
    yield "layout of another netlist", lambda: pads_agree(
        tree(text), type(netlist)({**netlist.nets, "SHUNT_P": netlist.nets["SHUNT_N"], "SHUNT_N": netlist.nets["SHUNT_P"]}, netlist.parts))
    yield "a part vanished from the layout", lambda: placement(tree(text.replace('"C21"', '"C99"')), netlist)
    yield "both meters on one trace", lambda: kelvin(tree(text.replace("(start 101.27 65.43)", "(start 101.27 63)", 1)))
