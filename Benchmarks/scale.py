"""Measures the effect of the number of sessions."""

import os
import shutil

from measure import Ratio, hyperfine
from report import time
from service import Service

SESSIONS = (1, 100, 10_000, 100_000)


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


def run(report, account, programs, containers, rounds):
    """Measures a session among many. The others are copies. `login` looks for their queued revocations."""
    service = Service(programs)
    times = {}
    try:
        token = os.path.join(containers.folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("benchmark-access-token\n")
        roots = {count: containers.make(f"sessions-{count}", "--issuer", service.issuer, "--session", "work") for count in SESSIONS}
        for count, root in roots.items():
            crowd(f"{root}/Documents/Sessions", count - 1)
        # Flush the new files to the disk before measuring.
        os.sync()
        environment = {"PATH": os.environ["PATH"], "HOME": containers.folder, "ACCOUNT_SESSION": "work"}
        login = f"{account} login --issuer {service.issuer} --client-id bench --with-token <{token}"
        for task, command in (("whoami --offline", f"{account} whoami --offline"), ("login --with-token", login)):
            times[task] = hyperfine(
                {count: f"sh -c 'ACCOUNT_HOME={root} exec {command}'" for count, root in roots.items()}, environment, rounds)
    finally:
        service.stop()
        for count in SESSIONS:
            shutil.rmtree(os.path.join(containers.folder, f"sessions-{count}"), ignore_errors=True)
    rows = [
        (f"{count:,}", *(cell for task in times for cell in (time(times[task][count]), Ratio(times[task][count], times[task][1]))))
        for count in SESSIONS
    ]
    report.section(
        "Sessions in a container",
        "The commands use the session `work`, one of many in the container. A sign-in also looks twice for the queued revocations of other "
        "sessions. It finds these sessions in an index.",
        ("sessions", "`whoami --offline`", "to one session", "`login --with-token`", "to one session"), rows)
    for task, values in times.items():
        ratio = Ratio(values[SESSIONS[-1]], values[1])
        report.target(
            f"sessions 1 → {SESSIONS[-1]:,}, `{task}`", "≤ 1.1×", str(ratio), ratio.median <= 1.1)
