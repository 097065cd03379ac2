#!/usr/bin/python3
"""A receiver of web hooks, which verifies their signatures with the function of Documentation/Notifications.md.

An answer of its script has a "status", and may have "headers", or instead of all "reset": true, which closes the
connection, or "silent": true, which never answers.
"""

import base64
import http.server
import os
import pathlib
import re
import threading

import standin

script = standin.Script()
secret = "whsec_" + base64.b64encode(os.urandom(32)).decode() + "\n"

page = pathlib.Path(__file__).resolve().parents[3] / "Documentation" / "Notifications.md"
documented = {}
exec(re.search("```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL).group(1), documented)


def problem_of(headers, body):
    if not documented["verify"](secret, headers, body):
        return "the signature does not match"
    if documented["verify"](secret, headers, body + b" ") or documented["verify"](
            secret, headers | {"webhook-id": "other"}, body):
        return "the documented function takes what was changed"
    if headers.get("content-type") != "application/json":
        return "not JSON"
    return None


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        standin.say(
            problem=problem_of(headers, body), headers=headers, path=self.path, body=body.decode(errors="replace"))
        answer = script.next()
        if answer.get("silent"):
            threading.Event().wait()
        if answer.get("reset"):
            self.close_connection = True
            return
        self.send_response(answer.get("status", 200))
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        standin.say(problem="a redirection was followed", headers={}, path=self.path, body="")
        self.send_error(405)

    def log_message(self, *_):
        pass


def serve(directory):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    standin.say(
        url=f"http://127.0.0.1:{server.server_address[1]}/hook",
        secretFile=standin.write(directory, "secret", secret.encode()))
    server.serve_forever()


if __name__ == "__main__":
    standin.run(serve)
