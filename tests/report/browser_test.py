#!/usr/bin/env python3
"""Opens a report in headless Chromium: every chart is drawn, no script fails, nothing is fetched, foreign text stays text.

browser_test.py WRITE_SAMPLE [--planted]   exit 77: no Chromium here
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHROMIUM = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if os.path.exists(p)), None)


def dump(page, folder):
    """The page's DOM after its scripts ran, and what its console said."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
               "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={folder}/profile", "--enable-logging=stderr", "--v=0",
               "--virtual-time-budget=5000", "--window-size=1280,2400", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, errors="replace")
    console = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
    return done.stdout, console


def problems_of(dom, console, charts):
    problems = [f"console: {line}" for line in console]
    drawn = len(re.findall(r'<div class="chart"[^>]*>\s*<div[^>]*>\s*<svg', dom))
    if drawn != charts:
        problems.append(f"expected {charts} charts, found {drawn}")
    if f'data-charts="{charts}"' not in dom:
        problems.append("the script did not come to its end")
    if 'data-errors="0"' not in dom:
        problems.append("a script failed")
    title = re.search(r"<title>(.*?)</title>", dom, re.S)
    if not title or title.group(1) == "owned":
        problems.append("foreign text was run as a script")
    return problems


def main():
    write_sample = sys.argv[1]
    if CHROMIUM is None:
        print("skipped: no Chromium on this machine")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bad = []
        # Four charts and one of latency for each of three patterns.
        for which in ("simulated", "real", "hostile"):
            page = pathlib.Path(folder) / f"{which}.html"
            subprocess.run([write_sample, which, str(page)], check=True, stdout=subprocess.DEVNULL)
            dom, console = dump(page, folder)
            expected = 7
            bad += [f"{which}: {p}" for p in problems_of(dom, console, expected)]
            if which != "hostile" and dom.count("<polyline") + dom.count("<path") < 50:
                bad.append(f"{which}: the charts hold no lines")
        if "--planted" in sys.argv:
            # A report whose script stumbles, and one that wants the network, must be found out.
            page = pathlib.Path(folder) / "planted.html"
            text = (pathlib.Path(folder) / "real.html").read_text(encoding="utf-8")
            page.write_text(text.replace("draw('chart-power'", "nothing.draw('chart-power'"), encoding="utf-8")
            dom, console = dump(page, folder)
            if not problems_of(dom, console, 7):
                bad.append("a script that fails was not noticed")
            page.write_text(text.replace("</main>", '<img src="https://example.invalid/x.png"></main>'), encoding="utf-8")
            dom, console = dump(page, folder)
            if not any("Content Security Policy" in line for line in console):
                bad.append("a page that fetches something was not stopped")
        print("\n".join(bad))
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
