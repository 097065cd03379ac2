"""Queries over 10,000, 100,000 and 1,000,000 tasks: the first 50 of a list by rank in Nephos, PocketBase and SQLite alone,
each with an index on (list, rank), which all of them are told to make; in Nephos also a page of 200 of a search for a word, and the first 50 within 200 km.

A task has a list (500 tasks are in each), a rank, a title with one of twenty words in it, a place, and 250 characters.
"""

import json
import os
import re
import sqlite3
import statistics
import subprocess
import urllib.parse

from systems import Failure, Nephos, PocketBase, SQLite, TEXT, template

TASKS_IN_LIST = 500
PAGE = 50
SEARCH_PAGE = 200
RADIUS = 200_000  # metres


class NephosTasks(Nephos):
    OPERATION = {
        "operationType": "create",
        "record": {"recordName": "<<name>>", "recordType": "Task", "fields": {
            "list": {"value": "list<<mod:1:LISTS>>"},
            "rank": {"value": "<<mod:7919:1000003>>"},
            "title": {"value": "Task number <<seq>> word<<mod:31:20>>"},
            "body": {"value": TEXT},
            "place": {"value": {"latitude": "<<mod:7919:80>>.<<mod:104729:900001>>",
                                "longitude": "<<mod:7907:170>>.<<mod:104723:900007>>"}, "type": "LOCATION"}}}}

    def __init__(self, tools, directory, executable, lists):
        super().__init__(tools, directory, executable, "normal")
        self.name, self.lists = "nephos", lists

    SCHEMA = """
        DEFINE SCHEMA
        RECORD TYPE Task (
            "___recordID" REFERENCE QUERYABLE, list STRING QUERYABLE, rank INT64 SORTABLE, title STRING SEARCHABLE,
            body STRING, place LOCATION QUERYABLE
            -- nephos: INDEX (list, rank DESC)
        );
        """

    def credentials(self):
        """Of who administers the server, as variables of the environment."""
        return {}

    def prepare(self):
        super().prepare()
        imported = subprocess.run(
            [str(self.executable), "schema", "import", "--container", "iCloud.bench", "--url",
             self.url(), "-"], input=self.SCHEMA, capture_output=True, text=True,
            env={**os.environ, **self.credentials()})
        if imported.returncode != 0:
            raise Failure(f"{self.name}: {imported.stdout}{imported.stderr}")

    def batch_request(self):
        item = bare(template(self.OPERATION)).replace("LISTS", str(self.lists))
        return self.post("modify", {"operations": ["<<items>>"], "zoneID": self.ZONE}, item=item)

    def query(self, filters, sort=(), limit=PAGE, **options):
        request = self.post("query", {
            "zoneID": self.ZONE, "resultsLimit": limit,
            "query": {"recordType": "Task", "filterBy": filters, "sortBy": list(sort)}}, **options)
        # A page cannot hold a failure beside its records.
        del request["refuse"]
        return {**request, "body": bare(request["body"])}

    def make_index(self, request, count):
        """Asks a query for the first time, which makes its index; over a million records that takes a minute."""
        body = re.sub(r"<<random:[^>]*>>", "0", request["body"])
        answer = self.request(request["path"], json.loads(body))
        if len(answer.get("records", [])) < count:
            raise Failure(f"{self.name}: {str(answer)[:500]}")

    def of_list(self):
        return self.query(
            [{"comparator": "EQUALS", "fieldName": "list", "fieldValue": {"value": f"list<<random:{self.lists}>>"}}],
            [{"fieldName": "rank", "ascending": False}])

    def of_word(self):
        return self.query(
            [{"comparator": "CONTAINS_ALL_TOKENS", "fieldName": "title", "fieldValue": {"value": "word<<random:20>>"}}],
            limit=SEARCH_PAGE)

    def near(self):
        place = {"latitude": "<<random:80>>.<<random:900001>>", "longitude": "<<random:170>>.<<random:900001>>"}
        return self.query(
            [{"comparator": "NEAR", "fieldName": "place", "distance": RADIUS,
              "fieldValue": {"value": place, "type": "LOCATION"}}], expect='"records"')


def bare(text):
    """Takes the quotation marks off strings that are numbers made of marks."""
    return re.sub(r'"(<<(?:mod|random)[^>]*>>(?:\.<<(?:mod|random)[^>]*>>)?)"', r"\1", text)


class PocketBaseTasks(PocketBase):
    """The rows are written into PocketBase's own SQLite file while it is stopped: through its API a million take minutes."""

    TASKS = "/api/collections/tasks/records"

    def prepare(self):
        identity = {"identity": self.account[0], "password": self.account[1]}
        token = self.request("/api/collections/_superusers/auth-with-password", identity)["token"]
        def admin(method, path, body): return self.request(path, body, method, {"Authorization": token})
        admin("PATCH", "/api/settings", {"logs": {"maxDays": 0, "minLevel": 8, "logIP": False}})
        admin("POST", "/api/collections", {
            "name": "tasks", "type": "base", **dict.fromkeys(("listRule", "viewRule"), ""),
            "fields": [
                {"name": "list", "type": "text"}, {"name": "rank", "type": "number"}, {"name": "title", "type": "text"},
                {"name": "body", "type": "text"}, {"name": "latitude", "type": "number"},
                {"name": "longitude", "type": "number"}],
            "indexes": ["CREATE INDEX tasks_list_rank ON tasks (list, rank)"]})

    def load_tasks(self, rows, lists):
        with sqlite3.connect(self.directory / "data" / "data.db") as database:
            database.executemany(
                "INSERT INTO tasks (id, list, rank, title, body, latitude, longitude) VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((name_of(seq), f"list{seq % lists}", seq * 7919 % 1000003, f"Task number {seq} word{seq * 31 % 20}", TEXT,
                  seq * 7919 % 80 + 0.5, seq * 7907 % 170 + 0.5) for seq in range(1, rows + 1)))
            database.execute("ANALYZE")
        database.close()

    def of_list(self, lists):
        options = urllib.parse.urlencode({"sort": "-rank", "perPage": PAGE, "skipTotal": 1})
        filter = urllib.parse.quote("list='list<<random:LISTS>>'", safe="<>:").replace("LISTS", str(lists))
        return {"method": "GET", "path": f"{self.TASKS}?{options}&filter={filter}",
                "expect": '"collectionName":"tasks"'}


def name_of(number):
    """As the load generator names the record of a number."""
    mask = (1 << 64) - 1
    number ^= number >> 33
    number = number * 0xFF51AFD7ED558CCD & mask
    number ^= number >> 33
    number = number * 0xC4CEB9FE1A85EC53 & mask
    number ^= number >> 33
    name = ""
    for _ in range(15):
        number, digit = divmod(number, 36)
        name = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + name
    return name


class SQLiteTasks(SQLite):
    def load_tasks(self, rows, lists):
        self.reference("load-tasks", self.file, rows, lists)

    def query(self, lists, seconds):
        return self.reference("query", self.file, lists, seconds)


class Queries:
    """The measures of one size."""

    CLIENTS = [1, 8]

    def __init__(self, run, rows, data):
        self.run, self.rows, self.lists = run, rows, max(1, rows // TASKS_IN_LIST)
        size = f"tasks-{rows}"
        self.nephos = NephosTasks(run.tools, data / f"{size}-nephos", run.server, self.lists) if run.server else None
        self.pocketbase = PocketBaseTasks(run.tools, data / f"{size}-pocketbase", run.pocketbase) if run.pocketbase else None
        self.sqlite = SQLiteTasks(run.tools, data / f"{size}-sqlite") if run.measures_sqlite else None

    def measure(self):
        if self.sqlite:
            self.sqlite.load_tasks(self.rows, self.lists)
        try:
            if self.pocketbase:
                self.pocketbase.start()
                self.pocketbase.prepare()
                self.pocketbase.stop()
                self.pocketbase.load_tasks(self.rows, self.lists)
                self.pocketbase.start()
            if self.nephos:
                self.nephos.start()
                self.nephos.prepare()
                self.nephos.load(self.rows)
                for request, count in ((self.nephos.of_list(), PAGE), (self.nephos.of_word(), SEARCH_PAGE), (self.nephos.near(), 0)):
                    self.nephos.make_index(request, count)
                    self.nephos.generate(request, "--requests", 20, "--expect-count", max(count, 1))
            if self.nephos:
                self.ask_every_list(self.nephos, self.nephos.of_list())
            if self.pocketbase:
                self.ask_every_list(self.pocketbase, self.pocketbase.of_list(self.lists))
            for number in range(self.run.query_rounds):
                self.round(number)
        finally:
            for server in (self.nephos, self.pocketbase):
                if server:
                    server.stop()

    def ask_every_list(self, server, request):
        """What a server keeps, and the system caches, is there once nearly every list was asked for a few times."""
        server.generate(request, "--connections", 8, "--requests", 4 * self.lists, "--expect-count", PAGE)

    def round(self, number):
        seconds, warmup = self.run.seconds, self.run.warmup
        def timed(server, request, clients, count):
            return server.generate(request, "--connections", clients, "--seconds", seconds, "--warmup", warmup,
                                   "--expect-count", count)
        def add(measure, system, report):
            self.run.results.add(f"{measure} {self.rows}", system, report["requests_per_second"], report)
        servers = [(self.nephos, self.nephos and self.nephos.of_list()),
                   (self.pocketbase, self.pocketbase and self.pocketbase.of_list(self.lists))]
        for clients in self.CLIENTS:
            for server, request in servers if number % 2 == 0 else reversed(servers):
                if server:
                    add(f"list c{clients}", server.name, timed(server, request, clients, PAGE))
        if self.sqlite:
            add("list c1", "sqlite", self.sqlite.query(self.lists, seconds))
        if self.nephos:
            matching = min(SEARCH_PAGE, self.rows // 20)
            add("word c1", "nephos", timed(self.nephos, self.nephos.of_word(), 1, matching))
            add("near c1", "nephos", timed(self.nephos, self.nephos.near(), 1, 1))


class SideBySide:
    """The same queries of every size in turn, round by round: minutes lie between the sizes' own measures, and a virtual
    machine may not be as fast then as before."""

    def __init__(self, run, queries):
        self.run, self.queries = run, queries

    def measure(self):
        servers = {queries.rows: queries.nephos for queries in self.queries if queries.nephos}
        if len(servers) < 2:
            return
        try:
            for queries in self.queries:
                queries.nephos.start()
                queries.ask_every_list(queries.nephos, queries.nephos.of_list())
            for number in range(self.run.query_rounds):
                for rows, nephos in list(servers.items())[::1 if number % 2 == 0 else -1]:
                    report = nephos.generate(nephos.of_list(), "--connections", 8, "--seconds", self.run.seconds,
                                             "--warmup", self.run.warmup, "--expect-count", PAGE)
                    self.run.results.add("sizes in turn", f"{rows}", report["requests_per_second"], report)
        finally:
            for nephos in servers.values():
                nephos.stop()


def times_between(results):
    """How many times the slowest size the fastest is: the median of the rounds."""
    rounds = zip(*results.samples.get("sizes in turn", {}).values())
    ratios = [max(values) / min(values) for values in rounds]
    return statistics.median(ratios) if ratios else None


def table(results, sizes):
    """Lines of Markdown: a row for each size, and the aims."""
    def cell(value, form="{:,.0f}"):
        return "" if value is None else form.format(value)
    lines = [
        "| queries a second, over | first 50 of a list, sorted: Nephos, 1 client | 8 clients | PocketBase, 1 client |"
        " 8 clients | Nephos ÷ PocketBase, 8 clients | SQLite alone | Nephos, 8 clients ÷ SQLite |"
        " search, page of 200 | within 200 km, first 50 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for rows in sizes:
        def median(measure, system): return results.median(f"{measure} {rows}", system)
        peer = results.ratio(f"list c8 {rows}", "nephos", "pocketbase")
        of_sqlite = results.ratio(f"list c8 {rows}", "nephos", "sqlite", f"list c1 {rows}")
        lines.append("| " + " | ".join([
            f"{rows:,} tasks", cell(median("list c1", "nephos")), cell(median("list c8", "nephos")),
            cell(median("list c1", "pocketbase")),
            cell(median("list c8", "pocketbase")), cell(peer, "{:.1f}×"), cell(median("list c1", "sqlite")),
            cell(of_sqlite, "{:.2f}"), cell(median("word c1", "nephos")),
            cell(median("near c1", "nephos"))]) + " |")
    lines += ["", "Aims: ≥ 8× PocketBase, ≥ 0.5 of SQLite alone, no more than 2× between the sizes."]
    between = times_between(results)
    if between:
        figures = " / ".join(f"{results.median('sizes in turn', str(rows)):,.0f}" for rows in sizes)
        lines += ["", f"The sizes in turn, 8 clients: {figures} a second;"
                      f" the fastest is {between:.2f}× the slowest, the median of the rounds."]
    return lines
