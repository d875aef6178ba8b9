#!/usr/bin/env python3
"""make_uf2.py IMAGE.bin OUT.uf2: wraps a flash image for drag and drop onto the RPI-RP2 drive. UF2: 512-byte blocks of 256
data bytes each, family e48bff56 (RP2040)."""
import pathlib
import struct
import sys

FLASH, FAMILY, DATA = 0x10000000, 0xE48BFF56, 256


def main():
    image = pathlib.Path(sys.argv[1]).read_bytes()
    count = (len(image) + DATA - 1) // DATA
    out = bytearray()
    for number in range(count):
        data = image[number * DATA:(number + 1) * DATA].ljust(DATA, b"\0")
        head = struct.pack("<8I", 0x0A324655, 0x9E5D5157, 0x2000, FLASH + number * DATA, DATA, number, count, FAMILY)
        out += (head + data).ljust(508, b"\0") + struct.pack("<I", 0x0AB16F30)
    pathlib.Path(sys.argv[2]).write_bytes(out)


if __name__ == "__main__":
    main()
