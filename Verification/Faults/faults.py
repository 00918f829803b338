#!/usr/bin/env python3
"""Injects faults into the built programs, which must not lose any data. See README.md."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import fleet
import flights
import machinery
import offline
import power_loss
import starvation
import tracing

# The faults for each operation.
OPERATIONS = {
    "calls": tracing.run, "power": power_loss.run, "starvation": starvation.run}
# The parts that do not iterate over operations.
WHOLE = ["flights", "fleet"]
PARTS = [*OPERATIONS, "offline", *WHOLE]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="the folder with the programs")
    parser.add_argument("--all", action="store_true", help="each error at each call, and every combination")
    parser.add_argument("--only", help="one operation, or one case of the fleet")
    parser.add_argument("--part", choices=PARTS, help="one part")
    parser.add_argument("--share", type=int, default=1, help="make an error only at every SHARE-th call on average, and fewer flights")
    parser.add_argument("--flights", type=int, default=100, help="how many flights")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="selects the errors of system calls")
    arguments = parser.parse_args()

    if arguments.part is None and arguments.only is None:
        return run_all(arguments)
    parts = PARTS if arguments.part is None else [arguments.part]
    return run(arguments, [part for part in parts if part not in WHOLE or part == arguments.part])


def run_all(arguments):
    """Runs all parts. The part `fleet` runs at the same time as the others, because it mostly waits for elections and expiring leases."""
    fleet_only = [sys.executable, "-B", __file__, "--build", arguments.build, "--part", "fleet"]
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(fleet_only + ["--all"] * arguments.all, stdout=said) as beside:
            # The cluster has priority: if it does not get processor time, its leases expire.
            os.nice(10)
            status = run(arguments, [part for part in PARTS if part != "fleet"])
        said.seek(0)
        print(said.read(), end="")
    return status or beside.returncode


def run(arguments, parts):
    programs = machinery.Programs(arguments.build, arguments.seed, arguments.share)
    results = machinery.Results()
    threading.excepthook = lambda error: fail_thread(results, error)
    began = time.monotonic()
    try:
        operations = [o for o in machinery.operations() if arguments.only in (None, o.name) and parts != ["fleet"]]
        for operation in operations:
            operation.make_template(programs)
        for part in parts:
            start, count = time.monotonic(), results.count
            if part == "offline":
                offline.run(programs, results, arguments.all, arguments.only)
            elif part == "flights":
                flights.run(programs, results, max(1, arguments.flights // arguments.share))
            elif part == "fleet":
                fleet.run(programs, results, arguments.all, arguments.only)
            else:
                OPERATIONS[part](operations, programs, results, arguments.all)
            if results.count == count and arguments.only is None:
                results.add("suite", part, ["no case ran"], part)
            print(f"{part}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(programs.folder, ignore_errors=True)
    return report(results, time.monotonic() - began)


def fail_thread(results, error):
    how = "".join(traceback.format_exception(error.exc_type, error.exc_value, error.exc_traceback))
    results.add("suite", "threads", [f"a thread ended early: {error.exc_type.__name__} {error.exc_value}"], how)


def report(results, seconds):
    print(f"{'operation':12} {'fault':44} {'cases':>7} {'passed':>7}")
    for (operation, fault), (cases, passed) in sorted(results.rows.items()):
        print(f"{operation:12} {fault:44} {cases:7} {passed:7}{'' if cases == passed else '  FAILED'}")
    print(f"{results.count} cases, {len(results.failures)} failed, {seconds:.0f} s")
    seen = {}
    for operation, fault, problems, how in results.failures:
        for problem in problems:
            key = (operation, fault, problem.split(":")[0].split("[")[0])
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= 3:
                print(f"\nFAILED {operation}, {fault}: {problem}\n  {how}")
    for (operation, fault, problem), count in seen.items():
        if count > 3:
            print(f"\n{operation}, {fault}: {problem}: {count - 3} more")
    return 1 if results.failures or not results.count else 0


if __name__ == "__main__":
    sys.exit(main())
