#!/usr/bin/env python3
"""Who may open what for writing. `symbols BUILD`: exactly one object file holds the function that opens a device for writing, and
every object that can open anything at all is listed here with its reason. `trace WATTRIG`: strace of every command on a decoy
disk shows no open for writing but the interlock's, and that only with the right serial. `self-test BUILD`: both find planted
faults."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

DOOR = "open_device_for_writing"
SKIPPED = 77
# Objects that reference open(2) or its kin, and why no device can be written through them.
OPENERS = {
    "host/target/interlock.cpp": "the door itself",
    "host/target/block_device.cpp": "O_RDONLY",
    "host/target/file_target.cpp": "regular files: O_EXCL when made, fstat after open",
    "host/nvme/settings.cpp": "the restore record in the run directory, O_NOFOLLOW",
    "host/nvme/linux_device.cpp": "controller's character device, O_RDONLY: commands pass by ioctl, destroying ones need a permit",
    "host/recording": "files of the run directory",
    "host/analysis": "files of the run directory",
    "host/report": "files of the run directory",
    "host/runner": "files of the run directory",
    "host/suites": "JSON, reading",
    "host/exchange": "other tools' files, reading and export",
    "host/power": "calibration, reading",
    "host/rig": "recordings, reading",
    "host/sim": "model files, reading",
    "host/io": "random data, files of the run directory",
    "host/live": "the live page's files, reading",
    "host/cli": "O_TMPFILE in the working folder, files of the run directory",
}
OPENING = re.compile(r"^(open|open64|openat|openat64|creat|creat64|fopen|fopen64|__open_2|__open64_2|__openat_2)(@|$)")


def host_objects(build):
    for path in sorted(pathlib.Path(build).glob("host/**/*.o")):
        yield path, re.sub(r"CMakeFiles/[^/]+\.dir/", "", str(path.relative_to(build)))[:-2]


def symbols(build):
    problems, doors = [], []
    count = 0
    for path, source in host_objects(build):
        count += 1
        out = subprocess.run(["nm", "-C", str(path)], capture_output=True, text=True, check=True).stdout
        opens = False
        for line in out.splitlines():
            words = line.split()
            kind, name = (words[0], words[1]) if len(words) == 2 else (words[1], " ".join(words[2:]))
            if DOOR in name and kind in "tTwW":
                doors.append(source)
            elif DOOR in name:
                problems.append(f"{source}: refers to {DOOR}, which belongs to the interlock alone")
            if kind == "U" and OPENING.match(name):
                opens = True
        if opens and not any(source == known or source.startswith(known + "/") for known in OPENERS):
            problems.append(f"{source}: opens files or devices and is not listed in {pathlib.Path(__file__).name}")
    if count < 50:
        problems.append(f"only {count} object files under {build}: build the program first")
    if sorted(set(doors)) != ["host/target/interlock.cpp"]:
        problems.append(f"expected the door in host/target/interlock.cpp alone, found {sorted(set(doors))}")
    # The kinds of open that would make a listed object a door of its own.
    root = pathlib.Path(__file__).resolve().parents[2]
    for source in ("host/target/block_device.cpp", "host/nvme/linux_device.cpp"):
        if (root / source).exists() and re.search(r"O_RDWR|O_WRONLY", (root / source).read_text()):
            problems.append(f"{source}: names a flag of opening for writing")
    if (root / "host/target/interlock.cpp").read_text().count("O_RDWR") != 1:
        problems.append("host/target/interlock.cpp: O_RDWR must stand in one place")
    return problems


class Decoy:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.file = f"{self.folder.name}/decoy"
        with open(self.file, "wb") as out:
            out.write(b"decoy123" * (32 << 17))
        self.device = subprocess.run(["losetup", "--find", "--show", self.file], capture_output=True, text=True).stdout.strip()
        return self

    def __exit__(self, *_):
        if self.device:
            subprocess.run(["losetup", "--detach", self.device])
        self.folder.cleanup()


def writing_opens(log, device):
    """Opens of the device, by whatever name, with a right to write."""
    found = []
    for line in log.splitlines():
        match = re.search(r'open(?:at|at2)?\((?:[^,"]+, )?"([^"]*)", (.*)', line)
        if match and os.path.realpath(match.group(1)) == device and re.search(r"O_RDWR|O_WRONLY|O_CREAT|O_TRUNC", match.group(2)):
            found.append(line.strip())
    return found


def trace(wattrig):
    if os.geteuid() != 0:
        print("skipped: loop devices and strace need root")
        return None
    problems = []
    with Decoy() as decoy:
        if not decoy.device or subprocess.run(["strace", "-V"], capture_output=True).returncode != 0:
            print("skipped: no loop device or no strace here")
            return None
        link = f"{decoy.folder.name}/by-id"
        os.symlink(decoy.device, link)
        with open(decoy.file, "rb") as file:
            before = file.read()
        serial = "loop:" + decoy.file
        writes = ["--set", "pattern=randwrite", "--set", "runtime=100ms", "--set", "depth=1", "--set", "span=16MiB"]
        commands = [
            ("list", ["list", "targets"], 0), ("list rigs", ["list", "rigs"], 0), ("doctor", ["doctor"], 0),
            ("read", ["run", "qd-sweep", "--target", decoy.device, "--set", "span=16MiB", "--set", "runtime=100ms", "--set", "depth=1"], 0),
            ("plan", ["run", "qd-sweep", "--target", decoy.device, "--plan"] + writes, 0),
            ("no serial", ["run", "qd-sweep", "--target", decoy.device] + writes, 0),
            ("wrong serial", ["run", "qd-sweep", "--target", link, "--destroy", "S123"] + writes, 0),
            ("only overwrite", ["run", "qd-sweep", "--target", link, "--overwrite-data"] + writes, 0),
            ("power", ["power", "off", decoy.device], 0), ("power", ["power", "cycle", decoy.device, "--serial", "S1"], 0),
            ("states", ["states", decoy.device], 0),
            ("report", ["report", decoy.device], 0), ("analyze", ["analyze", decoy.device], 0),
            ("right serial", ["run", "qd-sweep", "--target", link, "--destroy", serial] + writes, 1),
        ]
        for name, arguments, allowed in commands:
            log = f"{decoy.folder.name}/log"
            done = subprocess.run(["strace", "-f", "-o", log, "-e", "trace=open,openat,openat2,creat", wattrig, *arguments, ],
                                  capture_output=True, text=True, cwd=decoy.folder.name, timeout=120)
            with open(log, errors="replace") as file:
                text = file.read()
            if "openat(" not in text:
                print("skipped: strace cannot trace here:", done.stderr[:200])
                return None
            found = writing_opens(text, os.path.realpath(decoy.device))
            if len(found) != allowed:
                problems.append(f"{name}: {len(found)} opens for writing, expected {allowed}: {found}\n{done.stdout}{done.stderr}")
            subprocess.run(["sync"])
            with open(decoy.file, "rb") as file:
                changed = file.read() != before
            if changed != bool(allowed):
                problems.append(f"{name}: the decoy was {'changed' if changed else 'not changed'}\n{done.stdout}{done.stderr}")
    return problems


def self_test(build):
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        # A second object with a door, and one that opens without being listed.
        where = pathlib.Path(folder) / "host/power2/CMakeFiles/x.dir"
        where.mkdir(parents=True)
        source = where / "second.cpp"
        source.write_text("#include <fcntl.h>\n[[gnu::noinline]] int open_device_for_writing(const char* p) { return open(p, O_RDWR); }\n")
        subprocess.run(["c++", "-c", str(source), "-o", str(where / "second.cpp.o")], check=True)
        found = symbols(folder)
        if not any("is not listed" in p for p in found):
            missed.append("an opener that is not listed")
        if not any("the door in" in p for p in found):
            missed.append("a second door")
    line = '12 openat(AT_FDCWD, "/dev/null", O_RDWR|O_CLOEXEC) = 3'
    if len(writing_opens(line, "/dev/null")) != 1 or writing_opens(line.replace("O_RDWR", "O_RDONLY"), "/dev/null"):
        missed.append("an open for writing in a trace")
    return [f"planted fault not found: {m}" for m in missed]


if __name__ == "__main__":
    result = {"symbols": symbols, "trace": trace, "self-test": self_test}[sys.argv[1]](sys.argv[2])
    if result is None:
        sys.exit(SKIPPED)
    print("\n".join(result))
    sys.exit(1 if result else 0)
