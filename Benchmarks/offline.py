"""Offline lists, compared with plain SQLite and by the number of rows."""

import filecmp
import os
import shutil

import measure
from children import Child, Handler, Server
from measure import Ratio, mebibytes, median_duration, number, peak

# Both tools show thirty rows.
SHOWN = 30
QUERY = f"SELECT json FROM entry JOIN item ON item.n = entry.item WHERE list = 1 AND segment = 1 ORDER BY position LIMIT {SHOWN}"


class Lists:
    def __init__(self, bench):
        self.program = f"{bench.build}/offline-bench"
        self.programs = bench.programs

    def measure(self, *words):
        """The values that the program prints, by name."""
        output = measure.run([self.program, *map(str, words)], None).stdout
        return {name: float(value) for name, value in (line.split() for line in output.splitlines())}

    def plain(self, path, count, size):
        """The time that plain SQLite takes to insert rows."""
        return float(measure.run([f"{self.programs}/rows", path, str(count), str(size)], None).stdout)

    def peak(self, command):
        return peak(f"{self.program} {command}", None)


def found(root, name):
    """The file with this name; `None` if there is none."""
    return next((os.path.join(place, name) for place, _, names in os.walk(root) if name in names), None)


def run(bench):
    lists, report, plan, rows = Lists(bench), bench.report, bench.plan, []

    # Insertion.
    for size, limit in ((300, 0.5), (2048, 0.75)):
        ours, plain = [], []
        for _ in range(plan.rounds):
            root = bench.root("insert")
            ours.append(lists.measure("fill", root, plan.rows, size)["fill"])
            plain.append(lists.plain(f"{root}/rows.sqlite", plan.rows, size))
        speed = Ratio(plain, ours)
        what = f"insert {plan.rows:,} rows of {size} bytes"
        report.target(f"{what}, sealed", speed, f"≥ {limit}× the speed of plain SQLite in C", speed.median >= limit)
        rows.append((what, median_duration(ours), f"plain SQLite in C: {median_duration(plain)}", speed))

    # Memory.
    root = bench.root("memory")
    memory = lists.peak(f"fill {root} {plan.rows} 300")[1]
    report.target(
        f"first synchronization of {plan.rows:,} rows, peak memory", mebibytes(memory), "≤ 100 MiB", memory <= 100 << 20)
    written = lists.measure("unchanged", root)["pages"]
    report.target("a refresh that finds nothing new", f"{written:.0f}", "1 page written", written <= 1)

    # With a concurrent reader.
    with Child(lists.program, "hold", root) as watcher:
        watcher.read()
        lists.measure("fill", root, plan.rows, 301)
        log = found(root, "Lists.sqlite-wal")
        if not log:
            raise SystemExit("the log of the lists is missing, although a program holds them open")
        log = os.path.getsize(log)
    report.target("log of a synchronization with a watcher", mebibytes(log), "≤ 4 MiB", log <= 4 << 20)

    # One page among many rows.
    root, count = bench.root("many"), plan.many_rows
    lists.measure("fill", root, count, 300)
    pages = [lists.measure("pages", root, count) for _ in range(plan.rounds)]
    first, last = ([page[name] for page in pages] for name in ("first", "last"))
    report.at_most(f"last page of {count:,} rows", Ratio(last, first), 1.2, "the first page")
    rows.append((f"last page of {count:,} rows", median_duration(last), f"first page: {median_duration(first)}", Ratio(last, first)))

    # The whole tool.
    plain = f"{root}/rows.sqlite"
    lists.plain(plain, count, 300)
    tool, sqlite, gh = bench.hyperfine(
        {
            "gists": (f"{bench.gists} list mine --offline", SHOWN), "sqlite3": (f"sqlite3 {plain} '{QUERY}'", SHOWN),
            "gh": ("gh --version", 2),
        },
        {"PATH": os.environ["PATH"], "HOME": root, "GISTS_HOME": root, "GISTS_API": "http://127.0.0.1:9"}).values()
    what = f"`gists list --offline`, {SHOWN} of {count:,}"
    report.at_most(what, Ratio(tool, sqlite), 4, "`sqlite3` with the same rows")
    report.at_most("`gists list --offline`", Ratio(tool, gh), 1, "`gh --version`")
    for name, times in (("sqlite3", sqlite), ("gh --version", gh)):
        rows.append((what, median_duration(tool), f"`{name}`: {median_duration(times)}", Ratio(tool, times)))
    sizes = [mebibytes(os.path.getsize(file)) for file in (found(root, "Lists.sqlite"), plain)]
    rows.append((f"{count:,} rows of 300 bytes on the disk", sizes[0], f"plain: {sizes[1]}", ""))
    report.section(
        "Lists without the network",
        "AccountOffline encrypts each row. Plain SQLite has the same tables and indexes without the columns for encryption, in the "
        "same transactions of a hundred rows.", ("operation", "this package", "comparison", "ratio"), rows)
    shutil.rmtree(root)
    blobs(bench, lists)


def blobs(bench, lists):
    """Downloads and uploads a file, and measures how much more memory a large file takes than a file of 1 KiB."""
    root, served = bench.root("blobs"), bench.root("served")
    for name, size in (("small", 1 << 10), ("large", bench.plan.blob_bytes)):
        piece = os.urandom(1 << 10)
        with open(f"{served}/{name}", "wb") as file:
            for _ in range(size >> 10):
                file.write(piece)
    with Server(FileHandler, folder=served) as server:
        for verb, place in (("download", ""), ("upload", f"{served}/")):
            _, least = lists.peak(f"{verb} {root} {server.origin} {place}small")
            seconds, most = lists.peak(f"{verb} {root} {server.origin} {place}large")
            if verb == "upload" and not filecmp.cmp(f"{served}/large", f"{served}/sent", False):
                raise SystemExit("the uploaded blob differs")
            bench.report.target(
                f"{verb} of a blob of {mebibytes(bench.plan.blob_bytes)} in {number(seconds)} s, peak memory", mebibytes(most - least),
                "≤ 32 MiB above that for 1 KiB", most - least <= 32 << 20)
    shutil.rmtree(root)
    shutil.rmtree(served)


class FileHandler(Handler):
    """Serves the files of a folder, and accepts uploads."""

    def do_GET(self):
        with open(self.server.folder + self.path, "rb") as file:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.send_header("ETag", '"1"')
            self.end_headers()
            shutil.copyfileobj(file, self.wfile, 1 << 16)

    def do_PUT(self):
        rest = int(self.headers["Content-Length"])
        with open(self.server.folder + self.path, "wb") as file:
            while rest > 0 and (piece := self.rfile.read(min(rest, 1 << 16))):
                file.write(piece)
                rest -= len(piece)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()
