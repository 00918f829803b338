"""Measures the command from start to end, compared with a C program that does the same and with other programs."""

import os
import shutil
import subprocess

from measure import Ratio, duration, hyperfine, number, swarm
from peers import Peers
from report import time
from service import Service

# The beginnings of the names of peers, which also name the rows of missing peers.
PEERS = ("`age -d`", "`pass show`", "`secret-tool lookup`", "`gh auth token`", "Python `keyring`", "Python msal-extensions")

OURS = ("`account whoami --offline`", "`account token`")


class Containers:
    """Containers of the command with a signed-in user, in a temporary folder."""

    def __init__(self, folder, maker):
        self.folder = folder
        self.maker = maker

    def make(self, name, *options):
        root = os.path.join(self.folder, name)
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root, mode=0o700)
        subprocess.run([self.maker, root, *options], check=True)
        return root


def size_of(root):
    return os.path.getsize(f"{root}/Documents/Account.plist")


def run(report, account, programs, containers, home, rounds):
    root = containers.make("whole-process")
    peers = Peers(home, size_of(root))
    try:
        environment = {**peers.environment, "ACCOUNT_HOME": root}
        commands = {
            "`account whoami --offline`": f"{account} whoami --offline",
            "`account token`": f"{account} token",
            "C floor of `whoami`": f"{programs}/floor whoami {root}",
            "C floor of `token`": f"{programs}/floor token {root}",
            "C floor of `whoami`, linked like `account`": f"{programs}/floor-linked-alike whoami {root}",
            "a Swift program that prints a name, linked like `account`": f"{programs}/hello",
            **peers.commands,
        }
        times = hyperfine(commands, environment, rounds)
        memory = {name: swarm(programs, 1, command, environment)[1] for name, command in commands.items()}
    finally:
        peers.stop()

    subject, floor = times["`account whoami --offline`"], times["C floor of `whoami`"]
    rows = [
        (name, time(values), Ratio(values, floor), Ratio(subject, values) if name not in OURS else "", mebibytes(memory[name]))
        for name, values in times.items()
    ]
    for peer in PEERS:
        if not any(name.startswith(peer) for name in times):
            reason = next((why for what, why in peers.missing.items() if any(word in peer for word in what.split())), "not prepared")
            rows.append((f"{peer}: missing", " ".join(str(reason).split())[:120], "", "", ""))
    report.section(
        "Whole process", f"An archive of {size_of(root)} bytes. The C floor reads both files, opens the archive with libsodium "
        "and prints; it is linked to the system's libraries. The printed tokens have 87 bytes.",
        ("command", "time", "to the C floor of `whoami`", "`account whoami --offline` to this", "peak memory"), rows)

    def peer(prefix):
        return next((Ratio(subject, values) for name, values in times.items() if name.startswith(prefix)), None)

    what = "`account whoami --offline`"
    report.at_most(what, Ratio(subject, floor), 2.0, "the C floor")
    report.at_most(what, peer("`age -d`"), 0.8, "`age -d`")
    report.at_most(what, peer("`gh auth token`"), 0.1, "`gh auth token`")
    report.target(
        what, "peak memory ≤ 12 MiB", mebibytes(memory[what]), memory[what] <= 12 * 2**20)
    return peers.versions


def check(report, account, programs, containers, rounds):
    """Measures the check at start-up with a service, and the service's share of the time."""
    service = Service(programs)
    root = containers.make("check", "--issuer", service.issuer)
    environment = {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_HOME": root}
    commands = {
        "`account whoami --offline`": f"{account} whoami --offline",
        "`account whoami --max-age 0`": f"{account} whoami --max-age 0",
        "C floor: the same requests, and a durable write": f"{programs}/floor check {root} {service.port}",
        "C floor: the durable write alone": f"{programs}/floor save {root}",
    }
    try:
        times = hyperfine(commands, environment, rounds)
    finally:
        share = service.stop()
    offline, checked, floor, *_ = times.values()
    rows = [(name, time(values), Ratio(values, offline), Ratio(values, floor)) for name, values in times.items()]
    report.section(
        "With a service on the loopback interface",
        f"Each check makes the requests for discovery and user info, without TLS, and saves the confirmed account. The service is a C "
        f"program and takes "
        f"{duration(share)} of processor time a request, {number(200 * share / sorted(checked)[len(checked) // 2])} % of the "
        "time of a check. The floors make the same requests and do not read the responses.",
        ("command", "time", "to `--offline`", "to the C floor"), rows)
    report.at_most("`account whoami` with a loopback check", Ratio(checked, offline), 3, "the offline one")


def installed_size(report, account, folder):
    stripped = os.path.join(folder, "account-stripped")
    subprocess.run(["strip", "-o", stripped, account], check=True)
    size = os.path.getsize(stripped)
    os.remove(stripped)
    report.target("installed size of `account`", "≤ 25 MiB stripped", mebibytes(size), size <= 25 * 2**20)


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"
