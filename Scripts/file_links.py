#!/usr/bin/env python3
"""Checks the links between files of the repository, including links to headings, as a code host shows the files."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A block of code, also as the text of a numbered step.
BLOCK = r"^[ \t]*(?:\d+\. )?```.*?^[ \t]*```$"
# A link, or code and comments, in which nothing is a link. A link may have code in its text.
LINK = re.compile(r"\[(?P<title>[^\]]*)\]\((?P<target>[^)\s]+)\)"
                  rf"|{BLOCK}|<!--.*?-->|(?<!`)(?P<ticks>`+)(?!`)[^`\n]+(?P=ticks)(?!`)", re.S | re.M)
# Links that only DocC understands.
SITE_ONLY = re.compile(r"<doc:[^>]*>|\[[^\]]*\]\((?:doc:|/)[^)]*\)")


def headings(path):
    """The headings of a page, outside code."""
    text = re.sub(BLOCK, "", path.read_text(), flags=re.S | re.M)
    return re.findall(r"^#+ (.*)$", text, re.M)


def anchor(heading):
    """The anchor of a heading, as code hosts create it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def is_relative(target):
    return not re.match(r"[a-z]+:|/", target)


def problems(page):
    """The problem of each link of a page; `None` for a link that works."""
    text = page.read_text()
    links = [link["target"] for link in LINK.finditer(text) if link["target"]]
    without_code = LINK.sub(lambda found: found[0] if found["target"] else "", text)
    yield from (f"has {link[0]}, which only DocC understands" for link in SITE_ONLY.finditer(without_code))
    for target in filter(is_relative, links):
        path, _, wanted = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists():
            yield f"links to {target}, which does not exist"
        elif wanted and wanted not in map(anchor, headings(linked)):
            yield f"links to {target}, which has no such heading"
        else:
            yield None


def main():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.split()
    pages = {name: ROOT / name for name in files if (ROOT / name).exists()}
    results = [(name, problem) for name, page in pages.items() for problem in problems(page)]
    found = [f"{name} {problem}" for name, problem in results if problem]
    print("\n".join(found) or f"{len(results)} links in {len(pages)} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
