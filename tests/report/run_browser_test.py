#!/usr/bin/env python3
"""The report of a run whose figures are known, in headless Chromium: every chart shows the values of result.json, the trace has the
phases' mean power, zoom reaches single samples, pictures and tables can be saved, and nothing is fetched.

run_browser_test.py WATTRIG [--planted]   exit 77: no Chromium here
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser_test  # noqa: E402

# Asks the page's own charts for what they drew; goes to a window of single samples and back.
PROBE = """
<script>
(function () {
  const of = (id) => page.charts.find((c) => c.element.id === 'chart-' + id);
  const seen = {charts: {}, errors: []};
  page.charts.forEach((c) => {
    const option = c.chart.getOption();
    seen.charts[c.element.id.slice(6)] = {
      categories: option.xAxis[0].data || null,
      series: option.series.filter((s) => s.type !== 'custom').map((s) => ({name: s.name, data: s.data.map((d) => (d && d.value !== undefined ? d.value : d))})),
    };
  });
  const trace = page.data.trace;
  if (trace) {
    seen.windows = trace.windows.map((w) => {
      page.trace_show(w.from, w.to);
      const option = of('trace').chart.getOption();
      const samples = option.series.find((s) => s.name === 'single samples');
      return {from: w.from, to: w.to, why: w.why, held: w.watts.filter((x) => x !== null).length,
              drawn: samples ? samples.data.filter((d) => d[1] !== null && d[0] >= w.from && d[0] <= w.to).map((d) => d[1]) : []};
    });
    page.trace_show(0, 1e15);
    of('trace').element.dispatchEvent(new KeyboardEvent('keydown', {key: '+'}));
    seen.after_plus = document.getElementById('trace-shown').textContent;
  }
  document.querySelector('button[data-save=png]').click();
  seen.saved = document.documentElement.dataset.saved;
  seen.csv = page.table_csv(document.getElementById('figures-table'));
  const pre = document.createElement('pre');
  pre.id = 'probe';
  pre.textContent = JSON.stringify(seen);
  document.body.appendChild(pre);
})();
</script>
"""


def with_probe(text):
    at = text.rindex("</body>")
    return text[:at] + PROBE + text[at:]


def near(a, b, relative=1e-9):
    if a is None or b is None:
        return a is None and b is None
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-12)


def problems_of(seen, result):
    bad = []
    phases = {p["label"]: p for p in result["phases"]}
    io = [p for p in result["phases"] if p["kind"] == "io"]

    def against_depth(chart, value):
        charts = seen["charts"][chart]
        found = 0
        for series in charts["series"]:
            for depth, shown in zip(charts["categories"], series["data"]):
                phase = phases.get(f"{series['name']} QD{depth}")
                if phase is None:
                    bad.append(f"{chart}: {series['name']} QD{depth} is no phase")
                elif not near(shown, value(phase)):
                    bad.append(f"{chart}: {series['name']} QD{depth} shows {shown}, result.json has {value(phase)}")
                found += 1
        if found != len(io):
            bad.append(f"{chart}: {found} points of {len(io)} phases")

    against_depth("performance", lambda p: p["megabytes_per_second"])
    against_depth("power", lambda p: p["watts"]["value"])
    against_depth("efficiency", lambda p: p["megabytes_per_second_per_watt"]["value"])
    pairs = [(x, y) for s in seen["charts"]["cost"]["series"] for x, y in s["data"]]
    expected = [(p["megabytes_per_second"], p["watts"]["value"]) for p in io]
    if sorted(pairs) != sorted(expected):
        bad.append("cost: the points are not the phases'")
    for name, chart in seen["charts"].items():
        if not name.startswith("latency-"):
            continue
        keys = ["p50", "p90", "p99", "p99_9", "p99_99", "maximum"]
        for series in chart["series"]:
            if not any(all(near(v, p["latency_us"][k]) for k, v in zip(keys, series["data"])) for p in io):
                bad.append(f"{name}: {series['name']} shows percentiles of no phase")

    # The mean of the whole trace is the energy of the run by another way: the phases' mean powers over their time.
    mean = next(s for s in seen["charts"]["trace"]["series"] if s["name"] == "mean")["data"]
    for phase in seen["phases"]:
        inside = [w for t, w in mean if phase["from"] + 100 < t < phase["to"] - 100 and w is not None]
        if phase["watts"] is None or len(inside) < 10:
            continue
        shown = sum(inside) / len(inside)
        if abs(shown / phase["watts"] - 1) > 0.02:
            bad.append(f"trace: {phase['label']} has {shown:.4f} W, result.json {phase['watts']:.4f} W")
    if len(seen["windows"]) < 10:
        bad.append(f"only {len(seen['windows'])} places with single samples")
    for window in seen["windows"]:
        if window["held"] == 0 or len(window["drawn"]) != window["held"]:
            bad.append(f"{window['why']}: {window['held']} samples are held, {len(window['drawn'])} drawn")
        if window["held"] < 0.99 * (window["to"] - window["from"]) / 0.03072:
            bad.append(f"{window['why']}: {window['held']} samples in {window['to'] - window['from']} ms")
    if not any(w["why"].startswith("begin of") for w in seen["windows"]) or not any("peak" in w["why"] for w in seen["windows"]):
        bad.append("no single samples around phase edges or peaks")
    if "bins of" not in seen["after_plus"]:
        bad.append("the plus key did not zoom")
    if not seen["saved"].startswith("data:image/png"):
        bad.append(f"save as PNG gave {seen['saved']!r}")
    rows = [line for line in seen["csv"].split("\n") if line]
    if len(rows) < len(io) or "W" not in rows[0]:
        bad.append(f"the copied table is {rows[:2]}")
    return bad


def look(page, folder):
    dom, console = browser_test.dump(page, folder)
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    if not found:
        return None, console
    text = found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text), console


def main():
    wattrig = sys.argv[1]
    if browser_test.CHROMIUM is None:
        print("skipped: no Chromium on this machine")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        subprocess.run([wattrig, "run", "quick", "--target", "sim:client-1tb", "--out", str(run), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        result = json.loads((run / "result.json").read_text())
        text = (run / "report.html").read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))

        def judged(page_text):
            page = pathlib.Path(folder) / "probe.html"
            page.write_text(with_probe(page_text), encoding="utf-8")
            seen, console = look(page, folder)
            if seen is None:
                return ["the page's script did not come to its end"] + console
            seen["phases"] = data["trace"]["phases"]
            # Saving opens a download, of which a headless browser speaks on its console.
            return [line for line in console if "download" not in line.lower()] + problems_of(seen, result)

        bad = judged(text)
        if "--planted" in sys.argv:
            # Figures of another phase, watts for milliwatts, and a page that lost its samples are found out.
            first = result["phases"][1]["watts"]["value"]
            for name, change in (("a power that is not the phase's", lambda t: t.replace(json.dumps(first), "9.99", 1)),
                                 ("a trace ten times too high", lambda t: t.replace("sum / count / 1e4", "sum / count / 1e3")),
                                 ("samples that are not drawn", lambda t: t.replace("if (to - from > sample_range) return [];", "return [];"))):
                planted = change(text)
                if planted == text:
                    bad.append(f"planted fault not applied: {name}")
                elif not judged(planted):
                    bad.append(f"not noticed: {name}")
        print("\n".join(bad[:20]))
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
