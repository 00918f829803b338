#!/usr/bin/env python3
"""Checks the links between pages of the documentation, including links to headings: site_links.py FOLDER"""

import json
import sys
from pathlib import Path


def objects(value):
    """All objects in a page, from the outside to the inside."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from objects(inner)


def main():
    folder = Path(sys.argv[1])
    pages = {f"/{path.relative_to(folder / 'data').with_suffix('')}": json.loads(path.read_text())
             for path in (folder / "data").rglob("*.json")}
    anchors = {name: {found["anchor"] for found in objects(page) if found.get("type") == "heading"} for name, page in pages.items()}
    problems, count = [], 0
    for name, page in sorted(pages.items()):
        for reference in page.get("references", {}).values():
            url, _, anchor = reference.get("url", "").partition("#")
            if reference.get("type") not in ("topic", "link") or url.startswith(("http:", "https:", "mailto:")):
                continue
            count += 1
            linked = url.lower().rstrip("/")
            if not url.startswith("/"):
                problems.append(f"{name} links to {reference['url']}, which is not in the site")
            elif linked not in pages:
                problems.append(f"{name} links to {url}, which does not exist")
            elif anchor and anchor not in anchors[linked]:
                problems.append(f"{name} links to {url}#{anchor}, and there is no such heading")
    print("\n".join(problems) or f"{len(pages)} pages, {count} links")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
