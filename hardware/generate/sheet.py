"""A schematic sheet written as text: parts, wires, labels; finds junctions by itself and refuses texts that would lie on each
other or on a wire. Coordinates in grid steps of 1.27 mm."""
import uuid

from symbols import CHARACTER, library, mm

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "wattrig/m2-interposer")
SIZE = {"A4": (233, 165), "A3": (330, 233)}
PROJECT = "m2-interposer"


def uid(*words):
    return str(uuid.uuid5(NAMESPACE, "/".join(str(w) for w in words)))


def effects(justify="left", size=1.27, hide=False):
    where = "" if justify == "center" else f" (justify {justify})"
    return f"(effects (font (size {size} {size})){where}{' (hide yes)' if hide else ''})"


class Part:
    def __init__(self, symbol, reference, x, y):
        self.symbol, self.reference, self.x, self.y = symbol, reference, x, y

    def pin(self, name):
        for number, (x, y, _, pin_name, _) in self.symbol.pins.items():
            if name in (number, pin_name):
                return self.x + x, self.y + y
        raise KeyError(f"{self.reference} has no pin {name}")

    def side(self, name):
        return next(p[2] for n, p in self.symbol.pins.items() if name in (n, p[3]))


class Sheet:
    symbols = library()

    def __init__(self, name, title, parts, size="A4"):
        self.name, self.title, self.parts_table, self.size = name, title, parts, size
        self.parts, self.segments, self.out, self.texts, self.bodies, self.used = [], [], [], [], [], set()
        self.used_symbols = set()
        self.label_points = []
        self.power_count = 0
        self.option = False  # all parts of the sheet are left out of the standard build

    # --- what is drawn
    def _symbol(self, symbol, reference, value, x, y, fields=(), hide_value=False):
        drawn = self.symbols[symbol]
        self.used_symbols.add(symbol)
        part = Part(drawn, reference, x, y)
        identity = uid(self.name, reference)
        key = dict(fields)
        in_bom = "no" if drawn.power or symbol == "TESTPOINT" else "yes"
        body = [f'(symbol (lib_id "wattrig:{symbol}") (at {mm(x)} {mm(y)} 0) (unit 1) (exclude_from_sim no) (in_bom {in_bom}) '
                f'(on_board yes) (dnp no) (uuid "{identity}")']
        for name, text, at, hide in (("Reference", reference, drawn.reference_at, drawn.power),
                                     ("Value", value, drawn.value_at or (0, 0, "left"), hide_value or drawn.value_at is None)):
            body.append(f'(property "{name}" "{text}" (at {mm(x + at[0])} {mm(y + at[1])} 0) {effects(at[2], hide=hide)})')
            if not hide:
                self._text(f"{reference} {name}", text, x + at[0], y + at[1], at[2])
        for name, text in key.items():
            body.append(f'(property "{name}" "{text}" (at {mm(x)} {mm(y)} 0) {effects(hide=True)})')
        for number in drawn.pins:
            body.append(f'(pin "{number}" (uuid "{uid(self.name, reference, number)}"))')
        body.append(f'(instances (project "{PROJECT}" (path "/{uid("root")}/{uid("sheet", self.name)}" '
                    f'(reference "{reference}") (unit 1)))))')
        self.out.append("\n    ".join(body))
        left, top, right, bottom = drawn.body
        self.bodies.append((reference, (x + left, y + top, x + right, y + bottom)))
        self.parts.append(part)
        return part

    def part(self, symbol, reference, key, x, y):
        """One real part; `key` names its line in parts.json."""
        entry = self.parts_table[key]
        fields = [("Footprint", entry["footprint"]), ("Datasheet", ""), ("Part", key), ("Manufacturer", entry["manufacturer"]),
                  ("MPN", entry["mpn"]), ("Tolerance", entry.get("tolerance", "")), ("TempCo", entry.get("tempco", "")),
                  ("SecondSource", entry.get("second_source", ""))]
        fields.append(("Build", "option" if self.option or entry.get("option") else "standard"))
        return self._symbol(symbol, reference, entry["value"], x, y, fields)

    def power(self, net, x, y):
        self.power_count += 1
        self._symbol(net, f"#PWR{self.name}{self.power_count:02d}", net, x, y)

    def ground(self, part, pin, net="GND", run=2):
        x, y = part.pin(pin)
        step = {"L": -run, "R": run}.get(part.side(pin), 0)
        self.wire((x, y), (x + step, y))
        self.power(net, x + step, y)

    def gnd(self, x, y):
        self.power("GND", x, y)

    def flag(self, x, y):
        self.power("PWR_FLAG", x, y)

    def test_point(self, reference, x, y, name):
        return self._symbol("TESTPOINT", reference, name, x, y, [("Footprint", "TestPoint:TestPoint_Pad_D1.5mm")])

    def wire(self, *points):
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            corner = [(x1, y1), (x2, y2)] if x1 == x2 or y1 == y2 else [(x1, y1), (x2, y1), (x2, y2)]
            for a, b in zip(corner, corner[1:]):
                if a != b:
                    self.segments.append((a, b))

    def label(self, net, x, y, side):
        """A label that joins sheets; its text goes to `side` (L or R) of the point."""
        self.label_points.append((x, y))
        angle, justify = (180, "right") if side == "L" else (0, "left")
        self.out.append(f'(global_label "{net}" (shape bidirectional) (at {mm(x)} {mm(y)} {angle}) (fields_autoplaced yes) '
                        f'{effects(justify)} (uuid "{uid(self.name, "label", net, x, y)}"))')
        width = len(net) * CHARACTER + 3
        box = (x - width, y - 0.9, x, y + 0.9) if side == "L" else (x, y - 0.9, x + width, y + 0.9)
        self.texts.append((f"label {net}", box))

    def tag(self, part, pin, net, length=2):
        x, y = part.pin(pin)
        side = part.side(pin)
        end = x - length if side == "L" else x + length
        self.wire((x, y), (end, y))
        self.label(net, end, y, side)

    def unconnected(self, part, *pins):
        for pin in pins:
            x, y = part.pin(pin)
            self.out.append(f'(no_connect (at {mm(x)} {mm(y)}) (uuid "{uid(self.name, "nc", x, y)}"))')

    def note(self, text, x, y, size=1.27):
        lines = text.split("\n")
        escaped = text.replace("\n", "\\n")
        self.out.append(f'(text "{escaped}" (exclude_from_sim no) (at {mm(x)} {mm(y)} 0) '
                        f'(effects (font (size {size} {size})) (justify left top)) (uuid "{uid(self.name, "note", text)}"))')
        scale = size / 1.27
        width = max(len(line) for line in lines) * CHARACTER * scale
        self.texts.append((f"note {lines[0][:20]}", (x, y, x + width, y + 1.7 * scale * len(lines))))

    # --- groups that come often
    def down(self, symbol, reference, key, x, y, to="GND"):
        """A part hanging at (x, y), its other leg to ground."""
        part = self.part(symbol, reference, key, x, y + 3)
        if to:
            self.power(to, x, y + 6)
        return part

    def up(self, symbol, reference, key, x, y, net):
        """A part standing on (x, y), its other leg to a supply."""
        part = self.part(symbol, reference, key, x, y - 3)
        self.power(net, x, y - 6)
        return part

    def supply_left(self, part, pin, net, run=3):
        x, y = part.pin(pin)
        self.wire((x, y), (x - run, y))
        self.power(net, x - run, y)

    def supply_right(self, part, pin, net, run=3):
        x, y = part.pin(pin)
        self.wire((x, y), (x + run, y))
        self.power(net, x + run, y)

    # --- checks and output
    def _text(self, what, text, x, y, justify):
        width = len(text) * CHARACTER
        left = {"left": x, "right": x - width, "center": x - width / 2}[justify]
        self.texts.append((what, (left, y - 0.8, left + width, y + 0.8)))

    def overlaps(self):
        """Texts on texts, on bodies of other parts, or on wires; bodies on bodies."""
        def hit(a, b):
            return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        found = []
        for k, (name, box) in enumerate(self.texts):
            for other, there in self.texts[k + 1:]:
                if hit(box, there):
                    found.append(f"{self.name}: {name} lies on {other}")
            for owner, body in self.bodies:
                if hit(box, body) and not name.startswith(owner + " "):
                    found.append(f"{self.name}: {name} lies on {owner}")
            for (x1, y1), (x2, y2) in self.segments:
                if hit(box, (min(x1, x2) - 0.05, min(y1, y2) - 0.05, max(x1, x2) + 0.05, max(y1, y2) + 0.05)):
                    if not (name.startswith("label") and y1 == y2 and (box[0] in (x1, x2) or box[2] in (x1, x2))):
                        found.append(f"{self.name}: {name} lies on a wire at {x1},{y1}")
            width, height = SIZE[self.size]
            if box[0] < 9 or box[1] < 9 or box[2] > width - 9 or box[3] > height - 9:
                found.append(f"{self.name}: {name} leaves the page")
            if box[2] > width - 94 and box[3] > height - 40:
                found.append(f"{self.name}: {name} lies on the title block")
        for k, (owner, body) in enumerate(self.bodies):
            for other, there in self.bodies[k + 1:]:
                if hit(body, there):
                    found.append(f"{self.name}: {owner} lies on {other}")
        return found

    def _junctions(self):
        ends = {}
        for a, b in self.segments:
            ends[a] = ends.get(a, 0) + 1
            ends[b] = ends.get(b, 0) + 1
        for part in self.parts:
            for number in part.symbol.pins:
                point = part.pin(number)
                ends[point] = ends.get(point, 0) + 1
        for point, count in sorted(ends.items()):
            x, y = point
            inside = any((x1 == x2 == x and min(y1, y2) < y < max(y1, y2)) or (y1 == y2 == y and min(x1, x2) < x < max(x1, x2))
                         for (x1, y1), (x2, y2) in self.segments)
            if count > 2 or inside:
                yield point

    def _cut(self):
        """KiCad joins wires at their ends only: cut each where an end, a pin or a label touches it."""
        points = {p for segment in self.segments for p in segment} | set(self.label_points)
        points |= {part.pin(number) for part in self.parts for number in part.symbol.pins}
        out = []
        for a, b in self.segments:
            (x1, y1), (x2, y2) = min(a, b), max(a, b)
            on = sorted(p for p in points if x1 <= p[0] <= x2 and y1 <= p[1] <= y2)
            out += zip(on, on[1:])
        return sorted(set(out))

    def text(self):
        symbols = "\n  ".join(self.symbols[name].text() for name in sorted(self.used_symbols))
        wires = [f'(wire (pts (xy {mm(x1)} {mm(y1)}) (xy {mm(x2)} {mm(y2)})) (stroke (width 0) (type default)) '
                 f'(uuid "{uid(self.name, "wire", k)}"))' for k, ((x1, y1), (x2, y2)) in enumerate(self._cut())]
        dots = [f'(junction (at {mm(x)} {mm(y)}) (diameter 0) (color 0 0 0 0) (uuid "{uid(self.name, "dot", x, y)}"))'
                for x, y in self._junctions()]
        body = "\n  ".join(dots + wires + self.out)
        return (f'(kicad_sch (version 20250114) (generator "wattrig") (generator_version "1")\n  (uuid "{uid("page", self.name)}") '
                f'(paper "{self.size}")\n  (title_block (title "{self.title}") (rev "A") (company "wattrig m2-interposer") '
                f'(comment 1 "CERN-OHL-P-2.0"))\n  (lib_symbols\n  {symbols})\n  {body}\n  (embedded_fonts no))\n')
