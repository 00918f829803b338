"""Compares the commands that provide tokens to git and scripts with other programs for the same purpose."""

import os
import subprocess

from measure import Ratio, hyperfine
from peers import Peers
from report import time
from whole_process import size_of

# A host that git-credential-oauth does not support: for a supported host, it would open a browser.
HOST = "git.example.com"
REQUEST = f"protocol=https\nhost={HOST}\n\n"


def run(report, account, containers, home, rounds):
    root = containers.make("helpers")
    subprocess.run([account, "rule", "add", f"https://{HOST}"], env={**os.environ, "ACCOUNT_HOME": root}, check=True, capture_output=True)
    peers = Peers(home, size_of(root), ("gh", "git", "oidc_agent"))
    try:
        environment = {**peers.environment, "ACCOUNT_HOME": root}
        tokens = hyperfine(
            {"`account token`": f"{account} token", **{name: command for name, command in peers.commands.items() if "oidc-token" in name}},
            environment, rounds)
        request = os.path.join(containers.folder, "request")
        with open(request, "w", encoding="ascii") as file:
            file.write(REQUEST)

        def fill(*helpers):
            # An empty helper removes the system's helpers, and with `core.askPass=true`, a prompt receives an empty
            # answer.
            settings = " ".join(f"-c credential.helper='{helper}'" for helper in ("", *helpers))
            return f'sh -c "git {settings} -c core.askPass=true credential fill <{request}"'

        cache = f"cache --timeout 7200 --socket {home}/run/cache/socket"
        fills = hyperfine(
            {
                "`account git-credential`": fill(f"!{account} git-credential"),
                "`gh auth git-credential`": fill("!gh auth git-credential"),
                "git's own `cache`, as recommended for git-credential-oauth": fill(cache, "oauth"),
                "git-credential-oauth, for an unknown host": fill("oauth"),
                "a shell that prints the token": fill("!echo password=x; echo username=alice; true"),
            },
            environment, rounds) if "git" not in peers.missing else {}
    finally:
        subprocess.run(["git", "credential-cache", "--socket", f"{home}/run/cache/socket", "exit"], env=peers.environment, capture_output=True)
        peers.stop()

    report.section("A token for a script", "The token is valid, so no request is made.", ("command", "time", "to `account token`"), rows(tokens, peers.missing))
    report.section(
        "`git credential fill`", "A shell starts git, which starts a shell, which starts the helper, which has a valid token. git-credential-oauth stores no "
        "token: its manual recommends git's `cache` in front of it, a process that keeps the token unencrypted in memory for two hours; "
        "then the user must sign in again. For an unknown host git-credential-oauth prints nothing, so that row is its minimum.",
        ("helper", "time", "to `account git-credential`"), rows(fills, peers.missing))

    def compare(times, ours, other, limit):
        found = next((Ratio(times[ours], values) for name, values in times.items() if name.startswith(other)), None)
        report.at_most(ours, found, limit, other)

    compare(tokens, "`account token`", "`oidc-token`", 1.0)
    compare(fills, "`account git-credential`", "`gh auth git-credential`", 1 / 3)
    compare(fills, "`account git-credential`", "git-credential-oauth", 1 / 3)
    return peers.versions


def rows(times, missing):
    subject = next(iter(times.values()), None)
    return [(name, time(values), Ratio(values, subject)) for name, values in times.items()] + [
        (f"{name}: missing", " ".join(str(why).split())[:120], "") for name, why in missing.items()]
