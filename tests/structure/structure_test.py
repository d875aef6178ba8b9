#!/usr/bin/env python3
"""The house rules that a compiler does not see: who may include whom, what a public header may pull, where clocks are read,
how long a file may be, and what must never be in a commit. Each check is a test; `structure_test.py --self-test` plants a fault
for each and sees it found."""
import pathlib
import re
import subprocess
import sys
import tempfile

# The flow of DESIGN: a folder includes only from folders above it.
FLOW = ["firmware/protocol", "firmware/core", "firmware/drivers", "firmware/rp2040", "firmware/app",
        "host/base", "host/target", "host/nvme", "host/io", "host/rig", "host/recording", "host/power", "host/analysis",
        "host/suites", "host/sim", "host/runner", "host/report", "host/exchange", "host/live", "host/cli"]
# The host builds the firmware's core for the simulator and for other instruments' samples, and nothing else of the firmware.
HOST_MAY_INCLUDE_CORE = {"host/sim", "host/exchange"}
HEAVY = re.compile(r'#\s*include\s*<(boost/asio|boost/beast|boost/math|nlohmann/json\.hpp|Eigen/|CLI/|spdlog/|liburing|libusb)')
# Headers that exist to wrap a heavy library for the .cpp files of their own folder; no public header may include them.
HEAVY_WRAPPERS = {"host/base/json_reader.hpp"}
CLOCK = re.compile(r'\b(sleep_for|sleep_until|nanosleep|usleep|steady_clock|system_clock|high_resolution_clock|clock_gettime'
                   r'|real_host_time)\b\s*(\(|::now)')
# The two drivers, real links, the runner's waiting and the cli; nothing else waits or reads a clock.
MAY_READ_CLOCK = {"host/base/clock.hpp", "host/base/clock.cpp", "host/io/threaded.cpp", "host/io/virtual.cpp",
                  "host/io/uring_backend.cpp",
                  "host/rig/tcp_link.cpp", "host/rig/usb_link.cpp", "host/rig/serve.cpp", "host/runner/wait.cpp", "host/runner/wait.hpp"}
# The program runs as whoever started it: no file of it changes users or hands itself capabilities.
PRIVILEGE = re.compile(r'\b(set(e|re|res|fs)?[ug]id|cap_set_proc|setgroups)\s*\(')
LONGEST = 700
FORBIDDEN = [re.compile(p) for p in (r'/(wo' r'rk|ro' r'ot)/[a-z.]', r'\bTO' r'DO\b', r'\bFIX' r'ME\b', r'\bXX' r'X\b', r'NOLINT(?!NEXTLINE\()',
                                     r'registry\.npm' r'js', r'deb\.deb' r'ian\.org')]


def files(root):
    out = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = out.stdout.split("\n") if out.returncode == 0 and out.stdout else \
        [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return [n for n in names if n and (root / n).is_file()]


def folder_of(name):
    for folder in FLOW:
        if name.startswith(folder + "/"):
            return folder
    return None


def check(root):
    problems = []
    for name in files(root):
        path = root / name
        if path.suffix not in {".hpp", ".cpp", ".py", ".sh", ".md", ".json", ".txt", ".cmake", ".mjs", ".js"} and path.name not in {"dev", "run"}:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            problems.append(f"{name}: not UTF-8")
            continue
        lines = text.split("\n")
        if path.suffix in {".hpp", ".cpp", ".py", ".sh", ".mjs"} and len(lines) > LONGEST:
            problems.append(f"{name}: {len(lines)} lines; over {LONGEST} a file wants a wall")
        if name.endswith("structure_test.py"):
            continue
        for number, line in enumerate(lines, 1):
            for pattern in FORBIDDEN:
                if pattern.search(line):
                    problems.append(f"{name}:{number}: must not be in a commit: {line.strip()[:100]}")
        folder = folder_of(name)
        if folder is None or path.suffix not in {".hpp", ".cpp"}:
            continue
        for number, line in enumerate(lines, 1):
            include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if include:
                other = folder_of(include.group(1))
                if other is None:
                    problems.append(f"{name}:{number}: includes are written from the top folder: {include.group(1)}")
                elif FLOW.index(other) > FLOW.index(folder):
                    problems.append(f"{name}:{number}: {folder} includes {other}, which stands below it in the flow")
                elif folder.startswith("host/") and other.startswith("firmware/") and other != "firmware/protocol" \
                        and folder not in HOST_MAY_INCLUDE_CORE:
                    problems.append(f"{name}:{number}: of the firmware, {folder} may include the protocol alone")
                elif include.group(1) in HEAVY_WRAPPERS and path.suffix == ".hpp" and name not in HEAVY_WRAPPERS:
                    problems.append(f"{name}:{number}: {include.group(1)} is for .cpp files alone")
            if folder.startswith("host/") and PRIVILEGE.search(line.split("//")[0]):
                problems.append(f"{name}:{number}: the program never changes its user or its capabilities: {line.strip()[:100]}")
            if path.suffix == ".hpp" and name not in HEAVY_WRAPPERS and HEAVY.match(line):
                problems.append(f"{name}:{number}: a header pulls a heavy library: {line.strip()}")
            if name not in MAY_READ_CLOCK and not name.startswith("host/cli/") and CLOCK.search(line.split("//")[0]):
                problems.append(f"{name}:{number}: only drivers, real links and the cli may wait or read a clock: {line.strip()[:100]}")
    return problems


PLANTED = {
    "host/base/a.hpp": '#include "host/io/worker.hpp"\n',
    "host/io/b.hpp": "#include <nlohmann/json.hpp>\n",
    "host/power/c.cpp": "auto t = std::chrono::steady_clock::now();\n",
    "host/power/d.cpp": '#include "firmware/core/meter.hpp"\n',
    "host/power/e.cpp": "int x;\n" * (LONGEST + 1),
    "host/power/f.cpp": "// TO" "DO later\n",
    "host/power/g.cpp": '#include "energy.hpp"\n',
    "host/cli/h.cpp": "if (::setuid(0) != 0) return 1;\n",
}


def self_test():
    missed = []
    for name, text in PLANTED.items():
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            if not check(pathlib.Path(folder)):
                missed.append(name)
    for name in missed:
        print(f"planted fault not found: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        sys.exit(self_test())
    found = check(pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(found))
    sys.exit(1 if found else 0)
