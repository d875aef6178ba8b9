"""Symbols of the schematic: boxes for chips and connectors, drawn parts for everything with two or three legs. Own symbols, so
that pins stand where the flow wants them; tests/hardware compares the pin numbers of every chip that KiCad's library also has
with that library. Lengths are in grid steps of 1.27 mm, y downwards."""

GRID_MM = 1.27
CHARACTER = 1.0  # width of a letter of KiCad's stroke font at 1.27 mm, in grid steps (a little more than its mean)


def mm(steps):
    return f"{steps * GRID_MM:.2f}".rstrip("0").rstrip(".")


class Symbol:
    def __init__(self, name, prefix):
        self.name, self.prefix = name, prefix
        self.pins = {}      # number -> (x, y, direction of the wire that leaves it: L R U D, name, type)
        self.graphics = []
        self.body = (0, 0, 0, 0)
        self.reference_at = self.value_at = (0, 0, "left")
        self.show_pin_texts = False
        self.power = False

    def pin(self, number, x, y, side, name="~", kind="passive"):
        self.pins[number] = (x, y, side, name, kind)

    def line(self, *points, width=0.2):
        text = " ".join(f"(xy {mm(x)} {mm(-y)})" for x, y in points)
        self.graphics.append(f"(polyline (pts {text}) (stroke (width {width}) (type default)) (fill (type none)))")

    def rectangle(self, x1, y1, x2, y2, fill="none"):
        self.graphics.append(f"(rectangle (start {mm(x1)} {mm(-y1)}) (end {mm(x2)} {mm(-y2)}) "
                             f"(stroke (width 0.254) (type default)) (fill (type {fill})))")

    def text(self, library="wattrig:"):
        angle = {"L": 0, "R": 180, "U": 270, "D": 90}  # KiCad gives the direction from the wire's end to the body
        length = 2 if self.show_pin_texts else 0
        out = [f'(symbol "{library}{self.name}"']
        if self.power:
            out.append("(power)")
        if not self.show_pin_texts:
            out.append("(pin_numbers (hide yes)) (pin_names (offset 0) (hide yes))")
        else:
            out.append("(pin_names (offset 0.635))")
        out.append("(exclude_from_sim no) (in_bom yes) (on_board yes)")
        for key, value, hide in (("Reference", self.prefix, self.power), ("Value", self.name, False), ("Footprint", "", True),
                                 ("Datasheet", "", True), ("Description", "", True)):
            hidden = " (hide yes)" if hide else ""
            out.append(f'(property "{key}" "{value}" (at 0 0 0) (effects (font (size 1.27 1.27)){hidden}))')
        out.append(f'(symbol "{self.name}_0_1" {" ".join(self.graphics)})')
        pins = []
        for number, (x, y, side, name, kind) in self.pins.items():
            pins.append(f'(pin {kind} line (at {mm(x)} {mm(-y)} {angle[side]}) (length {mm(length)}) '
                        f'(name "{name}" (effects (font (size 1.27 1.27)))) (number "{number}" (effects (font (size 1 1)))))')
        out.append(f'(symbol "{self.name}_1_1" {" ".join(pins)})')
        out.append("(embedded_fonts no))")
        return "\n    ".join(out)


def two_legs(name, prefix, vertical, draw, half=3):
    s = Symbol(name, prefix)
    if vertical:
        s.pin("1", 0, -half, "U")
        s.pin("2", 0, half, "D")
        s.body = (-1, -half, 1, half)
        s.reference_at, s.value_at = (1.6, -1, "left"), (1.6, 1, "left")
    else:
        s.pin("1", -half, 0, "L")
        s.pin("2", half, 0, "R")
        s.body = (-half, -1, half, 1)
        s.reference_at, s.value_at = (0, -1.9, "center"), (0, 1.9, "center")
    draw(s)
    return s


def resistor(vertical):
    def draw(s):
        if vertical:
            s.rectangle(-0.8, -2, 0.8, 2)
            s.line((0, -3), (0, -2)), s.line((0, 2), (0, 3))
        else:
            s.rectangle(-2, -0.8, 2, 0.8)
            s.line((-3, 0), (-2, 0)), s.line((2, 0), (3, 0))
    return two_legs("R_V" if vertical else "R_H", "R", vertical, draw)


def capacitor():
    def draw(s):
        s.line((-1.4, -0.4), (1.4, -0.4), width=0.4), s.line((-1.4, 0.4), (1.4, 0.4), width=0.4)
        s.line((0, -3), (0, -0.4)), s.line((0, 0.4), (0, 3))
    return two_legs("C_V", "C", True, draw)


def diode(name, flavour):
    """Anode at the bottom for protection (cathode to the protected line), at the top for LEDs. Pin 1 is the cathode."""
    s = Symbol(name, "D")
    up = -1 if flavour == "led" else 1  # where the anode is
    s.pin("1", 0, -3 * up, "U" if up == 1 else "D", "K")
    s.pin("2", 0, 3 * up, "D" if up == 1 else "U", "A")
    s.line((-1, up), (1, up), (0, -up), (-1, up))
    s.line((-1, -up), (1, -up))
    s.line((0, -3), (0, -1)), s.line((0, 1), (0, 3))
    if flavour == "tvs":
        s.line((-1, -up), (-1, -up + 0.5)), s.line((1, -up), (1, -up - 0.5))
    if flavour == "led":
        for k in (0, 0.7):
            s.line((1.1, -0.6 + k), (1.9, -1.2 + k))
    s.body = (-1, -3, 1, 3)
    s.reference_at, s.value_at = (2.2, -1, "left"), (2.2, 1, "left")
    return s


def transistor(name, kind):
    """`through`: n-channel in a line that runs left to right, gate below. `low`: n-channel to ground. `pnp`: emitter up."""
    s = Symbol(name, "Q")
    s.show_pin_texts = False
    if kind == "through":
        s.pin("5", -3, 0, "L", "D"), s.pin("4", 0, 4, "D", "G")
        for number in "123":  # three pads of the PowerPAK, one point
            s.pin(number, 3, 0, "R", "S")
        s.line((-3, 0), (-1.5, 0), (-1.5, 1.5)), s.line((3, 0), (1.5, 0), (1.5, 1.5))
        s.line((-2, 1.5), (-0.8, 1.5)), s.line((-0.6, 1.5), (0.6, 1.5)), s.line((0.8, 1.5), (2, 1.5))
        s.line((-1.8, 2.2), (1.8, 2.2)), s.line((0, 2.2), (0, 4))
        s.line((-1.5, 0), (-0.5, -0.9)), s.line((-0.5, -0.9), (0.5, -0.9)), s.line((0.5, -0.9), (1.5, 0))
        s.body = (-3, -1, 3, 4)
        s.reference_at, s.value_at = (0, -4, "center"), (0, -2.2, "center")
    else:
        names = ("D", "S", "G") if kind == "low" else ("C", "E", "B")
        top, bottom = (names[0], names[1]) if kind == "low" else (names[1], names[0])
        pad = {"G": "1", "S": "2", "D": "3", "B": "1", "E": "2", "C": "3"}  # SOT-23
        s.pin(pad[top], 0, -3, "U", top), s.pin(pad[bottom], 0, 3, "D", bottom), s.pin(pad[names[2]], -4, 0, "L", names[2])
        s.line((-4, 0), (-1.6, 0)), s.line((-1.6, -1.4), (-1.6, 1.4), width=0.3)
        if kind == "low":
            s.line((-1, -1.6), (-1, 1.6), width=0.3)
            s.line((0, -3), (0, -1.2), (-1, -1.2)), s.line((0, 3), (0, 1.2), (-1, 1.2)), s.line((-1, 0), (0, 0), (0, 1.2))
        else:
            s.line((-1.6, -0.7), (0, -1.8), (0, -3)), s.line((-1.6, 0.7), (0, 1.8), (0, 3))
            s.line((-0.5, -1.9), (-0.9, -1.2), (-0.2, -1.2))
        s.body = (-4, -3, 0, 3)
        s.reference_at, s.value_at = (1.2, -1, "left"), (1.2, 1, "left")
    return s


def shunt():
    s = Symbol("SHUNT_4T", "R")
    s.pin("1", -4, 0, "L", "I+"), s.pin("4", 4, 0, "R", "I-"), s.pin("2", -2, 4, "D", "S+"), s.pin("3", 2, 4, "D", "S-")
    s.rectangle(-3, -1, 3, 1)
    s.line((-4, 0), (-3, 0)), s.line((3, 0), (4, 0)), s.line((-2, 1), (-2, 4)), s.line((2, 1), (2, 4))
    s.body = (-4, -1, 4, 4)
    s.reference_at, s.value_at = (0, -4, "center"), (0, -2.2, "center")
    return s


def box(name, prefix, left, right, minimum_width=0):
    """left, right: rows of (number, name, type), None for a gap."""
    s = Symbol(name, prefix)
    s.show_pin_texts = True
    longest = [max([len(row[1].replace("~{", "").replace("}", "")) for row in rows if row] or [0]) for rows in (left, right)]
    width = max(minimum_width, int(sum(longest) * CHARACTER) + 5)
    half = (width + 1) // 2
    rows = max(len(left), len(right))
    top = -rows  # rows are two steps apart, centred on the origin
    for pins, x, side in ((left, -half - 2, "L"), (right, half + 2, "R")):
        for k, row in enumerate(pins):
            if row:
                s.pin(row[0], x, top + 1 + 2 * k, side, row[1], row[2])
    s.rectangle(-half, top - 1, half, rows + 1, "background")
    s.body = (-half - 2, top - 1, half + 2, rows + 1)
    s.reference_at, s.value_at = (-half, top - 2.2, "left"), (-half, rows + 2.2, "left")
    return s


def power(name):
    s = Symbol(name, "#PWR")
    s.power = True
    if name in ("GND", "GND_ISO"):
        s.pin("1", 0, 0, "U", name, "power_in")
        s.line((0, 0), (0, 1)), s.line((-1, 1), (1, 1)), s.line((-0.6, 1.5), (0.6, 1.5)), s.line((-0.2, 2), (0.2, 2))
        s.body = (-1, 0, 1, 2)
        s.value_at = None if name == "GND" else (0, 3.2, "center")  # the sign alone means the rig's ground
    elif name == "PWR_FLAG":
        s.pin("1", 0, 0, "D", name, "power_out")
        s.line((0, 0), (0, -1), (-0.7, -1.5), (0, -2), (0.7, -1.5), (0, -1))
        s.body = (-1, -2, 1, 0)
        s.value_at = None
    else:
        s.pin("1", 0, 0, "D", name, "power_in")
        s.line((0, 0), (0, -1.2)), s.line((-1, -1.2), (1, -1.2))
        s.body = (-1, -1.2, 1, 0)
        s.value_at = (0, -2.2, "center")
    return s


def test_point():
    s = Symbol("TESTPOINT", "TP")
    s.pin("1", 0, 0, "D")
    s.line((0, 0), (0, -1)), s.line((-0.6, -1.6), (0, -1), (0.6, -1.6), (0, -2.2), (-0.6, -1.6))
    s.body = (-0.7, -2.2, 0.7, 0)
    s.reference_at, s.value_at = (0, -3.2, "center"), None
    return s


I, O, B, P, W = "input", "output", "bidirectional", "passive", "power_in"
OD, WO, T, N = "open_collector", "power_out", "tri_state", "no_connect"


def rows(text):
    """'3 AIN0P i, - , 4 AIN0N i' -> rows of a box."""
    kinds = {"i": I, "o": O, "b": B, "p": P, "w": W, "od": OD, "wo": WO, "t": T, "n": N}
    out = []
    for part in text.split(","):
        words = part.split()
        out.append(None if words == ["-"] else (words[0], words[1], kinds[words[2]]))
    return out


def pico_rows():
    gpio = {1: 0, 2: 1, 4: 2, 5: 3, 6: 4, 7: 5, 9: 6, 10: 7, 11: 8, 12: 9, 14: 10, 15: 11, 16: 12, 17: 13, 19: 14, 20: 15, 21: 16,
            22: 17, 24: 18, 25: 19, 26: 20, 27: 21, 29: 22}
    name = {n: f"GPIO{g}" for n, g in gpio.items()}
    name.update({31: "GPIO26_ADC0", 32: "GPIO27_ADC1", 34: "GPIO28_ADC2", 33: "AGND", 35: "ADC_VREF", 36: "3V3", 37: "3V3_EN",
                 39: "VSYS", 40: "VBUS", 30: "RUN"})
    kind = {40: WO, 36: WO, 35: P, 39: P, 37: P, 30: P, 33: W}
    def row(n):
        return (str(n), name[n], kind.get(n, B)) if n in name else (str(n), "GND", W if n == 3 else P)
    left = []
    for n in (6, 7, 0, 9, 10, 11, 12, 14, 15, 16, 17, 0, 19, 20, 1, 2, 4, 5):
        left.append(row(n) if n else None)
    right = []
    for n in (40, 39, 37, 36, 30, 0, 21, 22, 24, 25, 26, 27, 29, 0, 31, 32, 34, 35, 33, 0, 3, 8, 13, 18, 23, 28, 38):
        right.append(row(n) if n else None)
    return left, right


def library():
    parts = [resistor(True), resistor(False), capacitor(), diode("TVS", "tvs"), diode("LED", "led"),
             transistor("NMOS_THROUGH", "through"), transistor("NMOS_LOW", "low"), transistor("PNP", "pnp"), shunt(), test_point(),
             power("GND"), power("PWR_FLAG"), power("+3V3A"), power("+3V3_RIG"), power("+5V_USB"), power("+3V3_HOST"),
             power("+3V3_SWITCHED"), power("+5V_ISO"), power("GND_ISO"),
             box("ADS131M04", "U", rows("3 AIN0P i, 4 AIN0N i, -, -, -, -, 6 AIN1P i, 5 AIN1N i, -, -, 7 AIN2P i, 8 AIN2N i, 10 AIN3P i, "
                                        "9 AIN3N i, -, 18 CAP p"),
                 rows("1 AVDD w, 20 DVDD w, -, 17 CLKIN i, 11 ~{SYNC}/~{RESET} i, 13 ~{DRDY} o, -, 12 ~{CS} i, 14 SCLK i, 16 DIN i, "
                      "15 DOUT t, -, -, -, 2 AGND w, 19 DGND w"), 22),
             box("INA240A1", "U", rows("2 IN+ i, 3 IN- i, -, 7 REF1 p, 6 REF2 p"), rows("5 VS w, -, 8 OUT o, 4 GND w, 1 NC p"), 14),
             box("INA228", "U", rows("10 IN+ i, 9 IN- i, 8 VBUS i, -, 2 A0 i, 1 A1 i"),
                 rows("6 VS w, 4 SDA b, 5 SCL i, 3 ~{ALERT} od, -, 7 GND w"), 14),
             box("REF3312", "U", rows("1 IN w"), rows("2 OUT wo, 3 GND w"), 10),
             box("LM4040", "U", rows("1 K p, 3 NC p"), rows("2 A p"), 8),
             box("LP5907", "U", rows("1 IN w, 3 EN i"), rows("5 OUT wo, 4 NC n, 2 GND w"), 10),
             box("TPS24710", "U", rows("8 SENSE i, 9 VCC w, -, 2 EN i, -, 3 PROG p, -, 4 TIMER p"),
                 rows("7 GATE o, 6 OUT i, -, 10 ~{FLT} od, 1 ~{PG} od, -, 5 GND w"), 14),
             box("TPS3808", "U", rows("6 VDD w, 5 SENSE i, 3 ~{MR} i, 4 CT p"), rows("1 ~{RESET} od, -, -, 2 GND w"), 14),
             box("BUFFER_2", "U", rows("1 1A i, 3 2A i"), rows("6 1Y o, 4 2Y o, 5 VCC w, 2 GND w"), 10),
             box("ESD_4", "D", rows("1 D1+ p, 2 D1- p, 4 D2+ p, 5 D2- p"), rows("3 GND w, 8 GND p"), 12),
             box("EEPROM", "U", rows("1 A0 i, 2 A1 i, 3 A2 i, 7 WP i"), rows("8 VCC w, 5 SDA b, 6 SCL i, 4 GND w"), 12),
             box("PICO", "A", *pico_rows(), 26),
             box("ADUM3160", "U", rows("1 VBUS1 w, 3 VDD1 wo, 4 PDEN i, 5 SPU i, 6 UD- b, 7 UD+ b, 2 GND1 w, 8 GND1 p"),
                 rows("16 VBUS2 w, 14 VDD2 wo, 13 SPD i, 12 PIN i, 11 DD- b, 10 DD+ b, 9 GND2 w, 15 GND2 p"), 16),
             box("ISOLATED_5V", "U", rows("3 +VIN w, 1 -VIN w"), rows("8 +VOUT wo, 7 -VOUT p"), 16),
             box("HEADER_2", "J", rows("1 1 p, 2 2 p"), [], 4), box("HEADER_2R", "J", [], rows("1 1 p, 2 2 p"), 4),
             box("USB", "J", [], rows("1 VBUS p, 2 D- p, 3 D+ p, 4 ID p, 5 GND p"), 10)]
    return {s.name: s for s in parts}
