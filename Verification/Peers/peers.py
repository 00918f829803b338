#!/usr/bin/env python3
"""Asks AccountKit's command and other OAuth clients how they handle documented behaviors of services. See README.md.

    peers.py --build FOLDER              asks all clients, and writes the table in the article Services
    peers.py --build FOLDER --client gh  asks one client, and prints its answers
    peers.py --build FOLDER --row 13     asks one row, and prints the answers
"""

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import clients
import notes
import rows
from clients import CannotAsk, Tools
from model import Model
from service import Certificate

ROOT = Path(__file__).resolve().parent.parent.parent
ARTICLE = ROOT / "Sources/AccountHTTP/AccountHTTP.docc/Services.md"
BEGIN, END = "<!-- begin: other clients -->", "<!-- end: other clients -->"

HELD, NOT_HELD, NOT_ASKED, BROKEN = "held", "not held", "not asked", "TESTER FAILED"


def ask(row, client, programs):
    """Asks a client one row. Returns the result and the reason."""
    try:
        row.ask(rows.Case(client, *programs))
        return HELD, ""
    except rows.NotHeld as reason:
        return NOT_HELD, str(reason)
    except CannotAsk as reason:
        return NOT_ASKED, str(reason)
    except Exception:
        return BROKEN, traceback.format_exc()


def ask_all(client, numbers, programs):
    """Asks one client all rows, in a process of its own: a row moves the date of the process."""
    results = {}
    for row in rows.ROWS:
        if row.number in numbers:
            began = time.monotonic()
            result, reason = ask(row, client, programs)
            seconds = time.monotonic() - began
            print(f"{client.name:18} {row.number:>3}  {result:9} {seconds:5.1f} s  {' '.join(reason.split())[:160]}", flush=True)
            results[row.number] = result, reason
    return results


def mistaken(number):
    """The model, with the mistake of a row."""
    return type("Mistaken", (Model,), {"mistake": number, "name": f"mistake {number}"})


def ask_model(numbers, programs):
    """The problems of the tester itself: a row that cannot be held, or whose mistake goes unnoticed."""
    problems = []
    for row in rows.ROWS:
        if row.number not in numbers:
            continue
        for client, wanted in ((Model, HELD), (mistaken(row.number), NOT_HELD)):
            result, reason = ask(row, client, programs)
            if result != wanted:
                problems.append(f"{client.name}, row {row.number}: {result}, and should be {wanted}: {reason}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True, help="the folder with account and auth-server")
    parser.add_argument("--client", choices=[client.name.strip("`") for client in clients.ALL], help="one client")
    parser.add_argument("--row", choices=[row.number for row in rows.ROWS], help="one row")
    arguments = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="peers-")
    try:
        return run(arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(arguments, folder):
    build = Path(arguments.build).resolve()
    certificate = Certificate.make(folder)
    clock = folder + "/clock.so"
    subprocess.run(["clang", "-shared", "-fPIC", "-o", clock, ROOT / "IntegrationTests/Fixtures/clock.c"], check=True)
    tools = Tools(str(build / "account"), certificate.authority, clock, folder)
    programs = (tools, str(build / "auth-server"), certificate)
    numbers = [row.number for row in rows.ROWS if arguments.row in (None, row.number)]
    asked = [client for client in clients.ALL if arguments.client in (None, client.name.strip("`"))]

    began = time.monotonic()
    # Each task gets a new process. The slowest clients come first.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        model = pool.submit(ask_model, numbers, programs)
        answers = {client: pool.submit(ask_all, client, numbers, programs) for client in reversed(asked)}
        problems = model.result()
        results = {client: answers[client].result() for client in asked}
    for client, cells in results.items():
        problems += [f"{client.name}, row {n}: the tester failed: {reason}" for n, (result, reason) in cells.items() if result == BROKEN]
    count = sum(len(cells) for cells in results.values())
    if not problems and arguments.client is None and arguments.row is None:
        problems += write(results, {client: client.version(tools) for client in asked})
    print("\n".join(problems))
    print(f"{count} cells, {2 * len(numbers)} checks of the tester, {len(problems)} problems, {time.monotonic() - began:.0f} s")
    return 1 if problems or not count else 0


# MARK: The table


def write(results, versions):
    """Writes the table, unless it says the same already. Returns the problems."""
    article = ARTICLE.read_text()
    before, rest = article.split(BEGIN)
    old, after = rest.split(END)
    problems, lines = table(results, versions)
    dated = re.search(r"on (\d{4}-\d\d-\d\d)", old)
    text = "\n".join(lines)
    if dated and text.replace("0000-00-00", dated.group(1)) == old.strip():
        return problems
    problems += worse(old, lines)
    text = text.replace("0000-00-00", datetime.date.today().isoformat())
    ARTICLE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    print(f"wrote the table in {ARTICLE.relative_to(ROOT)}")
    return problems


def table(results, versions):
    problems, footnotes = [], []

    def mark(text):
        if text not in footnotes:
            footnotes.append(text)
        return f" ({footnotes.index(text) + 1})"

    lines = ["| | service | behavior, and what a client should do | " + " | ".join(client.name for client in results) + " |",
             "| --- " * (len(results) + 3) + "|"]
    for row in rows.ROWS:
        cells = []
        for client, answers in results.items():
            result, reason = answers[row.number]
            note = notes.NOTES.get((row.number, client.name), {}).get(result)
            if result == NOT_HELD and not note:
                problems.append(f"{client.name}, row {row.number}: not held, and notes.py does not explain it: {reason}")
                note = "?"
            note = note or (reason[0].upper() + reason[1:] + "." if result == NOT_ASKED else None)
            word = {HELD: "yes", NOT_HELD: "**no**", NOT_ASKED: "–"}[result]
            cells.append(word + (mark(note) if note else ""))
        lines.append(f"| {row.number} | {row.service} | {row.text} | " + " | ".join(cells) + " |")
    listed = ", ".join(f"{client.name} {versions[client]}{' (Debian)' if client.from_debian else ''}" for client in results)
    held = ", ".join(
        f"{client.name} {sum(r == HELD for r, _ in answers.values())} of {sum(r != NOT_ASKED for r, _ in answers.values())}"
        for client, answers in results.items())
    # The date takes as many columns as its place.
    asked = textwrap.wrap(f"Asked on 0000-00-00: {listed}. Held, of the rows that were asked: {held}.", 140, break_on_hyphens=False)
    lines += ["", *asked, ""]
    lines += [f"{number}. {text}" for number, text in enumerate(footnotes, 1)]
    return problems, lines


def worse(old, lines):
    """The rows that AccountKit held in the old table, and does not hold now."""
    def column(text):
        return {
            cells[1]: cells[4] for cells in ([c.strip() for c in line.split("|")] for line in text if line.startswith("| "))
            if len(cells) > 4}

    before, now = column(old.splitlines()), column(lines)
    return [f"`account` no longer holds row {number}" for number, cell in before.items()
            if cell.startswith("yes") and not now.get(number, "").startswith("yes")]


if __name__ == "__main__":
    sys.exit(main())
