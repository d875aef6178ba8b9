#!/usr/bin/env python3
"""Energy of a simple phase of a simulated drive, from its model file alone: `operations` operations of one kind and size, one at
a time, `busy` seconds in all, then `idle` seconds. Prints joules.

    drive_energy.py MODEL.json read|write BYTES OPERATIONS SPAN BUSY_SECONDS IDLE_SECONDS

Shares nothing with the simulator: sums, not events. Writes fill no more than the cache, and the idle time is longer than the
programs that are still under way."""
import json
import math
import sys


def main(path, kind, size, operations, span, busy, idle):
    model = json.load(open(path, encoding="utf-8"))
    power = model["power"]
    energy = operations * (power[f"{kind}_joule"] + size * power[f"{kind}_joule_per_byte"])
    if "map_cache" in model:
        # Each segment of the map that is touched is read once; at random places some are not touched. None is dropped.
        segments = span / model["map_cache"]["segment_bytes"]
        if segments > model["map_cache"]["segments"]:
            raise SystemExit("the span does not fit the map cache")
        energy += segments * -math.expm1(operations * math.log1p(-1 / segments)) * model["map_cache"]["miss_joule"]
    active = busy
    if kind == "write":
        flash = model["flash"]
        programmed = operations * size // flash["program_bytes"] * flash["program_bytes"]
        cache = model.get("cache")
        if cache and programmed > cache["bytes"]:
            raise SystemExit("the phase does not fit the cache")
        energy += programmed * power["cache_program_joule_per_byte" if cache else "program_joule_per_byte"]
        # Programs of the last bytes go on when the host has its completion.
        active += (flash["cache_program_ns"] if cache else flash["program_ns"]) * 1e-9
        if cache:
            drained = min(programmed, cache["busy_drain_bytes_per_second"] * active
                          + cache["drain_bytes_per_second"] * max(0.0, idle - (active - busy) - cache["idle_before_drain_ns"] * 1e-9))
            energy += drained * power["drain_joule_per_byte"]
    # The active floor follows the work with a first-order lag; the lag cancels over rise and fall.
    constant = power["active_time_constant_ns"] * 1e-9
    left = math.exp(-(busy + idle - active) / constant)
    energy += power["active_watt"] * (active - constant * left) + power["idle_watt"] * (busy + idle)
    print(f"{energy:.9f}")


if __name__ == "__main__":
    _, path, kind, size, operations, span, busy, idle = sys.argv
    main(path, kind, int(size), int(operations), int(span), float(busy), float(idle))
