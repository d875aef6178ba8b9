#!/usr/bin/env python3
"""boot2_image.py RAW CHECKED: pads the second stage to 252 bytes and appends the CRC that the RP2040's mask ROM wants:
polynomial 04C11DB7, start ffffffff, most significant bit first, nothing inverted (datasheet 2.8.1.3.1)."""
import pathlib
import struct
import sys


def crc32_mpeg2(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return crc


def main():
    assert crc32_mpeg2(b"123456789") == 0x0376E6E7, "the check value of this CRC in the catalogues"
    raw = pathlib.Path(sys.argv[1]).read_bytes()
    if len(raw) > 252:
        sys.exit(f"the second stage is {len(raw)} bytes, it may have 252")
    padded = raw.ljust(252, b"\0")
    pathlib.Path(sys.argv[2]).write_bytes(padded + struct.pack("<I", crc32_mpeg2(padded)))


if __name__ == "__main__":
    main()
