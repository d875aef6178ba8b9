"""Headless Chromium over its debugging pipe: open a page, run expressions in it, take pictures. Standard library alone.

with Chromium() as browser:
    page = browser.open(url, dark=True)
    page.evaluate("1 + 1")
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

PATH = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if os.path.exists(p)), None)


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.console = []   # what the page's console said, errors of its scripts, requests that were refused
        self.requests = []  # every address the page asked for
        self.loaded = False

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def evaluate(self, expression, timeout=60):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, timeout=timeout * 1000)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description', answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate(expression):
                return True
            time.sleep(0.05)
        return False

    def screenshot(self, file, clip=None):
        """Of the whole page, or of the element that the CSS selector `clip` names."""
        if clip:
            box = self.evaluate(f"(() => {{ const b = document.querySelector({json.dumps(clip)}).getBoundingClientRect();"
                                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()")
        else:
            box = [0, 0] + self.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={"x": box[0], "y": box[1], "width": box[2], "height": box[3], "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(picture["data"]))


class Chromium:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="wattrig-browser-")
        to_browser, self.send_end = os.pipe()
        self.receive_end, from_browser = os.pipe()

        def place():  # the browser wants its pipe at 3 and 4
            os.dup2(to_browser, 100)
            os.dup2(from_browser, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        command = [PATH, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
                   "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.folder}/profile", "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.answers, self.pages = 0, {}, {}
        self.lock = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close", {})
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self):
        rest = b""
        while chunk := os.read(self.receive_end, 1 << 20):
            rest += chunk
            *messages, rest = rest.split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        with self.lock:
            if "id" in message:
                self.answers[message["id"]] = message
                self.lock.notify_all()
                return
            page = self.pages.get(message.get("sessionId"))
            if page is None:
                return
            what, details = message["method"], message["params"]
            if what == "Runtime.consoleAPICalled":
                page.console.append(" ".join(str(a.get("value", a.get("description", ""))) for a in details["args"]))
            elif what == "Runtime.exceptionThrown":
                thrown = details["exceptionDetails"]
                page.console.append(thrown.get("exception", {}).get("description", thrown.get("text", "")))
            elif what == "Log.entryAdded":
                page.console.append(details["entry"]["text"])
            elif what == "Network.requestWillBeSent":
                page.requests.append(details["request"]["url"])
            elif what == "Page.loadEventFired":
                page.loaded = True
                self.lock.notify_all()

    def call(self, method, parameters, session=None, timeout=120):
        with self.lock:
            self.number += 1
            number = self.number
            message = {"id": number, "method": method, "params": parameters}
            if session:
                message["sessionId"] = session
            text = json.dumps(message).encode() + b"\0"
            while text:
                text = text[os.write(self.send_end, text):]
            if not self.lock.wait_for(lambda: number in self.answers, timeout):
                raise RuntimeError(f"{method}: Chromium did not answer within {timeout} s")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url, dark=False, width=1280, height=900, media="screen"):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        page = Page(self, self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"])
        self.pages[page.session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Page.navigate", url=url)
        with self.lock:
            self.lock.wait_for(lambda: page.loaded, 60)
        return page
