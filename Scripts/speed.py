#!/usr/bin/env python3
"""Keeps the command fast and small: counts instructions, and fails if there are more than in the baseline.

    speed.py check ACCOUNT EXERCISER NOTES      compares with Verification/Speed/baseline.json
    speed.py update ACCOUNT EXERCISER NOTES     writes it

All three are stripped release builds. NOTES is the tool of the quick start, which embeds the account commands. Valgrind counts the instructions from the start of the process. Unlike times, the
counts are the same on a busy machine. On every processor with AVX2, Valgrind emulates the same processor, so libsodium and the C
library choose the same code everywhere.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent.parent / "Verification/Speed"
BASELINE = FOLDER / "baseline.json"
TOLERANCE = 0.05
# The limit was 12 MiB until AccountKit checked each folder from the root of its container; `whoami --offline` now reaches 12,448 KiB.
MAXIMUM_PEAK_KIB = 13 * 1024
# The limit was 25 MiB before signals, deadlines and the options of a sign-in, 26 MiB before helpers, rules and derived tokens,
# 28.5 MB before the sign-in by URL, `mcp` and `setup`, and 29.5 MB before client keys and DPoP, which need swift-crypto.
# `make bench` has this limit as a target.
MAXIMUM_SIZE = 30 * 1024 * 1024

# How many times as many instructions `notes account whoami --offline` may need as `account whoami --offline`.
MAXIMUM_EMBEDDED = 1.3

# The cost of one repetition is the difference between many and few, without the cost of starting.
REPEATED = {"load": (10, 30), "save": (10, 30), "read": (1000, 3000)}


class Machine:
    """The programs and a signed-in user, on paths with the same lengths everywhere."""

    def __init__(self, folder, account, exerciser, notes):
        self.folder = folder
        self.account = shutil.copy(account, f"{folder}/account")
        self.exerciser = shutil.copy(exerciser, f"{folder}/exerciser")
        self.notes = shutil.copy(notes, f"{folder}/notes--")
        self.home = f"{folder}/home"
        notes_home = f"{folder}/note"
        self.environment = {
            "ACCOUNT_HOME": self.home, "NOTES_HOME": notes_home, "SWIFT_DETERMINISTIC_HASHING": "1",
            # The number of threads must not depend on the number of processors.
            "NIO_SINGLETON_GROUP_LOOP_COUNT": "1", "NIO_SINGLETON_BLOCKING_POOL_THREAD_COUNT": "1"}
        self.run([self.exerciser, self.home, "sign-in"])
        self.run([self.exerciser, notes_home, "sign-in", "com.example.notes"])

    def run(self, command, check=True):
        return subprocess.run(
            command, env=self.environment, check=check, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300)

    def profile(self, *command, options=(), check=True):
        """Runs a command, and returns its profile. Without `check`, the command may fail."""
        profile = pathlib.Path(self.folder, "profile")
        self.run(
            ["/usr/bin/valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *options, *command], check)
        return profile.read_text()

    def instructions(self, *command, check=True):
        profile = self.profile(*command, check=check)
        return int(re.search(r"^(?:summary|totals): (\d+)$", profile, re.M).group(1))

    def counted(self):
        result = {
            "whoami --offline": self.instructions(self.account, "whoami", "--offline"),
            "token": self.instructions(self.account, "token", "--min-validity", "0"),
            "whoami, connection refused": self.instructions(self.account, "whoami", "--max-age", "0"),
            "whoami, no such session": self.instructions(
                self.account, "whoami", "--offline", "--session", "none", check=False),
            "embedded whoami --offline": self.instructions(self.notes, "account", "whoami", "--offline"),
        }
        for name, (few, many) in REPEATED.items():
            difference = self.instructions(self.exerciser, self.home, name, str(many)) - self.instructions(
                self.exerciser, self.home, name, str(few))
            result[name] = round(difference / (many - few))
        return result

    def peak_kib(self):
        # Use time(1) instead of a direct child: a child begins with the peak of its parent.
        result = self.run(["/usr/bin/time", "-f", "%M", self.account, "whoami", "--offline"])
        return int(result.stderr.split()[-1])


def compared(counts, baseline):
    """Prints a line for each count, and returns whether a count grew too much."""
    failed = False
    for name, count in counts.items():
        before = baseline.get(name)
        if before is None:
            print(f"{name}: {count} instructions; the baseline does not have it")
            failed = True
            continue
        growth = count / before - 1
        grew = growth > TOLERANCE
        failed |= grew
        note = "  TOO MANY" if grew else "  fewer: is it worth a new baseline?" if growth < -TOLERANCE else ""
        print(f"{name}: {count} instructions, {growth:+.1%}{note}")
    return failed


def limited(what, value, maximum, unit):
    print(f"{what}: {value} {unit}, at most {maximum}{'' if value <= maximum else '  TOO MUCH'}")
    return value > maximum


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("check", "update"):
        sys.exit(__doc__)
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text().split():
        sys.exit("speed.py: the processor has no AVX2, so the counts would differ from the baseline")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="account-speed-") as folder:
        machine = Machine(folder, *sys.argv[2:])
        counts = machine.counted()
        peak = machine.peak_kib()
    failed = limited("size", pathlib.Path(sys.argv[2]).stat().st_size, MAXIMUM_SIZE, "bytes")
    failed |= limited("peak memory of whoami --offline", peak, MAXIMUM_PEAK_KIB, "KiB")
    embedded = counts["embedded whoami --offline"] / counts["whoami --offline"]
    failed |= limited("embedded whoami --offline", round(embedded, 2), MAXIMUM_EMBEDDED, "times the instructions of account")
    if sys.argv[1] == "update":
        BASELINE.write_text(json.dumps(counts, indent=4) + "\n")
        print(f"written: {BASELINE}")
    elif compared(counts, json.loads(BASELINE.read_text())):
        failed = True
        print("If this is intended, run `make speed-baseline`, and commit the file together with the change.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
