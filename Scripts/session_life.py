#!/usr/bin/env python3
"""Compares the tables in `How a session lives` with the session flows, the model and the simulation.

The script reads each table by its headings. Names are in backquotes. In the sources they are functions, requirements of the
effects' protocols, cases of an enumeration, labels of the model, or files of AccountKit.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "Sources/AccountKit/AccountKit.docc/SessionLife.md"
SESSION = ROOT / "Sources/AccountKit/Session"
FLOWS = {"CheckFlow", "RefreshFlow", "SignOutFlow"}
MODEL = ROOT / "Verification/Model/session.pml"
# The labels at which an operation of the model begins and ends, or may end at any time. The text names them.
NOT_STEPS = {"choosing", "dying", "finishing", "done", "end"}


def cases(text, enumeration):
    """The cases of an enumeration, with the comment before each."""
    body = re.search(rf"^( *)(?:\w+ )*enum {enumeration}\b.*?\{{\n(.*?)^\1\}}", text, re.S | re.M)
    if not body:
        sys.exit(f"there is no enumeration {enumeration}: update Scripts/session_life.py")
    found, comment, indent = {}, "", None
    for line in body[2].splitlines():
        spaces = len(line) - len(line.lstrip())
        indent = spaces if indent is None and line.strip() else indent
        if line.strip().startswith("///"):
            comment += " " + line.strip().removeprefix("///")
        elif spaces == indent and (match := re.match(r"\s*case (.*)", line)):
            # The parameters of a case are not cases.
            names = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)?", "", match[1])
            found.update({name.split("=")[0].strip(): comment for name in names.split(",") if name.strip()})
            comment = ""
        elif not line.strip():
            comment = ""
    return found


def requirements(text, protocol):
    """The names of a protocol's functions."""
    body = re.search(rf"^protocol {protocol}\b.*?\{{\n(.*?)^\}}", text, re.S | re.M)
    if not body:
        sys.exit(f"there is no protocol {protocol}: update Scripts/session_life.py")
    return set(re.findall(r"^    func (\w+)", body[1], re.M))


def tables():
    """All rows of the page, each as a dictionary from its heading to its cell."""
    heading, rows = None, []
    for line in PAGE.read_text().splitlines():
        if not line.startswith("|"):
            heading = None
            continue
        columns = [column.strip() for column in line.strip("|").split("|")]
        if heading is None:
            heading = columns
        elif not set(line) <= set("|- "):
            rows.append(dict(zip(heading, columns)))
    return rows


def names(cell):
    return re.findall(r"(?<!`)`(\w+)`(?!`)", cell)


def column(rows, heading):
    return {name for row in rows for name in names(row.get(heading, ""))}


def compare(what, page, source):
    return [f"{what} `{name}` is not in the table" for name in sorted(source - page)] + [
        f"the table has {what} `{name}`, which is not in the sources" for name in sorted(page - source)]


def main():
    rows = tables()
    effects = (SESSION / "SessionEffects.swift").read_text()
    called = requirements(effects, "SessionEffects") | requirements(effects, "SessionTransaction")
    problems = compare("the effect", column(rows, "effect"), called)
    problems += compare("the flow", FLOWS & column(rows, "code"), {path.stem for path in SESSION.glob("*Flow.swift")})

    decision = (ROOT / "Sources/AccountKit/Decision/SessionDecision.swift").read_text()
    for heading, results in [
            ("after a check", "Verification"), ("after a refresh", "Refresh"), ("after a derivation", "Derivation")]:
        problems += compare(f"the result {heading}", column(rows, heading), set(cases(decision, results)))

    model = MODEL.read_text()
    steps = set(re.findall(r"^(?:    THEN\((\w+)\))|^(\w+):$", model, re.M))
    steps = {name for pair in steps for name in pair if name} - {"end"}
    problems += compare("the model's step", column(rows, "step of the model") - NOT_STEPS, steps - NOT_STEPS)
    text = PAGE.read_text()
    problems += [f"the text does not name `{name}` of the model" for name in sorted((steps & NOT_STEPS) - {"done"})
                 if f"`{name}`" not in text]

    calls = set(cases((ROOT / "Verification/Simulation/Turn.swift").read_text(), "Call"))
    problems += compare("the simulation's call", column(rows, "call of the simulation"), calls)
    kinds = set(cases((ROOT / "Verification/Simulation/Operation.swift").read_text(), "Kind"))
    problems += compare("the simulation's operation", column(rows, "operation of the simulation"), kinds)

    # A step that calls an effect of a transaction runs in a transaction.
    locked = requirements(effects, "SessionTransaction") - requirements(effects, "SessionEffects")
    problems += [f"the column `lock` is wrong in the row of {row['function']}" for row in rows if {"lock", "effect"} <= row.keys()
                 and bool(locked & set(names(row["effect"]))) != (row["lock"] in ("yes", "queue"))]

    functions = {name for path in SESSION.glob("*.swift") for name in re.findall(r"\bfunc (\w+)", path.read_text())}
    problems += [f"there is no function `{name}`" for name in sorted(column(rows, "function") - functions)]

    files = {path.name for path in (ROOT / "Sources/AccountKit").rglob("*.swift")}
    problems += [f"there is no file `{name}`" for name in re.findall(r"`([\w+]+\.swift)`", text) if name not in files]

    print("\n".join(problems) or f"{len(rows)} rows, {len(steps)} steps of the model, {len(calls)} calls of the simulation")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
