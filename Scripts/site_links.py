#!/usr/bin/env python3
"""Checks the links between pages of the documentation: site_links.py FOLDER"""

import json
import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[1])
    pages = {f"/{path.relative_to(folder / 'data').with_suffix('')}": path for path in (folder / "data").rglob("*.json")}
    problems, count = [], 0
    for name, path in sorted(pages.items()):
        for reference in json.loads(path.read_text()).get("references", {}).values():
            url = reference.get("url", "").split("#")[0]
            if reference.get("type") in ("topic", "link") and url.startswith("/"):
                count += 1
                if url.lower().rstrip("/") not in pages:
                    problems.append(f"{name} links to {url}, which does not exist")
    print("\n".join(problems) or f"{len(pages)} pages, {count} links")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
