"""Kinto over a PostgreSQL of its own, for the table of first syncs.

Kinto comes from PyPI into a virtual environment; PostgreSQL's programs must be there (on Debian: postgresql). The records
are put in by SQL, into Kinto's own table: its batches take 25 records, and 100,000 by HTTP would take a quarter of an hour.
"""

import base64
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from systems import FOLDER, TEXT, Failure, Server, free_port

PACKAGES = ["kinto==26.5.0", "psycopg2-binary", "SQLAlchemy", "zope.sqlalchemy", "transaction"]

CONFIGURATION = """
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {port}
[app:main]
use = egg:kinto
kinto.storage_backend = kinto.core.storage.postgresql
kinto.storage_url = {database}
kinto.permission_backend = kinto.core.permission.postgresql
kinto.permission_url = {database}
kinto.cache_backend = kinto.core.cache.memory
kinto.storage_max_fetch_size = 100000
kinto.paginate_by = 10000
kinto.userid_hmac_secret = benchmark
kinto.includes = kinto.plugins.accounts
multiauth.policies = account
multiauth.policy.account.use = kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy
kinto.account_create_principals = system.Everyone
kinto.bucket_create_principals = system.Authenticated
[loggers]
keys = root
[handlers]
keys = console
[formatters]
keys = generic
[logger_root]
level = ERROR
handlers = console
[handler_console]
class = StreamHandler
args = (sys.stderr,)
level = NOTSET
formatter = generic
[formatter_generic]
format = %(message)s
"""

# With the trigger off that gives each row the time of its insertion, so that no two have the same.
ROWS = """
SET session_replication_role = replica;
INSERT INTO objects (id, parent_id, resource_name, data, last_modified, deleted)
SELECT gen_random_uuid()::text, '/buckets/b/collections/items', 'record', jsonb_build_object(
        'title', 'Item number ' || i, 'body', '{text}', 'score', (random() * 1000000)::int, 'done', false,
        'due', '2026-01-02T03:04:05Z', 'folder', '{folder}', 'tags', jsonb_build_array('a', 'b', 'c')),
    '2025-01-01'::timestamp + i * interval '1 second', false
FROM generate_series(1, {rows}) i;
ANALYZE;
"""


def run(command, **options):
    result = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise Failure(f"'{command[0]}' failed: {(result.stdout + result.stderr).strip()[-500:]}")
    return result.stdout


class PostgreSQL:
    """A database that nobody else uses, with its default settings, in a directory that goes with it."""

    def __init__(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not found:
            raise Failure("PostgreSQL is not installed (on Debian: apt-get install postgresql)")
        self.programs, self.port = found[-1].parent, free_port()
        # It refuses to be run by root, and its files must be its user's.
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="bench-postgresql-"))
        self.data = self.directory / "data"
        self.data.mkdir()
        self.directory.chmod(0o755)
        if self.user:
            shutil.chown(self.data, "nobody", "nogroup")
        self.call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.data} -c timezone=UTC"
        self.call("pg_ctl", "-w", "-l", self.data / "log", "-o", options, "start", output=False)
        self.sql("CREATE DATABASE kinto", "postgres")
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/kinto"

    def call(self, program, *arguments, output=True):
        command = [*self.user, str(self.programs / program), "-D", str(self.data), *map(str, arguments)]
        if output:
            run(command, cwd=self.data)
        else:  # The server keeps what it inherits open.
            subprocess.run(command, cwd=self.data, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=True)

    def sql(self, text, database="kinto"):
        run([self.programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", self.port, "-U", "postgres",
             "-d", database, "-c", text])

    def stop(self):
        try:
            self.call("pg_ctl", "-m", "fast", "stop")
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


class Kinto(Server):
    name, health = "kinto", "/v1/__heartbeat__"
    RECORDS = "/v1/buckets/b/collections/items/records"

    @classmethod
    def install(cls, directory, may_install=True):
        """Returns the directory of its programs, installed below `directory` on first use."""
        programs = directory / "bin"
        if not (programs / "kinto").exists():
            if not may_install:
                raise Failure("it is not installed")
            print(f"bench: installing {PACKAGES[0]} into {directory}", file=sys.stderr)
            try:
                run([sys.executable, "-m", "venv", directory])
                run([programs / "pip", "install", "--quiet", *PACKAGES])
            except Failure:
                shutil.rmtree(directory, ignore_errors=True)
                raise
        return programs

    def __init__(self, tools, directory, programs):
        super().__init__(tools, directory)
        self.programs = programs
        self.file = directory / "kinto.ini"
        self.authorization = "Basic " + base64.b64encode(b"bench:benchmarks").decode()
        self.database = PostgreSQL()
        self.configure()
        run([self.programs / "kinto", "migrate", "--ini", self.file])

    def configure(self):
        self.file.write_text(CONFIGURATION.format(port=self.port or 0, database=self.database.url))

    def command(self):
        self.configure()
        return [str(self.programs / "kinto"), "start", "--ini", str(self.file)]

    def prepare(self):
        def put(path, body, **headers): self.request(f"/v1{path}", body, "PUT", headers)
        put("/accounts/bench", {"data": {"password": "benchmarks"}})
        put("/buckets/b", {}, Authorization=self.authorization)
        put("/buckets/b/collections/items", {}, Authorization=self.authorization)

    def load(self, rows):
        self.database.sql(ROWS.format(text=TEXT, folder=FOLDER, rows=rows))

    def end(self):
        self.stop()
        self.database.stop()
