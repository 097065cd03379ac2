"""A PostgreSQL cluster for a measurement, and what a server says to it: the statements of a request, with their values and
the round trips that they go in, from the cluster's log, and a script for pgbench that says the same.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from systems import Failure

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "scripts/postgresql-cluster"
SETTINGS = ["fsync=on", "full_page_writes=on", "shared_buffers=256MB", "max_wal_size=4GB",
            "shared_preload_libraries=pg_stat_statements"]


class Cluster:
    """Reached through a Unix socket; its commits are durable."""

    def __init__(self):
        # A socket's path has to be short, and PostgreSQL's own user has to reach it.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="nephos-bench."))
        self.directory.chmod(0o755)
        self.place = self.directory / "cluster"

    def start(self):
        self.script("start", str(self.place), *SETTINGS)
        self.ask("CREATE EXTENSION pg_stat_statements", "ALTER SYSTEM SET log_line_prefix = '%p '",
                 "ALTER SYSTEM SET pg_stat_statements.track = 'none'", "SELECT pg_reload_conf()")
        self.postmaster = int((self.place / "data/postmaster.pid").read_text().split()[0])

    def stop(self):
        self.script("stop", str(self.place))
        shutil.rmtree(self.directory, ignore_errors=True)

    def script(self, *arguments):
        result = subprocess.run([str(SCRIPT), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            raise Failure(f"PostgreSQL: {result.stderr.strip()}")

    @property
    def address(self): return f"postgresql://nephos@/postgres?host={self.place}"

    def run(self, program, *arguments, schema=None):
        environment = dict(os.environ, PGOPTIONS=f"-c search_path={schema},pg_catalog -c jit=off") if schema else None
        result = subprocess.run([program, "-h", str(self.place), "-U", "nephos", *arguments], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, env=environment)
        if result.returncode != 0:
            raise Failure(f"{program}: {result.stderr.strip()[:1000]}")
        return result.stdout.strip()

    def ask(self, *statements):
        return self.run("psql", "-qAt", "-d", "postgres", *(part for each in statements for part in ("-c", each)))

    def set(self, setting, value):
        self.ask(f"ALTER SYSTEM SET {setting} = '{value}'", "SELECT pg_reload_conf()")
        time.sleep(0.3)  # Its processes take a setting over when they are idle.

    def private_memory(self):
        """Of the backend that has most, in bytes."""
        most = 0
        for process in self.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'nephos'").split():
            text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
            most = max(most, 1024 * sum(map(int, re.findall(r"Private_(?:Clean|Dirty): +(\d+)", text))))
        return most

    def processor_seconds(self):
        """Of all its processes, those that ended included."""
        ticks = 0
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (directory / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(directory.name) == self.postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == self.postmaster:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def statements_of(self, request):
        """The statements of the transaction that `request` makes."""
        log = self.place / "data/server.log"
        self.set("log_statement", "all")
        start = log.stat().st_size
        request()
        time.sleep(0.3)
        self.set("log_statement", "none")
        return parse_log(log.read_bytes()[start:].decode(errors="replace"))


class Statement:
    def __init__(self, text):
        self.text, self.values = text, {}

    @property
    def ends_round_trip(self):
        """Whether the server waits for what it gives, by its rule: not for locks and for versions, which come with the next."""
        if "pg_advisory" in self.text or "catalog_version" in self.text:
            return False
        return self.text.startswith(("SELECT", "COMMIT"))


def parse_log(text):
    """The statements of the longest transaction on records that was committed, or of one without BEGIN and COMMIT, in a log of all
    statements.
    """
    open_transactions, committed = {}, []
    for entry in re.split(r"\n(?=\d+ [A-Z]+: )", text):
        match = re.match(r"(\d+) (LOG|DETAIL): +(.*)", entry, re.DOTALL)
        if not match:
            continue
        process, kind, rest = match.groups()
        transaction = open_transactions.setdefault(process, [])
        if kind == "DETAIL" and transaction and rest.startswith("parameters: "):
            transaction[-1].values = {
                int(number): None if value == "NULL" else value[1:-1].replace("''", "'")
                for number, value in re.findall(r"\$(\d+) = (NULL|'(?:[^']|'')*')", rest)}
        elif found := re.match(r"execute [^:]*: (.*)", rest.rstrip("\n"), re.DOTALL):
            if found[1].startswith("BEGIN") or not (transaction and transaction[0].text.startswith("BEGIN")):
                transaction.clear()
            transaction.append(Statement(" ".join(found[1].split())))
            if found[1].startswith("COMMIT"):
                committed.append(list(transaction))
                transaction.clear()
            elif not transaction[0].text.startswith("BEGIN"):
                # Its values come with the next line.
                committed.append(list(transaction))
    committed = [each for each in committed if any(re.search(r"\brecord\b", statement.text) for statement in each)]
    if not committed:
        raise Failure("PostgreSQL's log holds no transaction on records")
    return max(committed, key=len)


class Script:
    """A transaction's statements for pgbench, in as many round trips as the server makes."""

    def __init__(self, statements, replace=lambda *_: None, copies=1, head=""):
        """
        - replace: the SQL for a statement's value, given the statement's text, the value's number and the copy's; None keeps it.
        - copies: how often a record and its entry in an index are inserted.
        """
        self.statements, self.replace, self.copies = statements, replace, copies
        self.values, lines, group = {}, [head] if head else [], []
        # Nothing waits for the end of what only reads.
        is_read = "READ ONLY" in statements[0].text
        for number, statement in enumerate(statements):
            repeats = copies if statement.text.startswith(("INSERT INTO record ", "INSERT INTO index_entry ")) else 1
            group += [self.line(number, statement, copy) for copy in range(repeats)]
            # What names its zone comes with the look-up of the zone.
            comes_with_zone = "(SELECT id FROM zone " in "".join(next.text for next in statements[number + 1:number + 2])
            ends = statement.ends_round_trip and not comes_with_zone and not (is_read and number == len(statements) - 2)
            if ends or number == len(statements) - 1:
                lines += ["\\startpipeline", *group, "\\endpipeline"]
                group = []
        self.text = "\n".join(lines) + "\n"

    def line(self, number, statement, copy):
        def value(match):
            index = int(match[1])
            if (sql := self.replace(statement.text, index, copy)) is not None:
                return sql
            given = statement.values.get(index)
            if given is None:
                return "NULL"
            self.values[f"p{number}_{index}"] = given
            return f":p{number}_{index}"
        return re.sub(r"\$(\d+)", value, statement.text) + ";"

    @property
    def round_trips(self): return self.text.count("\\endpipeline")


def pgbench(cluster, schema, scripts, clients, seconds, directory):
    """Runs scripts of one kind, each transaction one of them; returns the transactions a second."""
    arguments, values = [], {}
    for number, script in enumerate(scripts):
        file = directory / f"script{number}.sql"
        # Each script's values have names of their own.
        file.write_text(re.sub(r":(p\d+_\d+)", rf":s{number}\1", script.text))
        arguments += ["-f", str(file)]
        values |= {f"s{number}{name}": value for name, value in script.values.items()}
    for name, value in values.items():
        arguments += ["-D", f"{name}={value}"]
    output = cluster.run("pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(seconds),
                         *arguments, "postgres", schema=schema)
    if failed := re.search(r"number of failed transactions: ([1-9]\d*)", output):
        raise Failure(f"pgbench: {failed[1]} transactions failed")
    return float(re.search(r"tps = ([\d.]+)", output)[1])
