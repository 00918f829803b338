#!/usr/bin/env python3
"""Runs the benchmarks and writes RESULTS.md. `run.sh` first builds the programs that this script needs."""

import argparse
import dataclasses
import os
import shutil
import signal
import sys
import tempfile

import credentials
import fleet
import machine
import mcp
import offline
import programs
import scale
import store
import whole_process
from bench import Bench
from measure import SHORT, Plan
from report import Report

FOLDER = os.path.dirname(os.path.abspath(__file__))
PARTS = {
    "whole-process": whole_process.run, "check": whole_process.check, "store": store.run, "git": credentials.run, "mcp": mcp.run,
    "sessions": scale.run, "lists": offline.run, "etcd": fleet.run}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--account", required=True, help="the installed command")
    parser.add_argument("--gists", required=True, help="the example tool, built for release")
    parser.add_argument("--build", required=True, help="the folder with the programs of this package")
    parser.add_argument("--rounds", type=int, default=Plan.rounds, help="the number of rounds")
    parser.add_argument("--only", choices=PARTS, help="run a single part, without writing RESULTS.md")
    parser.add_argument(
        "--short", action="store_true", help="run each part once with the smallest sizes, without targets and without writing RESULTS.md")
    arguments = parser.parse_args()
    # End the started programs and remove the files, as after an interrupt.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    folder = os.path.join(FOLDER, ".build", "bench")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    home = tempfile.mkdtemp(prefix="account-bench-", dir="/tmp")
    try:
        account, build, commands = os.path.abspath(arguments.account), os.path.abspath(arguments.build), os.path.join(folder, "bin")
        # The short form also builds the programs that are linked statically.
        linkage = "static" if arguments.short else programs.linkage(account)
        programs.build(commands, linkage)
        bench = Bench(
            account=account, gists=os.path.abspath(arguments.gists), build=build, programs=commands, folder=folder, home=home,
            plan=SHORT if arguments.short else dataclasses.replace(Plan(), rounds=arguments.rounds), report=Report())
        loads = []
        for name, measure in PARTS.items():
            if arguments.only in (None, name):
                print(f"== {name}", file=sys.stderr, flush=True)
                loads.append(f"{os.getloadavg()[0]:.1f}")
                measure(bench)
        text = bench.report.markdown([
            *machine.description(folder, bench.versions),
            ("linked", f"`account`: {linkage}; the C floor: dynamic"),
            ("rounds", f"{bench.plan.rounds}, of {bench.plan.runs} runs each for whole processes"),
            # On an otherwise idle machine, the load is about 1. A higher load makes the ranges wide.
            ("load average", f"{', '.join(loads)} at the beginning of each part"),
        ])
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)

    if arguments.short:
        print("All benchmarks run.")
        return
    print(text)
    if arguments.only is None:
        with open(os.path.join(FOLDER, "RESULTS.md"), "w", encoding="utf-8") as file:
            file.write(text)
    for line in bench.report.missed():
        print(f"MISSED: {line}")


if __name__ == "__main__":
    main()
