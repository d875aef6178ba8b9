#!/usr/bin/python3
"""Our engine beside fio: the same random reads, one after the other, many times.

    fio_parity.py ENGINE_BENCH [--rounds N] [--ms N] [--cpu N] [--folder DIR] [--case TEXT] [--json FILE]

Both are pinned to one CPU and alternate; a figure is the ratio of two runs that stood side by side, so that what else the
machine does falls on both. Printed: the smallest CPU time an operation of each, the median of the paired ratios (ours / fio)
and its 95 % bootstrap interval. CPU is that of the whole process, so that kernel threads working for it are in (io_uring's
own on tmpfs); a loop device's kernel workers are in neither. A pair during which other processes computed for more than a
tenth of one CPU is measured again, at most as often as there are rounds; what then is left is counted as disturbed.

The loop device over tmpfs needs root and is left out without. Exit status 1 when a demanded ratio is missed.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

FIO_COMMON = ["--name=x", "--rw=randread", "--bs=4k", "--ioengine=io_uring", "--fixedbufs", "--registerfiles",
              "--nonvectored=1", "--norandommap", "--random_generator=tausworthe64", "--time_based",
              "--output-format=json", "--allow_file_create=0"]
SIZE = 256 << 20

# name, depth, fio's extra options, our extra options, demanded CPU ratio (None: for information)
SHAPES = [
    ("QD1", 1, [], [], 1.0),
    ("QD32 one at a time", 32, [], ["batching=natural"], 0.75),
    ("QD32 batch 16", 32, ["--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16", "--iodepth_batch_complete_max=16"],
     ["batching=throughput"], 0.75),  # ours waits for a quarter of the depth, as it does by default in this mode
    ("QD32 batch 32", 32, ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32", "--iodepth_batch_complete_max=32"],
     ["batching=throughput", "batch=32"], 1.0),
]
SYNCHRONOUS = [("QD1", 1, [], [], None), ("QD32 one at a time", 32, [], ["batching=natural"], 0.3)]


def weighted_ms(device):
    """Requests in flight x ms of a block device so far, or None."""
    if device is None:
        return None
    try:
        return int(pathlib.Path(f"/sys/class/block/{device}/stat").read_text().split()[10])
    except (OSError, IndexError):
        return None


def run_fio(path, device, depth, direct, extra, args):
    command = ["fio", *FIO_COMMON, f"--filename={path}", f"--size={SIZE}", f"--iodepth={depth}", f"--direct={int(direct)}",
               f"--runtime={args.ms}ms", f"--cpus_allowed={args.cpu}", *extra]
    before = weighted_ms(device)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = weighted_ms(device)
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    read = job["read"]
    busy_ns = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e6
    return {"cpu": busy_ns / read["total_ios"], "iops": read["iops"], "latency": read["lat_ns"]["mean"],
            "device_depth": None if before is None else (after - before) / job["job_runtime"]}


def run_ours(engine, path, depth, direct, extra, args, seed):
    command = [engine, path, f"depth={depth}", f"direct={int(direct)}", f"size={SIZE}", f"ms={args.ms}", f"cpu={args.cpu}",
               f"seed={seed}", *extra]
    out = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"cpu": out["cpu_process_ns"], "iops": out["iops"], "latency": out["latency_mean_ns"],
            "device_depth": out["device_depth"] if out["device_depth"] >= 0 else None}


def foreign_user_seconds():
    """User time of all other processes so far: kernel time is left out, since a loop device's workers are on our behalf."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    everyone = (int(fields[1]) + int(fields[2])) / os.sysconf("SC_CLK_TCK")
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return everyone - own.ru_utime - children.ru_utime


def median_interval(values):
    """Median and its 95 % percentile bootstrap interval."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(4000))
    return statistics.median(values), medians[100], medians[3899]


def compare(engine, target, path, device, direct, shape, args):
    name, depth, fio_extra, our_extra, demanded = shape
    pairs = []
    disturbed = 0
    repeats = args.rounds
    number = 0
    while len(pairs) <= args.rounds:
        number += 1
        began, foreign = time.monotonic(), foreign_user_seconds()

        def fio():
            return run_fio(path, device, depth, direct, fio_extra, args)

        def ours():
            return run_ours(engine, path, depth, direct, our_extra, args, number)
        # Alternate who goes first: a machine that drifts then favours nobody.
        if number % 2 == 0:
            a = fio()
            b = ours()
        else:
            b = ours()
            a = fio()
        if foreign_user_seconds() - foreign > 0.1 * (time.monotonic() - began):
            if repeats > 0:
                repeats -= 1
                continue
            disturbed += 1
        pairs.append((a, b))
    pairs = pairs[1:]  # the first one warms caches
    row = {"target": target, "case": name, "demanded": demanded, "depth": depth, "rounds": len(pairs), "disturbed": min(disturbed, len(pairs))}
    row["fio_ns"] = [min(a["cpu"] for a, _ in pairs), statistics.median(a["cpu"] for a, _ in pairs)]
    row["our_ns"] = [min(b["cpu"] for _, b in pairs), statistics.median(b["cpu"] for _, b in pairs)]
    for key in ("cpu", "iops", "latency"):
        row[key] = median_interval([b[key] / a[key] for a, b in pairs])
    for who, index in (("fio", 0), ("our", 1)):
        depths = [pair[index]["device_depth"] for pair in pairs if pair[index]["device_depth"] is not None]
        row[f"{who}_device_depth"] = statistics.median(depths) if depths else None
    row["met"] = verdict(row)
    return row


def verdict(row):
    """What the row was to show: CPU always; for one at a time at depth also latency, speed and depth at the device."""
    if row["demanded"] is None:
        return "-"
    missed = []
    if row["cpu"][0] > row["demanded"]:
        missed.append("cpu")
    if row["case"] == "QD32 one at a time":
        if row["latency"][0] > 1:
            missed.append("latency")
        if row["iops"][0] < 1:
            missed.append("iops")
        if row["our_device_depth"] is not None and row["our_device_depth"] < 0.7 * row["depth"]:
            missed.append("device depth")
    return "yes" if not missed else "MISSED: " + ", ".join(missed)


def machine():
    model = "?"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    virtual = "virtual machine, " if "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text() else ""
    fio = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{model}, {virtual}{os.cpu_count()} CPUs; Linux {platform.release().split('-')[0]}; {fio}"


HEADER = ("| target | case | fio CPU ns min/median | ours | CPU ratio, median [95 %] | demanded | IOPS ratio | latency ratio "
          "| device depth fio / ours | disturbed pairs | met |\n|---|---|---|---|---|---|---|---|---|---|---|")


def line(row):
    def ratio(key):
        return "{:.2f} [{:.2f}, {:.2f}]".format(*row[key])
    depths = " / ".join("-" if d is None else f"{d:.1f}" for d in (row["fio_device_depth"], row["our_device_depth"]))
    demanded = "-" if row["demanded"] is None else f"<= {row['demanded']}"
    return (f"| {row['target']} | {row['case']} | {row['fio_ns'][0]:.0f}/{row['fio_ns'][1]:.0f} | {row['our_ns'][0]:.0f}/{row['our_ns'][1]:.0f} "
            f"| {ratio('cpu')} | {demanded} | {ratio('iops')} | {ratio('latency')} | {depths} | {row['disturbed']} of {row['rounds']} | {row['met']} |")


def backing_device(path):
    device = os.stat(path).st_dev
    try:
        return pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve(strict=True).name
    except OSError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--ms", type=int, default=500)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--folder", default=".", help="for the O_DIRECT file")
    parser.add_argument("--case", default="", help="only rows whose target and case contain this")
    parser.add_argument("--json", help="also write all rows here")
    args = parser.parse_args()
    rows = []
    print(machine(), f"{args.rounds} rounds of {args.ms} ms", sep="; ", flush=True)
    print(HEADER, flush=True)

    def section(target, path, device, direct, shapes):
        for shape in shapes:
            if args.case in f"{target} {shape[0]}":
                rows.append(compare(args.engine, target, path, device, direct, shape, args))
                print(line(rows[-1]), flush=True)

    section("/dev/zero (synchronous)", "/dev/zero", None, False, SYNCHRONOUS)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = os.path.join(folder, "file.bin")
        with open(path, "wb") as file:
            for _ in range(SIZE >> 20):
                file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())
        section("file, O_DIRECT", path, backing_device(path), True, SHAPES)
    if os.geteuid() == 0:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
            for _ in range(SIZE >> 20):
                image.write(os.urandom(1 << 20))
            image.flush()
            loop = subprocess.run(["losetup", "--find", "--show", image.name], capture_output=True, text=True, check=True).stdout.strip()
            try:
                section("loop over tmpfs", loop, os.path.basename(loop), True, SHAPES)
            finally:
                subprocess.run(["losetup", "--detach", loop], check=True)
    else:
        print("loop over tmpfs: left out, needs root", file=sys.stderr)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(str(row["met"]).startswith("MISSED") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
