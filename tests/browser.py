"""Headless Chromium, driven over a pipe in its own protocol (DevTools): no package stands between.

with Browser() as browser:
    page = browser.open("file:///…/page.html", width=390, dark=True)
    page.evaluate("document.title"); page.key("Enter"); page.screenshot("page.png")
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    def __init__(self):
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        # The protocol's pipes are numbers 3 and 4 of the browser; other shells read only one digit behind the &.
        line = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        words = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--allow-file-access-from-files",
            "--disable-background-networking",
            "about:blank",
        ]
        self._folder = tempfile.mkdtemp(prefix="odtc-browser-")
        self.process = subprocess.Popen(
            ["bash", "-c", line, CHROMIUM, f"--user-data-dir={self._folder}", *words],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._number, self._left, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.send("Browser.close")
        self.process.wait(20)
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, method: str, session=None, **params) -> dict:
        """The result of a command; what is told meanwhile goes to `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self.events.append(told)

    def _next(self) -> dict:
        while b"\0" not in self._left:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has gone"
            self._left += part
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def open(self, url: str, width: int = 1200, height: int = 900, dark: bool = False, media: str = "") -> "Page":
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, url, width, height, dark, media)


class Page:
    def __init__(self, browser, session, url, width, height, dark, media):
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        phone = width < 600
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.send(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.send("Page.navigate", url=url)
        until = time.monotonic() + 30
        while self.evaluate("document.readyState") != "complete" or self.evaluate("location.href") == "about:blank":
            assert time.monotonic() < until, "the page does not load"
            time.sleep(0.02)

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def evaluate(self, expression: str):
        """The value of an expression of JavaScript; an error there is one here."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            extra = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {
                "Enter": 13,
                "Tab": 9,
                "ArrowUp": 38,
                "ArrowDown": 40,
                "ArrowLeft": 37,
                "ArrowRight": 39,
                "Home": 36,
            }[key]
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def mouse(self, kind: str, x: float, y: float) -> None:
        self.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="left",
            buttons=1 if kind != "mouseReleased" else 0,
            clickCount=1,
        )

    def click(self, selector: str) -> None:
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: "
            f"'center'}}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def complaints(self) -> list:
        """What the console, the log and the network told: errors, and any request that left the page."""
        self.evaluate("1")
        mine = [event for event in self.browser.events if event.get("sessionId") == self.session]
        bad = [
            event
            for event in mine
            if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
            or (event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"))
        ]
        asked = [event["params"]["request"]["url"] for event in mine if event["method"] == "Network.requestWillBeSent"]
        return bad + [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))]

    def screenshot(self, path, whole: bool = True) -> None:
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(data))
