"""Three nodes of PostgreSQL under Patroni, and an etcd, for `scripts/failover`."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from failover_parts import ROOT, Failure, Gate, command, poll

NODES = 3
SETTLED = 3  # seconds
USER = "postgres"  # PostgreSQL refuses to run as root.


def install():
    """Returns Patroni's executable, installed on first use, and so is etcd where this runs as root."""
    if not list(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        raise Failure("PostgreSQL is not installed: sudo apt-get install postgresql")
    if not shutil.which("etcd"):
        if os.getuid() != 0 or not shutil.which("apt-get"):
            raise Failure("etcd is not installed: sudo apt-get install etcd-server")
        print("failover: installing Debian's etcd-server", file=sys.stderr)
        # Its own instance would take the default ports, and is not needed.
        command("apt-get", "install", "--yes", "--no-install-recommends", "etcd-server",
                env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1"))
    place = ROOT / ".bench/patroni"
    executable = place / "bin/patroni"
    if executable.exists() and subprocess.run([executable, "--version"], capture_output=True).returncode != 0:
        # An installation that was interrupted, or for a Python that is gone.
        shutil.rmtree(place)
    if not executable.exists():
        print(f"failover: installing Patroni into {place}", file=sys.stderr)
        # The system's Python: another may be where PostgreSQL's user does not come.
        system = pathlib.Path("/usr/bin/python3")
        command(system if system.exists() else sys.executable, "-m", "venv", "--without-pip", place)
        # psycopg brings libpq along where it is installed with its binary part.
        command(sys.executable, "-m", "pip", "--python", place / "bin/python", "install", "--quiet",
                "patroni[etcd3,psycopg3]", "psycopg[binary]")
    # PostgreSQL's user has to come there, which it does not below /root.
    command(executable, "--version", user=USER)
    return executable


class Node:
    """A PostgreSQL server and its Patroni. Others reach it through a gate, and it reaches etcd through one."""

    def __init__(self, number, patroni):
        self.name, self.place = f"node{number}", patroni.place / f"node{number}"
        first = patroni.port + 4 * number
        self.postgres_port, self.gate_port, self.etcd_port, self.rest_port = first, first + 1, first + 2, first + 3
        self.patroni, self.process, self.gates = patroni, None, []

    def prepare(self):
        self.place.mkdir()
        shutil.chown(self.place, USER) if os.getuid() == 0 else None
        self.gates = [Gate(self.postgres_port, port=self.gate_port), Gate(self.patroni.etcd_port, port=self.etcd_port)]
        trust = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        configuration = {
            "scope": "nephos", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest_port}", "connect_address": f"127.0.0.1:{self.rest_port}"},
            # Through its gate alone: it would find etcd's own address, and keep its lock while it is cut off.
            "etcd3": {"hosts": [f"127.0.0.1:{self.etcd_port}"], "use_proxies": True},
            "bootstrap": {
                "dcs": {"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": True,
                        "primary_start_timeout": 10, "postgresql": {"use_pg_rewind": True, "parameters": {
                            "max_connections": 200, "max_prepared_transactions": 0, "wal_keep_size": "256MB"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.postgres_port}", "connect_address": f"127.0.0.1:{self.gate_port}",
                "data_dir": str(self.place / "data"), "bin_dir": str(programs()), "pgpass": str(self.place / "pgpass"),
                "pg_hba": trust, "parameters": {"unix_socket_directories": str(self.place), "shared_buffers": "64MB"},
                "authentication": {role: {"username": name, "password": "unused"} for role, name in (
                    ("superuser", "nephos"), ("replication", "replicator"), ("rewind", "rewinder"))}},
        }
        (self.place / "patroni.json").write_text(json.dumps(configuration))

    def start(self):
        arguments = [str(self.patroni.executable), str(self.place / "patroni.json")]
        if os.getuid() == 0:
            arguments = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", *arguments]
        with open(self.place.parent / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                            env=dict(os.environ, HOME=str(self.place)))

    def kill_postgres(self):
        try:
            number = int((self.place / "data/postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return
        # As a loss of power: nothing of it goes on.
        children = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if parent(path) == number]
        for process in [number, *children]:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                continue

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.kill_postgres()

    def state(self):
        """What Patroni says of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.rest_port, timeout=2)
        connection.request("GET", "/patroni")
        return json.loads(connection.getresponse().read())


def parent(path):
    try:
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def programs():
    return max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4])).parent


class Patroni:
    def __init__(self, place, port):
        self.place, self.etcd_port, self.port = place, port, port + 2
        self.etcd, self.lost, self.cut_off = None, None, None
        self.executable = install()
        self.nodes = [Node(number, self) for number in range(NODES)]

    @property
    def address(self):
        """All nodes' gates: libpq takes the one that may be written."""
        hosts = ",".join(f"127.0.0.1:{node.gate_port}" for node in self.nodes)
        return f"postgresql://nephos@{hosts}/postgres?target_session_attrs=read-write"

    def start(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.etcd_port + 1}"
        with open(self.place / "etcd.log", "ab") as log:
            self.etcd = subprocess.Popen(
                ["etcd", "--name", "etcd", "--data-dir", str(self.place / "etcd"), "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"etcd={peer}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        time.sleep(1)
        for node in self.nodes:
            node.prepare()
            node.start()
        self.settle()

    def states(self):
        states = {}
        for node in self.nodes:
            try:
                states[node.name] = node.state()
            except (OSError, ValueError, http.client.HTTPException):
                continue
        return states

    def settle(self):
        """Waits until every node runs, one leads and another follows it synchronously, and it stays so: of a PostgreSQL that
        was started again Patroni finds after a moment that nobody follows it yet.
        """
        since = time.monotonic()

        def is_settled():
            nonlocal since
            if not is_settled_now():
                since = time.monotonic()
            return time.monotonic() - since > SETTLED

        def is_settled_now():
            states = self.states()
            return (len(states) == NODES and all(state.get("state") == "running" for state in states.values())
                    and sum(state.get("role") in ("primary", "master") for state in states.values()) == 1
                    and any(state.get("sync_standby") for state in states.values()))
        try:
            poll(is_settled, 300, "Patroni's nodes run and one follows synchronously")
        except Failure as failure:
            raise Failure(f"{failure}; {self.summary()}")

    def summary(self):
        """What each node says of itself, in words."""
        states = self.states()
        return "; ".join(
            f"{node.name}: " + " ".join(str(states.get(node.name, {}).get(key, "-")) for key in ("role", "state", "timeline"))
            for node in self.nodes)

    def with_role(self, leads):
        states = self.states()
        return next((node for node in self.nodes
                     if (states.get(node.name, {}).get("role") in ("primary", "master")) == leads), None)

    def lose(self, kind):
        node = poll(lambda: self.with_role(leads=kind != "standby killed"), 30, "a node of the role")
        self.lost = node
        if kind == "postgres killed":
            node.kill_postgres()
        elif kind == "leader cut off":
            for gate in node.gates: gate.shut()
        else:
            node.kill()

    def heal(self):
        if node := self.lost:
            for gate in node.gates:
                if gate.is_shut: gate.open()
            if node.process.poll() is not None:
                node.start()
            self.lost = None
        self.settle()

    def stop(self):
        for node in self.nodes:
            node.kill()
            for gate in node.gates: gate.close()
        if self.etcd:
            self.etcd.kill()
            self.etcd.wait()
