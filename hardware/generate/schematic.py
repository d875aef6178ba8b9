#!/usr/bin/env python3
"""Writes the schematic of the m2-interposer: python3 hardware/generate/schematic.py [FOLDER]. The output is committed; the same
input gives the same bytes."""
import json
import pathlib
import sys

import sheets
import sheets_digital
from sheet import PROJECT, Sheet, effects, uid
from symbols import mm

DESIGN = pathlib.Path(__file__).resolve().parents[1] / PROJECT
# Name, place and size on the root page, what the block says. Left to right: host, power, measurement, controller, PC.
BLOCKS = {
    "m2": (14, 30, "host's slot and drive's socket,\\nlanes straight through"),
    "drive_power": (14, 62, "switch, over-current, shunt"),
    "sideband": (14, 94, "CLKREQ#, PERST#, LED, wake"),
    "measurement": (96, 62, "INA240 - ADS131M04, INA228,\\npeak path"),
    "second_rail": (96, 94, "12 V or 5 V, option"),
    "controller": (178, 62, "RP2040, EEPROM,\\n3.0 V for its ADC"),
    "supply": (178, 94, "3.3 V analog, USB isolator"),
}
WIDTH, HEIGHT = 42, 14
ARROWS = (((37, 44), (37, 62)), ((56, 69), (96, 69)), ((138, 69), (178, 69)), ((130, 94), (130, 76)), ((212, 94), (212, 76)),
          ((37, 108), (37, 117), (170, 117), (170, 73), (178, 73)))
LIBRARIES = ("Resistor_SMD", "Capacitor_SMD", "Diode_SMD", "LED_SMD", "Package_SO", "Package_TO_SOT_SMD", "Package_SON", "Module",
             "Converter_DCDC", "Connector_USB", "Connector_PCBEdge", "Connector_PinHeader_2.54mm", "TerminalBlock_Phoenix", "TestPoint")


# What a board house makes at no extra price in four layers, mm. The M.2 edge alone stands at 0.15 between pads.
LAYOUT_RULES = {"min_clearance": 0.127, "min_track_width": 0.127, "min_via_diameter": 0.45, "min_through_hole_diameter": 0.2,
                "min_via_annular_width": 0.1, "min_copper_edge_clearance": 0.2, "min_hole_to_hole": 0.25, "min_hole_clearance": 0.2}
NET_CLASS = {"name": "Default", "clearance": 0.15, "track_width": 0.2, "via_diameter": 0.45, "via_drill": 0.2,
             "microvia_diameter": 0.3, "microvia_drill": 0.1, "diff_pair_width": 0.2, "diff_pair_gap": 0.2,
             "diff_pair_via_gap": 0.25, "priority": 2147483647, "pcb_color": "rgba(0, 0, 0, 0.000)",
             "schematic_color": "rgba(0, 0, 0, 0.000)", "line_style": 0, "wire_width": 6, "bus_width": 12}


def all_sheets(parts):
    return [sheets_digital.m2(parts), sheets.drive_power(parts), sheets.measurement(parts), sheets.second_rail(parts),
            sheets_digital.sideband(parts), sheets_digital.controller(parts), sheets_digital.supply(parts)]


def root(pages):
    out = []
    for page in pages:
        x, y, says = BLOCKS[page.name]
        number = pages.index(page) + 2
        out.append(f'(sheet (at {mm(x)} {mm(y)}) (size {mm(WIDTH)} {mm(HEIGHT)}) (exclude_from_sim no) (in_bom yes) (on_board yes) '
                   f'(dnp no) (stroke (width 0.254) (type solid)) (fill (color 255 255 225 1)) (uuid "{uid("sheet", page.name)}") '
                   f'(property "Sheetname" "{page.name}" (at {mm(x)} {mm(y - 1.2)} 0) {effects("left")}) '
                   f'(property "Sheetfile" "{page.name}.kicad_sch" (at {mm(x)} {mm(y + HEIGHT + 1.5)} 0) {effects("left")}) '
                   f'(instances (project "{PROJECT}" (path "/{uid("root")}" (page "{number}")))))')
        out.append(f'(text "{says}" (exclude_from_sim no) (at {mm(x + 2)} {mm(y + 4)} 0) {effects("left top")} (uuid "{uid("says", page.name)}"))')
    for arrow in ARROWS:
        (x1, y1), (x2, y2) = arrow[-2:]
        dx, dy = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
        tip = [(x2 - 2 * dx - dy, y2 - 2 * dy - dx), (x2, y2), (x2 - 2 * dx + dy, y2 - 2 * dy + dx)]
        for k, points in enumerate((arrow, tip)):
            text = " ".join(f"(xy {mm(x)} {mm(y)})" for x, y in points)
            out.append(f'(polyline (pts {text}) (stroke (width 0.4) (type default)) (uuid "{uid("arrow", arrow, k)}"))')
    out.append(f'(text "wattrig m2-interposer, revision A: power of an M.2 drive, measured on the high side between host and drive" '
               f'(exclude_from_sim no) (at {mm(14)} {mm(14)} 0) {effects("left top", 2)} (uuid "{uid("headline")}"))')
    body = "\n  ".join(out)
    return (f'(kicad_sch (version 20250114) (generator "wattrig") (generator_version "1")\n  (uuid "{uid("root")}") (paper "A4")\n'
            f'  (title_block (title "m2-interposer") (rev "A") (company "wattrig m2-interposer") (comment 1 "CERN-OHL-P-2.0"))\n'
            f'  (lib_symbols)\n  {body}\n  (sheet_instances (path "/" (page "1")))\n  (embedded_fonts no))\n')


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    parts = json.loads((DESIGN / "parts.json").read_text())
    pages = all_sheets(parts)
    problems = [p for page in pages for p in page.overlaps()]
    for page in pages:
        (folder / f"{page.name}.kicad_sch").write_text(page.text())
    (folder / f"{PROJECT}.kicad_sch").write_text(root(pages))
    symbols = "\n".join(s.text(library="") for s in Sheet.symbols.values())
    (folder / "wattrig.kicad_sym").write_text(f'(kicad_symbol_lib (version 20241209) (generator "wattrig")\n{symbols})\n')
    project = {"meta": {"filename": f"{PROJECT}.kicad_pro", "version": 3},
               "libraries": {"pinned_symbol_libs": [], "pinned_footprint_libs": []},
               "board": {"design_settings": {"rules": LAYOUT_RULES}},
               "net_settings": {"classes": [NET_CLASS], "meta": {"version": 4}}}
    (folder / f"{PROJECT}.kicad_pro").write_text(json.dumps(project, indent=2) + "\n")
    (folder / "sym-lib-table").write_text('(sym_lib_table (version 7)\n  (lib (name "wattrig")(type "KiCad")'
                                          '(uri "${KIPRJMOD}/wattrig.kicad_sym")(options "")(descr ""))\n)\n')
    table = "\n".join(f'  (lib (name "{n}")(type "KiCad")(uri "${{KICAD9_FOOTPRINT_DIR}}/{n}.pretty")(options "")(descr ""))'
                      for n in LIBRARIES)
    (folder / "fp-lib-table").write_text(f"(fp_lib_table (version 7)\n{table}\n)\n")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DESIGN))
