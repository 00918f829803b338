"""Runs the benchmarks of the library in one process, with package-benchmark, in several rounds."""

import glob
import json
import os
import shutil
import subprocess

from measure import Ratio
from report import time

# The number of reads in one measurement: `readCount` in ReadBenchmarks.swift.
READS = 20_000

TITLES = {
    "read": "Reading the shared account", "load": "Loading", "save": "Saving", "check": "Check with a loopback service",
    "refresh": "Refresh with a loopback service", "event": "Events",
}


def measure(programs, folder, rounds):
    """The median time of each benchmark in each round, by name."""
    medians = {}
    results = os.path.join(folder, "in-process-results")
    for _ in range(rounds):
        shutil.rmtree(results, ignore_errors=True)
        os.makedirs(results)
        # Run this tool directly: `swift package benchmark` would run it too, but builds first each time.
        subprocess.run(
            [f"{programs}/BenchmarkTool", "--command", "run", "--targets", "InProcess", "--benchmark-executable-paths",
             f"{programs}/InProcess", "--benchmark-package-identifier", "benchmark", "--baseline-storage-path", results,
             "--grouping", "benchmark", "--format", "jmh", "--path", results, "--no-progress", "--quiet"],
            env={**os.environ, "ACCOUNT_BENCH_FOLDER": folder}, check=True, stdout=subprocess.DEVNULL)
        (path,) = glob.glob(f"{results}/**/*.json", recursive=True)
        with open(path, encoding="utf-8") as file:
            for result in json.load(file):
                name = result["benchmark"].removeprefix("package.benchmark.InProcess.").replace("_", " ")
                median = result["secondaryMetrics"]["Time (wall clock)"]["scorePercentiles"]["50.0"]
                medians.setdefault(name, []).append(median / 1e6)
    shutil.rmtree(os.path.join(folder, "in-process"), ignore_errors=True)
    return medians


def run(report, programs, folder, rounds):
    medians = measure(programs, folder, rounds)
    for name in [name for name in medians if name.startswith("read:")]:
        medians[name] = [value / READS for value in medians[name]]

    def ratio(subject, base):
        return Ratio(medians[subject], medians[base])

    report.at_most("shared-account read", ratio("read: store", "read: bare Mutex"), 2, "a bare `Mutex`")
    report.at_most(
        "shared-account read, two threads at once", ratio("read: store, two threads", "read: bare Mutex, two threads"), 2,
        "a bare `Mutex` that both take")
    load = "load: a new store, with the key file"
    report.at_most("load (open, read, verify, decrypt, decode)", ratio(load, "load: floor"), 2, "the floor")
    report.at_most("load", ratio(load, "load: NSKeyedUnarchiver"), 0.5, "NSKeyedUnarchiver")
    report.at_most("save, durable", ratio("save: store", "save: floor"), 1.15, "write + fsync + rename + fsync of the folder")

    bases = {
        "read": ("read: bare Mutex", "a bare `Mutex`"), "load": ("load: floor", "the floor"), "save": ("save: floor", "the floor"),
        "check": ("check: floor", "the floor"), "refresh": ("refresh: floor", "the floor"),
        "event": ("event: a bare AsyncStream, received by another task", "a bare `AsyncStream`"),
    }
    rows = []
    for group, (base, label) in bases.items():
        for name, values in sorted(medians.items()):
            if name.startswith(group + ":"):
                rows.append((TITLES[group], name.split(": ", 1)[1], time(values), f"{ratio(name, base)} {label}"))
    report.section("In process", "", ("", "operation", "time", "ratio"), rows)
