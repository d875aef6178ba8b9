#!/usr/bin/env python3
"""What the program does on a bad day: killed, disk full or slow, directory gone, permission lost, wall clock stepped.

faults_test.py WATTRIG INTERPOSE TEST     one test, for CTest; INTERPOSE is the library that makes the faults (interpose.c)
faults_test.py WATTRIG INTERPOSE          all of them

Recordings are read here by code of their own, from the page firmware/protocol/PROTOCOL.md and host/recording/FORMAT.md.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
INTERPOSE = str(pathlib.Path(sys.argv[2]).resolve())
SUITE = str(pathlib.Path(__file__).resolve().parent / "suite.json")
KILLS = int(os.environ.get("WATTRIG_KILLS", "6"))
LOAD_SECONDS = int(os.environ.get("WATTRIG_LOAD_SECONDS", "6"))


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def environment(faults=None):
    made = {**os.environ, "LC_ALL": "C.UTF-8"}
    if faults:
        made.update({"LD_PRELOAD": INTERPOSE, **{name: str(value) for name, value in faults.items()}})
    return made


def command(target, out, *more):
    """A run in real time on a scratch file, with the simulated rig at its full rate."""
    return [PROGRAM, "run", SUITE, "--target", str(target), "--size", "64MiB", "--rig", "sim", "--out", str(out), *more]


def start(arguments, faults=None, **more):
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(faults), **more)


def end(process, timeout=120):
    try:
        out, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed(f"the program did not end within {timeout} s")
    return process.returncode, out, said


def analyzed(folder):
    done = subprocess.run([PROGRAM, "analyze", str(folder), "--json"], capture_output=True, text=True, timeout=120, env=environment())
    expect(done.returncode == 0, f"analyze: {done.stderr}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def place():
    with tempfile.TemporaryDirectory(dir=os.environ.get("WATTRIG_SCRATCH")) as parent:
        yield pathlib.Path(parent)


@contextlib.contextmanager
def small_disk(parent, size):
    if os.geteuid() != 0:
        skip("a small disk is mounted for this test, which only root may")
    point = parent / "small"
    point.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(point)], capture_output=True).returncode != 0:
        skip("no tmpfs can be mounted here")
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


# ------------------------------------------------------------------------------------------------------------ recordings
def records(path):
    """(type, payload) of each whole frame from the begin of power.wrt, up to the first that is none."""
    data = path.read_bytes()
    at = 0
    while at + 20 <= len(data):
        magic, _, kind, size = struct.unpack_from("<4sBBH", data, at)
        if magic != b"WTR1" or at + 16 + size + 4 > len(data):
            break
        yield kind, data[at + 16:at + 16 + size]
        at += 16 + size + 4


def last_arrival(path):
    """CLOCK_MONOTONIC_RAW of the newest arrival record, s; None when there is none."""
    newest = None
    for kind, payload in records(path):
        if kind == 0x85:
            newest = struct.unpack_from("<q", payload)[0] / 1e9
    return newest


def samples(path):
    """(samples that stand in blocks, indices from the first to the last)."""
    count = 0
    first = last = None
    for kind, payload in records(path):
        if kind != 1:
            continue
        index, = struct.unpack_from("<Q", payload, 0)
        span, valid = struct.unpack_from("<II", payload, 32)
        count += valid
        first = index if first is None else first
        last = index + span
    return count, 0 if first is None else last - first


def wait_for(condition, seconds, what):
    limit = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < limit, f"{what} within {seconds} s")
        time.sleep(0.02)


def has_phase(folder, lines=1):
    """phases.jsonl has so many lines: one when a phase begins, one when it ends."""
    path = folder / "phases.jsonl"
    return path.exists() and path.read_bytes().count(b"\n") >= lines


# ------------------------------------------------------------------------------------------------------------------ tests
def test_killed_at_any_moment():
    chance = random.Random(20260704)
    for k in range(KILLS):
        with place() as parent:
            folder = parent / "run"
            process = start(command(parent / "scratch.bin", folder))
            wait_for(lambda: (folder / "power.wrt").exists() or process.poll() is not None, 60, "a recording")
            time.sleep(chance.uniform(0, 7))
            running = process.poll() is None
            killed = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
            process.kill()
            end(process)
            expect(running, "the run ended before it was killed: make its phases longer")
            newest = last_arrival(folder / "power.wrt")
            begun = has_phase(folder)
            if newest is not None:
                expect(killed - newest <= 1.0, f"kill {k}: the newest block is {killed - newest:.3f} s older than the kill")
            expect(newest is not None or not begun, f"kill {k}: a phase was begun, and nothing is recorded")
            result = analyzed(folder)
            expect(result["complete"] is False, f"kill {k}: a run that was cut off is called complete")
            for phase in result["phases"]:
                if phase["complete"] and killed - phase["end_ns"] / 1e9 > 1:
                    expect(phase["watts"]["value"] > 0.05 and phase["iops"] > 0, f"kill {k}: {phase['label']} has no figures")


def test_disk_full_for_a_while_costs_nothing():
    with place() as parent, small_disk(parent, "16m") as disk:
        folder = disk / "run"
        process = start(command(parent / "scratch.bin", folder))
        wait_for(lambda: has_phase(folder), 60, "a phase")
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
        size = (folder / "power.wrt").stat().st_size
        time.sleep(2.5)
        expect((folder / "power.wrt").stat().st_size - size < 8192, "the disk was not full: the test tests nothing")
        filler.unlink()
        code, _, said = end(process)
        expect(code == 0, f"exit code {code}: {said}")
        expect("waiting for room" in said, said)
        count, span = samples(folder / "power.wrt")
        expect(count == span > 100_000, f"{span - count} of {span} samples are lost")
        result = json.loads((folder / "result.json").read_text())
        expect(result["complete"] and len(result["phases"]) == 12, "the result is not whole")


def test_disk_that_stays_full_stops_the_run():
    with place() as parent, small_disk(parent, "6m") as disk:
        folder = disk / "run"
        process = start([PROGRAM, "run", "qd-sweep", "--target", "sim:client-1tb", "--set", "runtime=60s", "--out", str(folder)])
        code, out, said = end(process)
        expect(code == 1, f"exit code {code}: {said}")
        last = [line for line in said.strip().split("\n") if line.startswith("wattrig: ")]
        expect(any("No space left on device" in line for line in last), said)
        expect("IOPS" not in out, "a table is printed of a run that failed")
        # The disk is made larger: what was recorded is there and can be worked out.
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        count, span = samples(folder / "power.wrt")
        expect(count == span > 50_000, f"{span - count} of {span} samples are missing in what was written")
        result = analyzed(folder)
        expect(result["complete"] is False, "called complete")


def test_slow_disk_loses_no_sample():
    with place() as parent:
        folder = parent / "run"
        faults = {"FAULT_STALL_FILE": "power.wrt", "FAULT_STALL_MS": "200 5000", "FAULT_STALL_EVERY": 3}
        code, _, said = end(start(command(parent / "scratch.bin", folder), faults))
        expect(code == 0, f"exit code {code}: {said}")
        count, span = samples(folder / "power.wrt")
        expect(count == span > 150_000, f"{span - count} of {span} samples are lost")
        result = json.loads((folder / "result.json").read_text())
        expect(result["complete"] and not any("dropped" in line for line in result["warnings"]), result["warnings"])


def test_directory_deleted():
    with place() as parent:
        folder = parent / "run"
        process = start(command(parent / "scratch.bin", folder))
        wait_for(lambda: has_phase(folder), 60, "a phase")
        shutil.rmtree(folder)
        begin = time.monotonic()
        code, _, said = end(process)
        expect(code == 1, f"exit code {code}: {said}")
        expect(time.monotonic() - begin < 5, "the run went on without a place for its recording")
        expect(str(folder) in said and ("was deleted" in said or "No such file" in said), said)
        expect(not (parent / "scratch.bin").exists(), "the scratch file is left behind")


def test_permission_lost():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("the program is run as another user for this test, which only root may")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    with place() as parent:
        parent.chmod(0o777)
        folder = parent / "run"
        process = start(user + command(parent / "scratch.bin", folder))
        wait_for(lambda: has_phase(folder, lines=3), 60, "two phases")
        folder.chmod(0o555)
        os.chown(folder, 0, 0)
        code, _, said = end(process)
        folder.chmod(0o755)
        expect(code == 1, f"exit code {code}: {said}")
        expect("Permission denied" in said and str(folder) in said, said)
        result = analyzed(folder)
        expect(len(result["phases"]) == 12 and all(p["watts"]["value"] > 0.05 for p in result["phases"]), "figures are gone")


def test_wall_clock_stepped_by_an_hour():
    def watts_and_times(faults):
        with place() as parent:
            folder = parent / "run"
            code, _, said = end(start(command(parent / "scratch.bin", folder), faults))
            expect(code == 0, f"exit code {code}: {said}")
            return json.loads((folder / "result.json").read_text())
    for seconds in (3600, -3600):
        stepped = watts_and_times({"FAULT_STEP_SECONDS": seconds, "FAULT_STEP_AFTER_MS": 4000})
        expect(stepped["complete"] and len(stepped["phases"]) == 12, "not whole")
        for phase in stepped["phases"]:
            seconds_long = (phase["end_ns"] - phase["begin_ns"]) / 1e9
            expect(abs(seconds_long - 0.5) < 0.2, f"{phase['label']} lasted {seconds_long} s")
            expect(phase["watts"]["value"] > 0.05 and phase["power"]["coverage"] > 0.999, f"{phase['label']}: {phase['power']}")
            ratio = phase["iops"] / phase["watts"]["value"]
            expect(abs(phase["iops_per_watt"]["value"] / ratio - 1) < 1e-6, "IOPS/W")
        expect(not any("lost" in line or "gap" in line for line in stepped["warnings"]), stepped["warnings"])


def test_busy_host_with_little_memory():
    """Twice as many busy programs as there are cores, and room for little more than the program itself."""
    if os.geteuid() != 0:
        skip("memory is made short for this test, which only root may")
    groups = pathlib.Path("/sys/fs/cgroup")
    group = (groups / "memory" if (groups / "memory").is_dir() else groups) / f"wattrig-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = "memory.limit_in_bytes" if (group / "memory.limit_in_bytes").exists() else "memory.max"
        (group / limit).write_text(str(48 << 20))
    except OSError as error:
        skip(f"memory cannot be made short here: {error}")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        with place() as parent:
            folder = parent / "run"
            runtime = f"runtime={LOAD_SECONDS / 12:.3f}s"
            process = start(command(parent / "scratch.bin", folder, "--set", runtime),
                            preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
            code, _, said = end(process, timeout=120 + 4 * LOAD_SECONDS)
            expect(code == 0, f"exit code {code}: {said}")
            count, span = samples(folder / "power.wrt")
            expect(span > 32_000 * LOAD_SECONDS, f"only {span} samples in {LOAD_SECONDS} s")
            expect(count == span, f"{span - count} of {span} samples are lost")
            result = json.loads((folder / "result.json").read_text())
            expect(result["lost_samples"] == 0 and not any("dropped" in line for line in result["warnings"]), result["warnings"])
            print(f"{span} samples in {LOAD_SECONDS} s, 0 lost")
    finally:
        for program in busy:
            program.kill()
            program.wait()
        with contextlib.suppress(OSError):
            group.rmdir()


# -------------------------------------------------------------------------------------------------------------------- I/O
@contextlib.contextmanager
def own_filesystem(parent):
    """An ext4 of its own on a loop device, so that it can be broken and frozen."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4") or not shutil.which("fsfreeze"):
        skip("a file system is made and broken for this test: needs root, mkfs.ext4 and fsfreeze")
    image, point = parent / "image", parent / "ext4"
    image.write_bytes(b"")
    os.truncate(image, 256 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    point.mkdir()
    if subprocess.run(["mount", "-o", "loop", str(image), str(point)], capture_output=True).returncode != 0:
        skip("no loop device can be mounted here")
    try:
        yield point
    finally:
        subprocess.run(["fsfreeze", "-u", str(point)], capture_output=True)
        subprocess.run(["umount", "-l", str(point)], check=True)


def errors_of(result):
    return [(error["errno"], error["count"]) for phase in result["phases"] for error in phase["io"]["errors"]]


def test_file_cut_short_while_it_is_read():
    with place() as parent:
        folder, target = parent / "run", parent / "scratch.bin"
        process = start(command(target, folder))
        wait_for(lambda: has_phase(folder, lines=3), 60, "two phases")
        os.truncate(target, 1 << 20)
        code, out, said = end(process)
        expect(code == 1, f"exit code {code}: {said}")
        result = json.loads((folder / "result.json").read_text())
        expect(result["complete"] and len(result["phases"]) == 12, "the run did not go on to its end")
        counted = errors_of(result)
        expect(counted and all(number == 5 for number, _ in counted), f"short reads are to be counted as EIO, came {counted}")
        expect("I/O errors" in said and any("operations failed" in line for p in result["phases"] for line in p["warnings"]), said)
        expect(result["phases"][0]["io"]["errors"] == [], "errors before the fault")


def test_file_system_that_turns_read_only():
    with place() as parent, own_filesystem(parent) as disk:
        folder = parent / "run"
        process = start(command(disk / "scratch.bin", folder, "--set", "pattern=randwrite"))
        wait_for(lambda: has_phase(folder, lines=3), 60, "two phases")
        subprocess.run(["mount", "-o", "remount,abort", str(disk)], capture_output=True)
        code, _, said = end(process)
        expect(code == 1, f"exit code {code}: {said}")
        result = json.loads((folder / "result.json").read_text())
        counted = errors_of(result)
        expect(counted and all(number in (5, 30) for number, _ in counted), f"expected EIO or EROFS, came {counted}")
        expect(all(p["watts"]["value"] > 0.05 for p in result["phases"] if p["complete"]), "power is missing")


def test_device_that_hangs_for_seconds():
    with place() as parent, own_filesystem(parent) as disk:
        folder = parent / "run"
        process = start(command(disk / "scratch.bin", folder, "--set", "pattern=randwrite"))
        wait_for(lambda: has_phase(folder, lines=3), 60, "two phases")
        subprocess.run(["fsfreeze", "-f", str(disk)], check=True)
        time.sleep(3)
        subprocess.run(["fsfreeze", "-u", str(disk)], check=True)
        code, _, said = end(process)
        expect(code == 0, f"exit code {code}: {said}")
        result = json.loads((folder / "result.json").read_text())
        # In flight at the end of its phase, the operation is in no figure of it: the result has to say so.
        worst = max(p["latency_us"]["maximum"] or 0 for p in result["phases"])
        hung = [line for p in result["phases"] for line in p["warnings"] if "the device hung" in line]
        expect(hung or 2.8e6 < worst < 4e6, f"three seconds without an answer are nowhere in the result; the longest took {worst} us")
        count, span = samples(folder / "power.wrt")
        expect(count == span, f"{span - count} samples are lost")


def main():
    tests = {name: function for name, function in globals().items() if name.startswith("test_")}
    chosen = sys.argv[3:] or list(tests)
    for name in chosen:
        try:
            tests[name]()
        except Failed as failed:
            print(f"{name}: {failed}")
            return 1
        print(f"{name}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
