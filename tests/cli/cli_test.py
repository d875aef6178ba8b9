#!/usr/bin/env python3
"""The program as a user meets it: exit codes, help, errors of one line, JSON, pipes, Ctrl-C.

cli_test.py WATTRIG TEST     one test, for CTest
cli_test.py WATTRIG          all of them
"""
import csv
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
SHORT = ["--set", "runtime=0.3s"]


class Failed(Exception):
    pass


def expect(condition, words):
    if not condition:
        raise Failed(words)


def wattrig(*arguments, env=None, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240, env=environment, **more)


def expect_refusal(done, code, *words):
    expect(done.returncode == code, f"expected exit code {code}, came {done.returncode}: {done.stderr}")
    lines = done.stderr.strip().split("\n")
    expect(len(lines) == 1 and lines[0].startswith("wattrig: "), f"expected one line 'wattrig: ...', came {done.stderr!r}")
    expect(done.stdout == "", f"expected nothing on standard output, came {done.stdout[:200]!r}")
    for word in words:
        expect(word in lines[0], f"expected {word!r} in {lines[0]!r}")


def test_version():
    done = wattrig("--version")
    expect(done.returncode == 0 and re.fullmatch(r"wattrig \d+\.\d+\.\d+\n", done.stdout), done.stdout)


def test_help_teaches():
    done = wattrig("--help")
    expect(done.returncode == 0, "exit code")
    for word in ("Examples:", "wattrig run quick --target sim:client-1tb", "Exit codes:", "analyze", "report", "list", "doctor"):
        expect(word in done.stdout, f"{word!r} is not in --help")
    done = wattrig("run", "--help")
    expect(done.returncode == 0 and "--rig" in done.stdout and "--scale" in done.stdout, "run --help")


def test_exit_codes_of_help_are_those_of_the_readme():
    readme = (pathlib.Path(__file__).parents[2] / "host/cli/README.md").read_text(encoding="utf-8")
    text = wattrig("--help").stdout
    codes = dict(re.findall(r"^  (\d)  (.+)$", text, re.M))
    table = dict(re.findall(r"^\| (\d) \| (.+?) \|$", readme, re.M))
    expect(codes and codes == table, f"--help says {codes}, the README {table}")


def test_bad_usage():
    expect_refusal(wattrig(), 2)
    expect_refusal(wattrig("run"), 2, "SUITE")
    expect_refusal(wattrig("run", "quick", "--nonsense"), 2, "--nonsense")
    expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--scale", "2"), 2, "--scale")
    expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--set", "runtime"), 2, "KEY=VALUE")
    expect_refusal(wattrig("run", "quick", "--target", "x", "--size", "1KB"), 2, "--size")
    expect_refusal(wattrig("run", "quick", "--target", "x", "--cpus", "0,x"), 2, "--cpus")
    expect_refusal(wattrig("list", "everything"), 2)


def test_unknown_suite_is_answered_with_a_near_one():
    expect_refusal(wattrig("run", "quik", "--target", "sim:client-1tb"), 2, "quik", "quick")


def test_bad_override_names_the_key():
    expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--set", "runtme=1s"), 2, "runtme", "runtime")
    expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--set", "depth=banana"), 2, "depth", "banana")


def test_missing_target():
    expect_refusal(wattrig("run", "quick"), 2, "--target")
    expect_refusal(wattrig("run", "quick", "--target", "sim:no-such-model"), 2, "no-such-model")


def test_bad_rig():
    expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--rig", "tcp:127.0.0.1:1"), 2, "virtual time")
    with tempfile.TemporaryDirectory() as folder:
        expect_refusal(wattrig("run", "quick", "--target", "file", "--rig", "banana", cwd=folder), 2, "banana")
        expect_refusal(wattrig("run", "quick", "--target", "file", "--rig", "tcp:127.0.0.1:1", cwd=folder), 4)
        left = [p for p in pathlib.Path(folder).rglob("*") if p.is_file()]
        expect(not left, f"left behind: {left}")


def test_a_calibration_that_cannot_be_used_is_refused_with_the_reason():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        made = wattrig("run", "quick", "--target", "sim:client-1tb", "--scale", "0.01", "--out", str(out))
        expect(made.returncode == 0, made.stderr)
        good = json.loads((out / "run.json").read_text())["calibration"]
        file = pathlib.Path(folder) / "rig.json"

        def answer(change, status, *words):
            calibration = json.loads(json.dumps(good))
            change(calibration)
            file.write_text(json.dumps(calibration))
            expect_refusal(wattrig("run", "quick", "--target", "file", "--rig", "tcp:127.0.0.1:1", "--calibration", str(file),
                                   cwd=folder), status, *words)

        answer(lambda c: None, 4)  # taken; then nobody answers at that port
        answer(lambda c: c.update(schema="wattrig.calibration/9"), 2, "rig.json: schema", "wattrig.calibration/9")
        answer(lambda c: c["rails"][0].update(i_gain=c["rails"][0]["i_gain"] * 1.1), 2, "rails[0].i_gain", "4.2 %")
        answer(lambda c: c["rails"][0].update(v_offset=float("nan")), 2, "expected JSON of a calibration")
        answer(lambda c: c.update(crc32c="00000000"), 2, "crc32c", "changed")


def test_used_directory_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "mine.txt").write_text("mine")
        expect_refusal(wattrig("run", "quick", "--target", "sim:client-1tb", "--out", folder), 2, folder)
        expect([p.name for p in pathlib.Path(folder).iterdir()] == ["mine.txt"], "something was written")
        expect_refusal(wattrig("analyze", folder), 2)
        expect_refusal(wattrig("report", folder + "/none"), 2)


def test_lists():
    for what in ("suites", "models", "rigs", "targets"):
        done = wattrig("list", what, "--json")
        expect(done.returncode == 0 and isinstance(json.loads(done.stdout), list), what)
    expect("quick" in wattrig("list", "suites").stdout, "suites")
    expect("sim:client-1tb" in wattrig("list", "models").stdout, "models")


def test_doctor():
    done = wattrig("doctor")
    expect(done.returncode in (0, 1), done.stderr)
    for word in ("io_uring", "O_DIRECT", "clock source", "rigs"):
        expect(word in done.stdout, word)
    json.loads(wattrig("doctor", "--json").stdout)


def test_plan_touches_nothing():
    with tempfile.TemporaryDirectory() as folder:
        done = wattrig("run", "quick", "--target", "sim:client-1tb", "--plan", cwd=folder)
        expect(done.returncode == 0 and "randread 4 KiB QD4" in done.stdout and "13 steps" in done.stdout, done.stdout + done.stderr)
        expect(wattrig("run", "quick", "--plan", cwd=folder).returncode == 0, "without a target")
        expect(not list(pathlib.Path(folder).iterdir()), "something was written")


def test_hostile_target_name_is_harmless():
    done = wattrig("run", "quick", "--target", "sim:\x1b[2J\x07model")
    expect("\x1b" not in done.stderr and "\x07" not in done.stderr, repr(done.stderr))


HOSTILE = "\x1b]0;owned\x07\x1b[2J</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\r\n\"'&"


def test_hostile_run_directory_is_harmless():
    """Every string of a run from somewhere else is somebody else's: none becomes a command of the terminal or a tag of a page."""
    def poisoned(value):
        if isinstance(value, dict):
            return {k: poisoned(v) for k, v in value.items()}
        if isinstance(value, list):
            return [poisoned(v) for v in value]
        return value + HOSTILE if isinstance(value, str) and value not in KEPT_VALUES else value
    KEPT_VALUES = {"wattrig.run/1", "wattrig.calibration/1", "exact", "io", "idle", "begin", "end", "time"}
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "run"
        expect(run_short(str(folder), "--quiet").returncode == 0, "run")
        run = json.loads((folder / "run.json").read_text())
        calibration = run["calibration"]
        run = poisoned(run)
        run["calibration"] = {**calibration, "serial": "x" + HOSTILE, "reference": HOSTILE}
        (folder / "run.json").write_text(json.dumps(run))
        lines = []
        for line in (folder / "phases.jsonl").read_text().splitlines():
            phase = json.loads(line)
            for key in ("step", "label"):
                phase[key] += HOSTILE
            if "warnings" in phase:
                phase["warnings"] = [HOSTILE]
                phase["engine"] = HOSTILE
            lines.append(json.dumps(phase))
        (folder / "phases.jsonl").write_text("\n".join(lines) + "\n")
        twin = pathlib.Path(parent) / "twin"
        said = []
        for arguments in (("analyze", folder), ("report", folder), ("export", folder, "--format", "openmetrics"), ("export", folder, "--format", "fio"),
                          ("compare", folder, folder, "--mixed", "--out", twin)):
            done = wattrig(*map(str, arguments))
            expect(done.returncode in (0, 1, 2), f"{arguments[0]}: {done.returncode} {done.stderr}")
            said.append((arguments[0], done.stdout + done.stderr))
        for name, text in said:
            bad = [c for c in text if (ord(c) < 0x20 and c != "\n") or c in "\u202e\x7f"]
            expect(not bad, f"{name} sends {bad[:3]!r} to the terminal")
        pages = [folder / "report.html", *twin.glob("*.html")]
        expect(len(pages) == 2, pages)
        for page in pages:
            text = page.read_text(encoding="utf-8")
            expect("<script>alert" not in text and "<img src=x" not in text, f"{page.name}: a string became a tag")
            expect("\x1b" not in text and "\u202e" not in text, f"{page.name}: control characters")


def recorded(folder, *command, more=()):
    done = wattrig("record", "--rig", "sim", "--out", folder, "--quiet", *more, "--", *command)
    result = pathlib.Path(folder) / "result.json"
    return done, json.loads(result.read_text()) if result.exists() else None


def test_record_passes_the_exit_code_on():
    with tempfile.TemporaryDirectory() as parent:
        for number, (command, code) in enumerate(((["sh", "-c", "echo out; echo err >&2; exit 7"], 7), (["true"], 0), (["sh", "-c", "kill -TERM $$"], 143))):
            done, result = recorded(f"{parent}/{number}", *command)
            expect(done.returncode == code, f"{command}: expected {code}, came {done.returncode}: {done.stderr}")
            expect(result["complete"] and result["phases"][0]["kind"] == "command" and result["power_simulated"], command)
            if code == 7:
                expect(done.stdout == "out\n" and "err\n" in done.stderr, f"the command's output: {done.stdout!r} {done.stderr!r}")
        for command, code in ((["/no/such/program"], 127), ([parent], 126)):
            done, _ = recorded(f"{parent}/missing{code}", *command)
            expect(done.returncode == code and command[0] in done.stderr, f"{command}: {done.returncode} {done.stderr}")
        done = wattrig("record", "--rig", "none", "--", "true")
        expect(done.returncode == 125 and "--rig" in done.stderr, f"{done.returncode} {done.stderr}")


def test_record_marks_become_phases():
    """From the command line, and from a C program with the one header."""
    with tempfile.TemporaryDirectory() as parent:
        script = "sleep 0.3; $W mark --begin one; sleep 0.6; $W mark --end one; $W mark 'just a note'; $W mark --begin open; sleep 0.2"
        os.environ["W"] = PROGRAM
        done, result = recorded(f"{parent}/shell", "sh", "-c", script)
        expect(done.returncode == 0, done.stderr)
        phases = {p["label"]: p for p in result["phases"]}
        one, whole = phases["one"], result["phases"][0]
        length = (one["end_ns"] - one["begin_ns"]) / 1e9
        expect(0.6 <= length < 2 and whole["begin_ns"] < one["begin_ns"] and one["end_ns"] < whole["end_ns"], f"one lasts {length} s")
        expect(abs(one["watts"]["value"] / whole["watts"]["value"] - 1) < 0.01, "an idle drive draws the same in both")
        expect("was not marked" in phases["open"]["warnings"][0], phases["open"]["warnings"])
        expect(wattrig("mark", "x", env={"WATTRIG_MARK_SOCKET": ""}).returncode != 0, "a mark without a recording")
        if shutil.which("cc"):
            header = pathlib.Path(__file__).resolve().parents[2] / "host/runner"
            source = pathlib.Path(parent) / "marks.c"
            source.write_text('#include "wattrig_mark.h"\nint main(void) { wattrig_mark("begin c"); usleep(300000); return wattrig_mark("end c"); }\n')
            subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-I", str(header), "-o", f"{parent}/marks", str(source)], check=True)
            done, result = recorded(f"{parent}/c", f"{parent}/marks")
            expect(done.returncode == 0 and [p["label"] for p in result["phases"]][1:] == ["c"], f"{done.returncode} {done.stderr}")
            length = (result["phases"][1]["end_ns"] - result["phases"][1]["begin_ns"]) / 1e9
            expect(0.3 <= length < 1.5, f"c lasts {length} s")


def test_record_ctrl_c_ends_the_command():
    with tempfile.TemporaryDirectory() as parent:
        process = subprocess.Popen([PROGRAM, "record", "--rig", "sim", "--out", f"{parent}/run", "--quiet", "--", "sleep", "60"], stderr=subprocess.PIPE, text=True)
        lines = pathlib.Path(parent) / "run/phases.jsonl"
        for _ in range(600):
            if lines.exists() and lines.read_text().count("\n") >= 1:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)  # to this program alone: it hands the wish on
        process.communicate(timeout=60)
        expect(process.returncode == 128 + signal.SIGTERM, process.returncode)
        result = json.loads((pathlib.Path(parent) / "run/result.json").read_text())
        expect(result["interrupted"] and result["phases"][0]["watts"]["value"] > 0, "no valid result")


def test_suite_cannot_write_elsewhere():
    with tempfile.TemporaryDirectory() as parent:
        suite = json.loads((pathlib.Path(__file__).resolve().parents[1] / "faults/suite.json").read_text())
        suite["name"] = "../../../elsewhere"
        suite["defaults"]["runtime"] = "0.1 s"
        place = pathlib.Path(parent) / "a/b/c"
        place.mkdir(parents=True)
        (place / "suite.json").write_text(json.dumps(suite))
        done = wattrig("run", "suite.json", "--target", "sim:client-1tb", "--quiet", cwd=place)
        expect(done.returncode in (0, 2), done.stderr)
        made = [p for p in pathlib.Path(parent).rglob("*") if p.is_dir() and p != place and place not in p.parents and p not in place.parents]
        expect(not made, f"a suite's name led to {made}")
        for name in ("../suite", "/etc/passwd", "..", "a/../../b"):
            done = wattrig("run", name, "--target", "sim:client-1tb", "--plan", cwd=place)
            expect(done.returncode in (1, 2) and done.stderr.count("\n") == 1, f"{name}: {done.returncode} {done.stderr}")


def run_short(folder, *more, env=None):
    return wattrig("run", "quick", "--target", "sim:client-1tb", *SHORT, "--out", folder, *more, env=env)


def test_sim_run_and_its_files():
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "run"
        done = run_short(str(folder))
        expect(done.returncode == 0, done.stderr)
        for name in ("run.json", "power.wrt", "power.sum", "phases.jsonl", "io.bin", "result.json", "report.html", "phases.csv", "scores.csv"):
            expect((folder / name).stat().st_size > 0, name)
        expect("power: SIMULATED" in done.stdout and "drive: SIMULATED" in done.stdout, "not called simulated")
        expect(str(folder / "result.json") in done.stdout and str(folder / "report.html") in done.stdout, "paths")
        expect(max(len(line) for line in done.stdout.split("\n")) <= 120 + len(parent), "wider than 120 columns")


def test_pipe_has_no_escape_codes():
    with tempfile.TemporaryDirectory() as parent:
        done = run_short(parent + "/run")
        for name, text in (("stdout", done.stdout), ("stderr", done.stderr)):
            expect("\x1b" not in text and "\r" not in text, f"{name} holds terminal codes")
        expect("step 2/13 randread 4 KiB QD1" in done.stderr, done.stderr)
        expect(run_short(parent + "/quiet", "--quiet").stderr == "", "--quiet is not quiet")


def test_terminal_has_one_live_line():
    with tempfile.TemporaryDirectory() as parent:
        controller, terminal = pty.openpty()
        process = subprocess.Popen([PROGRAM, "run", "qd-sweep", "--target", "sim:client-1tb", "--set", "runtime=3s", "--out", parent + "/run"],
                                   stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"})
        os.close(terminal)
        seen = b""
        while True:
            if select.select([controller], [], [], 0.2)[0]:
                try:
                    chunk = os.read(controller, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                seen += chunk
            elif process.poll() is not None:
                break
        process.wait(timeout=60)
        os.close(controller)
        text = seen.decode("utf-8", "replace")
        expect("\r\x1b[K" in text, "no live line")
        expect(re.search(r"\[ ?\d+/12\].* left .*W \(simulated\)", text), text[-400:])


def test_json_is_all_of_stdout():
    with tempfile.TemporaryDirectory() as parent:
        done = run_short(parent + "/run", "--json")
        expect(done.returncode == 0, done.stderr)
        result = json.loads(done.stdout)
        expect(result["schema"] == "wattrig.result/1", result.get("schema"))
        expect(result == json.loads((pathlib.Path(parent) / "run/result.json").read_text()), "differs from result.json")


def test_locale_changes_no_number():
    with tempfile.TemporaryDirectory() as parent:
        first = run_short(parent + "/c", env={"LC_ALL": "C"})
        second = run_short(parent + "/de", env={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
        expect(first.returncode == 0 and second.returncode == 0, first.stderr + second.stderr)
        expect(first.stdout.isascii(), "not plain ASCII in the C locale")
        for name in ("phases.csv", "scores.csv"):
            one, two = (pathlib.Path(parent) / which / name for which in ("c", "de"))
            expect(one.read_bytes() == two.read_bytes(), name)


def test_analyze_twice_is_the_same():
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "run"
        expect(run_short(str(folder)).returncode == 0, "run")
        texts = [(folder / "result.json").read_bytes()]
        for _ in range(2):
            expect(wattrig("analyze", str(folder)).returncode == 0, "analyze")
            texts.append((folder / "result.json").read_bytes())
        expect(texts[0] == texts[1] == texts[2], "result.json changed")
        os.remove(folder / "report.html")
        done = wattrig("report", str(folder))
        expect(done.returncode == 0 and (folder / "report.html").exists() and "power: SIMULATED" in done.stdout, done.stderr)


def interrupted(folder, arguments, after, number):
    process = subprocess.Popen([PROGRAM, "run", *arguments, "--out", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "LC_ALL": "C.UTF-8"})
    said = ""
    while after not in said:
        line = process.stderr.readline()
        expect(line, f"ended before {after!r}: {said}")
        said += line
    process.send_signal(number)
    out, rest = process.communicate(timeout=120)
    return process.returncode, out, said + rest


def test_ctrl_c_gives_a_valid_result():
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "run"
            code, out, said = interrupted(folder, ["qd-sweep", "--target", "sim:client-1tb", "--set", "runtime=100s"], "step 2/", number)
            expect(code == 3, f"exit code {code}: {said}")
            result = json.loads((folder / "result.json").read_text())
            expect(result["interrupted"] is True, "not marked")
            expect(0 < len(result["phases"]) < 12, len(result["phases"]))
            expect("INTERRUPTED" in out and (folder / "report.html").exists(), out)
            expect(wattrig("analyze", str(folder)).returncode == 0, "analyze")


def test_killed_run_can_be_analyzed():
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "run"
        interrupted(folder, ["qd-sweep", "--target", "sim:client-1tb", "--set", "runtime=20s"], "step 4/", signal.SIGKILL)
        done = wattrig("report", str(folder), "--json")
        expect(done.returncode == 0, done.stderr)
        result = json.loads(done.stdout)
        expect(result["complete"] is False, "a cut-off run is called complete")
        expect(len(result["phases"]) >= 2, "phases are gone")


def test_real_file_without_a_rig():
    with tempfile.TemporaryDirectory() as parent:
        target = pathlib.Path(parent) / "scratch.bin"
        arguments = ["run", "quick", "--target", str(target), "--size", "64MiB", "--set", "span=64MiB", "--set", "runtime=0.1s", "--set", "ramp=0s",
                     "--buffered", "--json"]
        done = wattrig(*arguments, "--out", parent + "/run")
        if "io_uring" in done.stderr and done.returncode != 0:
            print("skipped: no io_uring here")
            sys.exit(77)
        expect(done.returncode == 0, done.stderr)
        result = json.loads(done.stdout)
        expect(not any("SIMULATED" in str(v) for v in result.values()), "a real drive is called simulated")
        # A phase of 0.1 s may see no operation end on a busy machine; all of them do not.
        speeds = [p["iops"] for p in result["phases"] if p["iops"] is not None]
        expect(all(speed >= 0 for speed in speeds) and sum(speed > 0 for speed in speeds) > len(speeds) / 2, f"iops {speeds}")
        expect(not target.exists(), "the file that was made is left behind")
        # The same with the simulated rig beside it: power is called simulated, the drive is not.
        arguments.remove("--json")
        done = wattrig(*arguments, "--rig", "sim", "--out", parent + "/sim")
        expect(done.returncode == 0, done.stderr)
        expect("power: SIMULATED" in done.stdout and "drive: SIMULATED" not in done.stdout, done.stdout)
        result = json.loads((pathlib.Path(parent) / "sim/result.json").read_text())
        expect(result["power_simulated"] and not result["drive_simulated"], "flags")
        expect(all(p["watts"]["value"] > 0.1 for p in result["phases"]), "power of each phase")


def test_compare_shows_runs_side_by_side():
    with tempfile.TemporaryDirectory() as parent:
        runs = {}
        for name, model, scale in (("a", "client-1tb", "0.1"), ("b", "dramless-500gb", "0.1"), ("c", "client-1tb", "0.2")):
            done = wattrig("run", "quick", "--target", "sim:" + model, "--scale", scale, "--out", f"{parent}/{name}", "--quiet")
            expect(done.returncode == 0, done.stderr)
            runs[name] = json.loads(pathlib.Path(parent, name, "result.json").read_text())
        done = wattrig("compare", f"{parent}/a", f"{parent}/b", "-o", f"{parent}/out")
        expect(done.returncode == 0, done.stderr)
        expect("SIMULATED" in done.stdout and "client-1tb" in done.stdout and "dramless-500gb" in done.stdout, done.stdout[:300])
        page = pathlib.Path(parent, "out", "compare.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
        expect(data["mark"] == "SIMULATED drives and power" and len(data["runs"]) == 2, "mark and runs of the page")
        # What the charts draw is what the results say.
        for k, name in enumerate("ab"):
            for ours, theirs in zip(data["scores"], runs[name]["scores"], strict=True):
                expect(ours["name"] == theirs["name"], "order of the scores")
                expect(ours["runs"][k]["efficiency"] == theirs["mean_of_ratios"]["value"], f"efficiency of {name}")
                expect(ours["runs"][k]["watts"] == theirs["watts"], f"watts of {name}")
            drawn = sorted(p["watts"] for curve in data["curves"] for p in curve["runs"][k])
            said = sorted(p["watts"]["value"] for p in runs[name]["phases"] if p["kind"] == "io")
            expect(drawn == said, f"power of the points of {name}: {drawn} {said}")
        rows = list(csv.DictReader(pathlib.Path(parent, "out", "compare.csv").read_text(encoding="utf-8").splitlines()))
        said = [(p["label"], p["watts"]["value"]) for name in "ab" for p in runs[name]["phases"]]
        expect([(r["phase"], float(r["power [W]"])) for r in rows] == said, "compare.csv")
        # Not comparable: refused, or labelled everywhere.
        expect_refusal(wattrig("compare", f"{parent}/a", f"{parent}/c"), 2, "cannot be compared", "scaled by 0.2", "--mixed")
        expect_refusal(wattrig("compare", f"{parent}/a"), 2, "at least two")
        done = wattrig("compare", f"{parent}/a", f"{parent}/c", "--mixed", "-o", f"{parent}/mixed")
        expect(done.returncode == 0 and "NOT COMPARABLE: scaled by 0.2" in done.stdout, done.stdout[:300])
        expect("is not comparable with" in pathlib.Path(parent, "mixed", "compare.html").read_text(encoding="utf-8"), "label of the page")
        expect("(a)" in done.stdout and "(c)" in done.stdout, "two runs of one drive are told apart")


def main():
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    chosen = sys.argv[2:] or list(tests)
    failed = 0
    for name in chosen:
        try:
            tests[name]()
        except Failed as failure:
            print(f"{name}: {failure}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
