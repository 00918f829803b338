#!/usr/bin/env python3
"""Keeps the Swift code of the documentation identical to code that is compiled and tested.

    snippets.py            compares; exit code 1 if a block differs, or does not name its source
    snippets.py --update   writes the code into the pages

Above each Swift block, and each difference, of README.md and of the pages in Sources/*/*.docc there must be one of these comments:

    <!-- snippet: Tests/snippet-notes/Notes.swift#check -->   a region of a file, from `// snippet.check` to `// snippet.end`
    <!-- snippet: Tests/snippet-notes/Notes.swift -->         the whole file
    <!-- diff: Tests/SnippetTests/ExistingTool.swift#existing -->   a block ```diff whose result is a region of a file
    <!-- manifest: snippet-notes -->                     a manifest whose first target has the dependencies of this target;
                                                         Examples/NAME is a target of that package
    <!-- fragment: why it is not compiled -->            a block that is not compiled, with the reason
"""

import difflib
import functools
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- (snippet|diff|manifest|fragment): (.+?) -->")
REGION = re.compile(r"^\s*// snippet\.(\w+)\s*$")
OWN_PACKAGE = "swift-account-kit"


def pages():
    return [ROOT / "README.md", *sorted(ROOT.glob("Sources/*/*.docc/**/*.md"))]


def code(reference):
    """The lines of a reference: a file, or a region of it."""
    path, _, region = reference.partition("#")
    # Accept only files that a target of a package compiles.
    if not path.startswith(("Examples/", "IntegrationTests/", "Tests/")) or not path.endswith(".swift"):
        raise ValueError(f"{path} is not a file that is compiled and tested")
    lines, is_in = [], not region
    found = is_in
    for line in (ROOT / path).read_text().splitlines():
        if mark := REGION.match(line):
            if region:
                is_in = mark[1] == region or (is_in and mark[1] != "end")
                found = found or is_in
        elif is_in:
            lines.append(line)
    if not found:
        raise ValueError(f"{path} has no region {region}")
    return textwrap.dedent("\n".join(lines)).strip("\n").splitlines()


@functools.cache
def package(path):
    result = subprocess.run(
        ["swift", "package", "--package-path", str(path), "dump-package"], text=True, capture_output=True)
    if result.returncode:
        raise ValueError(f"the manifest does not compile:\n{result.stderr}")
    return json.loads(result.stdout)


def dependencies(target):
    """The names of a target's dependencies, whether the manifest names them as products or as targets."""
    return {(dependency.get("product") or dependency.get("byName") or dependency.get("target"))[0]
            for dependency in target["dependencies"]}


def check_manifest(lines, reference):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Package.swift").write_text("\n".join(lines) + "\n")
        shown = package(folder)
    folder, _, name = reference.rpartition("/")
    targets = {target["name"]: target for target in package(ROOT / folder)["targets"]}
    libraries = {product["name"] for product in package(ROOT)["products"] if "library" in product["type"]}
    problems = []
    for target in shown["targets"]:
        for dependency in target["dependencies"]:
            product = dependency.get("product")
            if product and product[1] == OWN_PACKAGE and product[0] not in libraries:
                problems.append(f"this package has no product {product[0]}")
    first = shown["targets"][0]
    if name not in targets:
        problems.append(f"there is no target {reference}")
    elif dependencies(first) != dependencies(targets[name]):
        problems.append(f"{first['name']} depends on {sorted(dependencies(first))}, and {reference} on "
                        f"{sorted(dependencies(targets[name]))}")
    return problems


def check(page, update):
    """The problems of a page, and the number of its blocks."""
    lines, problems, count = page.read_text().splitlines(), [], 0
    at = 0
    while at < len(lines):
        if not re.match(r"\s*```(swift|diff)", lines[at]):
            at += 1
            continue
        count += 1
        where = f"{page.relative_to(ROOT)}:{at + 1}"
        end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == "```")
        mark = MARK.search(lines[at - 1]) or MARK.search(lines[at - 2])
        shown = lines[at + 1:end]
        try:
            if not mark:
                problems.append(f"{where}: the block does not name its source")
            elif mark[1] == "snippet":
                wanted = code(mark[2])
                if shown != wanted and update:
                    lines[at + 1:end] = wanted
                    end += len(wanted) - len(shown)
                elif shown != wanted:
                    difference = "\n".join(difflib.unified_diff(shown, wanted, where, mark[2], lineterm=""))
                    problems.append(f"{where}: this is not {mark[2]}; `Scripts/snippets.py --update` writes it\n{difference}")
            elif mark[1] == "diff" and [line[1:] for line in shown if not line.startswith("-")] != code(mark[2]):
                problems.append(f"{where}: the result of this difference is not {mark[2]}")
            elif mark[1] == "manifest":
                problems += [f"{where}: {problem}" for problem in check_manifest(shown, mark[2])]
        except (ValueError, OSError) as error:
            problems.append(f"{where}: {error}")
        at = end + 1
    if update:
        page.write_text("\n".join(lines) + "\n")
    return problems, count


def main():
    update = "--update" in sys.argv[1:]
    results = [check(page, update) for page in pages()]
    problems = [problem for found, _ in results for problem in found]
    print("\n".join(problems) or f"{sum(count for _, count in results)} blocks")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
