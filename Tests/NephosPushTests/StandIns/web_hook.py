#!/usr/bin/python3
"""A receiver of web hooks, which verifies their signatures as Standard Webhooks describes it.

An answer of its script has a "status", and may have "headers", or instead of all "reset": true, which closes the
connection, or "silent": true, which never answers.
"""

import base64
import hashlib
import hmac
import http.server
import os
import threading
import time

import standin

script = standin.Script()
secret = os.urandom(32)


def problem_of(headers, body):
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    expected = hmac.new(secret, f"{identifier}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    signatures = [text.partition(",") for text in headers.get("webhook-signature", "").split(" ")]
    if not any(
            version == "v1" and hmac.compare_digest(base64.b64decode(text), expected)
            for version, _, text in signatures):
        return "the signature does not match"
    if not timestamp.isdigit() or abs(int(timestamp) - time.time()) > 300:
        return "the timestamp is not close to the time"
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
    text = "whsec_" + base64.b64encode(secret).decode() + "\n"
    standin.say(
        url=f"http://127.0.0.1:{server.server_address[1]}/hook",
        secretFile=standin.write(directory, "secret", text.encode()))
    server.serve_forever()


if __name__ == "__main__":
    standin.run(serve)
