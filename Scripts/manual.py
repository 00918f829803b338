#!/usr/bin/env python3
"""Writes the manual pages of a command from its help and from the tables of the articles, in mdoc(7).

    manual.py COMMAND FOLDER [--sources PATH]   writes account.1, account-login.1 and the other pages to FOLDER
    manual.py --list                            prints the file names of the pages of `account`, without running it

A tool that embeds the commands, such as gists, gets gists.1, one page for each of its own commands, and gists-account.1. The pages
have the date of the last commit in PATH, by default the sources of the account commands.
"""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

# Importing a module must not write a cache to the folder of the scripts.
sys.dont_write_bytecode = True
import commands_page  # noqa: E402
from commands_page import common_options, discussion, explanation, help_of, leaves, merged, option, prose  # noqa: E402
from commands_page import subcommands, visible  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ARTICLES = ROOT / "Sources/AccountCommands/AccountCommands.docc"
SOURCES = ["Sources/AccountCommands", "Sources/AccountHelpers", "Sources/account"]

# Other pages for SEE ALSO: a subcommand, or the name and section of a page of another program.
RELATED = {
    "login": ["logout", "whoami", "status"],
    "logout": ["login", "sessions"],
    "whoami": ["login", "status"],
    "status": ["whoami", "doctor"],
    "token": ["exec", "keep", "refresh"],
    "refresh": ["token", "status"],
    "sessions": ["switch"],
    "switch": ["sessions"],
    "store": ["status", "sessions"],
    "key": ["unlock", "lock"],
    "unlock": ["key", "lock"],
    "lock": ["key", "unlock"],
    "exec": ["keep", "env 1"],
    "keep": ["exec", "systemd.service 5"],
    "rule": ["setup", "git-credential", "kube-credential", "docker-credential"],
    "mcp": ["rule", "setup", "headers"],
    "headers": ["rule", "mcp", "token"],
    "setup": ["rule", "doctor", "git-credential", "docker-credential", "kube-credential", "mcp"],
    "git-credential": ["rule", "git-credential 1", "gitcredentials 7"],
    "kube-credential": ["rule", "kubectl 1"],
    "docker-credential": ["rule", "docker 1", "skopeo 1"],
    "doctor": ["status"],
    "import": ["login"],
}
DOCKER_ACTIONS = ".Cm get | store | erase | list"
# The width of an example, which is indented.
COLUMNS = 66


# Articles


def section(article, heading):
    """The lines below a heading of an article."""
    lines = (ARTICLES / article).read_text().splitlines()
    titles = [line.lstrip("#").strip() if line.startswith("#") else None for line in lines]
    if heading not in titles:
        sys.exit(f'manual.py: {article} has no heading "{heading}"')
    start = titles.index(heading) + 1
    end = next((number for number in range(start, len(lines)) if titles[number] is not None), len(lines))
    return lines[start:end]


def table(article, heading, *columns):
    """The cells in these columns of the table under a heading."""
    rows = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        for line in section(article, heading)
        if line.startswith("|")
    ]
    titles = [cell.replace("`", "") for cell in rows[0]] if rows else []
    if missing := [column for column in columns if column not in titles]:
        sys.exit(f'manual.py: the table below "{heading}" in {article} has no column "{missing[0]}"')
    if len(rows) < 3:
        sys.exit(f'manual.py: the table below "{heading}" in {article} is empty')
    return [[row[titles.index(column)] for column in columns] for row in rows[2:]]


def paragraphs(article, heading):
    """The paragraphs under a heading, without tables, lists and code."""
    text = re.sub(r"```.*?```", "", "\n".join(section(article, heading)), flags=re.DOTALL)
    return [" ".join(part.split()) for part in text.split("\n\n") if re.match(r"[\w`]", part.strip())]


class Names:
    """Replaces names in the articles, which describe the standalone command, with those of a tool that embeds the commands."""

    def __init__(self, tool, account):
        self.is_embedded = tool != account["commandName"]
        self.typed = f"{tool} account" if self.is_embedded else tool
        found = re.search(r"\b([A-Z][A-Z0-9_]*)_HOME\b", account.get("discussion", ""))
        self.prefix = found[1] if found else re.sub(r"\W", "_", tool).upper()
        self.tool = tool

    def __call__(self, text):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
        text = re.sub(r"\bACCOUNT_(?=[A-Z])", f"{self.prefix}_", text)
        if not self.is_embedded:
            return text.replace("<id>", "account")
        text = text.replace("`account ", f"`{self.typed} ")
        return text.replace("docker-credential-account", f"docker-credential-{self.tool}")


# mdoc


SPECIAL = {"\\": r"\e", "-": r"\-", "`": r"\(ga", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq", "…": "...", "–": r"\(en"}


def escaped(text):
    """Text that is shown unchanged. An escaped hyphen is the character to type, and never ends a line."""
    return "".join(SPECIAL.get(c, c if c.isascii() else rf"\[u{ord(c):04X}]") for c in text)


def guarded(line):
    """A line of text, escaped so that it is not interpreted as a request."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


def sentences(text):
    """The lines of a paragraph, one sentence each. `Code` becomes bold."""
    for sentence in re.split(r"(?<=[.?!])(?<!e\.g\.)(?<!i\.e\.) +", re.sub(r"\s+", " ", text).strip()):
        parts = sentence.split("`")
        line = "".join(
            rf"\fB{escaped(part)}\fP" if number % 2 else escaped(part).replace(r"\(aq", "'")
            for number, part in enumerate(parts)
        )
        yield guarded(line)


def paragraph(*texts):
    """Paragraphs, separated from each other."""
    lines = []
    for text in texts:
        lines += [".Pp"] * bool(lines) + list(sentences(text))
    return lines


def argument(word):
    """A macro's argument. The name of a macro, and punctuation, are escaped so that they stay text."""
    word = escaped(word)
    if re.fullmatch(r"[A-Z%][a-z0-9A-Z]{0,2}|[.,:;()\[\]?!|]", word):
        word = rf"\&{word}"
    return f'"{word}"' if " " in word else word


def item(macro, cell):
    """The tag of an item: the code in a cell of a table is marked with the macro."""
    words = []
    for number, part in enumerate(cell.split("`")):
        if number % 2:
            words += [macro, argument(part)]
        elif text := part.strip():
            words += [","] if text.startswith(",") else []
            text = text.removeprefix(",").strip()
            words += ["No", argument(text)] if text else []
    return ".It " + " ".join(words)


def listing(items, width="Ds", is_compact=True):
    """A list of tags and texts."""
    lines = [f".Bl -tag -width {width}" + " -compact" * is_compact]
    for tag, text in items:
        lines += [tag, *sentences(text)]
    return [*lines, ".El"]


def notation(argument_info):
    """An argument as macros: `Fl v , Fl \\-verbose`."""
    words = []
    for word in option(argument_info).split():
        if word.startswith("-"):
            name = word[1:].removesuffix(",")
            words += ["Fl", escaped(name)] + [","] * word.endswith(",")
        elif word.startswith("<"):
            words += ["Ar", argument(word[1:-1])]
        else:
            words.append("...")
    return " ".join(words)


def described(arguments):
    """The list of options and arguments."""
    items = []
    for info in arguments:
        text = explanation(info)
        values = info.get("allValues", [])
        if values and not any(re.search(rf"\b{re.escape(value)}\b", text) for value in values):
            text += f" Values: {', '.join(f'`{value}`' for value in values)}."
        items.append((f".It {notation(info)}", text))
    return listing(items, is_compact=False) if items else []


def references(pages):
    """The list of other pages, such as `env 1`."""
    names = sorted(set(pages), key=lambda page: (page.split()[1], page.lower()))
    return [f".Xr {name}{' ,' if name != names[-1] else ''}" for name in names]


def continued(command):
    """The lines of a command. A long one has line continuations, but not between an option and its value."""
    if len(command) <= COLUMNS:
        return [command]
    groups = []
    for word in re.findall(r"(?:'[^']*'|\"[^\"]*\"|\S)+", command):
        previous = groups[-1].split(" ")[-1] if groups else "$"
        takes_value = previous in ("$", "<", ">", "|", "--") or (previous.startswith("-") and "=" not in previous)
        if groups and takes_value and not word.startswith("-"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = groups[:1]
    for group in groups[1:]:
        if len(lines[-1]) + len(group) + len("  \\") > COLUMNS:
            lines[-1] += " \\"
            lines.append(f"    {group}")
        else:
            lines[-1] += f" {group}"
    return lines


def display(commands):
    return [".Bd -literal -offset indent"] + [
        guarded(escaped(line)) for command in commands for line in continued(command)
    ] + [".Ed"]


# Help


class Help:
    """A help text: its paragraphs, and its commands with the sentence that introduces them."""

    def __init__(self, text):
        self.paragraphs, self.examples = [], []
        commands = None
        for line in discussion(text or ""):
            if line.startswith("```"):
                if commands is None:
                    commands = []
                    continue
                self.examples.append((self.introduction(), commands))
                commands = None
            elif commands is not None:
                commands.append(line)
            elif line:
                self.paragraphs.append(line)

    def introduction(self):
        """Removes the last sentence before an example if it ends with a colon."""
        if not self.paragraphs or not self.paragraphs[-1].endswith(":"):
            return None
        *others, last = re.split(r"(?<=[.?!]) +", self.paragraphs.pop())
        self.paragraphs += [" ".join(others)] if others else []
        return last

    def take(self, start):
        """Removes and returns the paragraphs that begin with a word."""
        taken = [text.removeprefix(start).strip() for text in self.paragraphs if text.startswith(start)]
        self.paragraphs = [text for text in self.paragraphs if not text.startswith(start)]
        return taken


def examples_of(helps):
    lines = []
    for introduction, commands in (example for help_text in helps for example in help_text.examples):
        if introduction:
            lines += [".Pp"] * bool(lines) + list(sentences(introduction))
        # A display begins with an empty line.
        lines += display(commands)
    return lines


def synopsis(typed, command, common):
    """The synopsis of a command, without the names of the common options."""
    lines = [f".Nm {typed}"]
    positionals, accepts_common = [], False
    for info in merged(visible(command.get("arguments", []))):
        if option(info) in common:
            accepts_common = True
        elif info["kind"] == "positional":
            terminator = r"Fl \- " if info.get("parsingStrategy") == "postTerminator" else ""
            positionals.append((".Op " if info["isOptional"] else ".") + terminator + notation(info))
        else:
            names = [part.strip() for part in notation(info).split(" , ")]
            # A flag and its negation are alternatives, a short name is not.
            names = names if r"\-no\-" in names[-1] else names[-1:]
            lines.append((".Op " if info["isOptional"] else ".") + " | ".join(names))
    return lines + [".Op Ar common\\ options"] * accepts_common + positionals


class Manual:
    """The pages of a command."""

    def __init__(self, command, date):
        self.root = help_of(command)
        self.tool = self.root["commandName"]
        self.date = date
        # An embedded command determines its own name from its arguments.
        embedded = next((child for child in subcommands(self.root) if child["commandName"] == "account"), None)
        if embedded:
            embedded.update(help_of(command, "account"))
        self.account = embedded or self.root
        self.names = Names(self.tool, self.account)

    def pages(self):
        yield self.tool, self.main()
        for child in subcommands(self.root):
            yield page_name(self.tool, child["commandName"]), self.subcommand(child)

    def document(self, name, abstract, sections):
        lines = [
            r".\" Scripts/manual.py wrote this page.",
            f".Dd {self.date:%B} {self.date.day}, {self.date.year}",
            f".Dt {name.upper()} 1",
            ".Os",
            r".\" No hyphenation, which .Sh turns on again after .nh, and no justification.",
            ".hlm 0",
            ".ad l",
            ".Sh NAME",
            f".Nm {name}",
            ".Nd " + escaped(abstract[:1].lower() + abstract[1:].removesuffix(".")).replace(r"\(aq", "'"),
        ]
        for title, content in sections:
            if content:
                lines += [f".Sh {title}", *content]
        return "\n".join(lines) + "\n"

    def main(self):
        text = Help(self.root.get("discussion"))
        common = common_options(self.root)
        children = subcommands(self.root)
        pages = {child["commandName"]: page_name(self.tool, child["commandName"]) for child in children}
        width = max(len(page) for page in pages.values()) + len("(1)")
        items = [(f".It Xr {pages[child['commandName']]} 1", prose(child.get("abstract", ""))) for child in children]
        commands = listing(items, f"{width}n")
        sections = [
            ("SYNOPSIS", [f".Nm {self.tool}", ".Ar command", ".Op Ar arguments"]),
            ("COMMANDS", commands),
            ("COMMON OPTIONS", described(merged(common.values()))),
        ]
        if self.account is self.root:
            text.take("Environment:")
            sections += self.articles()
        else:
            codes = text.take("Exit codes:")
            account = f"{self.names.typed.replace(' ', '-')} 1"
            sections += [
                ("ENVIRONMENT", reference("variables of the account commands", account)),
                ("FILES", reference("files of the account commands", account)),
                ("EXIT STATUS", [*paragraph(*codes), *[".Pp"] * bool(codes), *reference("exit codes of the account commands", account)]),
            ]
        sections.insert(1, ("DESCRIPTION", paragraph(self.root.get("abstract", ""), *text.paragraphs)))
        sections += [
            ("EXAMPLES", examples_of([text])),
            ("SEE ALSO", references(f"{page} 1" for page in pages.values())),
        ]
        return self.document(self.tool, self.root.get("abstract", ""), sections)

    def subcommand(self, command):
        name = command["commandName"]
        page = page_name(self.tool, name)
        typed = page if name == "docker-credential" else f"{self.tool} {name}"
        is_account = command is self.account
        common = common_options(command if is_account else self.root)
        text = Help(command.get("discussion"))
        if is_account:
            text.take("Environment:")
        helps, subsections, lines, accepted = [text], [], [], {}
        for path, leaf in paths(command, typed):
            arguments = visible(leaf.get("arguments", []))
            accepted |= {option(info): info for info in arguments if option(info) in common}
            own = described(merged([info for info in arguments if option(info) not in common]))
            if name == "docker-credential":
                lines += [f".Nm {typed}", DOCKER_ACTIONS]
            else:
                lines += synopsis(path, leaf, common)
            if leaf is command:
                sections = [("OPTIONS", own)]
                continue
            helps.append(Help(leaf.get("discussion")))
            subsections += [f".Ss {path}", *paragraph(prose(leaf.get("abstract", "")), *helps[-1].paragraphs), *own]
        if subsections:
            sections = [("COMMANDS", subsections)]
        sections = [
            ("SYNOPSIS", lines),
            ("DESCRIPTION", paragraph(prose(command.get("abstract", "")), *text.paragraphs)),
            *sections,
        ]
        if is_account:
            sections += [("COMMON OPTIONS", described(merged(common.values()))), *self.articles()]
        else:
            names = ["Fl " + escaped(option(info).split(" <")[0].split(", ")[-1][1:]) for info in accepted.values()]
            options = [f".Xr {self.tool} 1", f"describes the option{'s' * (len(names) > 1)}", *listed(names)] if names else []
            sections += [
                ("COMMON OPTIONS", options),
                ("EXIT STATUS", self.exit_status(name, page)),
            ]
        children = {child["commandName"] for child in subcommands(self.root)}
        related = [f"{self.tool} 1"]
        # The commands of a tool that embeds the account commands are not in the table.
        if self.account is self.root:
            if name not in RELATED:
                sys.exit(f'manual.py: RELATED has no entry for `{self.tool} {name}`: list the commands for its SEE ALSO')
            for other in RELATED[name]:
                if " " not in other and other not in children:
                    sys.exit(f'manual.py: RELATED lists "{other}" for `{self.tool} {name}`, which is not a command')
                related.append(other if " " in other else f"{page_name(self.tool, other)} 1")
        sections += [("EXAMPLES", examples_of(helps)), ("SEE ALSO", references(related))]
        return self.document(page, command.get("abstract", ""), sections)

    def exit_status(self, name, page):
        """The codes that the article explains for this command, and a reference to all."""
        success = ["The exit code is 0 on success."]
        all_codes = [f".Xr {self.tool} 1", "lists all codes."]
        if self.account is not self.root:
            return success + all_codes
        mention = re.compile(rf"`(?:{re.escape(name)}|{re.escape(page)})(?: [^`]*)?`")
        items = []
        for code, meaning in table("Scripting.md", "Exit codes", "code", "meaning"):
            parts = [part.strip() for part in meaning.split("; ") if mention.search(part)]
            # The name of the command is the title of the page.
            parts = [re.sub(rf"^`(?:{re.escape(name)}|{re.escape(page)})`:? ", "", part) for part in parts]
            items += [(f".It {code}", self.names("; ".join(parts)))] if parts else []
        texts = [self.names(text) for text in paragraphs("Scripting.md", "Exit codes") if mention.search(text)]
        lines = (paragraph(*texts) or success) + all_codes
        return lines + [".Pp", "In particular:", ".Pp", *listing(items, "4n")] if items else lines

    def articles(self):
        """The sections that the articles contain as tables."""
        names = self.names
        environment = [
            (item("Ev", names(variable)), names(effect))
            for variable, effect in table("Scripting.md", "Environment", "variable", "effect")
        ]
        exits = [(f".It {code}", names(meaning)) for code, meaning in table("Scripting.md", "Exit codes", "code", "meaning")]
        status = listing(exits, "4n")
        for text in paragraphs("Scripting.md", "Exit codes"):
            status += [".Pp", *sentences(names(text))]
        system = "macOS" if sys.platform == "darwin" else "Linux"
        article = "FilesAndDirectories.md"
        folders = table(article, "Folders", "folder", system, "with ACCOUNT_HOME")
        home = f"{names.prefix}_HOME"
        introduction = f"If `{home}` is set, the second path is used."
        if names.is_embedded:
            introduction = f"`<id>` is the identifier of the app. {introduction}"
        items = [
            (item("Pa", names(path)), f"{folder}, or " + inside.replace("`", f"`${home}/", 1)) for folder, path, inside in folders
        ]
        files = [*paragraph(introduction), ".Pp", *listing(items)]
        for heading in ("The session", "Keys", "Settings"):
            introduction = paragraphs(article, heading)[:1]
            rows = table(article, heading, "file", "content")
            files += [f".Ss {heading}", *paragraph(*map(names, introduction)), *[".Pp"] * bool(introduction)]
            files += listing([(item("Pa", names(file)), names(content)) for file, content in rows])
        return [("ENVIRONMENT", listing(environment)), ("FILES", files), ("EXIT STATUS", status)]


def reference(things, page):
    return [f"The {things} are in", f".Xr {page} ."]


def listed(names):
    """Macros as an enumeration: `Fl a , Fl b and Fl c .`"""
    if len(names) == 1:
        return [f".{names[0]} ."]
    return [*(f".{name} ," for name in names[:-2]), f".{names[-2]}", "and", f".{names[-1]} ."]


def paths(command, typed):
    """The words to type for each command below a command, or for the command itself."""
    children = subcommands(command)
    if not children:
        return [(typed, command)]
    return [path for child in children for path in paths(child, f"{typed} {child['commandName']}")]


def page_name(tool, subcommand):
    # Docker runs a helper by this name.
    return f"docker-credential-{tool}" if subcommand == "docker-credential" else f"{tool}-{subcommand}"


def last_change(sources):
    """The date of the last commit in the sources, so that a page does not change every day."""
    try:
        log = subprocess.run(
            ["git", "log", "-1", "--format=%cs", "--", *sources], cwd=ROOT, text=True, capture_output=True, check=True).stdout
        return datetime.date.fromisoformat(log.strip())
    except (OSError, subprocess.CalledProcessError, ValueError):
        return datetime.date.today()


def installed_pages():
    """The pages of `account`, according to the page about the commands, which `make check` compares with the help."""
    names = re.findall(r"^## account (\S+)$", commands_page.PAGE.read_text(), flags=re.MULTILINE)
    if not names:
        sys.exit(f"manual.py: {commands_page.PAGE.name} has no headings of commands")
    return sorted(["account.1", *(f"{page_name('account', name)}.1" for name in names)])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("command", nargs="?", metavar="COMMAND")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--sources", metavar="PATH", help="sources of the help, for the date")
    parser.add_argument("--list", action="store_true", help="print the file names of the pages of account")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(installed_pages()))
        return
    if not arguments.folder:
        parser.error("specify COMMAND and FOLDER")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    sources = [Path(arguments.sources).resolve()] if arguments.sources else SOURCES
    for name, page in Manual(arguments.command, last_change(sources)).pages():
        (arguments.folder / f"{name}.1").write_text(page)


if __name__ == "__main__":
    main()
