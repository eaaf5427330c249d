"""A headless Chromium driven over its debugging pipe (Chrome DevTools Protocol); needs nothing but the standard library."""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """Path of a Chromium, or None. $TUNEBOOK_CHROMIUM names another."""
    named = os.environ.get("TUNEBOOK_CHROMIUM")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class BrowserError(Exception):
    pass


class Browser:
    """One browser process and one page in it."""

    def __init__(self, path, timeout=60):
        self.timeout = timeout
        self.profile = tempfile.TemporaryDirectory(prefix="page-check-")
        read_end, self.write_end = os.pipe()
        self.read_end, write_end = os.pipe()
        command = [path, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-first-run",
                   "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                   "--hide-scrollbars", "about:blank"]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        # The browser reads descriptor 3 and writes descriptor 4.
        shell = ["/bin/sh", "-c", 'in=$1 out=$2; shift 2; eval "exec 3<&$in 4>&$out"; exec "$@"', "sh", str(read_end), str(write_end)]
        self.process = subprocess.Popen(shell + command, pass_fds=(read_end, write_end), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_end)
        os.close(write_end)
        self.buffer = b""
        self.next_id = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self.call("Browser.close", browser=True)
            self.process.wait(10)
        except (BrowserError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _receive(self, deadline):
        """The next message; events are kept in self.events."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.read_end, 1 << 20) if ready else b""
            if not chunk:
                raise BrowserError("the browser has ended" if ready else f"no answer from the browser within {self.timeout} s")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "id" not in message:
            self.events.append(message)
        return message

    def call(self, method, browser=False, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session and not browser:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self.write_end, data):]
        except BrokenPipeError as error:
            raise BrowserError("the browser has ended") from error
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def wait_for(self, event):
        deadline = time.monotonic() + self.timeout
        while not any(seen["method"] == event for seen in self.events):
            self._receive(deadline)

    def open(self, path):
        """Loads a file; the events from then on are in self.events."""
        self.call("Page.navigate", url="about:blank")
        self.evaluate("1")
        self.events.clear()
        answer = self.call("Page.navigate", url="file://" + os.path.abspath(path))
        if answer.get("errorText"):
            raise BrowserError(f"{path}: {answer['errorText']}")
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page (JSON-like values)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media="", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key, code, text=""):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def write(self, text):
        self.call("Input.insertText", text=text)
