"""Compares `git credential fill` with other helpers of git."""

import os
import shutil

import measure
from bench import TOKEN
from measure import Ratio, median_duration
from peers import Peers

# A host that git-credential-oauth does not support: for a supported host, it would open a browser.
HOST = "git.example.com"


def run(bench):
    root = bench.container("git")
    measure.run([bench.account, "rule", "add", f"https://{HOST}"], bench.environment(root))
    with Peers(bench, "gh", "git") as peers:
        request = os.path.join(bench.folder, "request")
        with open(request, "w", encoding="ascii") as file:
            file.write(f"protocol=https\nhost={HOST}\n\n")

        def fill(*helpers, printed=f"password={TOKEN}"):
            # An empty helper removes the system's helpers, and with `core.askPass=true`, a prompt receives an empty answer.
            settings = " ".join(f"-c credential.helper='{helper}'" for helper in ("", *helpers))
            return f'sh -c "git {settings} -c core.askPass=true credential fill <{request}"', printed

        if not shutil.which("git-credential-oauth"):
            raise SystemExit("git-credential-oauth is not installed")
        times = bench.hyperfine({
            "`account git-credential`": fill(f"!{bench.account} git-credential"),
            "`gh auth git-credential`": fill("!gh auth git-credential"),
            "git's own `cache`, as recommended for git-credential-oauth": fill(f"cache --timeout 7200 --socket {peers.socket}", "oauth"),
            "git-credential-oauth, for an unknown host": fill("oauth", printed=f"host={HOST}"),
            "a shell that prints the token": fill("!echo password=x; echo username=alice; true", printed="password=x"),
        }, {**peers.environment, "ACCOUNT_HOME": root})
    ours, gh, _, oauth, _ = times.values()
    bench.report.section(
        "`git credential fill`", "A shell starts git, which starts a shell, which starts the helper, which has a valid token. git-credential-oauth stores no "
        "token: its manual recommends git's `cache` in front of it, a process that keeps the token unencrypted in memory for two hours; "
        "then the user must sign in again. For an unknown host git-credential-oauth prints nothing, so that row is its minimum.",
        ("helper", "time", "to `account git-credential`"), [(name, median_duration(values), Ratio(values, ours)) for name, values in times.items()])
    bench.report.at_most("`account git-credential`", Ratio(ours, gh), 1 / 3, "`gh auth git-credential`")
    bench.report.at_most("`account git-credential`", Ratio(ours, oauth), 1 / 3, "git-credential-oauth")
