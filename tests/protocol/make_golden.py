#!/usr/bin/env python3
"""Prints the frames that golden_test.cpp holds, from PROTOCOL.md alone: struct and a CRC of its own, nothing of the C++ code.

Not run by any test: the bytes of version 1 are what they are. It documents how they were obtained and serves a next version."""
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def code(value):
    return struct.pack("<i", value)[:3]


def int128(value):
    return (value % 2**128).to_bytes(16, "little")


def show(name, kind, sequence, parts):
    payload = b"".join(data for data, _ in parts)
    head = struct.pack("<4sBBHIH", b"WTR1", 1, kind, len(payload), sequence, 0)
    frame = head + struct.pack("<H", crc32c(head) & 0xFFFF) + payload
    parts = [(head[0:4], "magic"), (head[4:5], "version"), (head[5:6], "type"), (head[6:8], "payload_bytes %d" % len(payload)),
             (head[8:12], "sequence"), (head[12:14], "reserved"), (frame[14:16], "header_check")] + parts
    parts.append((struct.pack("<I", crc32c(frame)), "CRC32C"))
    print("// " + name)
    for data, comment in parts:
        print("    %s ; %s" % (data.hex(" "), comment))


def fields(layout, *named):
    """layout: one struct code a field."""
    return [(struct.pack("<" + f, value), "%s %s" % (name, value)) for f, (name, value) in zip(layout, named)]


def block_header(**h):
    order = ("first_index first_time lost_samples boot_id segment span count flags lost_blocks adc_crc_errors peak_overruns "
             "slow_errors command_errors shunt_temperature board_temperature rails detail sideband_low sideband_high").split()
    return fields("QQQIIIIIIIIIIhhBBBB", *[(name, h.get(name, 0)) for name in order])


def rail_part(samples, extremes):
    return ([(struct.pack("<Q", len(samples)), "count %d" % len(samples)),
             (struct.pack("<q", sum(v for v, _ in samples)), "sum_v"), (struct.pack("<q", sum(i for _, i in samples)), "sum_i"),
             (int128(sum(v * i for v, i in samples)), "sum_vi"), (int128(sum(i * i for _, i in samples)), "sum_ii")]
            + fields("iiii", *zip("v_minimum v_maximum i_minimum i_maximum".split(), extremes)))


def extremes_of(samples):
    return [min(v for v, _ in samples), max(v for v, _ in samples), min(i for _, i in samples), max(i for _, i in samples)]


NONE = -2**31
show("start_stream", 4, 5, fields("HHHH", ("id", 2), ("tag", 0x1234), ("status", 0), ("reserved", 0))
     + fields("BBH", ("rails", 1), ("detail", 0), ("reserved", 0)))
show("reply to start_stream", 5, 0, fields("HHHH", ("id", 2), ("tag", 0x1234), ("status", 0), ("reserved", 0)))
show("reply to an unknown command", 5, 1, fields("HHHH", ("id", 0x7777), ("tag", 1), ("status", 1), ("reserved", 0)))
show("sync reply", 5, 0, fields("HHHH", ("id", 4), ("tag", 0xABCD), ("status", 0), ("reserved", 0))
     + fields("IIQQQII", ("exchange", 42), ("reserved", 0), ("received", 5_000_000_000 * 125 + 124),
              ("armed", 5_000_001_500 * 125), ("frame_time", 4_999_999_000 * 125), ("frame_number", 777), ("reserved2", 0)))

# Three samples with DRDY at 1000.96, 1031.68 and 1062.40 us, so the grid stands at 125120 ticks and 5715 come off. Before the last
# one 30 readings: 0, 100, ... 2900; the zero reading is 8.5. Six windows are complete, the last is the largest: readings 5 to 29.
samples = [(5_000_000, -1), (5_000_001, 8_388_607), (4_999_999, -8_388_608)]
readings = list(range(0, 3000, 100))
peak = ((256 * sum(readings[5:]) - 25 * 2176) * samples[1][0]) >> 20
sideband = [0x81, 0x80, 0xA0]
show("block of three samples", 1, 0, block_header(first_index=0, first_time=125_120 - 5715, boot_id=0xB007, segment=1, span=3,
     count=3, flags=0x80000000 | 4 | 2, command_errors=1, shunt_temperature=2512, board_temperature=-150, rails=1, detail=0,
     sideband_low=0x7F, sideband_high=0xA1)
     + rail_part(samples, extremes_of(samples))
     + fields("qqII", ("slow sum", 0), ("fast_sum", 0), ("count", 0), ("fast_count", 0))
     + [(struct.pack("<8i", peak, *[NONE] * 7), "group_maximum %d, none x 7" % peak)]
     + fields("iHHHHII", ("maximum", peak), ("maximum_at", 29), ("minimum_reading", 0), ("maximum_reading", 2900), ("reserved", 0),
              ("readings", 30), ("sum_low", sum(readings)))
     + [(bytes(4), "zeros"), (b"".join(code(v) for v, _ in samples), "V codes"), (b"".join(code(i) for _, i in samples), "I codes"),
        (bytes(sideband), "side-band bytes"), (bytes(-(224 + 21) % 4), "padding")])

# 300 samples on two rails, all alike; no readings, no conversion.
show("summary of 300 samples", 2, 0, block_header(first_index=0, first_time=125_000 - 5715, boot_id=0xB007, segment=1, span=300,
     count=300, flags=0x80000000 | 4, rails=2, detail=1, sideband_low=0x7F, sideband_high=0x80)
     + rail_part([(6_000_000, 2_000_000)] * 300, [6_000_000, 6_000_000, 2_000_000, 2_000_000])
     + rail_part([(-3, -4)] * 300, [-3, -3, -4, -4])
     + fields("qqII", ("slow sum", 0), ("fast_sum", 0), ("count", 0), ("fast_count", 0))
     + [(struct.pack("<8i", *[NONE] * 8), "group_maximum none x 8")]
     + fields("iHHHHII", ("maximum", NONE), ("maximum_at", 0), ("minimum_reading", 0), ("maximum_reading", 0), ("reserved", 0),
              ("readings", 0), ("sum_low", 0))
     + [(bytes(4), "zeros")])
