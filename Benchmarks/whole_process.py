"""Measures the command from start to end, compared with a C program that does the same and with other programs."""

import os
import sys

from bench import TOKEN
from children import Service
from measure import Ratio, duration, mebibytes, median_duration, number, peak
from peers import Peers

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Scripts"))

# The limit of `make verify PART=installed`.
from speed import MAXIMUM_SIZE  # noqa: E402

WHOAMI, TOKEN_COMMAND, FLOOR = "`account whoami --offline`", "`account token`", "C floor of `whoami`"


def run(bench):
    root = bench.container("whole-process")
    size = os.path.getsize(f"{root}/Documents/Account.plist")
    with Peers(bench, "age", "oidc_agent", "gh", "gpg_pass", "secret_service", archive_size=size) as peers:
        environment = {**peers.environment, "ACCOUNT_HOME": root}
        commands = {
            WHOAMI: (f"{bench.account} whoami --offline", "alice"),
            FLOOR: (f"{bench.programs}/floor whoami {root}", "alice"),
            "C floor of `whoami`, linked like `account`": (f"{bench.programs}/floor-linked-alike whoami {root}", "alice"),
            "a Swift program that prints a name, linked like `account`": (f"{bench.programs}/hello", "alice"),
            TOKEN_COMMAND: (f"{bench.account} token", TOKEN),
            **peers.commands,
        }
        times = bench.hyperfine(commands, environment)
        memory = {name: peak(command, environment)[1] for name, (command, _) in commands.items()}

    bench.report.section(
        "Whole process", f"An archive of {size} bytes. The C floor reads both files, opens the archive with libsodium and prints; it is linked "
        f"to the system's libraries. The printed tokens have {len(TOKEN)} bytes and are valid, so no request is made.",
        ("command", "time", "to the C floor", "peak memory"),
        [(name, median_duration(values), Ratio(values, times[FLOOR]), mebibytes(memory[name])) for name, values in times.items()])

    def compare(ours, other, limit, base):
        found = next(values for name, values in times.items() if name.startswith(other))
        bench.report.at_most(ours, Ratio(times[ours], found), limit, base)

    compare(WHOAMI, FLOOR, 1.7, "the C floor")
    compare(WHOAMI, "`age -d`", 0.55, "`age -d`")
    compare(WHOAMI, "`gh auth token`", 0.1, "`gh auth token`")
    compare(TOKEN_COMMAND, "`oidc-token`", 1.0, "`oidc-token` with its agent")
    bench.report.target(f"{WHOAMI}, peak memory", mebibytes(memory[WHOAMI]), "≤ 12 MiB", memory[WHOAMI] <= 12 << 20)
    size = os.path.getsize(bench.account)
    bench.report.target("size of `account`", mebibytes(size), f"≤ {mebibytes(MAXIMUM_SIZE)}", size <= MAXIMUM_SIZE)


def check(bench):
    """Measures the check at start-up with a service, and the service's share of the time."""
    with Service(bench.programs) as service:
        root = bench.container("check", "--issuer", service.issuer)
        environment = bench.environment(root)
        subject, floor = f"{bench.account} whoami --max-age 0", f"{bench.programs}/floor check {root} {service.port}"
        ours, theirs = (service.requests_of(command, environment) for command in (subject, floor))
        if ours != theirs:
            raise SystemExit(f"a check makes {ours} requests, and its floor makes {theirs}")
        times = bench.hyperfine({
            "`account whoami --max-age 0`": (subject, "alice"),
            "C floor: the same requests and a durable write": (floor, "alice"),
            "C floor: the durable write alone": (f"{bench.programs}/floor save {root}", "alice"),
            WHOAMI: (f"{bench.account} whoami --offline", "alice"),
        }, environment)
        spent, requests = service.usage()
    checked, base, *_ = times.values()
    share = ours * spent / requests
    bench.report.section(
        "With a service on the loopback interface",
        f"Each check makes {ours} requests over one connection without TLS, for discovery and user info, and saves the confirmed account. The "
        "floor makes the same requests, looks for the endpoint and the user in the responses, encrypts the account again, and writes it "
        f"durably under the same lock. The service is a C program and takes {duration(share)} of processor time for a check, "
        f"{number(100 * share / sorted(checked)[len(checked) // 2])} % of the time of a check.",
        ("command", "time", "to the C floor"),
        [(name, median_duration(values), Ratio(values, base)) for name, values in times.items()])
    bench.report.at_most(
        "`account whoami --max-age 0`, the check at start-up", Ratio(checked, base), 3.5,
        "the C floor with the same requests and the durable write")
