#!/usr/bin/env python3
"""Writes the seeds of decoder_fuzz, recording_fuzz and phases_fuzz, always the same, from the golden bytes of
tests/recording: one good example of everything is what a fuzzer needs to begin with."""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "recording"


def golden(name):
    text = (GOLDEN / name).read_text()
    return bytes.fromhex("".join(re.findall(r'"([0-9a-f ]+)\\n"', text)).replace(" ", ""))


def write(target, name, data):
    folder = HERE / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def block(count, rails=1):
    """A block's payload; the fuzz targets make the checks good themselves."""
    fixed = 72 + rails * 72 + 24 + 52 + 4
    payload = bytearray(fixed + count * (6 * rails + 1))
    payload += bytes(-len(payload) % 4)
    payload[32:36] = payload[36:40] = count.to_bytes(4, "little")  # span, count
    payload[68] = rails
    for rail in range(rails):
        payload[72 + 72 * rail:80 + 72 * rail] = count.to_bytes(8, "little")
    head = b"WTR1" + bytes([1, 1]) + len(payload).to_bytes(2, "little") + bytes(8)
    return head + bytes(payload) + bytes(4)


def command(number, arguments=b"", tag=1):
    """A command as a piece of command_fuzz: its length, then the frame, whose checks the target makes good itself."""
    payload = number.to_bytes(2, "little") + tag.to_bytes(2, "little") + bytes(4) + arguments
    frame = b"WTR1" + bytes([1, 4]) + len(payload).to_bytes(2, "little") + bytes(8) + payload + bytes(4)
    return len(frame).to_bytes(2, "little") + frame


power_on, boot = b"\x01\0\0\0DRWP", b"BOOT"
write("command_fuzz", "stream", command(1) + command(2, bytes([2, 0, 0, 0])) + command(5, bytes([1, 0, 0, 0])) +
      command(4, bytes([9, 0, 0, 0, 0, 0, 0, 0])) + command(10) + command(3))
write("command_fuzz", "storage", command(8, bytes([0, 0, 8, 0, 8, 0, 1, 0]) + b"12345678") +
      command(7, bytes([255, 255, 0, 0, 8, 0, 0, 0])) + command(7, bytes([0, 0, 0, 0, 0, 1, 0, 0])))
write("command_fuzz", "board", command(6) + command(9, power_on) + command(11, bytes([1, 0, 0, 0])) + command(12, boot) +
      command(99))
recording = golden("golden_recording.inc")
write("decoder_fuzz", "frames", b"\x00" + recording + block(3) + block(2, 2))
write("decoder_fuzz", "cut", b"\x01" + recording[:300])
write("recording_fuzz", "one_of_each", recording)
write("recording_fuzz", "blocks", block(75) + block(75, 2) + recording)
zero = {"operations": 0, "bytes": 0, "errors": 0, "latency_sum_ns": 0, "latency_minimum_ns": 2**64 - 1, "latency_maximum_ns": 0}
begin = {"event": "begin", "version": 1, "number": 3, "step": "s", "label": "l", "kind": "io", "scored": True, "has_io": True,
         "parameters": [["depth", "4"]], "begin_ns": 1000}
end = {**begin, "event": "end", "measured_begin_ns": 1, "measured_end_ns": 2, "end_ns": 3, "stop": "time", "kinds": [zero] * 5,
       "errors": [{"kind": 1, "errno": 5, "count": 1, "first_offset": 4096}], "warnings": ["w"], "mean_depth": 1.5,
       "device_mean_depth": None, "verify_failures": 0, "log_dropped": 0, "rate_error": 0.0, "cpu_seconds": 1e-3, "engine": "e",
       "io_offset": 0, "io_bytes": 10}
write("phases_fuzz", "lines", b"\x00" + (json.dumps(begin) + "\n" + json.dumps(end) + "\n").encode())
write("phases_fuzz", "record", b"\x01" + golden("golden_io.inc"))
