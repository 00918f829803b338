#!/usr/bin/env python3
"""Compares the public API with the record in Scripts/public-api, and refuses types of dependencies in it.

    public_api.py [--graphs FOLDER]            compares; exit code 1 if the API differs from the record
    public_api.py [--graphs FOLDER] --update   writes the record, after an intended change of the API
"""

import argparse
import difflib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "Scripts" / "public-api"
MODULES = [
    "AccountKit", "AccountHTTP", "AccountCommands", "AccountDocuments", "AccountFleet", "AccountHelpers",
    "AccountOffline", "AccountTesting",
]

# Modules whose types may change without notice to the users of this package. A symbol's identifier begins with the
# length and the name of its module.
FORBIDDEN = re.compile(r"^s:\d+(NIO\w*?|AsyncHTTPClient|GRDB|AccountCrypto|AccountNetwork|AccountSupport|CSodium)(?=[A-Z\d])|^c:.*sodium")


def symbol_graphs():
    """Creates the symbol graphs of the modules, and returns their folder."""
    done = subprocess.run([ROOT / "Scripts" / "symbol_graphs.sh"], text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout.strip()


def declarations(folder, module):
    """A line for each public symbol, and the types of dependencies in them."""
    lines, foreign = set(), []
    for path in sorted(folder.glob(f"{module}.symbols.json")) + sorted(folder.glob(f"{module}@*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            # A protocol extension provides this member to the type.
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
                continue
            fragments = symbol["declarationFragments"]
            text = re.sub(r"\s+", " ", "".join(fragment["spelling"] for fragment in fragments))
            line = f'{".".join(symbol["pathComponents"])}: {text}'
            lines.add(line)
            for fragment in fragments:
                if FORBIDDEN.match(fragment.get("preciseIdentifier", "")):
                    foreign.append(f'{line}   [{fragment["spelling"]}]')
    return sorted(lines), foreign


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--graphs", help="the folder that symbol_graphs.sh printed; otherwise this script creates them")
    arguments = parser.parse_args()
    update = arguments.update
    folder = pathlib.Path(arguments.graphs or symbol_graphs())
    RECORD.mkdir(exist_ok=True)
    failed = False
    for module in MODULES:
        lines, foreign = declarations(folder, module)
        if not lines:
            sys.exit(f"{module} has no public symbols: was it built?")
        for line in foreign:
            print(f"{module}: a type of a dependency is public: {line}")
            failed = True
        path = RECORD / f"{module}.txt"
        text = "\n".join(lines) + "\n"
        recorded = path.read_text() if path.exists() else ""
        if update:
            path.write_text(text)
        elif text != recorded:
            failed = True
            print("".join(difflib.unified_diff(recorded.splitlines(True), text.splitlines(True), str(path), "now", n=0)))
            print(f"The public API of {module} differs from the record. If this is intended, run Scripts/public_api.py --update")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
