#!/usr/bin/env python3
"""Checks the links between files of the repository, including links to headings."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def anchors(path):
    """The anchors of a page's headings, as code hosts create them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def main():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split()
    problems, count = [], 0
    for name in files:
        page = ROOT / name
        if not page.exists():
            continue
        # Ignore code, which has no links.
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target) or target.startswith("/"):
                continue
            count += 1
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            if not linked.exists():
                problems.append(f"{name} links to {target}, which does not exist")
            elif anchor and anchor not in anchors(linked):
                problems.append(f"{name} links to {target}, which has no such heading")
    print("\n".join(problems) or f"{count} links")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
