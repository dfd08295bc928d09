"""A headless Chromium that a test looks through, over the DevTools protocol: what a page says, and what it shows."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 60.0  # seconds; graphics are computed by the processor
WIDTHS = {"desk": (1400, 900), "phone": (390, 844)}
# Chromium's software renderer, if there is no graphics card.
HARMLESS = ("favicon", "GPU stall", "WebGL", "GL Driver", "software")

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")


class Page:
    """A page: `errors` are the console's errors and uncaught exceptions."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        self._socket = connect(address, max_size=None)
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: object) -> dict:
        """Send one command and return its answer; events in the meantime are recorded."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def _note(self, message: dict) -> None:
        text = json.dumps(message.get("params", {}))
        entry = message.get("params", {}).get("entry", {})
        bad = (
            message["method"] == "Runtime.exceptionThrown"
            or (message["method"] == "Runtime.consoleAPICalled" and message["params"]["type"] == "error")
            or (message["method"] == "Log.entryAdded" and entry.get("level") == "error")
        )
        if bad and not any(word in text for word in HARMLESS):
            self.errors.append(text[:500])

    def open(self, url: str, size: tuple[int, int]) -> None:
        """Go to an address in a window of this size."""
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=url)
        self.until("document.readyState", lambda state: state == "complete")

    def run(self, script: str) -> object:
        """The value of an expression of JavaScript."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def until(self, script: str, holds: Callable[[object], bool] = bool) -> object:
        """Poll until the expression is true."""
        end = time.monotonic() + PATIENCE
        while not holds(found := self.run(script)):
            assert time.monotonic() < end, f"{script}: still {found!r}"
            time.sleep(0.2)
        return found

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=f"Key{key.upper()}")

    def picture(self) -> bytes:
        """Return the visible page, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])


@contextlib.contextmanager
def page(folder: Path) -> Iterator[Page]:
    """A page of a browser that lives as long as the block; its profile is kept in a folder."""
    assert PROGRAM is not None
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader"]
    flags += ["--enable-unsafe-swiftshader", "--no-first-run", "--disable-background-networking", "--mute-audio"]
    flags += ["--allow-file-access-from-files", "--hide-scrollbars", "--no-proxy-server"]
    command = [PROGRAM, *flags, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE
        while not place.exists() or not place.read_text().strip():
            assert browser.poll() is None, "Chromium ended"
            assert time.monotonic() < end, "Chromium does not answer"
            time.sleep(0.1)
        port = place.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
            targets = json.loads(answer.read())
        yield Page(next(t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page"))
    finally:
        browser.terminate()
        browser.wait()
