#!/usr/bin/env python3
"""Checks that each row of Verification/Claims.md names tests, that these tests exist, and that SECURITY.md stays a short summary."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = "Verification/Claims.md"
MAXIMUM_LINES, MAXIMUM_LENGTH = 60, 140


def claim_problems(rows, tests):
    for row in rows:
        held = row.rstrip("| ").rsplit("|", 1)[-1].strip()
        if held.startswith("not protected"):
            continue
        named = [name for name in re.findall(r"`([^`]+)`", held) if not name.startswith("make ")]
        if not named:
            yield f"{CLAIMS}: no test holds the row: {row[:80]}"
        yield from (f"{CLAIMS}: there is no test `{name}`" for name in named if name not in tests)


def summary_problems(text):
    lines = text.splitlines()
    if len(lines) > MAXIMUM_LINES:
        yield f"SECURITY.md has {len(lines)} lines, and at most {MAXIMUM_LINES} are allowed: move details to {CLAIMS}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAXIMUM_LENGTH:
            yield f"SECURITY.md:{number} has {len(line)} characters, and at most {MAXIMUM_LENGTH} are allowed"
    if f"]({CLAIMS})" not in text:
        yield f"SECURITY.md has no link to {CLAIMS}"


def main():
    sources = [*ROOT.glob("Tests/**/*.swift"), *ROOT.glob("IntegrationTests/**/*.swift")]
    names = re.compile(r'func `([^`]+)`|@Test\(\s*"([^"]+)"')
    tests = {either or other for source in sources for either, other in names.findall(source.read_text())}
    lines = (ROOT / CLAIMS).read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith(("| --- |", "| if the attacker |"))]
    problems = [*claim_problems(rows, tests), *summary_problems((ROOT / "SECURITY.md").read_text())]
    if not rows:
        problems.append(f"{CLAIMS} has no claims")
    print("\n".join(problems) or f"{len(rows)} claims")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
