#!/usr/bin/env python3
"""Copies a documentation catalog, with its relative links rewritten for DocC: doc_links.py CATALOG COPY

    [Sign-in flows](SignInFlows.md#device)                            becomes a `doc:` link, and in a list of topics `<doc:…>`
    [git](../../AccountCommands/AccountCommands.docc/Git.md)          becomes the address of the page in the site
    [benchmarks](../../../Benchmarks/RESULTS.md)                      becomes the text and the path: the site has no such page
"""

import re
import shutil
import sys
import unicodedata
from pathlib import Path

# Importing a module must not write a cache to the folder of the scripts.
sys.dont_write_bytecode = True
from file_links import LINK, ROOT, anchor, headings, is_relative  # noqa: E402


def fragment(heading):
    """The anchor of a heading, as DocC creates it."""
    kept = "".join(c for c in heading if c == "-" or not (c == "`" or unicodedata.category(c).startswith("P")))
    return "-".join(kept.split())


def rewritten(text, page, is_topic=False):
    """A part of a page with its links rewritten."""

    def replacement(link):
        title, target = link["title"], link["target"]
        if not target or not is_relative(target):
            return link[0]
        path, _, wanted = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if linked.suffix != ".md" or linked.parent.suffix != ".docc":
            return f"{title} (`{linked.relative_to(ROOT)}`)"
        found = [fragment(heading) for heading in headings(linked) if anchor(heading) == wanted]
        if wanted and not found:
            sys.exit(f"{page.relative_to(ROOT)} links to {target}, which has no such heading")
        suffix = f"#{found[0]}" if wanted else ""
        if linked.parent == page.parent:
            return f"<doc:{linked.stem}{suffix}>" if is_topic else f"[{title}](doc:{linked.stem}{suffix})"
        module = linked.parent.stem.lower()
        address = module if linked.stem.lower() == module else f"{module}/{linked.stem.lower()}"
        return f"[{title}](/documentation/{address}{suffix})"

    return LINK.sub(replacement, text)


def copy(page):
    """The text of a page for DocC."""
    text = page.read_text()
    # DocC takes the lists below these headings as references to pages, and shows the titles of the pages.
    body, *topics = re.split(r"(?m)^(?=## (?:Topics|See Also)$)", text)
    return rewritten(body, page) + "".join(rewritten(part, page, is_topic=True) for part in topics)


def main():
    catalog, target = (Path(argument).resolve() for argument in sys.argv[1:])
    shutil.copytree(catalog, target)
    for page in catalog.rglob("*.md"):
        (target / page.relative_to(catalog)).write_text(copy(page))


if __name__ == "__main__":
    main()
