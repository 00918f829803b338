#!/usr/bin/env python3
"""Writes the manual pages of a command from its help and from the tables of the articles, in mdoc(7).

    manual.py COMMAND FOLDER   writes account.1, account-login.1 and the other pages to FOLDER
    manual.py --list           prints the file names of the pages of `account`, without running it

A tool that embeds the commands, such as gists, gets gists.1, one page for each of its own commands, and gists-account.1.
"""

import datetime
import re
import subprocess
import sys
from pathlib import Path

# Importing a module must not write a cache to the folder of the scripts.
sys.dont_write_bytecode = True
from commands_page import PAGE, common_options, explanation, help_of, merged, option, prompted, prose, subcommands, visible  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ARTICLES = ROOT / "Sources/AccountCommands/AccountCommands.docc"
SOURCES = ["Sources/AccountCommands", "Sources/AccountHelpers", "Sources/account"]

# Other pages for SEE ALSO: a subcommand, or the name and section of a page of another program.
RELATED = {
    "login": ["login-machine", "logout", "whoami", "status"], "logout": ["login", "sessions"], "whoami": ["login", "status"],
    "status": ["whoami", "doctor"], "token": ["exec", "keep", "refresh"], "refresh": ["token", "status"],
    "login machine": ["login", "key"], "sessions": ["switch"], "switch": ["sessions"], "key": ["status"],
    "exec": ["keep", "env 1"],
    "keep": ["exec", "systemd.service 5"],
    "rule": ["setup", "git-credential", "kube-credential", "docker-credential"],
    "mcp": ["rule", "setup", "headers"], "headers": ["rule", "mcp", "token"],
    "setup": ["rule", "doctor", "git-credential", "docker-credential", "kube-credential", "mcp"],
    "git-credential": ["rule", "git-credential 1", "gitcredentials 7"],
    "kube-credential": ["rule", "kubectl 1"], "docker-credential": ["rule", "docker 1", "skopeo 1"],
    "doctor": ["status"],
}


def section(article, heading):
    """The rows of the table, without the titles, and the paragraphs below a heading of an article."""
    text = re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", (ARTICLES / article).read_text(), re.S | re.M)
    if not text:
        sys.exit(f'manual.py: {article} has no heading "{heading}"')
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in text[1].splitlines() if line.startswith("|")]
    return rows[2:], [" ".join(part.split()) for part in text[1].split("\n\n") if re.match(r"\n*[\w`]", part)]


SPECIAL = {"\\": r"\e", "-": r"\-", "`": r"\(ga", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", '"': r"\(dq", "…": "...", "–": r"\(en"}


def escaped(text):
    """Text that is shown unchanged. An escaped hyphen is the character to type, and never ends a line."""
    return re.sub(r"^\.", r"\&.", "".join(SPECIAL.get(c, c if c.isascii() else rf"\[u{ord(c):04X}]") for c in text))


def formatted(text):
    """A paragraph, one sentence a line. `Code` becomes bold."""
    parts = re.sub(r"(?<=[.?!])\s+", "\n", text.strip()).split("`")
    return "".join(rf"\fB{escaped(part)}\fP" if number % 2 else escaped(part) for number, part in enumerate(parts))


def paragraphs(texts):
    return [line for text in texts for line in (".Pp", formatted(text))][1:]


def notation(words):
    """Options and arguments: names are bold, values are in italics."""
    return re.sub(r"<([^>]*)>", r"\\fI\1\\fP", re.sub(r"--?[a-z][a-z-]*", r"\\fB\g<0>\\fP", words)).replace("-", r"\-").replace("…", "...")


def listing(items, width="Ds", space=" -compact"):
    """A list of tags and texts."""
    return [f".Bl -tag -width {width}{space}", *(line for tag, text in items for line in (f'.It "{tag}"', formatted(text))), ".El"]


def described(arguments):
    """The list of options and arguments."""
    items = []
    for info in arguments:
        text, values = explanation(info), info.get("allValues", [])
        is_complete = any(value in text for value in values) or not values
        items.append((notation(option(info)), text if is_complete else f"{text} Values: {', '.join(values)}."))
    return listing(items, space="") if items else []


def synopsis(typed, command, common):
    """The synopsis of a command, without the names of the common options."""
    lines = {"options": [], "positional": []}
    arguments = visible(command.get("arguments", []))
    own = [info for info in arguments if option(info) not in common]
    for info in merged(own):
        words = "-- " * (info.get("parsingStrategy") == "postTerminator") + option(info).replace(", ", " | ")
        words = notation(words).replace(" ", r"\ ")
        lines["positional" if info["kind"] == "positional" else "options"].append(f"[{words}]" if info["isOptional"] else words)
    return [f".Nm {typed}", *lines["options"], *[r"[\fIcommon\ options\fP]"] * (own != arguments), *lines["positional"]]


def split(text):
    """The paragraphs and the EXAMPLES of a help text. Indented lines are commands to type."""
    texts, examples = [], []
    for block in (text or "").rstrip().split("\n\n"):
        rows = block.split("\n")
        if not all(row.startswith("  ") for row in rows):
            texts.append(prose(block))
            continue
        if texts and texts[-1].endswith(":"):
            # The sentence that introduces the commands.
            *others, introduction = re.split(r"(?<=[.?!])\s+", texts.pop())
            texts += [" ".join(others)] if others else []
            examples += [".Pp", formatted(introduction)]
        examples += [".Bd -literal -offset indent", *map(escaped, prompted(rows)), ".Ed"]
    return [text for text in texts if text], examples[examples[:1] == [".Pp"]:]


def references(pages):
    """The list of other pages, such as `env 1`."""
    *names, last = sorted(pages, key=lambda page: (page.split()[1], page))
    return [*(f".Xr {name} ," for name in names), f".Xr {last}"]


def paths(command, typed):
    """The words to type for each command below a command, or for the command itself."""
    children = subcommands(command)
    return [path for child in children for path in paths(child, f"{typed} {child['commandName']}")] or [(typed, command)]


def page_name(tool, subcommand):
    # Docker runs a helper by this name.
    return f"docker-credential-{tool}" if subcommand == "docker-credential" else f"{tool}-{subcommand}".replace(" ", "-")


def document(name, abstract, date, sections):
    # .hlm turns hyphenation off, which .Sh turns on again after .nh.
    head = f""".\\" Scripts/manual.py wrote this page.
.Dd {date:%B} {date.day}, {date.year}
.Dt {name.upper()} 1
.Os
.hlm 0
.ad l
.Sh NAME
.Nm {name}
.Nd {escaped(abstract[:1].lower() + abstract[1:].removesuffix("."))}
"""
    return head + "".join(f".Sh {title}\n" + "\n".join(content) + "\n" for title, content in sections if content)


class Manual:
    """The pages of a command, by name."""

    def __init__(self, command, date):
        self.root = help_of(command)
        self.tool = self.root["commandName"]
        self.children = {child["commandName"]: child for child in subcommands(self.root)}
        # An embedded command determines its own name from its arguments.
        self.account = self.root
        if "account" in self.children:
            self.account = self.children["account"] = help_of(command, "account")
        # The article explains the variables in detail.
        text = self.account["discussion"]
        self.home = re.search(r"\b([A-Z][A-Z0-9_]*)_HOME\b", text)[0]
        self.account["discussion"] = re.sub(r"\n\nEnvironment:.*?(?=\n\n|\Z)", "", text, flags=re.S)
        account = [("EXIT STATUS", ["The exit codes, variables and files of the account commands are in", f".Xr {self.tool}-account 1 ."])]
        names = {name: page_name(self.tool, name) for name in self.children}
        commands = [(f"{page}(1)", prose(self.children[name]["abstract"])) for name, page in names.items()]
        texts, examples = split(self.root.get("discussion"))
        sections = [
            ("SYNOPSIS", [f".Nm {self.tool}", ".Ar command", ".Op Ar arguments"]),
            ("DESCRIPTION", paragraphs([prose(self.root["abstract"]), *texts])),
            ("COMMANDS", listing(commands, f"{max(len(page) for page, _ in commands)}n")),
            ("COMMON OPTIONS", described(merged(common_options(self.root).values()))),
            *(self.articles() if self.account is self.root else account),
            ("EXAMPLES", examples),
            ("SEE ALSO", references(f"{page} 1" for page in names.values())),
        ]
        self.pages = {self.tool: document(self.tool, self.root["abstract"], date, sections)}
        for name, page in names.items():
            self.pages[page] = document(page, self.children[name]["abstract"], date, self.subcommand(name, page))

    def subcommand(self, name, page):
        command = self.children[name]
        typed = page if name == "docker-credential" else f"{self.tool} {name}"
        common = common_options(command if command is self.account else self.root)
        texts, examples = split(command.get("discussion"))
        synopses, options, accepted = [], [], []
        for path, leaf in paths(command, typed):
            arguments = visible(leaf.get("arguments", []))
            accepted += [option(info).split(" <")[0].split(", ")[-1] for info in arguments if option(info) in common]
            own = described(merged(info for info in arguments if option(info) not in common))
            synopses += synopsis(path, leaf, common)
            if leaf is not command:
                more, more_examples = split(leaf.get("discussion"))
                own = [f".Ss {path}", *paragraphs([prose(leaf["abstract"]), *more]), *own]
                examples += more_examples
            options += own
        sections = [
            ("SYNOPSIS", synopses),
            ("DESCRIPTION", paragraphs([prose(command["abstract"]), *texts])),
            ("COMMANDS" if subcommands(command) else "OPTIONS", options),
        ]
        # The commands of a tool that embeds the account commands are not in the table.
        others = RELATED[name] if self.account is self.root else []
        related = [f"{self.tool} 1", *(other if " " in other else f"{page_name(self.tool, other)} 1" for other in others)]
        if command is self.account:
            sections += [("COMMON OPTIONS", described(merged(common.values()))), *self.articles()]
        else:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(accepted))
            sections += [("COMMON OPTIONS", [formatted(f"{names}: see"), f".Xr {self.tool} 1 ."] if names else [])]
            sections += [("EXIT STATUS", ["The exit codes are in", f".Xr {self.tool} 1 ."])]
        return [*sections, ("EXAMPLES", examples), ("SEE ALSO", references(related))]

    def articles(self):
        """The sections that the articles contain as tables."""
        embeds = self.account is not self.root

        def named(text):
            """Replaces names in the articles, which describe the standalone command."""
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("ACCOUNT_", self.home[:-len("HOME")])
            return text.replace("`account ", f"`{self.tool} account ") if embeds else text.replace("<id>", "account")

        def table(rows, width="Ds"):
            return listing([(formatted(named(row[0])), named(row[1])) for row in rows], width)

        environment, _ = section("Scripting.md", "Environment")
        codes, notes = section("Scripting.md", "Exit codes")
        folders, texts = section("FilesAndDirectories.md", "Folders")
        system = 2 if sys.platform == "darwin" else 1
        files = paragraphs([*([named(texts[0])] if embeds else []), f"If `{self.home}` is set, the second path is used."])
        files += [".Pp", *table([(row[system], f"{row[0]}, or " + row[3].replace("`", f"`${self.home}/", 1)) for row in folders])]
        for heading in ("The session", "Keys", "Settings"):
            rows, texts = section("FilesAndDirectories.md", heading)
            files += [f".Ss {heading}", *paragraphs(map(named, texts[:1])), ".Pp", *table(rows)]
        status = [*table(codes, "4n"), ".Pp", *paragraphs(map(named, notes))]
        return [("ENVIRONMENT", table(environment)), ("FILES", files), ("EXIT STATUS", status)]


def last_change():
    """The date of the last commit in the sources, so that a page does not change every day."""
    log = subprocess.run(["git", "log", "-1", "--format=%cs", "--", *SOURCES], cwd=ROOT, text=True, capture_output=True).stdout
    return datetime.date.fromisoformat(log.strip()) if log.strip() else datetime.date.today()


def main():
    if sys.argv[1:] == ["--list"]:
        # `make check` compares the page about the commands with the help.
        commands = re.findall(r"^## account (.+)$", PAGE.read_text(), flags=re.M)
        print("\n".join(sorted(["account.1", *(f"{page_name('account', name)}.1" for name in commands)])))
        return
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in Manual(sys.argv[1], last_change()).pages.items():
        (folder / f"{name}.1").write_text(page)


if __name__ == "__main__":
    main()
