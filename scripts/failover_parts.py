"""What `scripts/failover` is made of: a proxy that loses what passes it, servers, clients that count, and one that follows.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import selectors
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 270  # seconds that a client tries before it counts as a failure


class Failure(Exception):
    """What must not happen, or a part that does not start."""


def command(*arguments, user=None, **options):
    """Runs a command to its end; returns what it wrote."""
    arguments = [str(argument) for argument in arguments]
    if user and os.getuid() == 0:
        arguments = ["runuser", "-u", user, "--", *arguments]
    # Nobody waits for a daemon to close what it inherited.
    result = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, cwd="/", **options)
    if result.returncode != 0:
        raise Failure(f"{' '.join(arguments)}: {result.stdout.strip()[-1500:]}")
    return result.stdout.strip()


def poll(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, Failure, http.client.HTTPException, ValueError):
            if value := condition():
                return value
        if time.monotonic() > deadline:
            raise Failure(f"after {seconds} s still not: {what}")
        time.sleep(0.05)


class Gate:
    """Passes connections on, holds back everything where it is shut, and loses some where `fate` says so.

    `fate` gets what a client sends at a time, and gives None, "cut" (the server does not get it) or "lose" (it does, and its
    answer is lost); both end the connection.
    """

    def __init__(self, target, path=None, port=None):
        self.target, self.fate = target, lambda sent: None
        self.is_shut, self.is_closed, self.generation = False, False, 0
        self.path = path
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(str(path))
        else:
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1", port))
        self.listener.listen(128)
        threading.Thread(target=self.accept, daemon=True).start()

    def shut(self): self.is_shut = True

    def open(self):
        """Lets new connections pass; those of before are gone."""
        self.generation += 1
        self.is_shut = False

    def close(self):
        self.is_closed = True
        self.listener.close()
        if self.path:
            self.path.unlink(missing_ok=True)

    def accept(self):
        while not self.is_closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def connect(self):
        if isinstance(self.target, int):
            return socket.create_connection(("127.0.0.1", self.target), timeout=5)
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self.target))
        return server

    def serve(self, client):
        generation = self.generation
        with client, selectors.DefaultSelector() as selector:
            if not self.wait(generation):
                return
            try:
                server = self.connect()
            except OSError:
                return
            with server, contextlib.suppress(OSError):
                server.settimeout(None)
                selector.register(client, selectors.EVENT_READ)
                selector.register(server, selectors.EVENT_READ)
                self.pass_on(client, server, selector, generation)

    def pass_on(self, client, server, selector, generation):
        loses = False
        while self.wait(generation):
            for key, _ in selector.select(0.1):
                if not self.wait(generation):
                    return
                data = key.fileobj.recv(1 << 16)
                if not data or loses and key.fileobj is server:
                    return
                if key.fileobj is client:
                    fate = self.fate(data)
                    if fate == "cut":
                        return
                    loses = fate == "lose"
                (server if key.fileobj is client else client).sendall(data)

    def wait(self, generation):
        """Waits while it is shut; returns whether the connection goes on."""
        while self.is_shut and not self.is_closed and generation == self.generation:
            time.sleep(0.02)
        return not self.is_closed and generation == self.generation


class NephosServer:
    """A server process over PostgreSQL. All share one directory for the files of assets."""

    def __init__(self, executable, address, directory, port):
        self.executable, self.address, self.directory, self.port = executable, address, directory, port
        self.process = None

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [str(self.executable), "dev", "--quiet", "--storage", self.address, "--accept-unsafe-storage", "--data",
                 str(self.directory.parent / "assets"), "--port", str(self.port)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ready(self):
        def answers():
            if self.process.poll() is not None:
                self.start()  # It needs PostgreSQL at its start.
                time.sleep(0.3)
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        poll(answers, 60, "a server answers")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Client:
    """Asks one server, and another where it does not answer, until the outcome is known."""

    def __init__(self, servers, number):
        self.ports, self.number, self.connection = [server.port for server in servers], number, None
        self.repeated = 0

    def post(self, path, body):
        deadline = time.monotonic() + PATIENCE
        text = json.dumps(body)
        while True:
            status, answer = self.once(path, text)
            # A code of a record's own is an outcome; that the service is busy or does not know is none.
            if status == 200 and "TRY_AGAIN_LATER" not in answer and "INTERNAL_ERROR" not in answer:
                return json.loads(answer)
            if status in range(400, 500) and status != 429:
                return json.loads(answer)
            if time.monotonic() > deadline:
                raise Failure(f"{path}: no outcome in {PATIENCE} s, the last answer: {status} {answer[:300]}")
            self.repeated += 1
            self.number += 1
            self.connection = None
            time.sleep(0.05)

    def once(self, path, text):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.ports[self.number % len(self.ports)], timeout=45)
            self.connection.request("POST", f"/database/1/iCloud.failover/development/private/{path}"
                                    "?ckAPIToken=a&ckWebAuthToken=dev:counter", text, {"Content-Type": "application/json"})
            response = self.connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)


ZONE = {"zoneName": "Counters"}


class Load:
    """Clients that each count in a record under its change tag and add a record with each step, both or neither; and one
    that follows the zone's feed."""

    def __init__(self, servers, writers, seed):
        self.servers, self.seed = servers, seed
        self.counts = {f"w{number}": 0 for number in range(writers)}
        self.failures, self.is_over, self.expired, self.repeated = [], threading.Event(), 0, 0
        answer = Client(servers, 0).post("zones/modify", {"operations": [
            {"operationType": "create", "zone": {"zoneID": ZONE}}]})
        if "serverErrorCode" in json.dumps(answer):
            raise Failure(f"the zone: {answer}")
        self.seen, self.threads = {}, []
        self.writing = [threading.Thread(target=self.run, args=(self.write, name), daemon=True) for name in self.counts]
        self.following = threading.Thread(target=self.run, args=(self.follow, "feed"), daemon=True)

    def start(self):
        for thread in [*self.writing, self.following]: thread.start()

    def run(self, body, name):
        try:
            body(name)
        except Exception as error:  # Any failure ends the run, with its reason.
            self.failures.append(f"{name}: {error!r}")

    @property
    def total(self): return sum(self.counts.values())

    def write(self, name):
        client, tag, pause = Client(self.servers, int(name[1:])), None, random.Random(f"{self.seed}{name}")
        while not self.is_over.is_set():
            count = self.counts[name] + 1
            counter = {"recordName": name, "recordType": "Counter", "fields": {"n": {"value": count}}}
            if tag:
                counter["recordChangeTag"] = tag
            step = {"recordName": f"{name}-{count}", "recordType": "Step", "fields": {"n": {"value": count}}}
            answer = client.post("records/modify", {
                "zoneID": ZONE, "atomic": True, "nephosRequestKey": f"{name}-{count}", "operations": [
                    {"operationType": "update" if tag else "create", "record": counter},
                    {"operationType": "create", "record": step}]})
            records = {record.get("recordName"): record for record in answer.get("records", [])}
            if "serverErrorCode" in json.dumps(answer) or "recordChangeTag" not in records.get(name, {}):
                raise Failure(f"step {count} was refused, so something was lost or done twice: {answer}")
            tag = records[name]["recordChangeTag"]
            self.counts[name] = count
            self.repeated += client.repeated
            client.repeated = 0
            time.sleep(pause.random() * 0.01)

    def follow(self, _):
        client, token, seen = Client(self.servers, 1), None, {}
        while True:
            is_last = not any(thread.is_alive() for thread in self.writing)
            changes = 0
            while True:
                zone = {"zoneID": ZONE, "resultsLimit": 50} | ({"syncToken": token} if token else {})
                page = client.post("changes/zone", {"zones": [zone]})["zones"][0]
                if page.get("serverErrorCode") == "BAD_REQUEST" or "EXPIRED" in json.dumps(page):
                    self.expired, token, seen = self.expired + 1, None, {}
                    continue
                if "serverErrorCode" in page:
                    raise Failure(f"the feed: {page}")
                for record in page["records"]:
                    seen[record["recordName"]] = record["fields"]["n"]["value"]
                changes, token = changes + len(page["records"]), page["syncToken"]
                if not page["moreComing"]:
                    break
            self.check(seen)
            self.seen = seen
            if is_last and changes == 0:
                return
            time.sleep(0.01)

    def check(self, seen):
        """A counter and its step come together, so all steps up to a counter have been in the feed."""
        for name in self.counts:
            count = seen.get(name, 0)
            missing = [number for number in range(1, count + 1) if seen.get(f"{name}-{number}") != number]
            if missing:
                raise Failure(f"a gap: the feed has {name} at {count}, and not its steps {missing[:10]}")

    def finish(self):
        """Ends the clients; returns what is wrong."""
        self.is_over.set()
        for thread in [*self.writing, self.following]:
            thread.join(PATIENCE + 30)
            if thread.is_alive():
                self.failures.append("a client does not end")
        if self.failures:
            return self.failures
        everything = {}
        fresh = Load.__new__(Load)
        fresh.__dict__ |= {"servers": self.servers, "counts": self.counts, "writing": [], "expired": 0}
        fresh.follow("all")
        everything = fresh.seen
        wanted = dict(self.counts)
        wanted |= {f"{name}-{number}": number for name, count in self.counts.items() for number in range(1, count + 1)}
        problems = []
        for what, found in (("the store", everything), ("the feed", self.seen)):
            lost = sorted(key for key, value in wanted.items() if value and found.get(key) != value)
            more = sorted(set(found) - set(wanted))
            if lost:
                problems.append(f"{what} lacks acknowledged writes: {lost[:10]}")
            if more:
                problems.append(f"{what} has writes that nobody made: {more[:10]}")
        return problems
