#!/usr/bin/env python3
"""Runs the benchmarks and writes the report. `make bench` first builds the programs that this script needs."""

import argparse
import os
import shutil
import sys
import tempfile

import fleet
import helpers
import machine
import mcp
import offline
import programs
import scale
import whole_process
from measure import RUNS
from report import Report

FOLDER = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--account", required=True, help="the installed command")
    parser.add_argument("--build", required=True, help="the folder with the programs of this package")
    parser.add_argument("--gists", help="the example tool, built for release; without it lists are not measured")
    parser.add_argument("--rounds", type=int, default=7, help="the number of rounds")
    parser.add_argument("--only", choices=("whole-process", "helpers", "scale", "offline", "fleet"), help="run a single part, without writing the report")
    arguments = parser.parse_args()
    account, build, rounds = os.path.abspath(arguments.account), os.path.abspath(arguments.build), arguments.rounds

    folder = os.path.join(FOLDER, ".build", "bench")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    # Use a short path, since gpg-agent creates a socket in the folder.
    home = tempfile.mkdtemp(prefix="account-bench-")
    report, versions = Report(), {}
    try:
        linkage = programs.linkage(account)
        commands = os.path.join(folder, "bin")
        programs.build(commands, linkage)
        containers = whole_process.Containers(folder, os.path.join(build, "bench-container"))
        if arguments.only in (None, "whole-process"):
            step("whole process")
            versions = whole_process.run(report, account, commands, containers, home, rounds)
            step("with a service")
            whole_process.check(report, account, commands, containers, rounds)
            whole_process.installed_size(report, account, folder)
        if arguments.only in (None, "helpers"):
            step("for other programs")
            versions |= helpers.run(report, account, containers, home, rounds)
            mcp.run(report, account, containers, rounds)
        if arguments.only in (None, "scale"):
            step("sessions")
            scale.run(report, account, commands, containers, rounds)
        if arguments.gists and arguments.only in (None, "offline"):
            step("offline lists")
            offline.run(report, build, commands, os.path.abspath(arguments.gists), folder, rounds)
        if arguments.only in (None, "fleet"):
            step("sessions in etcd")
            fleet.run(report, account, build, containers, folder, rounds)
        head = machine.description(folder, versions)
        head.append(("linked", f"`account`: {linkage}; the C floor: dynamic"))
        head.append(("rounds", f"{rounds}, of {RUNS} runs each for whole processes"))
        # On an otherwise idle machine, the load is about 1. A higher load makes the ranges wide.
        head.append(("load average", ", ".join(f"{load:.1f}" for load in LOADS) + " at the beginning of each part"))
        text = report.markdown(head)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)

    print(text)
    if arguments.only is None:
        with open(os.path.join(FOLDER, "RESULTS.md"), "w", encoding="utf-8") as file:
            file.write(text)
    for line in report.missed():
        print(f"MISSED: {line}")


LOADS = []


def step(name):
    """Prints the name of the next part, and records the load of the machine."""
    LOADS.append(os.getloadavg()[0])
    print(f"== {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
