"""The sheets around the controller: connector, side-band, controller, supplies."""
from sheet import Sheet
from sheets import GROUND, HOST_3V3, REST, TAPPED, THROUGH
from symbols import box


def connector_rows():
    order = [n for n in HOST_3V3] + [None] + [n for n in TAPPED] + [None] + list(THROUGH) + [None] + list(REST) + [None] + list(GROUND)
    names = {**{n: "3.3V" for n in HOST_3V3}, **TAPPED, **THROUGH, **{n: "NC" for n in REST}, **{n: "GND" for n in GROUND}}
    return [None if n is None else (str(n), names[n].replace("#", ""), "passive") for n in order], order


def m2(parts):
    rows, order = connector_rows()
    Sheet.symbols["M2_EDGE"] = box("M2_EDGE", "J", [], rows, 14)
    Sheet.symbols["M2_SOCKET"] = box("M2_SOCKET", "J", rows, [], 14)
    s = Sheet("m2", "M.2 Key M: card edge to the host, socket for the drive", parts, "A3")
    j1 = s.part("M2_EDGE", "J1", "m2_edge", 50, 100)
    j2 = s.part("M2_SOCKET", "J2", "m2_socket", 220, 100)
    left, right = j1.pin("2")[0], j2.pin("2")[0]
    for part, x, step, net in ((j1, left, 4, "+3V3_HOST"), (j2, right, -4, "+3V3_DRIVE")):
        for pins, name in ((HOST_3V3, net), (GROUND, "GND")):
            for n in pins:
                s.wire(part.pin(str(n)), (x + step, part.pin(str(n))[1]))
            ys = [part.pin(str(n))[1] for n in pins]
            s.wire((x + step, min(ys)), (x + step, max(ys)))
            if name == "GND":
                s.wire((x + step, max(ys)), (x + step, max(ys) + 2)), s.gnd(x + step, max(ys) + 2)
            else:
                middle = ys[len(ys) // 2]
                s.wire((x + step, middle), (x + 2 * step, middle))
                s.label(name, x + 2 * step, middle, "R" if step > 0 else "L")
    for n, name in TAPPED.items():
        s.tag(j1, str(n), name, 6), s.tag(j2, str(n), name, 6)
    for n in list(THROUGH) + list(REST):
        s.wire(j1.pin(str(n)), j2.pin(str(n)))
    top = j1.pin(str(list(THROUGH)[0]))[1]
    s.note("Lanes and clock: 85 Ohm pairs, straight through, shortest path, no tap,\n"
           "no via but those at J2. 6, 8, 30 and the rest go\nthrough unchanged.", 250, top)
    s.note("M.2 is not hot-plug: power the host off\nbefore touching either connector.", 250, 30)
    s.note("All nine 3.3 V contacts of both connectors carry current:\n0.5 A each, 4.5 A in sum.", 90, 30)
    return s


def sideband(parts):
    s = Sheet("sideband", "Side-band: taps that do not load the bus when USB is off", parts)
    pairs = ((("CLKREQ#", "CLKREQ"), ("PERST#", "PERST")), (("LED1#", "ACTIVITY_LED"), ("PEWAKE#", "PEWAKE")),
             (("M2_DEVSLP", "DEVSLP"), ("TRIGGER_JACK", "TRIGGER_IN")))
    number = 50
    for k, pair in enumerate(pairs):
        y = 34 + 32 * k
        u = s.part("BUFFER_2", f"U{9 + k}", "buffer", 96, y)
        for (signal, tap), pin, out, row in zip(pair, ("1A", "2A"), ("1Y", "2Y"), (-5, 5)):
            x, py = u.pin(pin)
            sy = y + row - 3
            s.part("R_H", f"R{number}", "r_4k7", 62, sy)
            number += 1
            s.label(signal, 56, sy, "L"), s.wire((56, sy), (59, sy))
            s.wire((65, sy), (76 if row < 0 else 79, sy), (76 if row < 0 else 79, py), (x, py))
            s.tag(u, out, tap, 10)
        vx, vy = u.pin("VCC")
        s.wire((vx, vy), (140, vy)), s.power("+3V3_RIG", 134, vy)
        s.down("C_V", f"C{50 + k}", "c_100n", 140, vy)
        s.ground(u, "GND")
    e = s.part("ESD_4", "D4", "esd", 196, 34)
    for pin, net in (("1", "CLKREQ#"), ("2", "PERST#"), ("4", "LED1#"), ("5", "PEWAKE#")):
        s.tag(e, pin, net, 3)
    for d, pins, at in ((e, ("3", "8"), 34),):
        a, b = d.pin("3"), d.pin("8")
        s.wire(a, (a[0] + 3, a[1]), (a[0] + 3, b[1] + 2)), s.wire(b, (a[0] + 3, b[1])), s.gnd(a[0] + 3, b[1] + 2)
    f = s.part("ESD_4", "D5", "esd", 196, 66)
    for pin, net in (("1", "M2_DEVSLP"), ("2", "TRIGGER_JACK"), ("4", "SYNC_JACK")):
        s.tag(f, pin, net, 3)
    s.unconnected(f, "5")
    a, b = f.pin("3"), f.pin("8")
    s.wire(a, (a[0] + 3, a[1]), (a[0] + 3, b[1] + 2)), s.wire(b, (a[0] + 3, b[1])), s.gnd(a[0] + 3, b[1] + 2)
    j = s.part("HEADER_2R", "J5", "header_2", 22, 134)
    s.tag(j, "1", "TRIGGER_JACK", 14), s.ground(j, "2")
    s.down("R_V", "R57", "r_100k", j.pin("1")[0] + 8, j.pin("1")[1])
    s.wire((70, 134), (73, 134)), s.label("SYNC_OUT", 70, 134, "L"), s.part("R_H", "R56", "r_330", 76, 134)
    s.wire((79, 134), (82, 134)), s.label("SYNC_JACK", 82, 134, "R")
    k = s.part("HEADER_2", "J6", "header_2", 126, 134)
    x, y = k.pin("1")
    s.wire((x, y), (x - 3, y)), s.label("SYNC_JACK", x - 3, y, "L")
    s.ground(k, "2")
    s.note("4.7k right at the bus line keeps the stub short; the buffer's inputs are high-impedance without supply (Ioff),\n"
           "so a rig without USB draws nothing from the bus.", 14, 12)
    return s


def controller(parts):
    s = Sheet("controller", "Controller: Raspberry Pi Pico, EEPROM, reference of its ADC", parts)
    p = s.part("PICO", "A1", "pico", 116, 56)
    left = {"GPIO4": "I2C_SDA", "GPIO5": "I2C_SCL", "GPIO6": "CLKREQ", "GPIO7": "PERST", "GPIO8": "ACTIVITY_LED", "GPIO9": "PEWAKE",
            "GPIO10": "DEVSLP", "GPIO11": "TRIGGER_IN", "GPIO12": "SYNC_OUT", "GPIO13": "DRIVE_POWER", "GPIO14": "SLOW_ALERT"}
    right = {"GPIO16": "ADC_MISO", "GPIO17": "ADC_CS", "GPIO18": "ADC_SCK", "GPIO19": "ADC_MOSI", "GPIO20": "ADC_DRDY",
             "GPIO21": "ADC_CLOCK", "GPIO22": "ADC_SYNC", "GPIO26_ADC0": "PEAK_INPUT", "GPIO27_ADC1": "SHUNT_NTC"}
    for side in (left, right):
        for pin, net in side.items():
            s.tag(p, pin, net, 4)
    s.unconnected(p, "20", "1", "2", "4", "5", "30", "37", "34")
    # supplies of the module
    vbus, vsys, v3 = p.pin("40"), p.pin("39"), p.pin("36")
    s.wire(vbus, (146, vbus[1])), s.power("+5V_USB", 146, vbus[1])
    s.unconnected(p, "39")
    s.wire(v3, (158, v3[1])), s.power("+3V3_RIG", 158, v3[1])
    grounds = [p.pin(n) for n in ("3", "8", "13", "18", "23", "28", "38")]
    x = grounds[0][0] + 3
    for g in grounds:
        s.wire(g, (x, g[1]))
    s.wire((x, grounds[0][1]), (x, grounds[-1][1] + 2))
    s.gnd(x, grounds[-1][1] + 2)
    agnd, vref = p.pin("AGND"), p.pin("ADC_VREF")
    s.wire(agnd, (x, agnd[1]), (x, grounds[0][1]))
    s.wire(vref, (182, vref[1]))
    u = s.part("LM4040", "U12", "ref_3v0", 196, vref[1] + 1)
    s.wire((182, vref[1]), u.pin("K"))
    s.unconnected(u, "NC")
    s.ground(u, "A")
    s.down("C_V", "C61", "c_1u", 172, vref[1])
    s.note("The Pico feeds ADC_VREF through 200 Ohm (its R7);\nU12 holds it at 3.0 V.", 158, vref[1] + 14)
    # NTC at the shunt
    s.label("SHUNT_NTC", 40, 118, "R"), s.wire((26, 118), (40, 118))
    s.up("R_V", "R60", "r_10k", 26, 118, "+3V3_RIG")
    s.down("R_V", "R61", "ntc_10k", 26, 118)
    s.note("R61 lies at the shunt", 14, 130)
    # EEPROM and the I2C pull-ups
    e = s.part("EEPROM", "U13", "eeprom", 110, 128)
    a = [e.pin(n) for n in ("A0", "A1", "A2")]
    for q in a:
        s.wire(q, (q[0] - 3, q[1]))
    s.wire((a[0][0] - 3, a[0][1]), (a[0][0] - 3, a[2][1]))
    s.wire((a[0][0] - 3, a[1][1]), (a[0][0] - 9, a[1][1]), (a[0][0] - 9, a[1][1] + 2)), s.gnd(a[0][0] - 9, a[1][1] + 2)
    # write protect: open = writable, closed = calibration locked
    wx, wy = e.pin("WP")
    s.wire((wx, wy), (74, wy))
    s.down("R_V", "R62", "r_10k", 84, wy)
    j = s.part("HEADER_2R", "J7", "header_2", 66, wy - 1)
    x1, y1 = j.pin("1")
    s.wire((x1, y1), (x1 + 12, y1)), s.power("+3V3_RIG", x1 + 12, y1)
    s.wire(j.pin("2"), (74, wy))
    s.supply_right(e, "VCC", "+3V3_RIG", 4)
    s.tag(e, "SDA", "I2C_SDA", 10), s.tag(e, "SCL", "I2C_SCL", 10)
    s.ground(e, "GND")
    for k, net in enumerate(("I2C_SDA", "I2C_SCL")):
        s.label(net, 62 - 22 * k, 104, "R"), s.wire((58 - 22 * k, 104), (62 - 22 * k, 104))
        s.up("R_V", f"R{63 + k}", "r_4k7", 58 - 22 * k, 104, "+3V3_RIG")
    return s


def supply(parts):
    s = Sheet("supply", "Supplies of the rig, and the USB isolator (option)", parts)
    s.note("All of the rig lives from USB 5 V; nothing is taken from the drive's rail. Analog 3.3 V has its own regulator.", 14, 12)
    s.wire((22, 32), (60, 32))
    s.power("+5V_USB", 22, 32)
    s.down("C_V", "C70", "c_10u", 30, 32)
    u = s.part("LP5907", "U14", "ldo_3v3", 72, 33)
    s.wire((60, 32), u.pin("IN"))
    ex, ey = u.pin("EN")
    s.wire((ex, ey), (60, ey), (60, 32))
    ox, oy = u.pin("OUT")
    s.wire((ox, oy), (120, oy))
    s.unconnected(u, "4")
    s.ground(u, "GND")
    s.down("C_V", "C71", "c_1u", 92, oy), s.down("C_V", "C72", "c_10u", 106, oy)
    s.power("+3V3A", 99, oy)
    s.test_point("TP5", 120, oy, "+3V3A")
    for k, net in enumerate(("GND", "GND_ISO")):
        s.flag(150 + 20 * k, 30), s.wire((150 + 20 * k, 30), (150 + 20 * k, 34)), s.power(net, 150 + 20 * k, 34)
    # isolator: replaces the Pico's own jack, through the pads under the module
    s.option = True
    s.note("Option against ground loops: PC - J8 - U15 - Pico (test pads TP2, TP3 under the module); its own USB jack stays empty.", 14, 54)
    j = s.part("USB", "J8", "usb_jack", 24, 80)
    i = s.part("ADUM3160", "U15", "usb_isolator", 100, 84)
    for pin, net in (("2", "USB_PC_N"), ("3", "USB_PC_P")):
        s.tag(j, pin, net, 3)
    s.unconnected(j, "4")
    x, y = j.pin("VBUS")
    s.wire((x, y), (74, y), (74, i.pin("VBUS1")[1]), i.pin("VBUS1"))
    s.power("+5V_ISO", 50, y), s.flag(62, y)
    s.wire(j.pin("GND"), (j.pin("GND")[0] + 3, j.pin("GND")[1])), s.power("GND_ISO", j.pin("GND")[0] + 3, j.pin("GND")[1])
    v1, pden, spu = i.pin("VDD1"), i.pin("PDEN"), i.pin("SPU")
    s.wire(v1, (66, v1[1])), s.down("C_V", "C73", "c_100n", 66, v1[1], to="GND_ISO")
    s.wire(pden, (77, pden[1]), (77, v1[1])), s.wire(spu, (77, spu[1]), (77, pden[1]))
    s.tag(i, "UD-", "USB_PC_N", 4), s.tag(i, "UD+", "USB_PC_P", 4)
    a, b = i.pin("GND1"), i.pin("8")
    s.wire(a, (a[0] - 3, a[1]), (a[0] - 3, b[1] + 2)), s.wire(b, (a[0] - 3, b[1])), s.power("GND_ISO", a[0] - 3, b[1] + 2)
    vb2, v2, spd, pin = (i.pin(n) for n in ("VBUS2", "VDD2", "SPD", "PIN"))
    s.wire(vb2, (128, vb2[1])), s.power("+5V_USB", 128, vb2[1])
    s.wire(v2, (140, v2[1])), s.down("C_V", "C74", "c_100n", 140, v2[1])
    s.wire(spd, (123, spd[1]), (123, v2[1])), s.wire(pin, (123, pin[1]), (123, spd[1]))
    s.tag(i, "DD-", "USB_PICO_N", 4), s.tag(i, "DD+", "USB_PICO_P", 4)
    a, b = i.pin("9"), i.pin("15")
    s.wire(a, (a[0] + 3, a[1]), (a[0] + 3, b[1] + 2)), s.wire(b, (a[0] + 3, b[1])), s.gnd(a[0] + 3, b[1] + 2)
    s.option = False
    s.test_point("TP6", 186, 84, "PICO D-"), s.test_point("TP7", 186, 94, "PICO D+")
    s.wire((180, 84), (186, 84)), s.label("USB_PICO_N", 180, 84, "L")
    s.wire((180, 94), (186, 94)), s.label("USB_PICO_P", 180, 94, "L")
    s.option = True
    d = s.part("ISOLATED_5V", "U16", "dcdc_iso", 100, 120)
    x, y = d.pin("+VIN")
    s.wire((x, y), (x - 4, y)), s.power("+5V_ISO", x - 4, y)
    s.ground(d, "-VIN", "GND_ISO", 7)
    x, y = d.pin("+VOUT")
    s.wire((x, y), (118, y)), s.label("PICO_VBUS_ISO", 118, y, "R")
    s.ground(d, "-VOUT")
    s.option = False
    s.test_point("TP8", 160, 106, "VBUS for the Pico")
    s.wire((154, 106), (160, 106)), s.label("PICO_VBUS_ISO", 154, 106, "L")
    return s
