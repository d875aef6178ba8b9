#!/bin/sh
# check_cortex_m0plus.sh SOURCE_DIR OUTPUT_DIR [EXTRA_SOURCE...]
# Compiles the firmware core for the rig's MCU with every warning an error, and refuses references that the rig cannot afford: heap,
# exceptions, virtual tables, 64-bit division (600 cycles in a 3840-cycle sample), floating point, library atomics. Prints the RAM of
# one Meter and holds it to its budget. Exit 77: the compiler is not installed.
set -eu
source_dir=$1
output_dir=$2
shift 2
budget_bytes=150000

command -v arm-none-eabi-g++ >/dev/null || {
    echo "arm-none-eabi-g++ is not installed: skipped"
    exit 77
}
rm -rf "$output_dir"
mkdir -p "$output_dir"
compile() {
    arm-none-eabi-g++ -mcpu=cortex-m0plus -mthumb -std=c++20 -Os -fno-exceptions -fno-rtti -fno-threadsafe-statics \
        -ffunction-sections -Wall -Wextra -Wconversion -Wshadow -Werror -I "$source_dir" -c "$1" -o "$2"
}

for file in "$source_dir"/firmware/core/*.cpp "$@"; do
    case $file in */stream_bulk.cpp) continue ;; esac # host only
    compile "$file" "$output_dir/$(basename "$file" .cpp).o"
done

forbidden='malloc|calloc|realloc|_Zn[wa]|_Zd[la]|__cxa_|_ZTV|_ZSt.*throw|__aeabi_u?ldivmod|__u?divdi3|__aeabi_[fd]|__atomic_|__sync_'
failed=0
for object in "$output_dir"/*.o; do
    found=$(arm-none-eabi-nm -u "$object" | awk '{print $2}' | grep -E "^($forbidden)" | tr '\n' ' ') || true
    if [ -n "$found" ]; then
        echo "$(basename "$object" .o).cpp must not refer to $found"
        failed=1
    fi
done

cat >"$output_dir/probe.cpp" <<'END'
#include "firmware/core/meter.hpp"
alignas(8) unsigned char meter_ram[sizeof(wattrig::firmware::Meter)];
END
compile "$output_dir/probe.cpp" "$output_dir/probe.o"
ram=$((0x$(arm-none-eabi-nm -S "$output_dir/probe.o" | awk '$4 == "meter_ram" {print $2}')))
code=$(arm-none-eabi-size "$output_dir"/*.o | awk 'NR > 1 {sum += $1} END {print sum}')
echo "static RAM of Meter: $ram of $budget_bytes bytes, code and tables of the core: $code bytes"
[ "$ram" -le "$budget_bytes" ] || {
    echo "over budget"
    failed=1
}
exit $failed
