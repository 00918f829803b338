"""git and scripts with the sign-in's token, beside the programs that they use for that without `account`."""

import os
import subprocess

from measure import Ratio, hyperfine
from peers import Peers
from report import time
from whole_process import size_of

# One that git-credential-oauth does not know: it would open a browser.
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
            # An empty helper forgets those of the system, and whoever is asked in the end answers nothing.
            settings = " ".join(f"-c credential.helper='{helper}'" for helper in ("", *helpers))
            return f'sh -c "git {settings} -c core.askPass=true credential fill <{request}"'

        cache = f"cache --timeout 7200 --socket {home}/run/cache/socket"
        fills = hyperfine(
            {
                "`account git-credential`": fill(f"!{account} git-credential"),
                "`gh auth git-credential`": fill("!gh auth git-credential"),
                "git's own `cache`, which git-credential-oauth is set up with": fill(cache, "oauth"),
                "git-credential-oauth, for a host that it does not know": fill("oauth"),
                "a shell that prints the token": fill("!echo password=x; echo username=alice; true"),
            },
            environment, rounds) if "git" not in peers.missing else {}
    finally:
        subprocess.run(["git", "credential-cache", "--socket", f"{home}/run/cache/socket", "exit"], env=peers.environment, capture_output=True)
        peers.stop()

    report.section("A token for a script", "It is good, and no request is made.", ("command", "time", "to `account token`"), rows(tokens, peers.missing))
    report.section(
        "`git credential fill`", "A shell starts git, which starts a shell, which starts the helper, which has a good token. git-credential-oauth keeps none: "
        "its manual puts git's own cache before it, which is a process that keeps the token in memory as it is, for two hours; after "
        "that somebody signs in again. For a host that it does not know it prints nothing, so that the row is what it takes at the least.",
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
