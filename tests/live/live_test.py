#!/usr/bin/env python3
"""`wattrig live` in real time on the simulated rig: several viewers, one of them stalled, disturb nothing; strangers are refused.

live_test.py WATTRIG viewers|minute|strangers|text|planted
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from viewer import Live, Viewer  # noqa: E402

SAMPLES_A_SECOND = 1e6 / 30.72


def check(holds, words):
    if not holds:
        raise SystemExit(words)


class Reader(threading.Thread):
    """Reads all that comes and keeps what must hold: columns without a hole, nothing skipped."""

    def __init__(self, live):
        super().__init__(daemon=True)
        self.viewer = Viewer(live)
        self.columns, self.skipped, self.holes, self.last, self.status = 0, 0, [], None, {}
        self.ending = False

    def run(self):
        try:
            while not self.ending:
                message = self.viewer.receive()
                self.skipped += message.get("skipped", 0)
                self.status = message.get("status", self.status)
                for t, low, mean, high, volts in message.get("columns", []):
                    # Columns are five blocks of 2.3 ms each.
                    if self.last is not None and not 0.005 < t - self.last < 0.03:
                        self.holes.append((self.last, t))
                    self.last = t
                    self.columns += 1
                    check(low <= mean <= high and 3 < volts < 3.6, f"column at {t}: {low}, {mean}, {high} W, {volts} V")
        except (EOFError, OSError):
            pass


def watch(wattrig, seconds, disturb=None):
    """What was found in `seconds` with two viewers that read and one that does not, a recording running."""
    with tempfile.TemporaryDirectory() as folder, Live(wattrig, "--rig", "sim", "--out", folder) as live:
        stalled = Viewer(live, small=True)
        readers = [Reader(live), Reader(live)]
        for reader in readers:
            reader.start()
        time.sleep(2)  # the stalled one's buffers are full by then, and the history has its size from the start
        readers[0].viewer.send({"do": "start"})
        time.sleep(0.5)
        before = live.resident_bytes()
        begin = time.monotonic()
        readers[0].viewer.send({"do": "mark", "text": "half <b>"})
        if disturb:
            disturb(live)
        largest = before
        while time.monotonic() - begin < seconds:
            time.sleep(0.25)
            largest = max(largest, live.resident_bytes())
        readers[1].viewer.send({"do": "stop"})
        time.sleep(1.5)
        status = dict(readers[0].status)
        for reader in readers:
            reader.ending = True
        # The stalled one wakes up and finds a message whole, and the stream goes on for it.
        first = stalled.receive()
        code = live.end()
        recorded = sorted(pathlib.Path(folder).iterdir())
        check(len(recorded) == 1, f"expected one recording, found {recorded}")
        done = subprocess.run([wattrig, "analyze", str(recorded[0]), "--json"], capture_output=True, text=True)
        result = json.loads(done.stdout)
        return {"code": code, "lost": status["lost"], "samples": status["samples"], "skipped": [r.skipped for r in readers],
                "holes": [h for r in readers for h in r.holes], "columns": [r.columns for r in readers], "growth": largest - before, "first": first,
                "result": result, "phase": result["phases"][0], "seconds": seconds}


def problems_of(seen):
    bad = []
    if seen["code"] != 0:
        bad.append(f"exit code {seen['code']}")
    if seen["lost"] != 0:
        bad.append(f"{seen['lost']} samples lost")
    if any(seen["skipped"]) or seen["holes"]:
        bad.append(f"viewers missed columns: skipped {seen['skipped']}, holes {seen['holes'][:3]}")
    if min(seen["columns"]) < 80 * seen["seconds"]:
        bad.append(f"viewers saw {seen['columns']} columns in {seen['seconds']} s")
    if seen["growth"] > 4 << 20:
        bad.append(f"memory grew by {seen['growth']} bytes")
    if "columns" not in seen["first"]:
        bad.append(f"the stalled viewer was sent {seen['first']}")
    clock = seen["result"]["clock"]
    if seen["result"].get("lost_samples", seen["result"].get("samples", {}).get("lost") if isinstance(seen["result"].get("samples"), dict) else 0):
        bad.append("the recording misses samples")
    phase = seen["phase"]
    expected = (phase["end_ns"] - phase["begin_ns"]) / 1e9
    if expected < seen["seconds"] - 0.5:
        bad.append(f"the recording is {expected} s long")
    if phase["watts"]["value"] is None or not 0.5 < phase["watts"]["value"] < 2 or phase["power"]["coverage"] != 1:
        bad.append(f"the recording's power: {phase['watts']}, coverage {phase['power'].get('coverage')}, {phase['warnings']}")
    if not clock:
        bad.append("the recording has no clock")
    return bad


def test_viewers(wattrig, seconds=8):
    seen = watch(wattrig, seconds)
    bad = problems_of(seen)
    print(f"{seconds} s: {seen['samples']} samples, {seen['lost']} lost; columns {seen['columns']}; memory grew by {seen['growth'] / 1024:.0f} KiB")
    check(not bad, "\n".join(bad))


def test_minute(wattrig):
    test_viewers(wattrig, 60)


def test_planted(wattrig):
    """A program that was stopped for a while has lost what the rig could not hold: it must say so, and the check must see it."""
    def stop_for_a_while(live):
        time.sleep(1)
        live.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        live.process.send_signal(signal.SIGCONT)

    bad = problems_of(watch(wattrig, 6, stop_for_a_while))
    check(any("samples lost" in b for b in bad) and any("missed columns" in b for b in bad), f"a loss that was not noticed: {bad}")


def test_strangers(wattrig):
    with Live(wattrig, "--rig", "sim", "--quiet") as live:
        check(live.get("/") == 200, "the page")
        for words, wanted, got in (
                ("a page of another site", 403, live.get("/socket", more="Origin: http://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")),
                ("a name pointed at this machine", 403, live.get("/", host="evil.example")),
                ("no host", 403, live.request(b"GET / HTTP/1.0\r\n\r\n")),
                ("another path", 404, live.get("/../etc/passwd")),
                ("another parameter", 404, live.get("/?a=b")),
                ("another method", 405, live.get("/", method="DELETE")),
                ("no upgrade", 426, live.get("/socket"))):
            check(got == wanted, f"{words}: expected {wanted}, came {got}")
        check(live.request(b"\x16\x03\x01" * 40 + b"\r\n\r\n") in (0, 400), "what is no HTTP")
        check(live.request(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 20000 + b"\r\n\r\n") in (0, 431, 400), "a header without end")
        viewer = Viewer(live)
        for message in (b"{", b"[]", b'{"do":"format"}', b'{"do":"mark"}', b'{"do":"mark","text":""}', b'{"do":"view","from":1e300,"to":2}', b"null"):
            viewer.send(message)
            end = time.monotonic() + 10
            while "refused" not in viewer.receive():
                check(time.monotonic() < end, f"{message!r} was not refused")
        viewer.send(b'{"do":"mark","text":"' + b"x" * 3000 + b'"}')
        try:
            for _ in range(200):
                viewer.receive()
            check(False, "a message of 3000 bytes was taken")
        except (EOFError, OSError):
            pass
        other = Viewer(live)
        other.send({"do": "mark", "text": "<img src=x onerror=alert(1)>\u202e"})
        end = time.monotonic() + 10
        while not (marks := other.receive().get("marks")):
            check(time.monotonic() < end, "no mark came")
        check(marks[0]["text"] == "<img src=x onerror=alert(1)>\ufffd", f"the mark is {marks}")
        check(live.get("/") == 200, "the page after all that")
    token = "a-token-of-24-characters"
    done = subprocess.run([wattrig, "live", "--rig", "sim", "--listen", "0.0.0.0:0"], capture_output=True, text=True, env={**os.environ, "WATTRIG_TOKEN": ""})
    check(done.returncode == 2 and "WATTRIG_TOKEN" in done.stderr, f"beyond loopback without a token: {done.returncode}, {done.stderr}")
    with Live(wattrig, "--rig", "sim", "--quiet", environment={"WATTRIG_TOKEN": token}) as live:
        check(token not in live.url, "the token is printed")
        for target, wanted in (("/", 401), ("/?token=" + token[:-1], 401), ("/?token=" + token + "x", 401), ("/?token=" + token, 200), ("/socket", 401)):
            got = live.get(target)
            check(got == wanted, f"{target}: expected {wanted}, came {got}")
        Viewer(live, target="/socket?token=" + token).close()


def test_text(wattrig):
    done = subprocess.run([wattrig, "live", "--rig", "sim", "--text", "--duration", "3s", "--quiet"], capture_output=True, text=True, timeout=60)
    rows = [line.split() for line in done.stdout.split("\n")[2:] if line]
    check(done.returncode == 0 and len(rows) == 3, f"exit code {done.returncode}, {len(rows)} lines: {done.stdout}")
    for at, mean, low, high, volts in rows[1:]:
        check(float(low) <= float(mean) <= float(high) and 0.5 < float(mean) < 2 and 3.2 < float(volts) < 3.4, f"at {at} s: {low} {mean} {high} W, {volts} V")


if __name__ == "__main__":
    globals()[f"test_{sys.argv[2]}"](sys.argv[1])
