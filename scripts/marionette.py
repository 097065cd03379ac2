"""Firefox for Selenium without geckodriver: Selenium's commands go to Firefox by Marionette, the protocol that is built into it."""

import json
import shutil
import socket
import subprocess
import tempfile
import time

from selenium.webdriver.remote.command import Command

PROGRAM = "firefox-esr"
COMMANDS = {
    Command.NEW_SESSION: "NewSession", Command.GET: "Navigate", Command.REFRESH: "Refresh", Command.GO_BACK: "Back",
    Command.NEW_WINDOW: "NewWindow", Command.CLOSE: "CloseWindow", Command.SWITCH_TO_WINDOW: "SwitchToWindow",
    Command.W3C_GET_CURRENT_WINDOW_HANDLE: "GetWindowHandle", Command.W3C_GET_WINDOW_HANDLES: "GetWindowHandles",
    Command.SWITCH_TO_FRAME: "SwitchToFrame", Command.GET_CURRENT_URL: "GetCurrentURL", Command.GET_TITLE: "GetTitle",
    Command.GET_PAGE_SOURCE: "GetPageSource", Command.DELETE_ALL_COOKIES: "DeleteAllCookies", Command.SCREENSHOT: "TakeScreenshot",
    Command.W3C_EXECUTE_SCRIPT: "ExecuteScript", Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript",
    Command.FIND_ELEMENT: "FindElement", Command.FIND_ELEMENTS: "FindElements", Command.W3C_GET_ACTIVE_ELEMENT: "GetActiveElement",
    Command.FIND_CHILD_ELEMENT: "FindElement", Command.FIND_CHILD_ELEMENTS: "FindElements", Command.CLICK_ELEMENT: "ElementClick",
    Command.SEND_KEYS_TO_ELEMENT: "ElementSendKeys", Command.CLEAR_ELEMENT: "ElementClear",
    Command.GET_ELEMENT_TEXT: "GetElementText",
}


class Connection:
    """Starts a Firefox, and executes commands as Selenium's connection to a remote browser does."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="nephos-firefox-")
        with open(f"{self.profile}/user.js", "w") as file:
            file.write('user_pref("marionette.port", 0);\n')
        # System access is needed to run scripts in the browser itself.
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", self.profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = socket.create_connection(("127.0.0.1", self.port()))
        self.answers = self.socket.makefile("rb")
        self.number = 0
        self.receive()  # Firefox greets.

    def port(self):
        """The port that Firefox chose."""
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(f"{self.profile}/MarionetteActivePort") as file:
                    return int(file.read())
            except (FileNotFoundError, ValueError):
                time.sleep(0.1)
        self.close()
        raise SystemExit(f"{PROGRAM} does not start")

    def receive(self):
        length = b""
        while (byte := self.answers.read(1)) != b":":
            if not byte:
                raise SystemExit(f"{PROGRAM} has ended")
            length += byte
        return json.loads(self.answers.read(int(length)))

    def send(self, name, parameters):
        """Returns a command's answer in the form that Selenium reads."""
        self.number += 1
        message = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self.receive()
        if error:
            return {"status": 500, "value": json.dumps({"value": error})}
        return {"value": result["value"] if isinstance(result, dict) and list(result) == ["value"] else result}

    def execute(self, command, parameters):
        if command == Command.QUIT:
            return self.close()
        parameters = {name: value for name, value in parameters.items() if name != "sessionId"}
        if command in (Command.FIND_CHILD_ELEMENT, Command.FIND_CHILD_ELEMENTS):
            parameters["element"] = parameters.pop("id")
        return self.send("WebDriver:" + COMMANDS[command], parameters)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
        return {"value": None}
