"""The browsers of the walks: Selenium's drivers, and what each browser does in a way of its own."""

import shutil

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

import marionette


class Chromium(webdriver.Chrome):
    def __init__(self):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-popup-blocking"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        super().__init__(options=options, service=Service(shutil.which("chromedriver")))

    def take_errors(self):
        """The errors that the console got since the last call."""
        return [entry["message"] for entry in self.get_log("browser") if entry["level"] == "SEVERE"]

    def narrow(self, width):
        self.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})

    def allow_scripts(self, allowed):
        """Whether a page loads scripts that its policy forbids, from its next load on."""
        self.execute_cdp_cmd("Page.setBypassCSP", {"enabled": allowed})

    def sleep(self):
        """Lets the page sleep as in a tab that was not looked at for long."""
        self.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "frozen"})

    def wake(self):
        self.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "active"})


class Firefox(webdriver.Remote):
    def __init__(self):
        super().__init__(marionette.Connection(), options=webdriver.FirefoxOptions())
        # A file that a page uploads is one of this machine.
        self._is_remote = False

    def run_in_browser(self, script, *arguments):
        """Runs a script in the browser itself, not in the page."""
        def send(name, **parameters):
            answer = self.command_executor.send(name, parameters)
            self.error_handler.check_response(answer)
            return answer["value"]
        send("Marionette:SetContext", value="chrome")
        try:
            return send("WebDriver:ExecuteScript", script=script, args=arguments)
        finally:
            send("Marionette:SetContext", value="content")

    def take_errors(self):
        return self.run_in_browser("""
            const entries = Services.console.getMessageArray();
            Services.console.reset();
            return entries.filter((entry) => entry instanceof Ci.nsIScriptError && /^https?:/.test(entry.sourceName)
              && !(entry.flags & Ci.nsIScriptError.warningFlag)).map((entry) => String(entry));""")

    def narrow(self, width):
        self.run_in_browser("gBrowser.selectedBrowser.style.width = arguments[0];", f"{width}px")

    def allow_scripts(self, allowed):
        """Scripts of the walks are under no policy of the page."""

    def sleep(self):
        """Keeps the page as one that was left, and that a step back shows again."""
        self.get("about:blank")

    def wake(self):
        self.back()


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
