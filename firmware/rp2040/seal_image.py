#!/usr/bin/env python3
"""seal_image.py IMAGE.bin: writes the image's size and CRC32C where startup.cpp left room for them (StartVectors, at 0x100)."""
import pathlib
import struct
import sys

MAGIC_AT, SIZE_AT, CRC_AT = 0x108, 0x118, 0x11C
MAGIC = 0x4D495457


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def main():
    assert crc32c(b"123456789") == 0xE3069283
    path = pathlib.Path(sys.argv[1])
    image = bytearray(path.read_bytes())
    if struct.unpack_from("<I", image, MAGIC_AT)[0] != MAGIC:
        sys.exit("seal_image: no image description at 0x108")
    image += bytes(-len(image) % 4)
    struct.pack_into("<II", image, SIZE_AT, len(image), 0)
    struct.pack_into("<I", image, CRC_AT, crc32c(image))
    path.write_bytes(image)


if __name__ == "__main__":
    main()
