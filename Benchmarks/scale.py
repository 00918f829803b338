"""Measures the effect of the number of sessions."""

import os
import shutil

from children import Service
from measure import Ratio, median_duration


def crowd(folder, count):
    """Creates other sessions. Several of them share a file, since no process writes to these files."""
    for index in range(count):
        os.mkdir(f"{folder}/s{index}", 0o700)
        file = f"{folder}/s{index}/Account.plist"
        # File systems limit the number of links to a file.
        if index % 10_000 == 0:
            shared = file
            shutil.copyfile(f"{folder}/work/Account.plist", file)
        else:
            os.link(shared, file)


def run(bench):
    """Measures a session alone and among many. The others are copies. `login` looks for their queued revocations."""
    count = bench.plan.sessions
    with Service(bench.programs) as service:
        token = os.path.join(bench.folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("benchmark-access-token\n")
        alone, many = (bench.container(name, "--issuer", service.issuer, "--session", "work") for name in ("one-session", "many-sessions"))
        crowd(f"{many}/Documents/Sessions", count - 1)
        # Flush the new files to the disk before measuring.
        os.sync()
        environment = {"PATH": os.environ["PATH"], "HOME": bench.folder, "ACCOUNT_SESSION": "work"}
        rows = []
        for task, options, printed in (
            ("whoami --offline", "", "alice"),
            ("login --with-token", f" --issuer {service.issuer} --client-id bench <{token}", None),
        ):
            commands = {root: (f"sh -c 'ACCOUNT_HOME={root} exec {bench.account} {task}{options}'", printed) for root in (alone, many)}
            one, crowded = bench.hyperfine(commands, environment).values()
            ratio = Ratio(crowded, one)
            rows.append((f"`{task}`", median_duration(one), median_duration(crowded), ratio))
            bench.report.at_most(f"`{task}`, {count:,} sessions", ratio, 1.1, "one session")
        shutil.rmtree(many)
    bench.report.section(
        "Sessions in a container",
        "The commands use the session `work`, one of many in the container. A sign-in also looks twice for the queued revocations of other "
        "sessions. It finds these sessions in an index.",
        ("command", "one session", f"{count:,} sessions", "to one session"), rows)
