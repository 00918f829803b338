#!/usr/bin/env python3
"""Compares the table of tested servers in the article Services with the results of the end-to-end tests.

    services.py RESULTS             exit code 1 if the table differs, or if a test of a server failed or is missing
    services.py RESULTS --update    writes the table

RESULTS is the file that `swift test --xunit-output` writes for Swift Testing (NAME-swift-testing.xml).
"""

import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARTICLE = ROOT / "Sources/AccountHTTP/AccountHTTP.docc/Services.md"
BEGIN, END = "<!-- begin: tested servers -->", "<!-- end: tested servers -->"

FLOWS = ["browser", "device", "password", "refresh", "revocation", "secret"]

# For each server: its suites, the test of each flow, and how the server differs from the standards.
SERVERS = [
    (
        "Authlib 1.9.10",
        ["AuthlibTests"],
        {
            "browser": "Signs in with the browser",
            "device": "Signs in with a code on another device unless the user denies it",
            "password": "Signs in with a password, refreshes, and revokes",
            "refresh": "Signs in with a password, refreshes, and revokes",
            "revocation": "Signs in with a password, refreshes, and revokes",
            "secret": "Tries the other client secret method once",
        },
        "`token --scope` narrows the session, since the new refresh token has the narrower scope.",
    ),
    (
        "Canaille 0.3.6",
        ["CanailleTests"],
        {
            "browser": "Signs in with the browser",
            "password": "Signs in with a password, refreshes, and revokes with a secret",
            "refresh": "Signs in with a password, refreshes, and revokes with a secret",
            "revocation": "Signs in with a password, refreshes, and revokes with a secret",
            "secret": "Signs in with a password, refreshes, and revokes with a secret",
        },
        "A client without a secret may not revoke. A refresh token expires together with its access token. `token --scope` "
        "narrows the session.",
    ),
    (
        "Django OAuth Toolkit 3.4.1",
        ["DjangoTests", "DjangoDeviceTests", "DjangoRotationTests"],
        {
            "device": "Approving the request on another device signs the user in",
            "password": "Signs in, refreshes, works offline, detects the end, and signs out",
            "refresh": "Ten processes refresh once, and a spent token ends the session",
            "revocation": "Signs in, refreshes, works offline, detects the end, and signs out",
        },
        "",
    ),
    (
        "Glewlwyd 2.7.5",
        ["GlewlwydTests"],
        {
            "browser": "Signs in with the browser at the registered redirect URI",
            "device": "Signs in with a code on another device",
            "refresh": "Signs in, refreshes and revokes with a client secret",
            "revocation": "Signs in, refreshes and revokes with a client secret",
            "secret": "Signs in, refreshes and revokes with a client secret",
        },
        "A client without a secret may not revoke. Answers an empty 400 response to a refresh token that it has revoked, so the "
        "session does not end.",
    ),
    (
        "LemonLDAP::NG 2.16.1",
        ["LemonLDAPTests"],
        {
            "browser": "Signs in with the browser",
            "password": "Signs in with a password, and keeps the only refresh token",
            "refresh": "Signs in with a password, and keeps the only refresh token",
        },
        "Has no revocation endpoint; `logout` names the page at which the user signs out. Answers `invalid_request` to a refresh "
        "token that it has forgotten. Cannot read a client secret with `+` or `/` in the header: add `--client-auth post`.",
    ),
    (
        "MCP Python SDK 2.3.0",
        ["MCPServerTests"],
        {
            "browser": "Signs in with the browser",
            "refresh": "Refreshes with single-use tokens, and detects the end",
            "secret": "Signs in with a client secret by the basic or the post method",
        },
        "A client without a secret may not revoke. Does not identify the user: `login --username` names the session. "
        "`token --scope` narrows the session.",
    ),
    (
        "NanoIDP 3.4.0",
        ["NanoIDPTests"],
        {
            "browser": "Signs in with the browser, with and without a client secret",
            "device": "Signs in with a code on another device",
            "refresh": "Derived tokens have only the requested audience and keep the session",
            "secret": "Signs in with the browser, with and without a client secret",
        },
        "",
    ),
]


def results(path):
    """The names of the passed tests, by suite."""
    passed = {}
    for case in ElementTree.parse(path).iter("testcase"):
        suite = case.get("classname").split(".")[-1]
        name = re.sub(r"^`(.*)`\(.*\)$", r"\1", case.get("name"))
        if case.find("failure") is None:
            passed.setdefault(suite, set()).add(name)
    return passed


def table(passed):
    problems, notes = [], []
    lines = ["| server | " + " | ".join(FLOWS) + " |", "| --- " * (len(FLOWS) + 1) + "|"]
    for server, suites, tests, note in SERVERS:
        cells = []
        names = set().union(*(passed.get(suite, set()) for suite in suites))
        for flow in FLOWS:
            test = tests.get(flow)
            if test and test not in names:
                problems.append(f"{server}: the test `{test}` did not pass, or does not exist")
            cells.append("yes" if test else "–")
        if note:
            notes.append(textwrap.fill(
                f"{len(notes) + 1}. {server}: {note}", 140, subsequent_indent="   ", break_on_hyphens=False))
            server += f" ({len(notes)})"
        lines.append(f"| {server} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *notes]), problems


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--update"]):
        sys.exit(__doc__)
    passed = results(sys.argv[1])
    text, problems = table(passed)
    article = ARTICLE.read_text()
    before, rest = article.split(BEGIN)
    old, after = rest.split(END)
    if sys.argv[2:]:
        ARTICLE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    elif old.strip() != text.strip():
        problems.append(f"the table in {ARTICLE.name} differs from the tests: run Scripts/services.py RESULTS --update")
    print("\n".join(problems) or f"{len(SERVERS)} servers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
