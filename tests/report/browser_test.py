#!/usr/bin/env python3
"""Opens reports and a comparison in headless Chromium: every chart shows the figures of result.json, read from the chart's own
data; zooming reaches the single samples, the very ones that an export gives; no script fails, nothing is fetched, foreign text
stays text.

browser_test.py WRITE_SAMPLE WATTRIG TEST...   tests: pages run rounds compare planted   exit 77: no Chromium here
"""
import base64
import csv
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
import chromium  # noqa: E402

DRAWN = "document.documentElement.dataset.charts"


class Failed(Exception):
    pass


def check(holds, words):
    if not holds:
        raise Failed(words)


def near(got, wanted, relative, words):
    check(got is not None and wanted is not None and abs(got - wanted) <= relative * max(abs(wanted), 1e-12), f"{words}: the chart has {got}, expected {wanted}")


def open_page(browser, path, charts=None, **how):
    page = browser.open(pathlib.Path(path).as_uri(), **how)
    check(page.wait_for(DRAWN), f"{path}: the charts were not drawn to the end; console: {page.console}")
    check(not page.console, f"{path}: the console says {page.console}")
    check(page.evaluate("document.documentElement.dataset.errors") == "0", f"{path}: a script failed")
    fetched = [r for r in page.requests if not r.startswith("data:") and r != pathlib.Path(path).as_uri()]
    check(not fetched, f"{path}: the page asked for {fetched}")
    drawn = page.evaluate("page.charts.map((c) => c.element.dataset.name)")
    frames = page.evaluate("[...document.querySelectorAll('.chart')].map((c) => c.dataset.name)")
    check(sorted(drawn) == sorted(frames), f"{path}: charts {sorted(set(frames) - set(drawn))} were not drawn")
    check(page.evaluate("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('svg path, svg polyline'))"), f"{path}: a chart is empty")
    if charts is not None:
        check(len(drawn) == charts, f"{path}: expected {charts} charts, found {drawn}")
    return page


def series(page, chart):
    """The chart's own data: series as ECharts holds them, functions left out."""
    return page.evaluate(f"(() => {{ const c = page.charts.find((x) => x.element.dataset.name === {json.dumps(chart)}); const o = c.chart.getOption();"
                         "return {x: o.xAxis ? o.xAxis.map((a) => a.data || null) : null, y: o.yAxis ? o.yAxis.map((a) => a.data || null) : null,"
                         "series: (o.series || []).map((s) => ({name: s.name, type: s.type, id: s.id, data: s.data})), dataset: (o.dataset || []).map((d) => d.source)}; })()")


def run(wattrig, *arguments):
    done = subprocess.run([wattrig, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == 0, f"wattrig {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def io_phases(result):
    return {p["label"]: p for p in result["phases"] if p["kind"] == "io"}


# ---------------------------------------------------------------------------------------------------------------------- pages
def test_pages(browser, folder, write_sample, wattrig):
    for which in ("simulated", "real", "hostile"):
        path = folder / f"{which}.html"
        subprocess.run([write_sample, which, str(path)], check=True, stdout=subprocess.DEVNULL)
        for dark in (False, True):
            # Performance, power, efficiency, cost and energy, and one of latency for each of three patterns.
            page = open_page(browser, path, charts=8, dark=dark)
            check(page.evaluate("document.title") != "owned", f"{which}: foreign text was run as a script")
            check(page.evaluate("document.querySelectorAll('img, iframe, object').length") == 0, f"{which}: foreign text became an element")


# ------------------------------------------------------------------------------------------------------------------------ run
def test_run(browser, folder, write_sample, wattrig):
    directory = folder / "quick"
    run(wattrig, "run", "quick", "--target", "sim:client-1tb", "--out", directory, "--quiet")
    result = json.loads((directory / "result.json").read_text())
    phases = io_phases(result)
    page = open_page(browser, directory / "report.html")
    labels = {(g["name"], p["name"]): p["label"] for g in page.evaluate("page.data.groups") for p in g["points"]}
    check(sorted(labels.values()) == sorted(phases), f"the charts tell of {sorted(labels.values())}, result.json of {sorted(phases)}")

    def value_of(phase, name):
        value = phase[name]
        return value["value"] if isinstance(value, dict) else value

    for chart, name in (("performance", "megabytes_per_second"), ("power", "watts"), ("efficiency", "megabytes_per_second_per_watt"),
                        ("energy", "microjoules_per_operation")):
        shown = series(page, chart)
        seen = 0
        for line in shown["series"]:
            if line["type"] != "line":
                continue
            for depth, value in zip(shown["x"][0], line["data"]):
                label = labels.get((line["name"], f"QD{depth}"))
                if label is None:
                    check(value is None, f"{chart}: a value at a depth that was not run")
                    continue
                near(value, value_of(phases[label], name), 1e-9, f"{chart}, {label}")
                seen += 1
        check(seen == len(phases), f"{chart}: {seen} figures, result.json has {len(phases)}")
        if name != "megabytes_per_second":
            bands = {s["name"]: s["data"] for s in shown["series"] if s["type"] == "custom"}
            for (group, point), label in labels.items():
                row = [r for r in bands[group] if f"QD{shown['x'][0][r[0]]}" == point]
                check(len(row) == 1, f"{chart}, {label}: no band of U")
                near((row[0][2] - row[0][1]) / 2, phases[label][name]["u"], 1e-6, f"U of {chart}, {label}")
    for line in series(page, "cost")["series"]:
        for item in line["data"]:
            phase = phases[item["label_"]]
            near(item["value"][0], phase["megabytes_per_second"], 1e-9, "cost, MB/s")
            near(item["value"][1], phase["watts"]["value"], 1e-9, "cost, W")
    percentiles = ("p50", "p90", "p99", "p99_9", "p99_99", "maximum")
    for k, group in enumerate(page.evaluate("page.data.groups")):
        for line in series(page, f"latency-{k}")["series"]:
            latency = phases[labels[group["name"], line["name"]]]["latency_us"]
            for name, value in zip(percentiles, line["data"]):
                near(value, latency[name], 1e-9, f"latency {name} of {group['name']} {line['name']}")
        for line in series(page, f"distribution-{k}")["series"]:
            latency = phases[labels[group["name"], line["name"]]]["latency_us"]
            near(sum(y for _, y in line["data"]), 100, 1e-6, "shares of a distribution")
            # The step that the middle operation falls into holds the median; a histogram's cell may reach over its edge.
            below = 0
            for (x, y), (end, _) in zip(line["data"], line["data"][1:]):
                below += y
                if below >= 50:
                    check(x * 0.97 <= latency["p50"] <= end * 1.03, f"distribution of {group['name']} {line['name']}: half below {end} us, p50 is {latency['p50']}")
                    break
    check_trace(page, result, directory, wattrig)
    check_table(page, result)
    check_saving(page)


def check_trace(page, result, directory, wattrig):
    begin = result["phases"][0]["begin_ns"]
    check(page.evaluate("page.data.trace.phases.length") == len(result["phases"]), "phases of the trace")
    shaded = page.evaluate("page.charts.find((c) => c.element.dataset.name === 'trace').chart.getOption().series.find((s) => s.id === 'mean').markArea.data.map((a) => a[0].name)")
    check(shaded == [p["label"] for p in result["phases"]], f"shaded: {shaded}")
    bin_length = page.evaluate("page.data.trace.bin")
    for phase in result["phases"]:
        if phase["watts"]["value"] is None:
            continue
        measured = page.evaluate(f"page.data.trace.phases.find((x) => x.label === {json.dumps(phase['label'])})")
        # A bin inside of each edge: bins at the edges hold a part of what lies beyond.
        low, high = measured["measured_begin"] + 2 * bin_length, measured["measured_end"] - 2 * bin_length
        page.evaluate(f"page.trace.show({low}, {high})")
        shown = series(page, "trace")["series"]
        data = [s for s in shown if s["id"] == "mean"][0]["data"]
        inside = [y for x, y in data if low < x < high and y is not None]
        check(len(inside) > 100, f"{phase['label']}: {len(inside)} points of the trace")
        near(sum(inside) / len(inside), phase["watts"]["value"], 5e-3, f"mean of the trace over {phase['label']}")
        if phase["megabytes_per_second"] is not None:
            speed = [y for x, y in [s for s in shown if s["id"] == "speed"][0]["data"] if low < x < high and y is not None]
            near(sum(speed) / len(speed), phase["megabytes_per_second"], 1e-2, f"mean speed of the trace over {phase['label']}")
    # Bands hold their means.
    page.evaluate("page.trace.show(page.data.trace.begin, page.data.trace.end)")
    shown = {s["id"]: s["data"] for s in series(page, "trace")["series"]}
    band = {round((a + b) / 2, 9): (low, high) for a, b, low, high in shown["band"]}
    for x, mean in shown["mean"]:
        if mean is not None:
            low, high = band[round(x, 9)]
            check(low - 1e-5 <= mean <= high + 1e-5, f"trace at {x} s: mean {mean} W outside {low} .. {high}")
    # Every stretch that the report says has single samples shows them, the same as an export gives.
    windows = page.evaluate("page.trace.own.windows.map((w) => ({begin: w.begin, end: w.end, why: w.why, count: w.watts.length}))")
    reasons = " ".join(w["why"] for w in windows)
    check(all(f"peak {k}" in reasons for k in range(1, 11)), "a peak without samples")
    check(all(f"begin of {p['label']}" in reasons and f"end of {p['label']}" in reasons for p in result["phases"]), "a phase edge without samples")
    for window in windows:
        page.evaluate(f"page.trace.show({window['begin']}, {window['end']})")
        samples = [s for s in series(page, "trace")["series"] if s["id"] == "samples"][0]["data"]
        samples = [(x, y) for x, y in samples if y is not None and window["begin"] <= x <= window["end"]]
        check(len(samples) == window["count"] and window["count"] >= 300, f"samples of {window['why']}: {len(samples)} of {window['count']}")
        near(samples[1][0] - samples[0][0], 30.72e-6, 1e-3, "distance of two samples")
        low, high = max(0.0, window["begin"]), window["end"]
        rows = list(csv.DictReader(line for line in io.StringIO(run(wattrig, "export", directory, "--format", "csv", "--resolution", "samples",
                                                                    "--from", f"{low:.9f}s", "--to", f"{high:.9f}s")) if not line.startswith("#")))
        names = list(rows[0])
        time_name, power_name = [n for n in names if n.startswith("time")][0], [n for n in names if "power" in n or "watt" in n][0]
        exported = [(float(r[time_name]), float(r[power_name])) for r in rows]
        compared = 0
        for time, watts in exported:
            at = [y for x, y in samples if abs(x - time) < 5e-6]
            if at:
                near(at[0], watts, 2e-6, f"sample at {time} s")
                compared += 1
        check(compared > 250, f"{window['why']}: {compared} of {len(exported)} exported samples found")
    peak = page.evaluate("page.data.trace.peaks")[0]
    highest = max(p["power"]["maximum_watts"] for p in result["phases"])
    check(peak[1] >= highest * (1 - 1e-6), f"highest peak {peak[1]} W, highest sample of a phase {highest} W")
    drawn = page.evaluate("Math.max(...page.trace.own.windows.flatMap((w) => [...w.watts]))")
    near(drawn, peak[1], 1e-6, "highest sample in the page and the highest peak")
    # Keys.
    page.evaluate("page.trace.show(page.data.trace.begin, page.data.trace.end)")
    zoom = "(() => { const z = page.charts.find((c) => c.element.dataset.name === 'trace').chart.getOption().dataZoom[0]; return [z.startValue, z.endValue]; })()"
    whole = page.evaluate(zoom)
    page.evaluate("document.getElementById('chart-trace').focus()")
    check(page.evaluate("document.activeElement.id") == "chart-trace", "the trace does not take the focus")
    for key, character in (("+", "+"), ("ArrowRight", "")):
        page.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=character)
        page.call("Input.dispatchKeyEvent", type="keyUp", key=key)
    a, b = page.evaluate(zoom)
    near(b - a, (whole[1] - whole[0]) / 2, 1e-6, "length after +")
    near((a + b) / 2, (whole[0] + whole[1]) / 2 + (b - a) / 4, 1e-6, "middle after ArrowRight")
    # The chart's own zoom, as the slider and the wheel do it.
    page.evaluate("page.charts.find((c) => c.element.dataset.name === 'trace').chart.dispatchAction({type: 'dataZoom', startValue: 4, endValue: 4.5})")
    data = [s for s in series(page, "trace")["series"] if s["id"] == "mean"][0]["data"]
    check(400 < len(data) < 600, f"half a second of 1 ms bins: {len(data)} points after the chart's own zoom")


def check_table(page, result):
    rows = list(csv.reader(io.StringIO(page.evaluate("page.csv_of(document.getElementById('figure-table'))"), newline="")))
    watts = rows[0].index(next(n for n in rows[0] if n.startswith("power")))
    group, seen = "", 0
    for row in rows[1:]:
        if len(row) == 1:
            group = row[0]
            continue
        phase = next((p for p in result["phases"] if p["label"] in (f"{group} {row[0]}", row[0])), None)
        check(phase is not None, f"table: no phase {group} {row[0]}")
        near(float(row[watts]), phase["watts"]["value"], 1e-2, f"table, power of {phase['label']}")
        seen += 1
    check(seen == len(result["phases"]), f"table: {seen} rows")


def check_saving(page):
    for name in ("trace", "power"):
        picture = page.evaluate(f"new Promise((done) => page.picture(page.charts.find((c) => c.element.dataset.name === '{name}').chart, done))")
        check(picture, f"{name}: the browser could not read the chart's SVG")
        raw = base64.b64decode(picture.split(",")[1])
        check(raw.startswith(b"\x89PNG") and int.from_bytes(raw[16:20], "big") > 800 and len(raw) > 10_000, f"PNG of {name}: {len(raw)} bytes")
        svg = page.evaluate(f"decodeURIComponent(page.charts.find((c) => c.element.dataset.name === '{name}').chart.getDataURL({{type: 'svg'}}))")
        check("<svg" in svg and "SIMULATED" in svg, f"SVG of {name}: no picture, or not labelled as simulated")


# --------------------------------------------------------------------------------------------------------------------- rounds
def test_rounds(browser, folder, write_sample, wattrig):
    directory = folder / "rounds"
    suite = pathlib.Path(__file__).with_name("rounds.json")
    run(wattrig, "run", suite, "--target", "sim:client-1tb", "--fidelity", "aggregate", "--out", directory, "--quiet")
    result = json.loads((directory / "result.json").read_text())
    found = json.loads((directory / "run.json").read_text())["steady_state"][0]["result"]
    phases = io_phases(result)
    page = open_page(browser, directory / "report.html")
    shown = {s["name"]: s["data"] for s in series(page, "convergence-0")["series"]}
    check(len(shown) == 9, f"convergence: {len(shown)} cells")
    for name, values in shown.items():
        check(len(values) == found["rounds"], f"{name}: {len(values)} rounds")
        for r, value in enumerate(values):
            near(value, phases[f"{name} round {r + 1}"]["iops"], 1e-9, f"convergence, {name}, round {r + 1}")
    first, last = found["window_rounds"]["first"], found["window_rounds"]["last"]
    window = series(page, "window-0")
    check(window["x"][0] == [str(r) for r in range(first, last + 1)], "rounds of the window")
    for variable in found["variables"]:
        name = variable["label"].rsplit(" round ", 1)[0]
        points = [s for s in window["series"] if s["name"] == name][0]["data"]
        fit = [s for s in window["series"] if s["name"] == f"fit of {name}"][0]["data"]
        for share, value in zip(points, variable["values"][first - 1:last]):
            near(share * variable["window"]["average"] / 100, value, 1e-9, f"window, {name}")
        near(fit[0] * variable["window"]["average"] / 100, variable["window"]["fit_first"], 1e-9, "fit at the first round")
        near(fit[-1] * variable["window"]["average"] / 100, variable["window"]["fit_last"], 1e-9, "fit at the last round")
    bounds = page.evaluate("page.charts.find((c) => c.element.dataset.name === 'window-0').chart.getOption().series[0].markLine.data.map((x) => x.yAxis)")
    check(max(abs(a - b) for a, b in zip(bounds, (100, 90, 110))) < 1e-6, f"bounds at {bounds} % of the average")

    def averaged(x, reads, figure):
        names = [p for p in phases if f"randrw {reads}/" in p and f" {x} " in p and int(p.rsplit(" ", 1)[1]) in range(
            found["averaged_rounds"]["first"], found["averaged_rounds"]["last"] + 1)]
        check(len(names) == last - first + 1, f"{x}, {reads} % reads: rounds {names}")
        return math.fsum(figure(phases[n]) for n in names) / len(names)

    cells = series(page, "cells-0")
    columns = {(row[0], row[1]): row[2] for row in series(page, "columns-0")["dataset"][0]}
    for line in cells["series"]:
        for x, value in zip(cells["x"][0], line["data"]):
            wanted = averaged(x, line["name"].split(" ")[0], lambda p: p["iops"])
            near(value, wanted, 1e-9, f"cells, {line['name']}, {x}")
            near(columns[x, line["name"]], wanted, 1e-9, f"columns, {line['name']}, {x}")
    for table, figure in (("table-0", lambda p: p["iops"]), ("table-power-0", lambda p: p["watts"]["value"]),
                          ("table-efficiency-0", lambda p: p["iops_per_watt"]["value"])):
        rows = list(csv.reader(io.StringIO(page.evaluate(f"page.csv_of(document.getElementById('{table}'))"), newline="")))
        check(len(rows) == 4 and len(rows[0]) == 4, f"{table}: {rows}")
        for row in rows[1:]:
            for name, text in zip(rows[0][1:], row[1:]):
                near(float(text), averaged(row[0], name.split(" ")[0], figure), 1e-3, f"{table}, {row[0]}, {name}")

    fill = phases["write 128 KiB QD32"]
    shown = {s["id"]: s["data"] for s in series(page, "fill-0")["series"]}
    cliffs = page.evaluate("page.charts.find((c) => c.element.dataset.name === 'fill-0').chart.getOption().series.find((s) => s.id === 'speed').markLine.data.map((x) => x.xAxis)")
    check(len(cliffs) == len(fill["speed"]["changes"]) > 0, f"cliffs at {cliffs}, result.json: {fill['speed']['changes']}")
    for at, change in zip(cliffs, fill["speed"]["changes"]):
        near(at * 1e9, change["bytes"], 1e-9, "cliff")
    before = [y for x, y in shown["speed"] if x * 1e9 < fill["speed"]["changes"][0]["low_bytes"]]
    near(sorted(before)[len(before) // 2], fill["speed"]["regions"][0]["megabytes_per_second"], 2e-2, "speed before the cliff")
    power = [y for x, y in shown["power"] if x * 1e9 < fill["speed"]["changes"][0]["low_bytes"]]
    near(sum(power) / len(power), fill["speed"]["regions"][0]["watts"]["value"], 1e-2, "power before the cliff")
    for (begin, speed), (end, _) in zip(shown["levels"][0::3], shown["levels"][1::3]):
        region = [r for r in fill["speed"]["regions"] if abs(r["begin_bytes"] / 1e9 - begin) < 1e-6][0]
        near(end * 1e9, region["end_bytes"], 1e-9, "end of a level")
        near(speed, region["megabytes_per_second"], 1e-9, "a level")


# -------------------------------------------------------------------------------------------------------------------- compare
def test_compare(browser, folder, write_sample, wattrig):
    models = ("client-1tb", "dramless-500gb", "high-end-nvme-1tb")
    results = []
    for model in models:
        run(wattrig, "run", "quick", "--target", f"sim:{model}", "--out", folder / model, "--quiet")
        results.append(json.loads((folder / model / "result.json").read_text()))
    run(wattrig, "compare", *[folder / m for m in models], "--out", folder / "comparison")
    page = open_page(browser, folder / "comparison" / "compare.html")
    names = page.evaluate("page.data.runs")
    check(all(model in name for model, name in zip(models, names)), f"runs: {names}")
    scores = page.evaluate("page.data.scores.map((s) => s.name)")
    check(scores == [s["name"] for s in results[0]["scores"]], f"scores: {scores}")
    for k, name in enumerate(scores):
        shown = series(page, f"score-{k}")
        bars = {s["name"]: [d["value"] for d in s["data"]] for s in shown["series"] if s["type"] == "bar"}
        doubt = [s["data"] for s in shown["series"] if s["type"] == "custom"][0]
        for r, result in enumerate(results):
            score = next(s for s in result["scores"] if s["name"] == name)
            near(bars["performance"][r], score["megabytes_per_second"], 1e-9, f"bar of {name}, {names[r]}, MB/s")
            near(bars["power efficiency"][r], score["mean_of_ratios"]["value"], 1e-9, f"bar of {name}, {names[r]}, MB/s/W")
            near(bars["average power"][r], score["watts"], 1e-9, f"bar of {name}, {names[r]}, W")
            near((doubt[r][2] - doubt[r][1]) / 2, score["mean_of_ratios"]["u"], 1e-6, f"U of {name}, {names[r]}")
    curves = page.evaluate("page.data.curves.map((c) => c.name)")
    seen = 0
    for k, curve in enumerate(curves):
        for line in series(page, f"curve-{k}")["series"]:
            phases = io_phases(results[names.index(line["name"])])
            for item in line["data"]:
                phase = phases[f"{curve} {item['point']['name']}"]
                near(item["value"][0], phase["megabytes_per_second"], 1e-9, f"curve {curve}, MB/s")
                near(item["value"][1], phase["watts"]["value"], 1e-9, f"curve {curve}, W")
                seen += 1
    check(seen == sum(len(io_phases(r)) for r in results), f"{seen} points in the curves")
    rows = list(csv.reader(io.StringIO(page.evaluate("page.csv_of(document.getElementById('figure-table'))"), newline="")))
    label, seen = "", 0
    for row in rows[1:]:
        if len(row) == 1:
            label = row[0]
            continue
        phase = io_phases(results[names.index(row[0])])[label]
        for column, wanted in ((1, phase["megabytes_per_second"]), (2, phase["iops"]), (3, phase["latency_us"]["p99"]), (4, phase["watts"]["value"]),
                               (6, phase["megabytes_per_second_per_watt"]["value"])):
            near(float(row[column]), wanted, 2e-3, f"table, {label}, {row[0]}, {rows[0][column]}")
        seen += 1
    check(seen == sum(len(io_phases(r)) for r in results), f"{seen} rows of the table")


# -------------------------------------------------------------------------------------------------------------------- planted
def test_planted(browser, folder, write_sample, wattrig):
    """A script that stumbles, a page that wants the network, a chart of other figures, shifted samples: each must be found out."""
    def must_fail(what, call, *arguments):
        try:
            call(*arguments)
        except Failed:
            return
        raise Failed(f"planted and not found: {what}")

    page = folder / "planted.html"
    subprocess.run([write_sample, "real", str(page)], check=True, stdout=subprocess.DEVNULL)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("draw('chart-power'", "nothing.draw('chart-power'"), encoding="utf-8")
    must_fail("a script that fails", open_page, browser, page)
    page.write_text(text.replace("</main>", '<img src="https://example.invalid/x.png"></main>'), encoding="utf-8")
    must_fail("a page that fetches", open_page, browser, page)

    directory = folder / "quick"
    run(wattrig, "run", "quick", "--target", "sim:client-1tb", "--out", directory, "--quiet")
    result = json.loads((directory / "result.json").read_text())
    good = (directory / "report.html").read_text(encoding="utf-8")
    for what, old, new in (("power off by a percent", "sums[name] += value;", "sums[name] += 1.01 * value;"),
                           ("samples late by one", "const x = w.begin + (k + .5) * w.step;", "const x = w.begin + (k + 1.5) * w.step;"),
                           ("a band upside down", "view.band.push([x0, x1, low, high])", "view.band.push([x0, x1, high, low])")):
        check(old in good, f"planted fault has lost its place: {what}")
        (directory / "report.html").write_text(good.replace(old, new), encoding="utf-8")
        must_fail(what, check_trace, open_page(browser, directory / "report.html"), result, directory, wattrig)


def main():
    if chromium.PATH is None:
        print("skipped: no Chromium on this machine")
        return 77
    write_sample, wattrig, *tests = sys.argv[1:]
    bad = 0
    with chromium.Chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name in tests:
            try:
                globals()[f"test_{name}"](browser, pathlib.Path(folder), write_sample, wattrig)
            except Failed as failed:
                print(f"{name}: {failed}")
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
