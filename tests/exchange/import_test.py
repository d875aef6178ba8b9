#!/usr/bin/env python3
"""Other instruments' recordings: what went in comes out, holes stay holes, and what cannot be read is refused by line.

import_test.py WATTRIG TEST     one test, for CTest
import_test.py WATTRIG          all of them

The files are written here in each format's own manner from powers that the test knows; energies are worked out here, by sums over rows.
"""
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def wattrig(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=240)


def imported(parent, text, format_, *more):
    file = parent / "input.txt"
    file.write_text(text, encoding="utf-8")
    out = parent / "run"
    done = wattrig("import", format_, file, "--out", out, "--json", *more)
    expect(done.returncode == 0, f"import {format_}: {done.stderr}")
    return json.loads(done.stdout), out


def refused(parent, text, format_, *words, more=()):
    file = parent / "bad.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = wattrig("import", format_, file, "--out", parent / "bad", *more)
    lines = done.stderr.strip().split("\n")
    expect(done.returncode in (1, 2) and len(lines) == 1, f"expected one line of refusal, came {done.returncode}: {done.stderr!r} {done.stdout[:80]!r}")
    for word in words:
        expect(word in lines[0], f"expected {word!r} in {lines[0]!r}")


def load(seed, count, period):
    """Volts and amperes of `count` rows: levels, a spike, noise."""
    chance = random.Random(seed)
    rows = []
    for k in range(count):
        level = [0.3, 1.2, 0.05, 2.0][(k * 4) // count]
        rows.append((k * period, 3.3 - 0.02 * level + chance.gauss(0, 1e-3), level + chance.gauss(0, 5e-3)))
    rows[count // 3] = (rows[count // 3][0], 3.2, 4.5)
    return rows


def energy_of(rows, period):
    return math.fsum(v * i for _, v, i in rows) * period


FORMATS = {
    # name: (rows, seconds a row, text of the file)
    "quarch": (20_000, 4e-6 * 25, lambda rows: "Time uS,3V3 voltage mV,3V3 current mA,3V3 power mW\n" + "".join(
        f"{t * 1e6:.0f},{v * 1e3:.6f},{i * 1e3:.6f},{v * i * 1e3:.6f}\n" for t, v, i in rows)),
    "joulescope": (40_000, 1e-5, lambda rows: "#time (s),current (A),voltage (V),power (W)\n" + "".join(
        f"{t:.9f},{i:.9f},{v:.9f},{v * i:.9f}\n" for t, v, i in rows)),
    "powersensor3": (10_000, 50e-6, lambda rows: "marker time dt_micro device_timestamp I0 V0 P0 total\n" + "".join(
        f"S {t:.6f} 50 {k * 50} {i:.6f} {v:.6f} {v * i:.9f} {v * i:.9f}\n" for k, (t, v, i) in enumerate(rows))),
    "ppk2": (10_000, 1e-4, lambda rows: "Timestamp(ms),Current(uA),D0-D7\n" + "".join(
        f"{t * 1e3:.3f},{i * 1e6:.3f},00000000\n" for t, _, i in rows)),
}


def test_each_format_keeps_its_energy():
    for name, (count, period, text) in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows = load(1, count, period)
            more = ["--accuracy", "1"]
            if name == "ppk2":
                rows = [(t, 3.3, i) for t, _, i in rows]
                more += ["--volts", "3.3"]
            result, out = imported(pathlib.Path(folder), text(rows), name, *more)
            phase = result["phases"][0]
            # Of the phase: from the first row to the last, so half a row at each end lies outside.
            expected = energy_of(rows, period) / (count * period)
            expect(abs(phase["watts"]["value"] / expected - 1) < 2e-4, f"{name}: mean {phase['watts']['value']} W, expected {expected} W")
            expect(phase["power"]["coverage"] > 0.999, f"{name}: coverage {phase['power']['coverage']}")
            # 1 % with k = 2 of the power, and nothing else.
            expect(abs(phase["watts"]["u"] / (0.01 * expected) - 1) < 0.05, f"{name}: U {phase['watts']['u']}")
            expect(not result["power_simulated"] and result["power_measured"], f"{name}: flags")
            expect((out / "report.html").exists() and "another instrument" in " ".join(result["warnings"]), f"{name}: report")
            spike = max(v * i for _, v, i in rows)
            # Shorter than a cell, a row's spike is averaged with its neighbours.
            expect(phase["power"]["maximum_watts"] > spike * min(1, period / 30.72e-6) * 0.95, f"{name}: the spike of {spike} W is gone: {phase['power']['maximum_watts']}")


def test_export_gives_the_values_back():
    with tempfile.TemporaryDirectory() as folder:
        parent = pathlib.Path(folder)
        period = 1e-3
        rows = load(2, 3000, period)
        _, out = imported(parent, "time,voltage,current\n" + "".join(f"{t:.6f},{v:.9f},{i:.9f}\n" for t, v, i in rows), "csv")
        target = parent / "trace.csv"
        done = wattrig("export", out, "--format", "csv", "--resolution", "1ms", "-o", target)
        expect(done.returncode == 0, done.stderr)
        with open(target, newline="") as file:
            table = list(csv.reader(file))
        header, body = table[0], table[1:]
        power = next(k for k, name in enumerate(header) if "power" in name.lower() or "W]" in name)
        time = 0
        seen = 0
        for row in body:
            at = float(row[time])
            k = math.floor(at / period + 1e-6) + 1  # a row of 1 ms stands between two of ours
            if not 2 < k < len(rows) - 2 or row[power] == "":
                continue
            expected = (rows[k - 1][1] * rows[k - 1][2] + rows[k][1] * rows[k][2]) / 2
            got = float(row[power])
            expect(abs(got - expected) < 0.04 * abs(expected) + 0.002, f"at {at} s: {got} W, expected about {expected} W")
            seen += 1
        expect(seen > 2500, f"only {seen} rows")


def test_holes_stay_holes():
    with tempfile.TemporaryDirectory() as folder:
        period = 1e-4
        rows = load(3, 10_000, period)
        kept = [r for k, r in enumerate(rows) if not 4000 <= k < 5000]
        lines = ["Time (us);Voltage (V);Current (A)"]
        for k, (t, v, i) in enumerate(kept):
            decimal = lambda x, n: f"{x:.{n}f}".replace(".", ",")  # noqa: E731
            lines.append(f"{t * 1e6:.0f};{decimal(v, 6)};" + ("" if k in (100, 101) else decimal(i, 6)))
        result, _ = imported(pathlib.Path(folder), "\n".join(lines) + "\n", "csv")
        phase = result["phases"][0]
        words = " ".join(result["warnings"])
        expect("2 of 9000 rows hold no value, the first in line 102" in words, words)
        expect("1 holes" in words, words)
        expect(abs(phase["power"]["coverage"] - (1 - 1002 / 10_000)) < 3e-3, f"coverage {phase['power']['coverage']}")
        expect(phase["watts"]["u"] is None, f"an uncertainty of an instrument that states none: {phase['watts']['u']}")


def test_phases_and_power_alone():
    with tempfile.TemporaryDirectory() as folder:
        parent = pathlib.Path(folder)
        (parent / "phases.csv").write_text("label,from,to\nidle, before,0.1,0.9\nload,1.1,1.9\n")
        text = "t [ms]\tPower [mW]\n" + "".join(f"{k}\t{500 if k < 1000 else 2500}\n" for k in range(2000))
        result, _ = imported(parent, text, "csv", "--phases", parent / "phases.csv", "--drive", "EXAMPLE 1 TB")
        means = {p["label"]: p["watts"]["value"] for p in result["phases"]}
        expect(set(means) == {"idle, before", "load"}, means)
        expect(abs(means["idle, before"] - 0.5) < 1e-6 and abs(means["load"] - 2.5) < 1e-6, means)
        expect(result["drive"] == "EXAMPLE 1 TB" and any("no voltage" in line for line in result["warnings"]), result["warnings"])


def test_mapping_file():
    with tempfile.TemporaryDirectory() as folder:
        parent = pathlib.Path(folder)
        mapping = {"instrument": "bench supply log", "delimiter": ";", "decimal": ",", "comment": "%", "header": False, "skip_lines": 2,
                   "time": {"column": 2, "unit": "ms"}, "amperes": {"column": 3, "unit": "mA"}, "fixed_volts": 5.0, "accuracy_percent": 0.5}
        (parent / "map.json").write_text(json.dumps(mapping))
        text = "made by somebody\non a day\n" + "% a remark\n" + "".join(f"x;{k},0;{200 + k % 2},5\n" for k in range(1000))
        result, _ = imported(parent, text, "csv", "--mapping", parent / "map.json")
        phase = result["phases"][0]
        expect(abs(phase["watts"]["value"] - 5 * 0.201) < 1e-4, phase["watts"])
        expect(abs(phase["watts"]["u"] / (0.005 * 5 * 0.201) - 1) < 0.05 and "bench supply log" in result["rig"], (phase["watts"], result["rig"]))
        for change, words in (({"tim": 1}, ("tim",)), ({"time": None}, ("time",)), ({"amperes": {"column": 3, "unit": "furlong"}}, ("amperes.unit", "furlong"))):
            (parent / "map.json").write_text(json.dumps({**mapping, **change}))
            refused(parent, text, "csv", "map.json", *words, more=("--mapping", parent / "map.json"))


def test_bad_files_are_refused_by_line():
    with tempfile.TemporaryDirectory() as folder:
        parent = pathlib.Path(folder)
        head = "time,voltage,current\n0,3.3,1\n0.001,3.3,1\n"
        refused(parent, head + "0.0005,3.3,1\n", "csv", "bad.txt:4", "not in order")
        refused(parent, head + "0.002,3.3,one\n", "csv", "bad.txt:4", "a number in column", "one")
        refused(parent, head + "later,3.3,1\n", "csv", "bad.txt:4", "a time as a number")
        refused(parent, head + "0.002,3.3,1e12\n", "csv", "bad.txt:4", "unit")
        refused(parent, "a,b,c\n1,2,3\n", "csv", "header")
        refused(parent, "time,voltage,current\n0,3.3,1\n", "csv", "at least two rows")
        refused(parent, "time,current\n0,1\n1,1\n2,1\n", "csv", "--volts")
        refused(parent, b"time,current\n0,1\n\x00\x01\x02\n", "csv", "bad.txt:3", "binary")
        refused(parent, "", "quarch", "header")
        done = wattrig("import", "quarch", parent / "missing.csv", "--out", parent / "bad")
        expect(done.returncode != 0 and "missing.csv" in done.stderr, done.stderr)
        expect(not (parent / "bad" / "run.json").exists(), "a refused import left a run")


def main():
    tests = {name: function for name, function in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or list(tests):
        try:
            tests[name]()
        except Failed as failed:
            print(f"{name}: {failed}")
            return 1
        print(f"{name}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
