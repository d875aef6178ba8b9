#!/usr/bin/env python3
"""check_image.py wattrig.elf wattrig.bin: what the linker does not check. Everything that runs while the rig measures lies in
SRAM; flash and SRAM stay within their budgets; nothing came in that the rig cannot afford (heap, exceptions, floating point,
64-bit division); boot2 carries its CRC. Prints the use. Exit 1 on any violation."""
import pathlib
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from boot2_image import crc32_mpeg2  # noqa: E402

SRAM, SRAM_END = 0x20000000, 0x20042000
FLASH_BUDGET = 128 * 1024  # of 2 MiB: the image is copied at start, 03h reads at 31 Mbit/s take 33 ms for this much
# Meter 93 kB (64 frames of 1304 bytes), code and tables 40 kB, buffers of USB, peak ring and captures 6 kB: 139 kB
SRAM_BUDGET = 150_000

MUST_BE_IN_SRAM = [
    r"wattrig::rp2040::\(anonymous namespace\)::vectors", r"usb_handler", r"usb_kick_handler", r"dma0_handler", r"gpio_handler",
    r"i2c_handler", r"i2c_kick_handler", r"meter_handler", r"systick_handler", r"fault_handler", r"unexpected_handler",
    r"restart_after_fault", r"wattrig::protocol::crc32c_table", r".*::crc16_table",
    r"wattrig::firmware::Stream::finish_block\(.*", r"memcpy", r"__aeabi_lmul",
]
MAY_BE_IN_FLASH = {"reset_handler", "wattrig::rp2040::(anonymous namespace)::start_vectors"}
FORBIDDEN = re.compile(r"^(malloc|free|operator new.*|operator delete.*|__cxa_.*|_Unwind.*|__aeabi_u?ldivmod|__aeabi_[fd].*|"
                       r"__atomic_.*|vtable for .*|_sbrk)$")


def symbols(elf):
    out = subprocess.run(["arm-none-eabi-nm", "-C", "-S", elf], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        match = re.match(r"([0-9a-f]{8}) (?:([0-9a-f]{8}) )?(\w) (.*)", line)
        if match:
            yield int(match[1], 16), int(match[2] or "0", 16), match[3], match[4]


def sections(elf):
    out = subprocess.run(["arm-none-eabi-size", "-A", elf], capture_output=True, text=True, check=True).stdout
    return {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(\.\w+)\s+(\d+)\s+(\d+)", out, re.M)}


def main():
    elf, image = sys.argv[1], pathlib.Path(sys.argv[2]).read_bytes()
    problems = []
    found = list(symbols(elf))
    for address, size, kind, name in found:
        in_sram = SRAM <= address < SRAM_END
        if kind in "tTrRwW" and not in_sram and 0x10000000 <= address < 0x11000000 and size and name not in MAY_BE_IN_FLASH:
            problems.append(f"{name} lies in flash at {address:#x}")
        if FORBIDDEN.match(name):
            problems.append(f"{name} came in")
    for pattern in MUST_BE_IN_SRAM:
        places = [a for a, _, _, n in found if re.fullmatch(pattern, n)]
        if not places:
            problems.append(f"{pattern} is nowhere: the check looks for a name that is gone")
        elif not all(SRAM <= a < SRAM_END for a in places):
            problems.append(f"{pattern} is not in SRAM")
    if crc32_mpeg2(image[:252]) != struct.unpack_from("<I", image, 252)[0]:
        problems.append("boot2 has a wrong CRC: the mask ROM would not start it")

    size = sections(elf)
    fast = size[".fast"][0] + size[".vectors"][0]
    data, bss, kept = (size.get(s, (0, 0))[0] for s in (".data", ".bss", ".kept"))
    sram = fast + data + bss + kept
    print(f"flash {len(image)} of {FLASH_BUDGET} bytes; SRAM {sram} of {SRAM_BUDGET} bytes: code and tables {fast}, data {data}, "
          f"zeroed {bss}, kept {kept}; stack 8192 apart")
    for address, bytes_, kind, name in sorted((s for s in found if s[2] in "bBdD"), key=lambda s: -s[1])[:6]:
        print(f"    {bytes_:7} {name}")
    if len(image) > FLASH_BUDGET:
        problems.append("flash is over its budget")
    if sram > SRAM_BUDGET:
        problems.append("SRAM is over its budget")
    for problem in problems:
        print(f"check_image: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
