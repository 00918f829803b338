"""Offline lists, compared with plain SQLite and by the number of rows."""

import filecmp
import os
import shutil
import subprocess

from file_server import FileServer
from measure import Ratio, hyperfine, number, swarm
from report import time

# The number of rows of the large list.
MANY = 1_000_000


class Lists:
    def __init__(self, programs, commands, folder):
        self.program = os.path.join(programs, "offline-bench")
        self.plain = os.path.join(commands, "rows")
        self.folder = os.path.join(folder, "offline")
        os.makedirs(self.folder, mode=0o700)

    def root(self, name):
        root = os.path.join(self.folder, name)
        os.makedirs(root, mode=0o700, exist_ok=True)
        return root

    def measure(self, *words):
        """The values that the program prints, by name."""
        output = subprocess.run(
            [self.program, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout
        return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


def run(report, programs, commands, gists, folder, rounds):
    lists = Lists(programs, commands, folder)
    rows = []

    # Insertion.
    for size, limit in ((300, 0.5), (2048, 0.75)):
        ours, plain = [], []
        for turn in range(rounds):
            root = lists.root(f"insert-{turn}")
            ours.append(lists.measure("fill", root, 100_000, size)["fill"])
            done = subprocess.run(
                [lists.plain, f"{root}/rows.sqlite", "100000", str(size)], check=True, stdout=subprocess.PIPE, text=True)
            plain.append(float(done.stdout))
            shutil.rmtree(root)
        speed = Ratio(plain, ours)
        report.target(
            f"insert 100,000 rows of {size} bytes, sealed", f"≥ {limit}× the speed of plain SQLite in C", str(speed),
            speed.median >= limit)
        rows.append((f"insert 100,000 rows of {size} bytes", time(ours), f"plain SQLite in C: {time(plain)}", speed))

    # Memory.
    root = lists.root("memory")
    memory = swarm(commands, 1, f"{lists.program} fill {root} 100000 300", dict(os.environ))[1]
    report.target(
        "first synchronization of 100,000 rows", "peak memory ≤ 100 MiB", mebibytes(memory), memory <= 100 << 20)

    written = lists.measure("unchanged", root)["pages"]
    report.target("a refresh that finds nothing new", "1 page written", f"{written:.0f}", written <= 1)

    # With a concurrent reader.
    watcher = subprocess.Popen([lists.program, "hold", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watcher.stdout.readline()
    lists.measure("fill", root, 100_000, 301)
    log = sum(
        os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(root) for name in names
        if name == "Lists.sqlite-wal")
    watcher.communicate("\n")
    report.target("log of a synchronization with a watcher", "≤ 4 MiB", mebibytes(log), log <= 4 << 20)

    # One page among a million rows.
    root = lists.root("many")
    lists.measure("fill", root, MANY, 300)
    pages = [lists.measure("pages", root, MANY) for _ in range(rounds)]
    first, last = [page["first"] for page in pages], [page["last"] for page in pages]
    report.at_most(f"last page of {MANY:,} rows", Ratio(last, first), 1.2, "the first page")
    rows.append((f"last page of {MANY:,} rows", time(last), f"first page: {time(first)}", Ratio(last, first)))

    # The whole tool.
    lists_file = next(
        os.path.join(place, name) for place, _, names in os.walk(root) for name in names if name == "Lists.sqlite")
    plain = os.path.join(root, "rows.sqlite")
    subprocess.run([lists.plain, plain, str(MANY), "300"], check=True, stdout=subprocess.DEVNULL)
    query = (
        "SELECT json FROM entry JOIN item ON item.n = entry.item WHERE list = 1 AND segment = 1 ORDER BY position LIMIT 30")
    times = hyperfine({
        "`gists list --offline`": f"{gists} list mine --offline",
        "`sqlite3`": f"sqlite3 {plain} '{query}'",
        "`gh --version`": "gh --version",
    }, {"PATH": os.environ["PATH"], "HOME": root, "GISTS_HOME": root, "GISTS_API": "http://127.0.0.1:9"}, rounds)
    tool = times["`gists list --offline`"]
    report.at_most(f"`gists list --offline`, 30 of {MANY:,}", Ratio(tool, times["`sqlite3`"]), 4, "`sqlite3` with the same rows")
    report.at_most("`gists list --offline`", Ratio(tool, times["`gh --version`"]), 1, "`gh --version`")
    for name in ("`sqlite3`", "`gh --version`"):
        rows.append((f"`gists list --offline`, 30 of {MANY:,}", time(tool), f"{name}: {time(times[name])}", Ratio(tool, times[name])))
    rows.append((f"{MANY:,} rows of 300 bytes on the disk", mebibytes(os.path.getsize(lists_file)), f"plain: {mebibytes(os.path.getsize(plain))}", ""))
    report.section(
        "Lists without the network",
        "AccountOffline encrypts each row. Plain SQLite has the same tables and indexes without the columns for encryption, in the "
        "same transactions of a hundred rows.", ("operation", "this package", "comparison", "ratio"), rows)
    blobs(report, lists, commands)
    shutil.rmtree(lists.folder)


def blobs(report, lists, commands):
    """Downloads and uploads a file of 1 GiB, and measures how much more memory it takes than a file of 1 KiB."""
    root, served = lists.root("blobs"), lists.root("served")
    sizes = {"small": 1 << 10, "large": 1 << 30}
    for name, size in sizes.items():
        with open(os.path.join(served, name), "wb") as file:
            for _ in range(size >> 10):
                file.write(os.urandom(1 << 10))
    server = FileServer(served)
    try:
        for verb, place in (("download", ""), ("upload", served + "/")):
            seconds, memory = {}, {}
            for name in sizes:
                seconds[name], memory[name] = swarm(
                    commands, 1, f"{lists.program} {verb} {root} {server.origin} {place}{name}", dict(os.environ))
            assert verb == "download" or filecmp.cmp(os.path.join(served, "large"), os.path.join(served, "sent"), False)
            growth = memory["large"] - memory["small"]
            report.target(
                f"{verb} of a blob of 1 GiB, {number(seconds['large'])} s",
                "peak memory ≤ 32 MiB above that for 1 KiB", mebibytes(growth), growth <= 32 << 20)
    finally:
        server.stop()


def mebibytes(count):
    return f"{number(count / (1 << 20))} MiB"
