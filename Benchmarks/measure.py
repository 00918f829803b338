"""Runs commands side by side and compares them. Results of different runs are never compared."""

import dataclasses
import json
import shlex
import statistics
import subprocess
import tempfile
import time


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much to measure."""

    rounds: int = 7
    # The runs of a command in a round. Few runs in many rounds ensure that other load on the machine affects all commands alike.
    runs: int = 10
    # The calls, loads and saves in a round.
    calls: int = 200
    repetitions: int = 200
    sessions: int = 100_000
    rows: int = 100_000
    many_rows: int = 1_000_000
    blob_bytes: int = 1 << 30
    stores: int = 1000


# To see that everything runs. hyperfine may need two runs.
SHORT = Plan(
    rounds=1, runs=2, calls=3, repetitions=3, sessions=10, rows=200, many_rows=1000, blob_bytes=1 << 20, stores=8)


class Ratio:
    """The ratio of two measurements in each round, and its median."""

    def __init__(self, subject, base):
        self.values = [one / other for one, other in zip(subject, base, strict=True)]

    @property
    def median(self):
        return statistics.median(self.values)

    def __str__(self):
        return f"{number(self.median)}× ({number(min(self.values))}–{number(max(self.values))})"


def differences(subject, base):
    """The differences of two measurements in each round."""
    return [one - other for one, other in zip(subject, base, strict=True)]


def number(value):
    """Formats a number with at least two significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def duration(seconds):
    """A time in a suitable unit. Such a time is for orientation only and is not compared with a fixed limit."""
    if seconds < 0:
        return f"−{duration(-seconds)}"
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{number(seconds * factor)} {unit}"
    return f"{number(seconds * 1e9)} ns"


def median_duration(values):
    return duration(statistics.median(values))


def mebibytes(count):
    return f"{number(count / 2**20)} MiB"


def hyperfine(commands, environment, plan):
    """The median time of each command in each round, by name. Each round runs all commands.

    The value of a name consists of the command and what it must print: see `check`.
    """
    for command, printed in commands.values():
        check(command, environment, printed)
    medians = {name: [] for name in commands}
    for turn in range(plan.rounds):
        # Reverse the order in every other round, so that no command always follows a busy disk.
        names = list(commands) if turn % 2 == 0 else list(reversed(commands))
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            # hyperfine's warnings about load on the machine are ignored, since the rounds compensate for it.
            run(["hyperfine", "--shell=none", "--warmup", "1", "--runs", str(plan.runs), "--style", "none",
                 "--export-json", report.name, *(commands[name][0] for name in names)], environment)
            results = json.load(report)["results"]
        for name, result in zip(names, results, strict=True):
            medians[name].append(statistics.median(result["times"]))
    return medians


def check(command, environment, printed):
    """Runs a command, and fails unless it prints a certain line, or a certain number of lines; `None` stands for any output."""
    lines = run(shlex.split(command), environment).stdout.splitlines()
    if printed is not None and (len(lines) != printed if isinstance(printed, int) else printed not in lines):
        raise SystemExit(f"wrong output: `{command}` must print {printed!r}, and printed {lines[:20]!r}")


def run(command, environment, **options):
    """Runs a program with captured output, and fails if the program fails."""
    try:
        return subprocess.run(
            command, env=environment, check=True, text=True, timeout=600,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
            **({} if "input" in options else {"stdin": subprocess.DEVNULL}))
    except OSError as error:
        raise SystemExit(f"`{command[0]}` cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise SystemExit(f"`{shlex.join(command)}` did not end within ten minutes") from error
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"`{shlex.join(command)}` failed with {error.returncode}: {error.stderr} {error.stdout}") from error


def peak(command, environment):
    """Runs a command. Returns its time in seconds and its peak memory in bytes."""
    start = time.perf_counter()
    # A direct child of Python would begin with Python's peak.
    printed = run(["/usr/bin/time", "-f", "%M", *shlex.split(command)], environment).stderr
    return time.perf_counter() - start, int(printed.split()[-1]) * 1024
