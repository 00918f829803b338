"""Measures the effect of the number of sessions, the number of processes, and the size of the profile."""

import os
import shutil

from measure import Ratio, hyperfine, number, swarm
from report import time
from service import Service
from whole_process import size_of

SESSIONS = (1, 100, 10_000, 100_000)
PROCESSES = (1, 10, 50, 200)
PROFILES = (300, 4 << 10, 32 << 10, 128 << 10, 512 << 10)


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


def sessions(report, account, programs, containers, rounds):
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


def processes(report, account, programs, containers, rounds):
    """Measures many processes at once with one archive: readers acquire no lock."""
    root = containers.make("processes")
    environment = {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_HOME": root}
    commands = {
        "whoami": f"{account} whoami --offline", "token": f"{account} token", "floor": f"{programs}/floor whoami {root}"}
    times = {(name, count): [] for name in commands for count in PROCESSES}
    for _ in range(rounds):
        for name, count in times:
            # Repeat small counts more often, so that each figure is based on enough processes.
            tries = max(1, 20 // count)
            spent = sum(swarm(programs, count, commands[name], environment)[0] for _ in range(tries))
            times[name, count].append(spent / tries / count)
    rows = []
    for count in PROCESSES:
        cells = [time(times["floor", count])]
        for name in ("whoami", "token"):
            values = times[name, count]
            cells += [time(values), Ratio(values, times[name, 1]), Ratio(values, times["floor", count])]
        rows.append((count, *cells))
    report.section(
        "Processes at once", "The time until the last process ended, divided by the number of processes. None failed.",
        ("processes", "C floor", "`whoami --offline`", "to one process", "to the floor", "`token`", "to one process",
         "to the floor"), rows)


def profiles(report, account, programs, containers, rounds):
    """Measures large profiles, which take time to decrypt and decode."""
    roots = {count: containers.make(f"profile-{count}", "--profile-bytes", str(count)) for count in PROFILES}
    environment = {"PATH": os.environ["PATH"], "HOME": containers.folder}
    commands = {("account", count): f"env ACCOUNT_HOME={root} {account} whoami --offline" for count, root in roots.items()}
    commands |= {("floor", count): f"env {programs}/floor whoami {root}" for count, root in roots.items()}
    times = hyperfine(commands, environment, rounds)
    smallest = times["account", PROFILES[0]]
    report.section(
        "Size of the profile", "",
        ("archive", "`whoami --offline`", "to the smallest", "C floor", "to the floor"),
        [(f"{number(size_of(root) / 1024)} KiB", time(times["account", count]), Ratio(times["account", count], smallest),
          time(times["floor", count]), Ratio(times["account", count], times["floor", count])) for count, root in roots.items()])
