#!/usr/bin/env python3
"""Writes the page about the commands from their help.

    commands_page.py ACCOUNT            compares; exit code 1 if the page differs from `ACCOUNT --help`
    commands_page.py ACCOUNT --update   writes the page
"""

import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "Sources/AccountCommands/AccountCommands.docc/Commands.md"

INTRODUCTION = """\
# Commands

Look up every command and option, as `--help` shows them.

## Overview

This page is for users of the `account` command. A tool that embeds the commands has them under its own name (`notes account login`), and
its variables begin with its own prefix (`NOTES_HOME`). [Exit codes, JSON and variables](Scripting.md) describes the output for scripts.

`make docs-update` writes this page from the help of the commands. `make check` fails if it is out of date.
"""

HELPERS = "The helpers, which other programs run, accept only the options that their `--help` shows."


def visible(things):
    return [thing for thing in things if thing.get("shouldDisplay", True)]


def subcommands(command):
    # ArgumentParser adds `help` automatically.
    return [child for child in visible(command.get("subcommands", [])) if child["commandName"] != "help"]


def leaves(command):
    children = subcommands(command)
    return [leaf for child in children for leaf in leaves(child)] if children else [command]


def spelling(name, value):
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}[name["kind"]]
    return f"{dashes}{name['name']}" + (f" <{value}>" if value else "")


def merged(arguments):
    """Merges `--qr` and `--no-qr`."""
    named = {option(argument): argument for argument in arguments}
    for name, argument in named.items():
        if f"--no-{name[2:]}" in named:
            yield {**argument, "names": [*argument["names"], *named[f"--no-{name[2:]}"]["names"]]}
        elif not (name.startswith("--no-") and f"--{name[5:]}" in named):
            yield argument


def option(argument):
    """The notation of an argument."""
    if argument["kind"] == "positional":
        return f"<{argument['valueName']}>" + (" …" if argument["isRepeating"] else "")
    value = argument["valueName"] if argument["kind"] == "option" else None
    # Short names come first, as in the help.
    names = sorted(argument["names"], key=lambda name: name["kind"] != "short")
    return ", ".join(spelling(name, value if name is names[-1] else None) for name in names)


def prose(text):
    """Marks options and variables as code, so that typography does not change them."""
    word = re.compile(r"`[^`]*`|(?<![\w-])--[a-z][a-z-]*|\b[A-Z]+(?:_[A-Z]+)+\b")
    return word.sub(lambda found: found[0] if found[0].startswith("`") else f"`{found[0]}`", text)


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def explanation(argument):
    text = argument.get("abstract", "")
    default = argument.get("defaultValue")
    # A flag that is on by default is shown by its negated form.
    if default and argument["kind"] != "flag":
        text += f" Default: {default}."
    return prose(cell(text))


def table(arguments):
    lines = ["| option | meaning |", "| --- | --- |"]
    return lines + [f"| `{cell(option(argument))}` | {explanation(argument)} |" for argument in merged(arguments)]


def prompted(rows):
    """Commands to type, with a prompt unless the line continues the previous one."""
    continued = [False, *(row.endswith("\\") for row in rows)]
    return [f"  {row.strip()}" if more else f"$ {row.strip()}" for row, more in zip(rows, continued)]


def discussion(text):
    """The paragraphs of a help text. Indented lines are commands to type."""
    lines = []
    for paragraph in text.rstrip().split("\n\n"):
        rows = paragraph.split("\n")
        if all(row.startswith("  ") for row in rows):
            if lines[-2:] == ["```", ""]:
                lines[-2:] = [""]
            else:
                lines.append("```console")
            lines += [*prompted(rows), "```", ""]
        else:
            lines += [*(prose(row) for row in rows), ""]
    return lines


def section(command, path, common):
    name = " ".join([*path, command["commandName"]])
    lines = [f"{'##' if len(path) == 1 else '###'} {name}", "", prose(command.get("abstract", "")), ""]
    lines += discussion(command["discussion"]) if command.get("discussion") else []
    children = subcommands(command)
    own = [argument for argument in visible(command.get("arguments", [])) if option(argument) not in common]
    if own and not children:
        lines += [*table(own), ""]
    for child in children:
        lines += section(child, [*path, command["commandName"]], common)
    return lines


def help_of(*command):
    """The help of a command and of all its subcommands, as ArgumentParser describes it."""
    dump = subprocess.run([*command, "--experimental-dump-help"], check=True, text=True, capture_output=True).stdout
    return json.loads(dump)["command"]


def common_options(root):
    """The options that all commands accept: notation and argument."""
    options = [{option(argument): argument for argument in visible(leaf.get("arguments", []))} for leaf in leaves(root)]
    # Helpers use the protocol of another program, and accept only the options that apply to this protocol.
    own = [other for other in options if "--json" in other] or options
    return {name: argument for name, argument in own[0].items() if all(name in other for other in own)}


def page(tool):
    root = help_of(tool)
    common = common_options(root)
    name = root["commandName"]
    lines = [INTRODUCTION]
    for child in subcommands(root):
        lines += section(child, [name], common)
    lines += ["## Options of all commands", "", HELPERS, "", *table(common.values()), "", "## See Also", "", "- [Exit codes, JSON and variables](Scripting.md)"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    wanted = page(arguments[0])
    if "--update" in sys.argv[1:]:
        PAGE.write_text(wanted)
        return 0
    shown = PAGE.read_text()
    if shown == wanted:
        print(f"{wanted.count('| `')} options")
        return 0
    print("\n".join(difflib.unified_diff(shown.splitlines(), wanted.splitlines(), PAGE.name, "--help", lineterm="")))
    print("the help of the commands has changed: run `make docs-update` to write the page")
    return 1


if __name__ == "__main__":
    sys.exit(main())
