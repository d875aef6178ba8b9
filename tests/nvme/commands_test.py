#!/usr/bin/env python3
"""`wattrig power`, `states` and `doctor --restore` as a user meets them. A rig that only listens shows that a refused command never
reached it. commands_test.py WATTRIG"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
problems = []


def expect(condition, words):
    if not condition:
        problems.append(words)


def wattrig(*arguments, folder, **more):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, cwd=folder, **more)


def expect_refusal(done, *words, code=2):
    expect(done.returncode == code, f"{done.args[1:]}: expected exit code {code}, came {done.returncode}: {done.stderr}")
    for word in words:
        expect(word in done.stderr, f"{done.args[1:]}: expected '{word}' in: {done.stderr}")
    expect(len(done.stderr.strip().splitlines()) == 1, f"expected one sentence, came {done.stderr}")


class ListeningRig:
    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.name = f"tcp:127.0.0.1:{self.socket.getsockname()[1]}"
        return self

    def contacted(self):
        try:
            self.socket.accept()[0].close()
            return True
        except BlockingIOError:
            return False

    def __exit__(self, *_):
        self.socket.close()


with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
    for action, words in (("off", "is off"), ("on", "is on"), ("cycle", "is on again")):
        done = wattrig("power", action, "--rig", "sim", "--no-device", folder=folder)
        expect(done.returncode == 0 and words in done.stdout and "(simulated)" in done.stdout, f"power {action}: {done}")
    expect_refusal(wattrig("power", "off", "--rig", "sim", folder=folder), "which drive", "--no-device")
    expect_refusal(wattrig("power", "off", "--no-device", folder=folder), "--rig")
    expect_refusal(wattrig("states", "/dev/null", folder=folder), "no NVMe controller")

    done = wattrig("doctor", "--restore", folder, folder=folder)
    expect(done.returncode == 0 and "no drive was left" in done.stdout, f"doctor --restore of nothing: {done}")
    run = pathlib.Path(folder) / "wattrig-runs" / "killed"
    run.mkdir(parents=True)
    record = run / "settings.json"
    record.write_text(json.dumps({"schema": "wattrig.settings/1", "device": "nvme99", "serial": "S1",
                                  "before": [{"feature": 2, "word": 0, "data": ""}]}))
    done = wattrig("doctor", folder=folder)
    expect(done.returncode == 1 and "were left changed" in done.stdout, f"doctor does not see the record: {done}")
    expect_refusal(wattrig("doctor", "--restore", str(run), folder=folder), "no such NVMe controller", code=1)
    expect(record.exists(), "a record that could not be used must stay")

    if os.geteuid() != 0:
        print("skipped in part: loop devices need root")
        sys.exit(1 if problems else 77)
    backing, point = f"{folder}/backing", f"{folder}/mount"
    with open(backing, "wb") as out:
        out.truncate(16 << 20)
    os.mkdir(point)
    device = subprocess.run(["losetup", "--find", "--show", backing], capture_output=True, text=True).stdout.strip()
    if not device:
        print("skipped in part: no loop device here")
        sys.exit(1 if problems else 77)
    try:
        serial = ["--serial", "loop:" + backing]
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        with ListeningRig() as rig:
            subprocess.run(["mount", "-o", "ro", device, point], check=True)
            expect_refusal(wattrig("power", "off", device, "--rig", rig.name, *serial, folder=folder), "mount check", point)
            expect_refusal(wattrig("power", "cycle", device, "--rig", rig.name, *serial, folder=folder), "mount check", point)
            subprocess.run(["umount", point], check=True)
            expect_refusal(wattrig("power", "off", device, "--rig", rig.name, "--serial", "S1", folder=folder), "serial check")
            held = os.open(device, os.O_RDONLY | os.O_EXCL)
            expect_refusal(wattrig("power", "off", device, "--rig", rig.name, *serial, folder=folder), "exclusive check")
            os.close(held)
            expect_refusal(wattrig("power", "off", device, "--rig", rig.name, *serial, folder=folder), "taken off its bus")
            expect(not rig.contacted(), "a refused command reached the rig")
    finally:
        subprocess.run(["umount", "-q", point])
        subprocess.run(["losetup", "--detach", device])
print("\n".join(problems))
sys.exit(1 if problems else 0)
