#!/usr/bin/env bash
# Installs KiCad 9 from Debian's backports and ngspice, from package lists of its own: the machine's sources stay as they are.
# The backports line is the machine's own Debian source with one more suite, so mirrors and proxies keep working.
# Ends with 3 when KiCad cannot be had; callers then say "skipped".
set -euo pipefail

have() { command -v "$1" >/dev/null; }
kicad_is_9() { have kicad-cli && [[ $(kicad-cli version 2>/dev/null) == 9.* ]]; }
kicad_is_9 && have ngspice && have pdftoppm && exit 0

refuse() { echo "install_kicad: $*" >&2; exit 3; }
have apt-get || refuse "no apt-get on this machine"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    have sudo || refuse "needs root or sudo"
    as_root=(sudo)
fi
. /etc/os-release
[ "${VERSION_CODENAME:-}" = bookworm ] || refuse "made for Debian bookworm, this is ${PRETTY_NAME:-unknown}"

lists=${XDG_CACHE_HOME:-$HOME/.cache}/wattrig-apt
mkdir -p "$lists"/{lists/partial,parts,cache/archives/partial}
found=
for source in /etc/apt/sources.list.d/*.sources; do
    [ -e "$source" ] || continue
    grep -Eq '^Suites:.*\bbookworm\b' "$source" || continue
    # Only the stanza's own suite grows; bookworm-updates and -security stay what they are.
    sed -E '/^Suites:/ s/\bbookworm( |$)/bookworm bookworm-backports\1/' "$source" >"$lists/parts/$(basename "$source")"
    found=yes
done
if [ -e /etc/apt/sources.list ] && grep -Eq '^deb .* bookworm ' /etc/apt/sources.list; then
    { cat /etc/apt/sources.list
      grep -E '^deb .* bookworm ' /etc/apt/sources.list | head -n 1 | sed 's/ bookworm / bookworm-backports /'; } >"$lists/parts/main.list"
    found=yes
fi
[ -n "$found" ] || refuse "found no Debian source for bookworm to derive the backports line from"

options=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$lists/parts" -o "Dir::State::lists=$lists/lists"
         -o "Dir::Cache=$lists/cache" -o "APT::Get::List-Cleanup=0")
"${as_root[@]}" apt-get "${options[@]}" update -qq || refuse "the package lists could not be read"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y -qq --no-install-recommends \
    -t bookworm-backports kicad kicad-symbols kicad-footprints >/dev/null || refuse "KiCad could not be installed"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y -qq --no-install-recommends \
    ngspice poppler-utils >/dev/null || refuse "ngspice could not be installed"
kicad_is_9 || refuse "kicad-cli is not version 9"
