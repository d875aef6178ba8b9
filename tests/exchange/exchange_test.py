#!/usr/bin/env python3
"""Exports of a run against what the run itself says. The files are read by parsers of the standard library, and their figures are
added up here in another way than the program's.

exchange_test.py WATTRIG TEST     one test, for CTest
exchange_test.py WATTRIG          all of them

`self_test` hands each check a file with a planted fault and expects it to be found.
"""
import csv
import datetime
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())

# Keys of fio 3.33's JSON (`fio --output-format=json`), less what was not measured here: iodepth_level, iodepth_submit,
# iodepth_complete, ctx, majf, minf.
FIO_TOP = {"fio version", "timestamp", "timestamp_ms", "time", "jobs", "disk_util"}
FIO_JOB = {"jobname", "groupid", "error", "eta", "elapsed", "job options", "read", "write", "trim", "sync", "job_runtime", "usr_cpu",
           "sys_cpu", "latency_ns", "latency_us", "latency_ms", "latency_depth", "latency_target", "latency_percentile",
           "latency_window"}
FIO_DIRECTION = {"io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios", "short_ios", "drop_ios", "slat_ns",
                 "clat_ns", "lat_ns", "bw_min", "bw_max", "bw_agg", "bw_mean", "bw_dev", "bw_samples", "iops_min", "iops_max",
                 "iops_mean", "iops_stddev", "iops_samples"}


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def near(value, expected, tolerance, what):
    expect(abs(value - expected) <= tolerance * abs(expected), f"{what}: expected {expected} within {tolerance:g}, came {value}")


def wattrig(*arguments, env=None):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=240, env=environment)


def exported(folder, *arguments, env=None):
    done = wattrig("export", folder, *arguments, env=env)
    expect(done.returncode == 0, f"export {arguments}: exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout


class Run:
    """One short simulated run, made once; its result.json."""

    def __init__(self):
        self.keep = tempfile.TemporaryDirectory()
        self.folder = os.path.join(self.keep.name, "run")
        done = wattrig("run", "quick", "--target", "sim:client-1tb", "--scale", "0.2", "--out", self.folder, "--quiet")
        expect(done.returncode == 0, done.stderr.decode())
        self.result = json.loads(pathlib.Path(self.folder, "result.json").read_text())
        self.started = json.loads(pathlib.Path(self.folder, "run.json").read_text())["started"]
        self.origin = self.result["phases"][0]["begin_ns"]

    def power_phases(self):
        for phase in self.result["phases"]:
            power = phase["power"]
            yield phase, (power["begin_ns"] - self.origin) / 1e9, (power["end_ns"] - self.origin) / 1e9


_run = None


def the_run():
    global _run
    if _run is None:
        _run = Run()
    return _run


def table_of(text):
    rows = list(csv.reader(io.StringIO(text.decode())))
    return rows[0], rows[1:]


def check_samples(run, text):
    """Mean of the samples whose middle lies in a phase against the phase's own mean, which comes from integer sums."""
    head, rows = table_of(text)
    expect(head[0] == "time [s]" and head[1] == "power SIMULATED [W]", f"header {head}")
    times = [float(row[0]) for row in rows]
    steps = [b - a for a, b in zip(times, times[1:])]
    expect(min(steps) > 30.71e-6 and max(steps) < 30.73e-6, f"steps of {min(steps)} to {max(steps)} s in a run without losses")
    for phase, begin, end in run.power_phases():
        inside = [row for row, time in zip(rows, times) if begin <= time < end]
        watts = [float(row[1]) for row in inside]
        expect(abs(len(watts) - (end - begin) / 30.72e-6) <= 2, f"{phase['label']}: {len(watts)} samples")
        near(sum(watts) / len(watts), phase["power"]["mean_watts"], 2e-4, phase["label"])
        near(max(watts), phase["power"]["maximum_watts"], 0.02, phase["label"] + " maximum")
        # The power of a sample is (V - I R) I with the shunt of about 10 mOhm.
        for row in inside[:: max(1, len(inside) // 20)]:
            watt, volt, ampere = (float(x) for x in row[1:4])
            near((volt - 0.010 * ampere) * ampere, watt, 2e-3, "power of a sample")


def check_rows(run, text, length):
    """Energy of all rows against the whole of the samples."""
    head, rows = table_of(text)
    power, low, high = (head.index(name) for name in ("power SIMULATED [W]", "power_min SIMULATED [W]", "power_max SIMULATED [W]"))
    energy = time = 0.0
    for row in rows:
        expect(float(row[low]) <= float(row[power]) <= float(row[high]), f"minimum, mean and maximum of {row}")
        energy += float(row[power]) * float(row[1]) * float(row[2])
        time += float(row[1])
    for row in rows[:-1]:
        near(float(row[1]), length, 1e-9, "length of a row")
    expect(all(float(row[2]) == 1 for row in rows), "coverage of a run without losses")
    _, samples = table_of(exported(run.folder, "--format", "csv", "--resolution", "samples"))
    near(energy, sum(float(row[1]) for row in samples) * 30.72e-6, 1e-4, "energy of all rows")
    near(time, len(samples) * 30.72e-6, 1e-4, "time of all rows")


def check_perfetto(run, text):
    trace = json.loads(text)
    events = trace["traceEvents"]
    expect(trace["otherData"]["power_simulated"] is True, "it says that power is simulated")
    slices = [e for e in events if e["ph"] == "X"]
    expect([e["name"] for e in slices] == [p["label"] for p in run.result["phases"]], "a slice for each phase")
    for event, phase in zip(slices, run.result["phases"]):
        near(event["dur"] * 1e3, phase["end_ns"] - phase["begin_ns"], 1e-6, "duration of " + phase["label"])
    counters = [e for e in events if e["ph"] == "C" and e["name"] == "power SIMULATED [W]"]
    expect(0 < len(counters) <= 50_000, f"{len(counters)} values of power")
    zero = slices[0]["ts"]
    for phase, begin, end in run.power_phases():
        inside = [e["args"]["W"] for e in counters if begin * 1e6 + zero <= e["ts"] < end * 1e6 + zero]
        near(sum(inside) / len(inside), phase["power"]["mean_watts"], 5e-3, "counter in " + phase["label"])
    stamps = [e["ts"] for e in counters]
    expect(stamps == sorted(stamps) and stamps[0] >= 0, "times go forward from 0")


def check_fio(run, text):
    document = json.loads(text)
    expect(FIO_TOP <= set(document), f"missing: {FIO_TOP - set(document)}")
    began = datetime.datetime.strptime(run.started, "%Y-%m-%dT%H:%M:%S%z").timestamp()
    expect(document["timestamp"] == began, f"began at {document['timestamp']}, run.json says {run.started}")
    phases = [p for p in run.result["phases"] if p["iops"] is not None]
    expect([j["jobname"] for j in document["jobs"]] == [p["label"] for p in phases], "a job for each phase of I/O")
    for job, phase in zip(document["jobs"], phases):
        expect(FIO_JOB <= set(job), f"missing: {FIO_JOB - set(job)}")
        for name in ("read", "write", "trim"):
            expect(FIO_DIRECTION <= set(job[name]), f"{name}: missing {FIO_DIRECTION - set(job[name])}")
        near(job["read"]["iops"] + job["write"]["iops"], phase["iops"], 1e-9, "IOPS of " + phase["label"])
        near((job["read"]["bw_bytes"] + job["write"]["bw_bytes"]) / 1e6, phase["megabytes_per_second"], 1e-6, "bandwidth")
        for name in ("read", "write"):
            if job[name]["total_ios"] == 0:
                continue
            latency = job[name]["clat_ns"]
            near(latency["mean"] / 1e3, phase[name + "_latency_us"]["mean"], 1e-9, "mean latency")
            near(latency["percentile"]["99.000000"] / 1e3, phase[name + "_latency_us"]["p99"], 0.02, "p99")
            expect(latency["min"] <= latency["percentile"]["1.000000"] <= latency["percentile"]["99.990000"] <= latency["max"], "order")
        shares = sum(sum(job["latency_" + unit].values()) for unit in ("ns", "us", "ms"))
        near(shares, 100, 1e-6, "shares of latency")
        near(job["power"]["watts"]["value"], phase["watts"]["value"], 1e-12, "watts")
        expect(job["power"]["simulated"] is True, "power is called simulated")
        expect(re.fullmatch(r"\d+[kmg]?", job["job options"]["bs"]), f"bs as fio writes it, came {job['job options']['bs']}")


def check_openmetrics(run, text):
    lines = text.decode().split("\n")
    expect(lines[-2:] == ["# EOF", ""], "the end of the text")
    pattern = re.compile(r'([a-z_0-9]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (-?[0-9.e+-]+)')
    seen, types = {}, set()
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            types.add(line.split()[2])
        if line.startswith("#"):
            continue
        match = pattern.fullmatch(line)
        expect(match, f"not of the format: {line}")
        expect(match[1] in types, f"no TYPE before {match[1]}")
        expect('power_simulated="yes"' in match[2], "power is called simulated")
        number = re.search(r'phase="(\d+)"', match[2])
        if number:
            seen[match[1], int(number[1])] = float(match[3])
    for phase in run.result["phases"]:
        near(seen["wattrig_phase_power_watts", phase["number"]], phase["watts"]["value"], 1e-12, "watts")
        if phase["iops"]:
            near(seen["wattrig_phase_bytes_per_second", phase["number"]], phase["megabytes_per_second"] * 1e6, 1e-12, "speed")


def test_samples_add_up_to_the_phases():
    run = the_run()
    check_samples(run, exported(run.folder, "--format", "csv", "--resolution", "samples"))


def test_rows_keep_the_energy():
    run = the_run()
    for text, length in (("1ms", 1e-3), ("7.3ms", 7.3e-3), ("1s", 1)):
        check_rows(run, exported(run.folder, "--format", "csv", "--resolution", text), length)


def test_a_range_is_the_part_of_the_whole():
    run = the_run()
    _, whole = table_of(exported(run.folder, "--format", "csv", "--resolution", "samples"))
    _, part = table_of(exported(run.folder, "--format", "csv", "--resolution", "samples", "--from", "1s", "--to", "1.5s"))
    inside = [row for row in whole if 1.0 <= float(row[0]) - 15.36e-6 < 1.5]
    expect(part == inside, f"{len(part)} rows, {len(inside)} of the whole in that time")


def test_perfetto():
    run = the_run()
    check_perfetto(run, exported(run.folder, "--format", "perfetto"))


def test_fio():
    run = the_run()
    check_fio(run, exported(run.folder, "--format", "fio"))


def test_openmetrics():
    run = the_run()
    check_openmetrics(run, exported(run.folder, "--format", "openmetrics"))


def test_locale_changes_nothing():
    run = the_run()
    done = subprocess.run(["locale", "-a"], capture_output=True, text=True)
    german = [name for name in done.stdout.split() if name.lower().startswith("de_")]
    for form in ("csv", "fio", "perfetto", "openmetrics"):
        plain = exported(run.folder, "--format", form)
        for name in german or ["de_DE.UTF-8"]:
            expect(exported(run.folder, "--format", form, env={"LC_ALL": name}) == plain, f"{form} differs under {name}")


def test_refusals():
    run = the_run()
    out = os.path.join(run.keep.name, "there.csv")
    pathlib.Path(out).write_text("mine")
    cases = [(("--format", "csv", "--resolution", "1us"), 2, "30.72us"), (("--format", "csv", "--from", "2s", "--to", "1s"), 2, "--from"),
             (("--format", "csv", "-o", out), 2, "exists"), (("--format", "csv", "--from", "9000s"), 2, "there is none"),
             (("--format", "xml"), 2, "csv")]
    for arguments, code, word in cases:
        done = wattrig("export", run.folder, *arguments)
        expect(done.returncode == code and word in done.stderr.decode() and done.stderr.count(b"\n") == 1,
               f"{arguments}: {done.returncode} {done.stderr.decode()}")
    expect(pathlib.Path(out).read_text() == "mine", "a file that exists was written over")
    folder = os.path.join(run.keep.name, "bare")
    done = wattrig("run", "quick", "--target", "sim:client-1tb", "--rig", "none", "--scale", "0.05", "--out", folder, "--quiet")
    expect(done.returncode == 0, done.stderr.decode())
    done = wattrig("export", folder, "--format", "csv")
    expect(done.returncode == 2 and b"no power" in done.stderr, f"without power: {done.stderr.decode()}")
    expect(b'"power"' not in exported(folder, "--format", "fio"), "power in the fio JSON of a run without a rig")


def test_self_test():
    run = the_run()
    samples = exported(run.folder, "--format", "csv", "--resolution", "samples")
    lines = samples.decode().split("\r\n")
    scaled = [lines[0]] + [re.sub(r",([0-9.]+),", lambda m: f",{float(m[1]) * 1.001:.9g},", line, count=1) for line in lines[1:]]
    swapped = [lines[0]] + [",".join([f[0], f[1], f[3], f[2], f[4]]) for f in (line.split(",") for line in lines[1:-1])] + [""]
    shifted = [lines[0]] + [re.sub(r"^(-?[0-9.]+)", lambda m: f"{float(m[1]) + 0.05:.9f}", line) for line in lines[1:]]
    lost = lines[:5000] + lines[5001:]
    fio = json.loads(exported(run.folder, "--format", "fio"))
    fio["jobs"][1]["read"]["clat_ns"]["mean"] *= 1000
    perfetto = json.loads(exported(run.folder, "--format", "perfetto"))
    next(e for e in perfetto["traceEvents"] if e["ph"] == "X")["dur"] *= 1000
    metrics = exported(run.folder, "--format", "openmetrics")
    faults = [("a gain of 1.001", check_samples, "\r\n".join(scaled).encode()), ("V and I swapped", check_samples, "\r\n".join(swapped).encode()),
              ("a clock 50 ms off", check_samples, "\r\n".join(shifted).encode()), ("a lost sample", check_samples, "\r\n".join(lost).encode()),
              ("us for ns", check_fio, json.dumps(fio).encode()), ("ns for us", check_perfetto, json.dumps(perfetto).encode()),
              ("no end", check_openmetrics, metrics.replace(b"# EOF\n", b""))]
    for what, check, text in faults:
        try:
            check(run, text)
        except Failed:
            continue
        raise Failed(f"the planted fault was not seen: {what}")


def main():
    tests = {name: function for name, function in globals().items() if name.startswith("test_")}
    chosen = sys.argv[2:] or list(tests)
    for name in chosen:
        try:
            tests[name]()
        except Failed as failure:
            print(f"{name}: {failure}")
            return 1
        print(f"{name}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
