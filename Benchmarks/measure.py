"""Runs commands side by side and compares them. Results of different runs are never compared."""

import json
import os
import statistics
import subprocess
import tempfile


class Ratio:
    """The ratio of two measurements in each round, and its median."""

    def __init__(self, subject, base):
        self.values = [one / other for one, other in zip(subject, base, strict=True)]

    @property
    def median(self):
        return statistics.median(self.values)

    def __str__(self):
        return f"{number(self.median)}× ({number(min(self.values))}–{number(max(self.values))})"


def number(value):
    """Formats a number with at least two significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def duration(seconds):
    """A time in a suitable unit. Such a time is for orientation only and is not compared with a fixed limit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{number(seconds * factor)} {unit}"
    return f"{number(seconds * 1e9)} ns"


# The number of runs of a command in a round. Few runs in many rounds ensure that other load on the machine affects all
# commands alike.
RUNS = 10


def hyperfine(commands, environment, rounds):
    """The median time of each command in each round, by name. Each round runs all commands."""
    medians = {name: [] for name in commands}
    for turn in range(rounds):
        # Reverse the order in every other round, so that no command always follows a busy disk.
        names = list(commands) if turn % 2 == 0 else list(reversed(commands))
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            done = subprocess.run(
                ["hyperfine", "--shell=none", "--warmup", "1", "--runs", str(RUNS), "--style", "none",
                 "--export-json", report.name,
                 *(commands[name] for name in names)],
                env=environment, capture_output=True, text=True)
            # Ignore hyperfine's warnings about load on the machine, for which the rounds compensate.
            if done.returncode != 0:
                raise SystemExit(f"a command failed: {' '.join(done.args)}\n{done.stderr}")
            results = json.load(report)["results"]
        for name, result in zip(names, results, strict=True):
            medians[name].append(statistics.median(result["times"]))
    return medians


def swarm(programs, count, command, environment):
    """Starts a command `count` times at once. Returns the seconds until the last process ended, and the largest peak memory in bytes."""
    output = subprocess.run(
        [os.path.join(programs, "swarm"), str(count), *command.split()], env=environment, check=True,
        stdout=subprocess.PIPE, text=True).stdout
    elapsed, memory, failures = (int(word) for word in output.split())
    assert failures == 0
    return elapsed / 1e9, memory * 1024
