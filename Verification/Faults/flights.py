"""Flights: fifty changes without the network, made by programs that are killed while they store them, and while they send them over a
network that loses requests and responses, and in which captive portals, proxies and failing gateways respond. The clocks of the programs
differ, and some texts are longer than the service sends at once. The same seed gives the same flight, and FLIGHT=seed prints a flight.
"""

import json
import os
import random
import re
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import offline

CHANGES = 50

# The faults of the network that some flights must meet. The exerciser reports them.
FAULTS = ("lost", "lost-large", "portal", "proxy", "limited", "error", "other")

# The seconds by which the clock of a machine is ahead of the service's clock.
CLOCKS = (0, 0, 90_000, -90_000, 7_200, -7_200, 31_536_000)


class Flight:
    """A flight, and a separate record of the notes and stars that the user expects."""

    def __init__(self, seed, programs, before, tell):
        self.random = random.Random(seed)
        self.case = offline.Case(programs, before)
        self.tell = tell
        self.notes = {f"seed {number}": False for number in range(1, 31)}
        self.count = 0
        self.deaths = 0
        self.losses = 0
        self.faults = Counter()
        self.problems = []

    def change(self, notes):
        """A random change of the notes, as words."""
        self.count += 1
        text = f"{self.random.choice(['text', 'text', 'long'])} {self.count}"
        old = self.random.choice(sorted(notes)) if notes else None
        kind = self.random.choice(["create"] * 3 + ["edit"] * 4 + ["delete"] + ["star"] * 2 + ["unstar"]) if old else "create"
        if kind == "create":
            notes[text] = False
            return f"create={text}"
        if kind == "edit":
            notes[text] = notes.pop(old)
            return f"edit={old}={text}"
        if kind == "delete":
            del notes[old]
        else:
            notes[old] = kind == "star"
        return f"{kind}={old}"

    def run(self, command, death=0.0, losses=False):
        """Runs a command, which may be killed at a call that changes a file."""
        environment = {"AHEAD": str(self.random.choice(CLOCKS))}
        if losses:
            environment["LOSSES"] = str(self.random.randrange(1, 2**32))
        if self.random.random() < death:
            most = 20 if command.startswith("do") else 120
            environment |= {"CALLS_AT": str(self.random.randint(1, most)), "CALLS_FAULT": "KILL"}
        status, text, _ = offline.counted(self.case, command, environment)
        self.deaths += status == -signal.SIGKILL
        # The exerciser ends with 2 if it could not send all changes.
        self.losses += losses and status == 2
        for faults in re.findall("^faults: (.*)$", text, re.MULTILINE):
            self.faults.update({name: int(count) for name, count in re.findall(r"(\S+) (\d+)", faults)})
        self.tell(f"{command} {environment} -> {status} {text[-300:]}")
        if status not in (0, 2) and not (status == -signal.SIGKILL and "CALLS_AT" in environment):
            self.problems.append(f"{command} ended with {status}: {text[-300:]}")
        return text

    def found(self):
        status, text = self.case.run("inspect")
        if status != 0:
            raise AssertionError(f"the stored data cannot be read: {text}")
        found = json.loads(text.splitlines()[-1])
        strip = len("canary ")
        return (
            {note[strip:]: note in found["starred"] for note in found["notes"]}, found["pending"], found["notes"])

    def store(self):
        """Stores up to eight changes. All confirmed changes must be found. An unconfirmed change must be found completely or not at all."""
        states, words = [dict(self.notes)], []
        while len(words) < 8 and self.count < CHANGES:
            notes = dict(states[-1])
            words.append(self.change(notes).replace(" ", "-"))
            states.append(notes)
        said = self.run("do " + " ".join(words), death=0.4)
        confirmed = said.count("done ")
        found, _, _ = self.found()
        possible = states[confirmed:confirmed + 2]
        if found not in possible:
            self.problems.append(f"after {confirmed} of {words}: {difference(found, possible[0])}")
        self.notes = found

    def send(self):
        """Sends the changes. Whatever fault occurs, the user must see the same state as before."""
        self.run("sync", death=0.6, losses=True)
        found, _, _ = self.found()
        if found != self.notes:
            self.problems.append(f"sending has changed what is seen: {difference(found, self.notes)}")

    def fly(self):
        self.case.must("refresh")
        while self.count < CHANGES and not self.problems:
            self.store()
            for _ in range(self.random.randint(0, 2)):
                self.send()
        # The network works again. The service may have requested a pause of a second.
        time.sleep(1.1)
        for _ in range(8):
            status, text = self.case.run("sync")
            if status == 0:
                break
        else:
            self.problems.append(f"not all can be sent: {text}")
        self.problems += self.differences()
        return self.problems

    def differences(self):
        """The differences between the notes that the user expects and those at the service, after everything was sent."""
        self.case.must("refresh")
        problems = []
        found, pending, rows = self.found()
        if found != self.notes or pending or len(rows) != len(found):
            problems.append(f"at last: {difference(found, self.notes)}, {pending}, {len(rows)} rows")
        # A changed or deleted text is never used again.
        done = [line.split("|")[0] for line in self.case.carried_out() if line.startswith(("create", "edit", "delete"))]
        if len(done) != len(set(done)):
            problems.append(f"carried out twice: {sorted(line for line in set(done) if done.count(line) > 1)}")
        return problems

    def mistakes(self):
        """Changes the service as a lost or repeated change would, in turn. Returns the mistakes that the test does not notice."""
        with open(self.case.service) as file:
            lines = file.readlines()
        missed = []
        for name, changed in planted(lines):
            with open(self.case.service, "w") as file:
                file.writelines(changed)
            if not self.differences():
                missed.append(f"the test did not notice a mistake: {name}")
        return missed


def difference(found, wanted):
    return (
        f"too many {sorted(set(found) - set(wanted))}, missing {sorted(set(wanted) - set(found))}, "
        f"other stars {sorted(note for note in found if note in wanted and found[note] != wanted[note])}")


def planted(lines):
    """The lines of the service with one mistake each. A line is "KIND ID TEXT"."""
    def last(kind, still):
        """The number of the last line of this kind whose effect is still visible."""
        for number in reversed(range(len(lines))):
            if lines[number].split(" ")[0] == kind and still(lines[number].split(" ")[1], lines[number + 1:]):
                return number
        return None

    def has_star(lines, note):
        stars = [line.split(" ")[0] for line in lines if line.split(" ")[0] in ("star", "unstar") and line.split(" ")[1] == note]
        return stars[-1:] == ["star"]

    def untouched(kinds):
        return lambda note, later: not any(line.split(" ")[0] in kinds and line.split(" ")[1] == note for line in later)

    mistakes = []
    for kind, effects in (("create", ("edit", "delete")), ("edit", ("edit", "delete")), ("star", ("star", "unstar", "delete"))):
        number = last(kind, untouched(effects))
        # A note that had a star before keeps it without the last line.
        if number is not None and not (kind == "star" and has_star(lines[:number], lines[number].split(" ")[1])):
            mistakes.append((f"lost {kind}", lines[:number] + lines[number + 1:]))
    for kind in ("create", "edit"):
        number = last(kind, untouched(("edit", "delete")))
        if number is not None:
            words = lines[number].split(" ", 2)
            again = f"{kind} {'n9999' if kind == 'create' else words[1]} {words[2]}"
            mistakes.append((f"repeated {kind}", lines + [again]))
    return mistakes


def run(programs, results, count):
    """Runs this many flights. FLIGHT=seed runs and prints one of them."""
    offline.build_shim(programs)
    before = offline.Case(programs)
    for command in ["seed 30", "sign-in"]:
        before.must(command)
    one = os.environ.get("FLIGHT")

    def fly(seed):
        flight = Flight(seed, programs, before, print if one else lambda _: None)
        try:
            problems = flight.fly()
        except AssertionError as error:
            problems = [*flight.problems, str(error)]
        results.add("flight", "50 changes, deaths, losses", problems, f"again with: make flights FLIGHT={seed}")
        # The first flight also shows that the test can fail.
        if seed == 1 and not problems:
            results.add("flight", "mistake", flight.mistakes(), f"again with: make flights FLIGHT={seed}")
        flight.case.remove()
        return flight

    with ThreadPoolExecutor(programs.parallelism) as pool:
        flights = list(pool.map(fly, [int(one)] if one else range(1, count + 1)))
    deaths, losses = (sum(getattr(flight, name) for flight in flights) for name in ("deaths", "losses"))
    faults = sum((flight.faults for flight in flights), Counter({"death": deaths, "losses": losses}))
    missing = [name for name in ("death", "losses", *FAULTS) if not faults[name]]
    if not one and missing:
        results.add("flight", "50 changes, deaths, losses", [f"not tested: {', '.join(missing)}"], "")
