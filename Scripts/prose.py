#!/usr/bin/env python3
"""Counts turns of phrase that readers of technical English stumble over, in comments, documentation, messages and test names.

    prose.py [PATH...]            a table: each pattern, and how often it occurs in each kind of text
    prose.py --list [PATH...]     every occurrence, as file:line: pattern: text
    prose.py --ratchet FILE       exit status 1 if there are more or fewer in all than the number in FILE; --update lowers it
    prose.py --rate [PATH...]     occurrences per 1,000 lines of prose, to compare one code base with another

Without PATH it reads the files that git tracks in the current folder. A line with a comment `prose:ok REASON` is skipped.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

# Each is a construction that the models (swift-configuration, GRDB, Valet, age) hardly ever use.
PATTERNS = {
    "who-clause": r"(?:^|[.;:!?,(–—] ?|\b(?:and|but|or|so|for|by|to|of|that) )(?:[Ww]ho|[Ww]hoever|[Ww]hom)\b(?! (?:are you|is it\?|am))[^?]*$",
    "what-clause": r"(?:^|[.;:!?(–—] )What(?:ever)? (?!(?:is|are|does|do|happens|if|to|changed|changes|you|it|this|the|each|AccountKit|next|follows|remains)\b)[^?]*$",
    "what-is-subject": r"(?:^|[.;:!?,(–—] ?|\b(?:and|but|or|so) )[Ww]hat (?:is|was|are|were|cannot|could not|has|had|no|nobody|somebody|others?|one|comes?|came|goes|went|stands?|stays?) [^?]*$",
    # Not the user `nobody`, a host nobody.invalid, or a quoted name.
    "nobody": r"(?<![\"`])(?<!belongs to )\b(?:[Nn]obody|[Ss]omebody|[Nn]o one|[Ss]omeone)\b(?!\.[a-z])",
    "one-that": r"\b(?:one|ones|those|that) (?:that|who|which) (?:is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|will|would)\b",
    "is-had": r"\b(?:is|are|was|were|be|been) had\b",
    "is-to-be": r"\b(?:is|are|was|were) to be \w+",
    # Not "the user is asked for a passphrase".
    "waited-for": r"\b(?:is|are|was|were|be) (?:waited for|asked for(?! (?:(?:a|an|the|its|their) )?(?:new )?(?:passphrase|password))|looked at|looked for|told|made sure|let go|gone on|begun anew|taken back|handed on)\b",
    "archaic": r"\b(?:till|anew|thereof|hence|hereby|whereof|in vain|at hand)\b|\bof old\b(?! \w+s\b)",
    # Not a parameter of this name.
    "meanwhile": r"(?<!`)(?<!- )\b[Mm]eanwhile\b(?!`)",
    "as-it-is": r"(?<!\bsoon )\bas (?:it|they) (?:is|are|was|were)\b(?! (?:not|now|called|used|stored|needed|sent|read|written|printed))",
    "a-person": r"\ba person\b(?!al)",
    "how-things-stand": r"\bhow things (?:stand|are)\b|\bcomes of it\b|\bcame of it\b|\bthere is nothing to\b",
    "of-its-own": r"\bof (?:its|their|one's|your) own\b",
}
COMPILED = {name: re.compile(text) for name, text in PATTERNS.items()}
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
TEST_NAME = re.compile(r'@(?:Test|Suite)\("((?:[^"\\]|\\.)*)"|func `([^`]+)`')
FENCE = re.compile(r"^\s*```")


def swift(lines):
    """The prose of a Swift file: (line number, kind, text)."""
    in_block = in_text = False
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if in_block:
            in_block = "*/" not in stripped
            yield number, "comments", stripped
            continue
        if stripped.startswith("/*"):
            in_block = "*/" not in stripped
            yield number, "comments", stripped.strip("/* ")
            continue
        found = re.match(r"\s*(///?)\s?(.*)", line)
        if found:
            yield number, "comments", found.group(2)
            continue
        for match in TEST_NAME.finditer(line):
            yield number, "test names", match.group(1) or match.group(2)
        if '"""' in line:
            in_text = not in_text if line.count('"""') == 1 else in_text
            continue
        if in_text:
            yield number, "messages", stripped
            continue
        for match in STRING.finditer(line):
            if match.group(1).count(" ") >= 3 and "@Test(" not in line:
                yield number, "messages", match.group(1)
        trailing = re.search(r"(?<![:\"])//\s(.*)$", line)
        if trailing:
            yield number, "comments", trailing.group(1)


def markdown(lines):
    in_code = False
    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code and line.strip():
            # A heading such as "What is left out" is a question without its mark.
            mark = "?" if re.fullmatch(r"#+ What is \w+(?: out)?", line.strip()) else ""
            yield number, "documentation", re.sub(r"`[^`]*`", "x", line.strip().lstrip("#-*>|0123456789. ")) + mark


def script(lines):
    for number, line in enumerate(lines, 1):
        found = re.match(r"\s*(?:#|//|--)\s(?!\!)(.*)", line) or re.search(r"\s#\s(.*)$", line)
        if found:
            yield number, "comments", found.group(1)


READERS = {".swift": swift, ".md": markdown, ".c": swift, ".h": swift, ".py": script, ".sh": script, ".pml": swift}


def files(paths):
    if not paths:
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
        return [pathlib.Path(name) for name in listed if name]
    return [file for path in map(pathlib.Path, paths) for file in ([path] if path.is_file() else sorted(path.rglob("*")))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rate", action="store_true")
    parser.add_argument("--ratchet", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("paths", nargs="*")
    arguments = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    prose = collections.Counter()
    for file in files(arguments.paths):
        reader = READERS.get(file.suffix)
        if reader is None or not file.is_file() or ".build" in file.parts:
            continue
        text = file.read_text(errors="replace").splitlines()
        for number, kind, sentence in reader(text):
            if not sentence.strip() or "prose:ok" in text[number - 1]:
                continue
            prose[kind] += 1
            for name, pattern in COMPILED.items():
                if pattern.search(sentence):
                    counts[name][kind] += 1
                    if arguments.list:
                        print(f"{file}:{number}: {name}: {sentence.strip()[:160]}")
    kinds = ["comments", "documentation", "messages", "test names"]
    total = sum(sum(row.values()) for row in counts.values())
    if not arguments.list:
        print(f"{'':18}" + "".join(f"{kind:>15}" for kind in kinds) + f"{'all':>9}")
        for name in PATTERNS:
            print(f"{name:18}" + "".join(f"{counts[name][kind]:15}" for kind in kinds) + f"{sum(counts[name].values()):9}")
        print(f"{'all':18}" + "".join(f"{sum(counts[n][kind] for n in PATTERNS):15}" for kind in kinds) + f"{total:9}")
        if arguments.rate:
            print(f"{'per 1,000 lines':18}" + "".join(f"{1000 * sum(counts[n][kind] for n in PATTERNS) / max(1, prose[kind]):15.1f}" for kind in kinds) + f"{1000 * total / max(1, sum(prose.values())):9.1f}")
    if arguments.ratchet:
        limit = int(arguments.ratchet.read_text())
        if total > limit:
            print(f"{total} turns of phrase, and {limit} are allowed: prose.py --list shows them", file=sys.stderr)
            return 1
        if total < limit and arguments.update:
            arguments.ratchet.write_text(f"{total}\n")
        elif total < limit:
            print(f"{total} turns of phrase, and {limit} are allowed: lower the limit with "
                  f"`Scripts/prose.py --ratchet {arguments.ratchet} --update`", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
