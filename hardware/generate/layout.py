#!/usr/bin/env python3
"""Writes the layout of what is placed so far: card edge, power path, shunt with its Kelvin pairs, analog part. Needs KiCad's
pcbnew (the Python of the system) and netlist.txt. The order of items in the file may differ from run to run. Lengths in mm, y
downwards. What is not placed: hardware/README.md, asserted by tests/hardware."""
import csv
import os
import pathlib
import re
import sys
import tempfile
import uuid

os.environ.setdefault("KICAD_CONFIG_HOME", tempfile.mkdtemp(prefix="wattrig-kicad-"))
import pcbnew  # noqa: E402

DESIGN = pathlib.Path(__file__).resolve().parents[1] / "m2-interposer"
FOOTPRINTS = "/usr/share/kicad/footprints"
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "wattrig/m2-interposer/layout")

# Reference: x, y, rotation.
PLACED = {
    "J1": (100, 130, 0),
    # power path, bottom to top: host, sense resistor, switch, shunt, drive
    "D1": (92.5, 92, 90), "C1": (107, 92, 90), "R1": (100, 84, 90), "Q1": (100, 74, 270), "U1": (109, 79, 180),
    "C3": (96, 68, 90), "C4": (104.5, 68.5, 90), "R3": (100, 62, 90), "C5": (105, 57, 90),
    # left of the shunt: amplifier, filter, converter
    "U3": (90, 62, 180), "C30": (90, 58.8, 0), "C31": (93, 55.5, 0), "R20": (83.7, 61, 180), "R21": (83.7, 64.2, 180),
    "C21": (81.4, 62.3, 270), "U4": (76, 62, 180), "U5": (89, 69, 0), "C20": (85.5, 69.5, 270),
    "C25": (77.6, 57.2, 0), "C26": (72.9, 69, 270), "C24": (72.9, 72.5, 0),
    "C23": (79.55, 67, 0), "R25": (79.55, 69, 0), "R24": (76.2, 73, 0), "R26": (83, 67, 180),
    # peak path; its output waits for the controller
    "R22": (84.8, 57.5, 180), "R23": (82.5, 58.325, 270), "C22": (80.8, 58.275, 270),
    # around the switch's controller: soft start, power limit, time limit, enable
    "R2": (92.6, 73.3, 180), "C2": (89.3, 73.3, 180), "C6": (114.5, 76.5, 0), "R8": (115.2, 79, 0), "R4": (115.2, 81.5, 180),
    "Q2": (112.5, 84.4, 90),
    # right of the shunt: slow meter
    "R28": (106.5, 60.8, 0), "R27": (106.5, 65.43, 0), "C28": (109.2, 63.1, 90), "U6": (114, 63, 180), "C29": (117.5, 59.5, 0),
}
OUTLINE = ((89, 100), (70, 100), (70, 50), (130, 50), (130, 100), (111, 100), (111, 130), (110.425, 130))
TONGUE = ((110.425, 130), (109.925, 130.5), (109.925, 134), (94.475, 134), (94.475, 130.5), (93.275, 130.5), (93.275, 134),
          (90.075, 134), (90.075, 130.5), (89.575, 130), (89, 130), (89, 100))
F, B, IN1, IN2 = pcbnew.F_Cu, pcbnew.B_Cu, pcbnew.In1_Cu, pcbnew.In2_Cu
SENSE_NET = "R1.2"
# Net (by name, or by one of its pins), layer, corners, priority.
ZONES = (
    ("GND", IN1, ((70.5, 50.5), (129.5, 50.5), (129.5, 99.5), (110.5, 99.5), (110.5, 129.5), (109.7, 131.4), (90.3, 131.4), (89.5, 129.5), (89.5, 99.5), (70.5, 99.5)), 0),
    ("+3V3A", IN2, ((70.5, 50.5), (129.5, 50.5), (129.5, 82), (70.5, 82)), 1),
    ("GND", IN2, ((70.5, 83), (129.5, 83), (129.5, 99.5), (110.5, 99.5), (110.5, 129.5), (89.5, 129.5), (89.5, 99.5), (70.5, 99.5)), 0),
    ("+3V3_HOST", B, ((89.6, 100.5), (110.4, 100.5), (110.4, 129.6), (109.6, 130.3), (109.6, 131.9), (90.4, 131.9), (90.4, 130.3), (89.6, 129.6)), 1),
    ("+3V3_HOST", F, ((89.6, 86), (110.4, 86), (110.4, 108), (89.6, 108)), 1),
    (SENSE_NET, F, ((95.5, 73), (104, 73), (104, 82.2), (95.5, 82.2)), 1),
    ("+3V3_SWITCHED", F, ((94, 63.9), (107.5, 63.9), (107.5, 72.2), (94, 72.2)), 1),
    ("+3V3_DRIVE", F, ((96, 51), (109, 51), (109, 60.1), (96, 60.1)), 1),
    ("GND", B, ((70.5, 50.5), (129.5, 50.5), (129.5, 99), (70.5, 99)), 0),
)
# Net, layer, width, corners.
TRACKS = (
    # Kelvin pair of the INA240: from the sense contacts inwards and to the left, side by side
    ("SHUNT_N", F, 0.2, ((98.73, 58.57), (98.73, 61.675), (92.86, 61.675))),
    ("SHUNT_P", F, 0.2, ((101.27, 65.43), (101.27, 62.325), (92.86, 62.325))),
    # Kelvin pair of the INA228: its own traces from the same contacts, to the right
    ("SHUNT_N", F, 0.15, ((99.05, 58.57), (99.05, 60.8), (105.675, 60.8))),
    ("SHUNT_P", F, 0.15, ((101.27, 65.43), (105.675, 65.43))),
    ("U6.10", F, 0.15, ((107.325, 65.43), (109.2, 65.43), (109.2, 63.875))),
    ("U6.10", F, 0.15, ((109.2, 63.875), (110.2, 64), (111.8, 64))),
    ("U6.9", F, 0.15, ((107.325, 60.8), (109.2, 60.8), (109.2, 62.325))),
    ("U6.9", F, 0.15, ((109.2, 62.325), (110, 63.5), (111.8, 63.5))),
    # amplifier to converter
    ("U3.8", F, 0.2, ((87.14, 62.975), (85.5, 62.975), (85.5, 61), (84.225, 61))),
    ("U4.6", F, 0.2, ((82.575, 61), (81.4, 61), (81.4, 61.525), (79.9, 61.675), (78.86, 61.675))),
    ("U4.5", F, 0.2, ((82.575, 64.2), (82.575, 63.6), (81.4, 63.075), (80.7, 62.325), (78.86, 62.325))),
    ("U3.7", F, 0.2, ((87.14, 61.675), (87.14, 62.325))),
    ("U3.7", F, 0.2, ((87.14, 62), (86.4, 62))),
    ("U3.7", B, 0.2, ((86.4, 62), (86.4, 65.5))),
    ("U3.7", F, 0.2, ((86.4, 65.5), (85.5, 65.5), (84.225, 64.2))),
    ("U3.7", F, 0.2, ((86.4, 65.5), (86.4, 69.95), (88.06, 69.95))),
    ("U3.7", F, 0.2, ((86.4, 68.725), (85.5, 68.725))),
    # voltage divider
    ("U4.3", F, 0.2, ((78.86, 63.625), (79.9, 63.625), (79.9, 66), (78.775, 67), (78.725, 69), (77.025, 73))),
    ("U4.4", F, 0.2, ((78.86, 62.975), (80.4, 62.975), (80.4, 66), (80.325, 67), (80.375, 69))),
    ("U4.4", F, 0.2, ((80.325, 67), (82.175, 67))),
    ("+3V3_SWITCHED", F, 0.25, ((75.375, 73), (75.375, 74.5))),
    ("+3V3_SWITCHED", B, 0.25, ((75.375, 74.5), (94.6, 74.5), (94.6, 71.5))),
    ("+3V3_DRIVE", F, 0.15, ((111.8, 63), (110.9, 63), (110.4, 62.6), (110.4, 60), (108.5, 59.6))),
    ("U4.18", F, 0.2, ((73.14, 63.625), (71.2, 63.625), (71.2, 72.5), (72.125, 72.5))),
    # a surge through D1 wants more than one via
    ("GND", F, 0.4, ((91.6, 89.5), (91.6, 88.1))), ("GND", F, 0.4, ((93.4, 89.5), (93.4, 88.1))),
    # peak path
    ("U3.8", F, 0.2, ((85.5, 61), (85.5, 58), (85.625, 57.5))),
    ("PEAK_INPUT", F, 0.2, ((83.975, 57.5), (80.8, 57.5))),
    # switch controller's small parts
    ("U1.7", F, 0.2, ((96.6, 72.9), (95, 72.7), (93.425, 73.3))),
    ("C2.1", F, 0.2, ((91.775, 73.3), (90.075, 73.3))),
    ("U1.4", F, 0.2, ((111.2, 78.5), (112.6, 78.5), (113.725, 77.2), (113.725, 76.5))),
    ("U1.3", F, 0.2, ((111.2, 79), (114.375, 79))),
    ("U1.2", F, 0.2, ((111.2, 79.5), (112.9, 79.5), (112.9, 81.5), (114.375, 81.5))),
    ("U1.2", F, 0.2, ((112.9, 81.5), (112.5, 83.46))),
    ("+3V3_HOST", F, 0.25, ((116.025, 81.5), (116.025, 87.2), (109.5, 87.2))),
    # switch controller: Kelvin on its sense resistor, gate under the path
    ("+3V3_SWITCHED", F, 0.2, ((106.8, 78), (104.9, 78), (104.9, 71.5))),
    (SENSE_NET, F, 0.15, ((106.8, 79), (104.4, 79), (102.4, 81), (101, 81))),
    ("+3V3_HOST", F, 0.15, ((106.8, 79.5), (104.8, 79.5), (104.8, 87))),
    ("U1.7", F, 0.2, ((106.8, 78.5), (109, 78.5))),
    ("U1.7", B, 0.2, ((109, 78.5), (96.6, 78.5), (96.6, 72.9))),
    ("U1.7", F, 0.2, ((96.6, 72.9), (96.6, 72.55), (97.5, 72.55), (98.095, 71.33))),
)
VIAS = [("U3.7", 86.4, 62), ("U3.7", 86.4, 65.5), ("+3V3_SWITCHED", 75.375, 74.5), ("+3V3_SWITCHED", 94.6, 71.5),
        ("U1.7", 109, 78.5), ("U1.7", 96.6, 72.9)]
VIAS += [("GND", 91.6, 88.1), ("GND", 93.4, 88.1)]
# Power changes from the tongue's lower side to the path on the upper: 36 vias, 0.13 A each at 4.5 A.
VIAS += [("+3V3_HOST", 91 + 1.6 * (k % 12), 101.5 + 1.6 * (k // 12)) for k in range(36)]


def point(x, y):
    return pcbnew.VECTOR2I(pcbnew.FromMM(x), pcbnew.FromMM(y))


def read_nets():
    nets = {}
    for line in (DESIGN / "netlist.txt").read_text().split("\n"):
        if line:
            name, pins = line.rsplit(": ", 1)
            nets.update({tuple(p.rsplit(".", 1)): name for p in pins.split()})
    return nets


class Layout:
    def __init__(self):
        self.board = pcbnew.NewBoard(str(pathlib.Path(tempfile.mkdtemp()) / "new.kicad_pcb"))
        self.board.SetCopperLayerCount(4)
        settings = self.board.GetDesignSettings()
        settings.SetBoardThickness(pcbnew.FromMM(0.8))  # the M.2 card edge demands 0.8 mm
        self.pins = read_nets()
        self.nets = {}
        for name in sorted(set(self.pins.values())):
            self.nets[name] = pcbnew.NETINFO_ITEM(self.board, name)
            self.board.Add(self.nets[name])

    def net(self, name):
        pin = tuple(name.split("."))
        return self.nets[self.pins[pin] if pin in self.pins else name]

    def place(self):
        parts = {row["Refs"]: row for row in csv.DictReader((DESIGN / "bom.csv").open())}
        for reference, (x, y, rotation) in PLACED.items():
            library, name = parts[reference]["Footprint"].split(":")
            footprint = pcbnew.FootprintLoad(f"{FOOTPRINTS}/{library}.pretty", name)
            footprint.SetFPID(pcbnew.LIB_ID(library, name))
            footprint.SetReference(reference)
            footprint.SetValue(parts[reference]["Value"])
            if reference == "J1":  # its drawing of a whole 2280 card is not this board's outline
                for item in list(footprint.GraphicalItems()):
                    if item.GetLayer() in (pcbnew.Edge_Cuts, pcbnew.F_SilkS, pcbnew.Dwgs_User):
                        footprint.Remove(item)
                for zone in list(footprint.Zones()):
                    footprint.Remove(zone)
            for pad in footprint.Pads():
                net = self.pins.get((reference, pad.GetNumber()))
                if net:
                    pad.SetNet(self.nets[net])
            footprint.Reference().SetTextSize(point(0.7, 0.7))
            footprint.Reference().SetTextThickness(pcbnew.FromMM(0.12))
            footprint.Reference().SetLayer(pcbnew.F_Fab)
            self.board.Add(footprint)
            footprint.SetPosition(point(x, y))
            footprint.SetOrientationDegrees(rotation)
            self.fan_out(footprint, reference)

    def fan_out(self, footprint, reference):
        """A via beside each pad that belongs to a plane."""
        if reference == "J1":
            for pad in footprint.Pads():
                if pad.GetNetname() == "GND":
                    x, y = pcbnew.ToMM(pad.GetPosition().x), pcbnew.ToMM(pad.GetPosition().y)
                    self.track("GND", F, 0.25, ((x, y), (x, 130.9)))
                    self.via("GND", x, 130.9)
            return
        centre = footprint.GetPosition()
        for pad in footprint.Pads():
            if pad.GetNetname() not in ("GND", "+3V3A"):
                continue
            box = pad.GetBoundingBox()
            x, y = pcbnew.ToMM(pad.GetPosition().x), pcbnew.ToMM(pad.GetPosition().y)
            dx, dy = x - pcbnew.ToMM(centre.x), y - pcbnew.ToMM(centre.y)
            half_x, half_y = pcbnew.ToMM(box.GetWidth()) / 2, pcbnew.ToMM(box.GetHeight()) / 2
            if abs(dx) / max(half_x, 0.1) >= abs(dy) / max(half_y, 0.1) or half_x > half_y:
                end = (x + (half_x + 0.4) * (1 if dx > 0 else -1), y)
            else:
                end = (x, y + (half_y + 0.4) * (1 if dy > 0 else -1))
            end = FAN_OUT.get((reference, pad.GetNumber()), end)
            self.track(pad.GetNetname(), F, 0.25 if min(half_x, half_y) > 0.14 else 0.2, ((x, y), end))
            self.via(pad.GetNetname(), *end)

    def track(self, net, layer, width, corners):
        for a, b in zip(corners, corners[1:]):
            item = pcbnew.PCB_TRACK(self.board)
            item.SetStart(point(*a)), item.SetEnd(point(*b))
            item.SetWidth(pcbnew.FromMM(width)), item.SetLayer(layer), item.SetNet(self.net(net))
            self.board.Add(item)

    def via(self, net, x, y):
        item = pcbnew.PCB_VIA(self.board)
        item.SetPosition(point(x, y)), item.SetWidth(pcbnew.FromMM(0.45)), item.SetDrill(pcbnew.FromMM(0.2)), item.SetNet(self.net(net))
        self.board.Add(item)

    def zones(self):
        for net, layer, corners, priority in ZONES:
            zone = pcbnew.ZONE(self.board)
            zone.SetLayer(layer), zone.SetNet(self.net(net)), zone.SetAssignedPriority(priority)
            zone.SetLocalClearance(pcbnew.FromMM(0.2)), zone.SetMinThickness(pcbnew.FromMM(0.2))
            zone.SetPadConnection(pcbnew.ZONE_CONNECTION_FULL)
            zone.SetIslandRemovalMode(pcbnew.ISLAND_REMOVAL_MODE_ALWAYS)
            outline = zone.Outline()
            outline.NewOutline()
            for x, y in corners:
                outline.Append(pcbnew.FromMM(x), pcbnew.FromMM(y))
            self.board.Add(zone)
        pcbnew.ZONE_FILLER(self.board).Fill(self.board.Zones())

    def outline(self):
        corners = OUTLINE + TONGUE[1:]
        for a, b in zip(corners, corners[1:]):
            line = pcbnew.PCB_SHAPE(self.board, pcbnew.SHAPE_T_SEGMENT)
            line.SetStart(point(*a)), line.SetEnd(point(*b)), line.SetLayer(pcbnew.Edge_Cuts), line.SetWidth(pcbnew.FromMM(0.1))
            self.board.Add(line)

    def text(self, words, x, y, size=1.2):
        item = pcbnew.PCB_TEXT(self.board)
        item.SetText(words), item.SetPosition(point(x, y)), item.SetLayer(pcbnew.F_SilkS)
        item.SetTextSize(point(size, size)), item.SetTextThickness(pcbnew.FromMM(0.15))
        self.board.Add(item)


# Where the place beside the pad is taken: under the chip, or elsewhere.
FAN_OUT = {("U6", "7"): (113.3, 62.6), ("U6", "6"): (113.3, 61.85), ("U6", "1"): (117.4, 64.3), ("U6", "2"): (114.7, 63.5),
           ("U4", "1"): (77.3, 65.1), ("U4", "2"): (77.3, 64.35), ("U4", "19"): (74.7, 64.3), ("U4", "20"): (74.7, 65.05),
           ("U3", "5"): (88.6, 61.0), ("U5", "1"): (88.06, 66.9), ("C22", "2"): (80.8, 59.95)}
STACK_UP = """(stackup
\t\t\t(layer "F.SilkS" (type "Top Silk Screen"))
\t\t\t(layer "F.Mask" (type "Top Solder Mask") (thickness 0.01))
\t\t\t(layer "F.Cu" (type "copper") (thickness 0.035))
\t\t\t(layer "dielectric 1" (type "prepreg") (thickness 0.11) (material "FR4") (epsilon_r 4.4) (loss_tangent 0.02))
\t\t\t(layer "In1.Cu" (type "copper") (thickness 0.0175))
\t\t\t(layer "dielectric 2" (type "core") (thickness 0.455) (material "FR4") (epsilon_r 4.4) (loss_tangent 0.02))
\t\t\t(layer "In2.Cu" (type "copper") (thickness 0.0175))
\t\t\t(layer "dielectric 3" (type "prepreg") (thickness 0.11) (material "FR4") (epsilon_r 4.4) (loss_tangent 0.02))
\t\t\t(layer "B.Cu" (type "copper") (thickness 0.035))
\t\t\t(layer "B.Mask" (type "Bottom Solder Mask") (thickness 0.01))
\t\t\t(layer "B.SilkS" (type "Bottom Silk Screen"))
\t\t\t(copper_finish "ENIG") (dielectric_constraints yes) (edge_connector bevelled))
\t\t"""


def numbered(text):
    """Random identifiers become numbered ones."""
    seen = {}
    def replace(match):
        return seen.setdefault(match.group(0), str(uuid.uuid5(NAMESPACE, str(len(seen)))))
    return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", replace, text)


def main(target):
    layout = Layout()
    layout.outline()
    layout.place()
    for net, layer, width, corners in TRACKS:
        layout.track(net, layer, width, corners)
    for net, x, y in VIAS:
        layout.via(net, x, y)
    layout.zones()
    layout.text("wattrig m2-interposer A", 119, 97, 1)
    layout.text("NOT HOT-PLUG: host off first", 79.3, 97, 0.8)
    layout.text("drive's socket J2: not placed", 119, 53, 0.9)
    layout.text("HOST", 100, 112), layout.text("DRIVE", 113, 57, 1)
    project = target.with_suffix(".kicad_pro")
    rules = project.read_bytes() if project.exists() else None  # the schematic's generator writes them
    pcbnew.SaveBoard(str(target), layout.board)
    if rules is not None:
        project.write_bytes(rules)
    target.write_text(numbered(target.read_text()).replace("(setup\n\t\t", "(setup\n\t\t" + STACK_UP, 1))
    for extra in target.parent.glob("*.kicad_prl"):
        extra.unlink()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DESIGN / "m2-interposer.kicad_pcb")
