#!/usr/bin/env python3
"""The live page in headless Chromium: it shows what comes, averages over a span, marks, records; a replay reaches every sample.

page_test.py WATTRIG live|replay   exit 77: no Chromium here
"""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
import chromium  # noqa: E402
from viewer import Live  # noqa: E402


def check(holds, words):
    if not holds:
        raise SystemExit(words)


def clean(page, live):
    check(not page.console, f"the console says {page.console}")
    allowed = (live.url, f"ws://127.0.0.1:{live.port}/socket", "data:")
    others = [r for r in page.requests if not r.startswith(allowed)]
    check(not others, f"the page asked for {others}")


def test_live(browser, wattrig):
    with tempfile.TemporaryDirectory() as folder, Live(wattrig, "--rig", "sim", "--out", folder) as live:
        page = browser.open(live.url)
        check(page.wait_for("page.live.columns.length > 300 && page.live.drawn > 3"), "nothing came")
        check(page.evaluate("document.getElementById('now').textContent").count("W") >= 1, "no power in words")
        hostile = "<img src=x onerror=\"document.title='owned'\">"
        page.evaluate(f"document.getElementById('mark').value = {json.dumps(hostile)}; document.getElementById('set-mark').click()")
        check(page.wait_for("document.querySelectorAll('#marks li').length === 1"), "no mark")
        check(hostile in page.evaluate("document.getElementById('marks').textContent"), "the mark's text")
        check(page.evaluate("document.title") != "owned" and page.evaluate("document.querySelectorAll('#marks img').length") == 0, "a mark was run")
        page.evaluate("document.getElementById('record').click()")
        check(page.wait_for("document.getElementById('record').textContent === 'Stop recording'"), "no recording began")
        time.sleep(2)
        page.evaluate("document.getElementById('record').click()")
        check(page.wait_for("document.getElementById('record').textContent === 'Start recording'"), "the recording did not end")
        # Averages over a span: of the very columns in it.
        page.evaluate("page.live.select(1, 2)")
        time.sleep(0.5)
        columns = page.evaluate("page.live.columns.filter((c) => c[0] >= 1 && c[0] <= 2)")
        mean = sum(c[2] for c in columns) / len(columns)
        words = page.evaluate("document.getElementById('averages').textContent")
        check(f"{mean:.4f}"[:5] in words, f"averages: {words}, the columns' mean is {mean}")
        shown = page.evaluate("page.charts[0].chart.getOption().series.find((s) => s.id === 'mean').data.length")
        check(shown > 200, f"{shown} points in the chart")
        clean(page, live)
        recorded = list(pathlib.Path(folder).iterdir())
        done = subprocess.run([wattrig, "analyze", str(recorded[0]), "--json"], capture_output=True, text=True)
        phase = json.loads(done.stdout)["phases"][0]
        check(phase["watts"]["value"] is not None and abs(phase["watts"]["value"] - mean) < 0.01 * mean, f"recorded {phase['watts']}, shown {mean} W")


def test_replay(browser, wattrig):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        subprocess.run([wattrig, "run", "quick", "--target", "sim:client-1tb", "--out", str(run), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        result = json.loads((run / "result.json").read_text())
        with Live(wattrig, "--replay", run) as live:
            page = browser.open(live.url)
            check(page.wait_for("page.live.view() && page.live.drawn > 0"), "no view came")
            for phase in result["phases"]:
                # Columns of a replay are on the phases' clock.
                place = page.evaluate(f"page.data.replay.phases.find((x) => x.label === {json.dumps(phase['label'])})")
                begin, end = place["end"] - 1.5, place["end"] - 0.1
                page.evaluate(f"page.live.show({begin}, {end})")
                check(page.wait_for(f"Math.abs(page.live.view().from - {begin}) < 1e-9"), "no view came")
                mean = page.evaluate(f"page.live.averages_of({begin}, {end}).watts")
                check(abs(mean - phase["watts"]["value"]) < 0.01 * mean, f"{phase['label']}: {mean} W, result.json: {phase['watts']['value']}")
            # Anywhere, not only where a report has samples.
            for begin in (1.2345, 8.7654, 26.1):
                page.evaluate(f"page.live.show({begin}, {begin + 0.01})")
                check(page.wait_for(f"page.live.view().samples && Math.abs(page.live.view().from - {begin}) < 1e-9"), "no samples came")
                time.sleep(0.3)
                got = [(c[0], c[2]) for c in page.evaluate("page.live.view().columns")]
                drawn = page.evaluate("page.charts[0].chart.getOption().series.find((s) => s.id === 'mean').data.length")
                text = subprocess.run([wattrig, "export", str(run), "--format", "csv", "--resolution", "samples", "--from", f"{begin:.9f}s",
                                       "--to", f"{begin + 0.01:.9f}s"], check=True, capture_output=True, text=True).stdout
                rows = list(csv.reader(io.StringIO(text)))[1:]
                exported = {round(float(r[0]), 7): float(r[1]) for r in rows}
                same = [(t, w) for t, w in got if any(abs(exported.get(round(t + d * 1e-7, 7), -1) - w) < 1e-6 for d in range(-20, 21))]
                check(len(got) >= 320 and len(same) >= len(got) - 2 and drawn == len(got), f"at {begin} s: {len(got)} samples, {drawn} drawn, {len(same)} as exported of {len(rows)}")
            page.evaluate("document.getElementById('chart-live').focus()")
            page.evaluate("page.live.show(5, 6)")
            page.call("Input.dispatchKeyEvent", type="keyDown", key="+", text="+")
            check(page.wait_for("Math.abs(page.live.shown()[1] - page.live.shown()[0] - 0.5) < 1e-9"), "the plus key did not zoom")
            clean(page, live)


def main():
    if chromium.PATH is None:
        print("skipped: no Chromium on this machine")
        return 77
    with chromium.Chromium() as browser:
        globals()[f"test_{sys.argv[2]}"](browser, sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
