"""One fault for each check; every one must be seen. The faults are planted in copies, in memory or in a temporary folder."""
import copy
import json
import shutil
import sys
import tempfile
from pathlib import Path

import hardware_test as tests
import netlist_checks as checks
import spice_checks
from design import FOLDER, SCHEMATIC, Netlist, board_pins, front_end_figures, run


def moved(netlist, reference, pin, to):
    """A copy in which one pin hangs on another net."""
    nets = {name: set(pins) - {(reference, pin)} for name, pins in netlist.nets.items()}
    nets.setdefault(to, set()).add((reference, pin))
    return Netlist(nets, netlist.parts)


def swapped(netlist, a, b):
    net_a, net_b = netlist.net_of(*a), netlist.net_of(*b)
    return moved(moved(netlist, *a, net_b), *b, net_a)


def valued(netlist, reference, value):
    parts = copy.deepcopy(netlist.parts)
    parts[reference]["Value"] = value
    return Netlist(netlist.nets, parts)


def silent(*_):
    pass


def schematic_with(old, new, sheet):
    """ERC's answer for a copy of the schematic in which one text is replaced."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "design"
        shutil.copytree(FOLDER, folder)
        path = folder / sheet
        text = path.read_text()
        assert old in text, f"the fault does not fit {sheet} any more"
        path.write_text(text.replace(old, new, 1))
        return tests.erc(folder / SCHEMATIC.name, Path(scratch))


def stale_generator():
    with tempfile.TemporaryDirectory() as scratch:
        problems = tests.generated_is_current(Path(scratch))
        if problems:
            return []  # already stale: the fault could not show anything
        (Path(scratch) / "measurement.kicad_sch").write_text("changed by hand")
        return [p.name for p in Path(scratch).glob("*") if (FOLDER / p.name).read_bytes() != p.read_bytes()]


def overlapping_text():
    code = ("import sys; sys.path.insert(0, 'hardware/generate'); import json, sheets; "
            "s = sheets.measurement(json.load(open('hardware/m2-interposer/parts.json'))); "
            "s.note('planted', 14, 40); print(len(s.overlaps()))")
    return int(run(sys.executable, "-c", code, cwd=tests.ROOT).stdout or 0) * ["overlap"]


def faults():
    netlist = tests.committed_netlist()
    figures = front_end_figures()
    table = tests.bom_rows(tests.PARTS.read_text())
    parts = json.loads((FOLDER / "parts.json").read_text())
    pins = {name: gpio for gpio, net in ((g, netlist.net_of("A1", str(p))) for g, p in checks.PICO_PIN.items())
            if net and not net.startswith("unconnected") and net != "SHUNT_NTC" for name in [net.lower()]}
    assert not checks.pin_map(netlist, pins)

    def pin_swap():
        return checks.pin_map(netlist, {**pins, "adc_cs": pins["adc_sck"], "adc_sck": pins["adc_cs"]})

    def changed(reference, **fields):
        return [{**row, **fields} if row["Refs"] == reference else row for row in table]

    def broken_measurement():
        deck = "rc\nV1 a 0 1\nR1 a b 1k\nC1 b 0 1n\n.control\ntran 1n 1u\nmeas tran never WHEN v(b)=5\nquit\n.endc\n.end\n"
        try:
            spice_checks.measure(deck, ["never"])
        except ValueError as error:
            return [str(error)]
        return []

    chain = checks.front_end
    yield "board.hpp swaps two pins", pin_swap
    yield "schematic swaps DRDY and CS at the module", lambda: checks.pin_map(swapped(netlist, ("A1", "26"), ("A1", "22")), pins)
    yield "firmware does not know a wired pin", lambda: checks.pin_map(netlist, {k: v for k, v in pins.items() if k != "sync_out"})
    yield "DIN and DOUT swapped at the converter", lambda: checks.signals_end(swapped(netlist, ("U4", "15"), ("U4", "16")))
    yield "two side-band taps swapped", lambda: checks.signals_end(swapped(netlist, ("U9", "1"), ("U9", "3")))
    yield "side-band buffer on the host's supply", lambda: checks.signals_end(moved(netlist, "U9", "5", "+3V3_HOST"))
    yield "a 3.3 V contact left open", lambda: checks.connectors(moved(netlist, "J2", "72", "open"))
    yield "a lane crossed", lambda: checks.connectors(swapped(netlist, ("J2", "41"), ("J2", "43")))
    yield "INA240's REF on GND", lambda: chain(moved(moved(netlist, "U3", "6", "GND"), "U3", "7", "GND"))
    yield "INA240 on the current contacts of the shunt", lambda: chain(moved(netlist, "U3", "2", "+3V3_SWITCHED"))
    yield "INA240's inputs swapped", lambda: chain(swapped(netlist, ("U3", "2"), ("U3", "3")))
    yield "INA228 without its resistors", lambda: chain(moved(netlist, "U6", "10", "SHUNT_P"))
    yield "voltage tapped behind the shunt", lambda: chain(moved(netlist, "R24", "1", "+3V3_DRIVE"))
    yield "bulk behind the shunt", lambda: chain(moved(netlist, "C3", "1", "+3V3_DRIVE"))
    yield "GP26 straight on the amplifier", lambda: chain(valued(netlist, "R22", "100"))
    yield "the module holds the switch's EN", lambda: chain(moved(netlist, "A1", "17", netlist.net_of("U1", "2")))
    yield "board.hpp with another shunt", lambda: [p for p in checks.firmware_constants(
        netlist, {"shunt_micro_ohm": 15000, "low_voltage_code": 7280955, "peak_zero_reading": 174762}) if "shunt" in p]
    yield "a known difference that is gone", lambda: tests.split_known([], {("peak path", "1"): "why"})[0]
    yield "shunt of 15 mOhm with figures for 10", lambda: tests.split_known(checks.figures(valued(netlist, "R3", "15m"), figures))[0]
    yield "wrong divider", lambda: tests.split_known(checks.figures(valued(netlist, "R25", "2.49k"), figures))[0]
    yield "peak path with 10 nF", lambda: checks.peak_delay(valued(netlist, "C22", "10n"), 275)
    yield "peak path without its divider", lambda: tests.e11(figures, 3.0 / 4096)
    yield "peak path on the module's 3.3 V", lambda: tests.e11(figures, 3.3 / 4096)
    yield "a figure changed and the error budget not", lambda: tests.error_budget_is_current(
        {**figures, "thermal_emf_volt": 0.2e-6}, (tests.ROOT / "hardware" / "ERROR_BUDGET.md").read_text())
    yield "a tolerance changed and the error budget not", lambda: tests.error_budget_is_current(
        {**figures, "tolerance_shunt": 0.005}, (tests.ROOT / "hardware" / "ERROR_BUDGET.md").read_text())
    yield "wrong shunt in the parts list", lambda: checks.bom(changed("R3", Value="15m"), netlist, parts)
    yield "shunt's part number of another value", lambda: checks.bom(changed("R3", MPN="WSK2512R0150FEA"), netlist,
                                                                      {**parts, "shunt_10m": {**parts["shunt_10m"], "mpn": "WSK2512R0150FEA"}})
    yield "a part missing in the parts list", lambda: checks.bom([r for r in table if r["Refs"] != "C21"], netlist, parts)
    yield "a resistor without tolerance", lambda: checks.bom(changed("R24", Tolerance=""), netlist, parts)
    yield "two pins of the amplifier exchanged in its symbol", lambda: checks.symbol_pins(
        {"2": "IN-", "3": "IN+"}, {"2": "+IN", "3": "-REF"})
    yield "a sheet changed by hand", stale_generator
    yield "text on text", overlapping_text
    if shutil.which("ngspice"):
        yield "a failed measurement in ngspice", broken_measurement
        yield "filter capacitor of 100 nF", lambda: spice_checks.check(valued(netlist, "C21", "100n"), figures, silent)
        yield "sense resistor of 20 mOhm", lambda: spice_checks.check(valued(netlist, "R1", "20m"), figures, silent)
        yield "power limit that cannot start", lambda: spice_checks.check(valued(netlist, "R8", "499k"), figures, silent)
        yield "soft start without its capacitor", lambda: spice_checks.check(valued(netlist, "C2", "1n"), figures, silent)
    if tests.kicad():
        yield "ERC: a wire removed", lambda: schematic_with('(wire (pts', '(polyline (pts', "measurement.kicad_sch")
        yield "ERC: a label that leads nowhere", lambda: schematic_with('"ADC_CS"', '"ADC_CX"', "controller.kicad_sch")
    layout = FOLDER / "m2-interposer.kicad_pcb"
    if tests.kicad() and layout.exists():
        import layout_checks
        yield from layout_checks.faults(layout, netlist)


def main():
    missed = 0
    count = 0
    for name, plant in faults():
        count += 1
        if not plant():
            print(f"planted fault not seen: {name}")
            missed += 1
    for tool, there in (("ngspice", shutil.which("ngspice")), ("KiCad", tests.kicad())):
        if not there:
            print(f"SKIPPED the faults that need {tool}: it is not installed")
    print(f"{count} faults planted, {missed} not seen")
    return 1 if missed else 0
