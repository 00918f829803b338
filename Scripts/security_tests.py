#!/usr/bin/env python3
"""Checks that every test named in SECURITY.md exists."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    sources = [*ROOT.glob("Tests/**/*.swift"), *ROOT.glob("IntegrationTests/**/*.swift")]
    tests = {name for source in sources for name in re.findall(r"func `([^`]+)`", source.read_text())}
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")]
    problems = []
    for row in rows:
        held = row.strip("| ").split(" | ")[-1]
        if held in ("held by", "---") or "not protected" in held:
            continue
        named = [name for name in re.findall(r"`([^`]+)`", held) if not name.startswith("make ")]
        if not named:
            problems.append(f"held by nothing: {row[:80]}")
        problems += [f"there is no test `{name}`" for name in named if name not in tests]
    print("\n".join(problems) or f"{len(rows)} lines")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
