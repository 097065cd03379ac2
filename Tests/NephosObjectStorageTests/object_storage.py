"""Object storage for the tests: moto's, which checks signatures, behind faults that a test asks for.

    object_storage.py DIRECTORY --install   makes an environment with moto in DIRECTORY, unless it is there
    object_storage.py                       (with that environment's Python) serves, and says where in a line of JSON

It ends when its standard input does. POST /faults takes a JSON array: what happens to the next requests, one each: null for
nothing, "500", "denied", "slow" (no answer for two seconds), "cut" (half of the answer's body), "again" (the answer to the last list).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

PACKAGES = ["moto[server]==5.2.5"]


def install(directory):
    python = directory / "bin/python"
    if (directory / "complete").exists():
        return
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", directory], check=True, capture_output=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, capture_output=True)
    (directory / "complete").touch()


class Faults:
    def __init__(self, app):
        self.app, self.next, self.lock = app, [], threading.Lock()
        self.requests = []
        self.list = None

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/faults":
            with self.lock:
                if environ["REQUEST_METHOD"] == "POST":
                    self.next = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
                body = json.dumps(self.requests).encode()
                self.requests = []
            start_response("200 OK", [("Content-Length", str(len(body)))])
            return [body]
        with self.lock:
            fault = self.next.pop(0) if self.next else None
            self.requests.append(environ["REQUEST_METHOD"])
        if fault == "500":
            start_response("500 Internal Server Error", [("Content-Length", "0"), ("Connection", "close")])
            return []
        if fault == "denied":
            body = b"<Error><Code>AccessDenied</Code></Error>"
            start_response("403 Forbidden", [("Content-Length", str(len(body))), ("Connection", "close")])
            return [body]
        if fault == "slow":
            time.sleep(2)
        if fault == "again":
            (status, headers), answer = self.list
            start_response(status, headers)
            return answer
        if "list-type=2" in environ["QUERY_STRING"]:
            head = []
            answer = [b"".join(self.app(environ, lambda status, headers, *_: head.extend([status, headers])))]
            self.list = head, answer
            start_response(*head)
            return answer
        answer = self.app(environ, start_response)
        if fault == "cut":
            body = b"".join(answer)
            return [body[: len(body) // 2]]
        return answer


def serve():
    # Before it is imported: the first requests, which make the user, need no signature.
    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "1000000"
    os.environ["MOTO_S3_CUSTOM_ENDPOINTS"] = ""
    import boto3
    import logging
    from moto import settings
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    app = Faults(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.port}"
    anyone = dict(endpoint_url=url, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
    iam = boto3.client("iam", **anyone)
    iam.create_user(UserName="nephos")
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="nephos", PolicyName="all", PolicyDocument=json.dumps(everything))
    key = iam.create_access_key(UserName="nephos")["AccessKey"]
    boto3.client("s3", **anyone).create_bucket(
        Bucket="assets", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    with app.lock:
        app.requests = []
    print(json.dumps({"url": url, "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
    sys.stdin.read()


if sys.argv[2:] == ["--install"]:
    install(pathlib.Path(sys.argv[1]).absolute())
else:
    serve()
