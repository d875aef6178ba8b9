"""Checks on the netlist. Each takes what it needs and returns a list of problems; none knows how the schematic was written."""
import re

from design import ohms

PICO_PIN = {0: 1, 1: 2, 2: 4, 3: 5, 4: 6, 5: 7, 6: 9, 7: 10, 8: 11, 9: 12, 10: 14, 11: 15, 12: 16, 13: 17, 14: 19, 15: 20, 16: 21,
            17: 22, 18: 24, 19: 25, 20: 26, 21: 27, 22: 29, 26: 31, 27: 32, 28: 34}  # GPIO -> pin of the module
ON_THE_MODULE = {25}  # the Pico's own LED
BOARD_ONLY = {27: "SHUNT_NTC"}  # wired on the board, not read by the firmware yet
M2_POWER = (2, 4, 12, 14, 16, 18, 70, 72, 74)
M2_GROUND = (1, 3, 9, 15, 21, 27, 33, 39, 45, 51, 57, 71, 73, 75)
M2_PINS = [n for n in range(1, 76) if not 59 <= n <= 66]
# Where each signal of the pin map must end, besides the module.
SIGNAL_ENDS = {"ADC_MISO": ("U4", "15"), "ADC_MOSI": ("U4", "16"), "ADC_SCK": ("U4", "14"), "ADC_CS": ("U4", "12"),
               "ADC_DRDY": ("U4", "13"), "ADC_CLOCK": ("U4", "17"), "ADC_SYNC": ("U4", "11"), "SLOW_ALERT": ("U6", "3"),
               "I2C_SDA": ("U6", "4"), "I2C_SCL": ("U6", "5")}
M2_TAPS = {"CLKREQ": 52, "PERST": 50, "ACTIVITY_LED": 10, "PEWAKE": 54, "DEVSLP": 38}
MOST_CAPACITANCE_BEHIND_SHUNT = 1.01e-6


def pin_map(netlist, pins):
    """board.hpp against the module's pins, both ways; then every signal to the chip's pin or M.2 contact it is named after."""
    problems = []
    for name, gpio in pins.items():
        if gpio in ON_THE_MODULE:
            continue
        net = netlist.net_of("A1", str(PICO_PIN[gpio]))
        if net != name.upper():
            problems.append(f"board.hpp has {name} on GPIO {gpio}; the schematic has {net} there")
    for gpio, pin in PICO_PIN.items():
        net = netlist.net_of("A1", str(pin))
        wired = net is not None and not net.startswith("unconnected")
        if wired and gpio not in pins.values() and BOARD_ONLY.get(gpio) != net:
            problems.append(f"GPIO {gpio} is wired to {net} and board.hpp does not know it")
    return problems


def signals_end(netlist):
    problems = []
    for net, (reference, pin) in SIGNAL_ENDS.items():
        if netlist.net_of(reference, pin) != net:
            problems.append(f"{net} must reach {reference} pin {pin}; there is {netlist.net_of(reference, pin)}")
    # buffer: output -> input of the same gate (1Y is pin 6, 1A pin 1; 2Y pin 4, 2A pin 3)
    gate = {"6": "1", "4": "3"}
    for net, contact in M2_TAPS.items():
        found = None
        for reference, pin in netlist.nets.get(net, ()):
            if pin in gate and netlist.parts[reference]["Value"] == "74LVC2G17":
                tap = netlist.net_of(reference, gate[pin])
                resistors = [r for r in netlist.neighbours(tap) if r.startswith("R")]
                if len(resistors) == 1 and ohms(netlist.parts[resistors[0]]["Value"]) >= 1000:
                    found = netlist.other_end(resistors[0], tap)
                if netlist.net_of(reference, "5") != "+3V3_RIG":
                    problems.append(f"{reference} must live from the rig's supply, so that its inputs let go without USB")
        if found is None or found != netlist.net_of("J2", str(contact)):
            problems.append(f"{net} must come from M.2 contact {contact} through a resistor and a buffer; it comes from {found}")
    return problems


def connectors(netlist):
    problems = []
    for reference, rail in (("J1", "+3V3_HOST"), ("J2", "+3V3_DRIVE")):
        for pin in M2_POWER:
            if netlist.net_of(reference, str(pin)) != rail:
                problems.append(f"{reference} contact {pin} must be {rail}")
        for pin in M2_GROUND:
            if netlist.net_of(reference, str(pin)) != "GND":
                problems.append(f"{reference} contact {pin} must be GND")
    for pin in M2_PINS:
        here, there = netlist.net_of("J1", str(pin)), netlist.net_of("J2", str(pin))
        if here is None or there is None:
            problems.append(f"contact {pin} is missing on a connector")
        elif pin not in M2_POWER and here != there:
            problems.append(f"contact {pin} must go straight through; it is {here} and {there}")
    lanes = [netlist.net_of("J1", str(p)) for p in M2_PINS if p not in M2_POWER + M2_GROUND]
    if len(set(lanes)) != len(lanes):
        problems.append("two contacts share a net")
    return problems


def front_end(netlist):
    """The signal chain, pin by pin."""
    problems = []

    def need(condition, text):
        if not condition:
            problems.append(text)

    at = netlist.net_of
    need(at("R3", "1") == "+3V3_SWITCHED" and at("R3", "4") == "+3V3_DRIVE", "the shunt must stand between switch and drive")
    kelvin = at("R3", "2"), at("R3", "3")
    need(len({*kelvin, at("R3", "1"), at("R3", "4")}) == 4, "sense and current contacts of the shunt must be different nets")
    need((at("U3", "2"), at("U3", "3")) == kelvin, "INA240: IN+ and IN- straight on the shunt's sense contacts, no resistor")
    slow = [netlist.other_end(r, at("U6", p)) if len(x := [q for q in netlist.neighbours(at("U6", p)) if q.startswith("R")]) == 1 and
            (r := x[0]) else None for p in ("10", "9")]
    need(tuple(slow) == kelvin, f"INA228: IN+ and IN- each through one resistor from the sense contacts, found {slow}")
    reference = at("U5", "2")
    need(at("U3", "6") == reference and at("U3", "7") == reference and reference != "GND",
         f"INA240: REF1 and REF2 must be the 1.25 V of U5, found {at('U3', '6')}, {at('U3', '7')}")
    for pin, source, text in (("6", at("U3", "8"), "AIN1P from the amplifier's output"), ("5", reference, "AIN1N from its REF")):
        net = at("U4", pin)
        resistors = [r for r in netlist.neighbours(net) if r.startswith("R")]
        need(len(resistors) == 1 and netlist.other_end(resistors[0], net) == source, f"ADS131M04: {text}, through one resistor")
    tap = at("U4", "3")
    top = [r for r in netlist.neighbours(tap) if r.startswith("R") and "+3V3_SWITCHED" in netlist.through(r)]
    need(len(top) == 1, "the voltage divider must be tapped before the shunt")
    peak = at("A1", "31")
    feeding = [r for r in netlist.neighbours(peak) if r.startswith("R") and at("U3", "8") in netlist.through(r)]
    need(len(feeding) == 1 and ohms(netlist.parts[feeding[0]]["Value"]) >= 1000, "GP26 must see the amplifier through at least 1 kOhm")
    behind = sum(ohms(netlist.parts[r]["Value"]) for r in netlist.neighbours("+3V3_DRIVE") if r.startswith("C"))
    need(behind <= MOST_CAPACITANCE_BEHIND_SHUNT, f"{behind * 1e6:.1f} uF behind the shunt; at most 1 uF, or bursts are fed unseen")
    # default on: nothing but Q2 may pull EN down, and Q2's gate rests at ground through a resistor
    enable = at("U1", "2")
    pulls = [r for r in netlist.neighbours(enable) if r.startswith("R") and "+3V3_HOST" in netlist.through(r)]
    need(len(pulls) == 1 and "A1" not in netlist.neighbours(enable), "EN must be pulled up to the host's 3.3 V and not touch the module")
    gate = at("Q2", "1")
    need(any("GND" in netlist.through(r) for r in netlist.neighbours(gate) if r.startswith("R")), "Q2's gate needs a path to ground")
    need(at("Q3", "2") == "+3V3_RIG" and at("Q3", "3") == gate and at("Q2", "3") == enable, "only a powered rig may switch the drive off")
    return problems


def figures(netlist, expected):
    """The schematic's values against the figures that firmware, simulator and uncertainty stand on."""
    problems = []

    def same(what, found, wanted, relative=1e-3):
        if abs(found - wanted) > relative * abs(wanted):
            problems.append(f"{what}: the schematic has {found:.6g}, host/power/calibration.hpp {wanted:.6g}")

    value = {r: p["Value"] for r, p in netlist.parts.items()}
    same("shunt (R3), ohm", ohms(value["R3"]), expected["shunt_ohm"])
    same("voltage divider (R24, R25)", ohms(value["R25"]) / (ohms(value["R24"]) + ohms(value["R25"])), expected["divider_ratio"])
    same("amplifier's gain (U3)", {"INA240A1": 20, "INA240A2": 50}.get(value["U3"], 0), expected["amplifier_gain"])
    same("zero of the peak path (U5), volt", {"REF3312": 1.25}.get(value["U5"], 0), expected["peak_zero_volt"])
    same("peak path, volt at the amplifier per reading (R22, R23, U12)", peak_lsb(netlist), expected["peak_lsb_volt"], 2e-3)
    return problems


def firmware_constants(netlist, constants):
    """What board.hpp says in numbers about the same parts."""
    value = {r: p["Value"] for r, p in netlist.parts.items()}
    wanted = {"shunt_micro_ohm": ohms(value["R3"]) * 1e6,
              "low_voltage_code": 3.135 * ohms(value["R25"]) / (ohms(value["R24"]) + ohms(value["R25"])) / 1.2 * 8388608,
              "peak_zero_reading": 1.25 / peak_lsb(netlist) * 256}
    return [f"{name}: the schematic gives {int(number)}, board.hpp {constants.get(name)}" for name, number in wanted.items()
            if name not in constants or abs(constants[name] - number) > max(1.0, 1e-4 * number)]


def peak_delay(netlist, ticks):
    """The divider's source resistance with C22 against peak_delay_ticks of the protocol, 8 ns each."""
    top, bottom, farad = (ohms(netlist.parts[r]["Value"]) for r in ("R22", "R23", "C22"))
    seconds = top * bottom / (top + bottom) * farad
    if abs(seconds - ticks * 8e-9) > 0.1e-6:
        return [f"peak path: R22 and R23 with C22 delay by {seconds * 1e6:.2f} us, the protocol takes off {ticks * 8e-3:.2f} us"]
    return []


def peak_lsb(netlist):
    value = {r: p["Value"] for r, p in netlist.parts.items()}
    ratio = ohms(value["R23"]) / (ohms(value["R22"]) + ohms(value["R23"]))
    return {"LM4040-3.0": 3.0}.get(value["U12"], 0) / 4096 / ratio


STEPS = (512, 1536, 2560, 3584)  # RP2040-E11, each 9 codes wide
BUILDS = {0.010: 4.0, 0.015: 4.0, 0.025: 2.4}  # ohm -> full scale, ampere


def between_steps(lsb_volt, zero_volt, gain, shunt_ohm, full_ampere, noise_codes=10):
    """Worst-case readings of 0 and full scale; noise: six times 1.5 codes. Tolerances: parts.json, over 40 K."""
    reference, zero, scale, divider = 0.001 + 100e-6 * 20, 0.0015 + 30e-6 * 20, 0.002 + 0.01, 0.0012
    readings = []
    for sign in (-1, 1):
        volt = zero_volt * (1 + sign * zero)
        for ampere in (0, full_ampere):
            total = volt + ampere * gain * shunt_ohm * (1 + sign * scale)
            readings.append(total * (1 + sign * (reference + divider)) / lsb_volt + sign * noise_codes)
    low, high = min(readings), max(readings)
    crossed = [s for s in STEPS if low - 4.5 <= s <= high + 4.5]
    if crossed:
        return [f"{shunt_ohm * 1e3:.0f} mOhm: 0 to {full_ampere} A reads {low:.0f} to {high:.0f} and crosses {crossed}"]
    if not 0 < low < high < 4095:
        return [f"{shunt_ohm * 1e3:.0f} mOhm: readings {low:.0f} to {high:.0f} leave the converter"]
    return []


def bom(rows, netlist, parts_table):
    """rows: the exported list as dictionaries, one a reference."""
    problems = []
    listed = {row["Refs"]: row for row in rows}
    wanted = {r for r in netlist.parts if not r.startswith(("TP", "#"))}
    for reference in sorted(wanted ^ set(listed)):
        problems.append(f"{reference} is in only one of netlist and BOM")
    for reference, row in listed.items():
        entry = parts_table.get(row["Part"])
        if entry is None:
            problems.append(f"{reference}: part '{row['Part']}' is not in parts.json")
            continue
        for column, key in (("Value", "value"), ("Manufacturer", "manufacturer"), ("MPN", "mpn")):
            if row[column] != entry[key] or not row[column]:
                problems.append(f"{reference}: {column} is '{row[column]}', parts.json has '{entry[key]}'")
        if reference[0] in "RC" and not row["Tolerance"]:
            problems.append(f"{reference} has no tolerance")
        if reference in netlist.parts and row["Value"] != netlist.parts[reference]["Value"]:
            problems.append(f"{reference}: BOM says {row['Value']}, netlist {netlist.parts[reference]['Value']}")
        code = resistance_in_code(row["MPN"]) if reference.startswith("R") else None
        if code is not None and abs(code - ohms(row["Value"])) > 1e-3 * code:
            problems.append(f"{reference}: {row['MPN']} is {code:g} Ohm, the value says {row['Value']}")
    return problems


def resistance_in_code(mpn):
    """The resistance that a part number spells, for the makers in use; None where it spells none."""
    if match := re.match(r"WSK2512R(\d{4})", mpn):
        return int(match.group(1)) / 1e4
    if match := re.match(r"WSL2512(\d)L(\d{3})", mpn):
        return float(f"{match.group(1)}.{match.group(2)}") / 1e3
    if match := re.match(r"R[CT]0603[A-Z]R-?(?:07)?-?D?0?7?(\d+)([RKM])(\d*)L", mpn):
        return float(f"{match.group(1)}.{match.group(3) or 0}") * {"R": 1, "K": 1e3, "M": 1e6}[match.group(2)]
    if match := re.match(r"ERA-3A[RE]B(\d{3,4})V", mpn):
        digits = match.group(1)
        return int(digits[:-1]) * 10 ** int(digits[-1])
    return None


def symbol_pins(own, library):
    """own: pins of our symbol {number: name}; library: of KiCad's. Names compared after dropping what is only spelling."""
    def bare(name):
        return "".join(c for c in name.upper() if c.isalnum())
    same = {("VS", "V"), ("OUT", ""), ("IN", ""), ("INP", "VINP"), ("NC", "GND"), ("IN", "VIN")}
    problems = []
    for number, name in own.items():
        if number not in library:
            problems.append(f"pin {number} ({name}) is not in KiCad's symbol")
            continue
        a, b = bare(name), bare(library[number])
        if a and b and a != b and a not in b and b not in a and (a, b) not in same:
            problems.append(f"pin {number} is {name} here and {library[number]} in KiCad's library")
    return problems
