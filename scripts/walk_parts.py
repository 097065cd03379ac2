"""What the walks have in common: their arguments, servers, and waiting in a browser."""

import argparse
import atexit
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

from browser import BROWSERS

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = pathlib.Path(sys.argv[0]).name
# So that what the walk started ends with it.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{NAME}: ended"))


def fail(text):
    sys.exit(f"{NAME}: {text}")


def arguments(documentation):
    """The parser of a walk's arguments, with those that each walk takes."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", choices=BROWSERS, default="chromium")
    parser.add_argument("--server", metavar="FILE", type=pathlib.Path, default=ROOT / ".build/debug/nephos")
    return parser


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def make_directory():
    """A directory that lives as long as the walk."""
    directory = tempfile.mkdtemp(prefix="nephos-walk-")
    atexit.register(shutil.rmtree, directory)
    return directory


def spawn(*command, **options):
    """Starts a process that lives as long as the walk."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    atexit.register(process.wait)
    atexit.register(process.kill)
    return process


def start(*command):
    """Starts a server, waits until it serves, and returns its process."""
    process = spawn(*command)
    line = process.stdout.readline()
    if "serving" not in line:
        fail(f"{command} does not start: {line}")
    return process


def run(*command, text=""):
    """Runs a command to its end, and returns what it prints."""
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        fail(f"{command}: {done.stderr}")
    return done.stdout.strip()


class Walk:
    """A browser in which steps are taken, each with what it has to lead to."""

    def __init__(self, browser):
        self.browser = BROWSERS[browser]()
        atexit.register(self.browser.quit)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector, text=None):
        """The elements, or those with a text."""
        found = self.browser.find_elements(By.CSS_SELECTOR, selector)
        return found if text is None else [one for one in found if one.text == text]

    def expect(self, what, holds, seconds=30):
        """Waits until a condition holds, and returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := holds():
                    print("  " + what, flush=True)
                    return found
            except WebDriverException:
                pass
            time.sleep(0.05)
        fail(f"{what}: not so at {self.browser.current_url}:\n{self.find('body').text}\n{self.browser.take_errors()}")

    def new_window(self, known):
        return self.expect("a window opens", lambda: [one for one in self.browser.window_handles if one not in known])[0]

    def take(self, *steps):
        for step in steps:
            print(step.__name__, flush=True)
            step(self)
