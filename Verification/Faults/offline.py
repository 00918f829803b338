"""Tests an account's offline data: pending changes, lists and documents. In each case, a call that changes a file fails, the process dies
before the call, or the power fails. Other cases run programs that add, send and list changes concurrently, and kill these programs.
"""

import json
import os
import random
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import power_loss

ERRORS = ["EIO", "ENOSPC", "EACCES"]


class Scenario:
    """An operation on offline data, with its preparation and the effects that a success confirms.

    `changes` are the lines of the service after everything was sent; `certain` is the number of changes that were confirmed
    before the command began.
    """

    def __init__(self, name, prepare, command, changes=(), certain=0, items=(0, 0), signs_out=False):
        self.name = name
        self.prepare = prepare
        self.command = command
        self.changes = list(changes)
        self.certain = certain
        self.items = items
        self.signs_out = signs_out


def scenarios():
    made = ["create A", "create B", "edit seed-3 C", "delete seed-2"]
    queued = ["refresh", "do create=A create=B edit=seed-3=C delete=seed-2"]
    return [
        Scenario("first-change", [], "do create=A", ["create A"]),
        Scenario("add", queued, "do create=D create=E", made + ["create D", "create E"], certain=4),
        Scenario("send", queued, "sync", made, certain=4),
        Scenario("list", queued, "refresh", made, certain=4),
        Scenario("document", ["save 3"], "save 5", items=(3, 5)),
        Scenario("forget", queued, "sign-out", made, certain=4, signs_out=True),
    ]


class Case:
    """A container and a service for one case."""

    def __init__(self, programs, template=None):
        self.programs = programs
        self.folder = tempfile.mkdtemp(dir=programs.folder, prefix="offline-")
        if template:
            shutil.copytree(template.folder, self.folder, symlinks=True, dirs_exist_ok=True)
        self.root = os.path.join(self.folder, "home")
        self.service = os.path.join(self.folder, "service")

    def line(self, command):
        words = [
            "=".join(part if number == 0 else f"canary {part.replace('-', ' ')}" for number, part in enumerate(word.split("=")))
            for word in command.split()[1:]]
        return [self.programs.offline_exerciser, self.root, self.service, command.split()[0], *words]

    def run(self, command, environment=(), wrapper=()):
        variables = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "LC_ALL": "C.UTF-8", **dict(environment)}
        done = subprocess.run(
            [*wrapper, *self.line(command)], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout.decode("utf-8", "replace").strip()

    def must(self, command):
        status, text = self.run(command)
        if status != 0:
            raise SystemExit(f"{command} fails without a fault: {status} {text}")

    def carried_out(self):
        """The changes at the service since the seed, without ids."""
        with open(self.service) as file:
            lines = [line.rstrip("\n").split(" ", 2) for line in file]
        texts, done = {}, []
        for kind, id_, text in lines:
            before = texts.get(id_, text)
            texts[id_] = text or before
            done.append((kind, before if kind == "delete" else text))
        return [f"{kind} {text}".rstrip() for kind, text in done if not (kind == "create" and text.startswith("canary seed"))]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def template(scenario, programs):
    case = Case(programs)
    for command in ["seed 30", "sign-in", *scenario.prepare]:
        case.must(command)
    return case


def expected(line):
    kind, *words = line.split()
    # An item is removed by its original text.
    return f"{kind} canary {words[-1].replace('-', ' ')}"


def problems_after(scenario, case, certain, text="", status=None, succeeded=False):
    """The problems of the state that a new process finds, and of the service after everything was sent."""
    problems = []
    if status is not None and status not in (0, 1, 2):
        problems.append(f"ended with {status}")
    if any(word in text for word in ("Fatal error", "canary-access")):
        problems.append(f"broke down, or shows a secret: {text[-300:]}")
    for folder, _, names in os.walk(case.root):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                if b"canary" in file.read():
                    problems.append(f"readable content in {name}")
    status, text = case.run("inspect")
    if status != 0:
        return problems + [f"the stored data cannot be read: {text}"]
    found = json.loads(text.splitlines()[-1])
    if scenario.signs_out and not found["signedIn"]:
        # Files that could not be removed may remain, but the key that opens them must not remain.
        for command in ("sign-in", "inspect"):
            status, text = case.run(command)
            if status != 0:
                return problems + [f"signed out, but a new sign-in fails: {text}"]
        again = json.loads(text.splitlines()[-1])
        return problems + ([f"signed out, and after a sign-in there is {again}"] if again["pending"] or again["notes"] else [])
    if not found["signedIn"]:
        return problems + ["the user is no longer signed in"]
    if scenario.signs_out and succeeded:
        problems.append("still signed in")
    if found["items"] not in scenario.items or (succeeded and found["items"] != scenario.items[1]):
        problems.append(f"the document has {found['items']} items")
    for _ in range(4):
        status, text = case.run("sync")
        if status == 0:
            break
    else:
        problems.append(f"not all can be sent: {text}")
    done = case.carried_out()
    for number, change in enumerate(scenario.changes):
        times = done.count(expected(change))
        if times > 1 or (times == 0 and (number < certain or succeeded)):
            problems.append(f"\"{change}\" was carried out {times} times")
    unknown = [line for line in done if line not in [expected(change) for change in scenario.changes]]
    if unknown:
        problems.append(f"unexpected changes: {unknown}")
    return problems


def certain_count(scenario, text, succeeded):
    """The number of confirmed changes when the command ended."""
    if succeeded:
        return len(scenario.changes)
    printed = [line for line in text.splitlines() if line.startswith("done ")]
    return scenario.certain + len(printed)


# MARK: Calls

def counted(case, command, environment=()):
    """Runs a command with the shim, and returns how many of its calls change something."""
    path = os.path.join(case.folder, "count")
    with open(path, "wb") as file:
        file.write(bytes(8))
    status, text = case.run(command, {
        "LD_PRELOAD": case.programs.call_shim, "CALLS_UNDER": case.root, "CALLS_COUNT": path, **dict(environment)})
    with open(path, "rb") as file:
        count = struct.unpack("Q", file.read())[0]
    os.unlink(path)
    return status, text, count


def run_calls(scenario, before, programs, results, whole, pool):
    case = Case(programs, before)
    status, text, count = counted(case, scenario.command)
    if status not in (0, 2) or count < 3:
        raise SystemExit(f"{scenario.name} fails without a fault, or nothing is seen of it: {status} {text} {count}")
    case.remove()

    def one(at, fault, name):
        case = Case(programs, before)
        status, text, reached = counted(case, scenario.command, {"CALLS_AT": str(at), "CALLS_FAULT": fault})
        killed = fault == "KILL"
        succeeded = status == 0
        problems = []
        if killed and reached >= at and status != -signal.SIGKILL:
            problems.append(f"did not die: {status}")
        problems += problems_after(
            scenario, case, certain_count(scenario, text, succeeded), text, None if killed else status, succeeded)
        how = f"CALLS_AT={at} CALLS_FAULT={fault} {shlex.join(case.line(scenario.command))} -> {status} {text[-200:]}"
        results.add(scenario.name, name, problems, how)
        case.remove()

    choice = random.Random(f"{programs.seed} {scenario.name}")
    work = []
    for at in range(1, count + 1):
        work.append((at, "KILL", "death"))
        if not whole and choice.randrange(programs.share):
            continue
        for number, error in enumerate(ERRORS):
            if whole or (at + number) % 3 == 0:
                work.append((at, error, "errors, once"))
            if whole or (at + number) % 6 == 0:
                work.append((at, error + "+", "errors, lasting"))
    return [pool.submit(one, *arguments) for arguments in work]


# MARK: Power

def run_power(scenario, before, programs, results, whole, pool):
    case = Case(programs, before)
    disk_before = case.folder + "-before"
    shutil.copytree(case.folder, disk_before, symlinks=True)
    trace = case.folder + "-trace"
    status, text = case.run(scenario.command, wrapper=[
        "strace", "-f", "-qq", "-xx", "-s", "2000000", "-o", trace, "--seccomp-bpf", "-e",
        f"trace={power_loss.TRACED}"])
    if status not in (0, 2):
        raise SystemExit(f"{scenario.name} fails without a fault: {status} {text}")
    with open(trace, errors="replace") as file:
        calls = power_loss.tracing.calls_in(file.read())
    os.unlink(trace)
    calls = power_loss.moved(calls, case.folder, disk_before)
    disk = power_loss.Disk(disk_before)
    service, printed, states, seen = b"", "", [], set()
    limit = 16 if whole else 4
    for index, (_, name, rest) in enumerate(calls):
        data = power_loss.strings(rest)[0] if name == "write" and power_loss.strings(rest) else b""
        if data.startswith((b"create n", b"edit n", b"delete n", b"star n", b"unstar n")):
            # The service is another machine, whose power does not fail.
            service += data
            continue
        if name == "write" and rest.startswith("1,"):
            printed += data.decode()
        disk.apply(name, rest)
        is_end = index == len(calls) - 1
        if name == "close" and not is_end:
            continue
        for files, choice in disk.states(limit, f"{scenario.name} {index}"):
            home = tuple((path, content) for path, content in files if path.startswith(b"/home"))
            if (home, service, printed, is_end) not in seen:
                seen.add((home, service, printed, is_end))
                states.append((home, service, printed, is_end, f"call {index} {name} of {len(calls)}, kept {choice}"))
    with open(os.path.join(disk_before, "service"), "rb") as file:
        seed = file.read()
    most = 4000 if whole else 90
    if len(states) > most:
        last = [state for state in states if state[3]]
        states = random.Random(power_loss.SEED).sample([s for s in states if not s[3]], most - min(len(last), most // 3)) + last[:most // 3]

    def one(home, service, printed, is_end, how):
        after = Case(programs)
        for path, content in home:
            place = os.fsencode(after.folder) + path
            if content is None:
                os.makedirs(place, mode=0o700, exist_ok=True)
            else:
                with open(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                    file.write(content)
        with open(after.service, "wb") as file:
            file.write(seed + service)
        succeeded = is_end and status == 0
        problems = problems_after(
            scenario, after, certain_count(scenario, printed, succeeded), succeeded=succeeded)
        results.add(scenario.name, "power loss", problems, f"{shlex.join(case.line(scenario.command))}: {how}")
        after.remove()

    work = [pool.submit(one, *state) for state in states]

    def clean():
        for item in work:
            item.result()
        case.remove()
        shutil.rmtree(disk_before)

    return work, clean


# MARK: Several at once

def run_several(programs, results, seconds, signs_out=False):
    """Runs programs that add, send and list concurrently over an unreliable network, and kills them. Each confirmed change takes
    effect once, and the others at most once.

    `signs_out`: in between, the user signs out, and the changes that were not sent are lost.
    """
    case = Case(programs)
    for command in ["seed 30", "sign-in", "refresh"]:
        case.must(command)
    end = time.monotonic() + seconds
    random_ = random.Random(power_loss.SEED)
    lock, running, problems = threading.Lock(), set(), []
    confirmed, tried, counts, left = [], [], {"killed": 0, "ended": 0}, []

    def start(command, losses):
        process = subprocess.Popen(
            case.line(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": "/usr/bin:/bin", "HOME": case.folder, "LC_ALL": "C.UTF-8", "LOSSES": str(losses)})
        with lock:
            running.add(process)
        text = process.communicate(timeout=120)[0].decode("utf-8", "replace")
        with lock:
            running.discard(process)
            counts["killed" if process.returncode == -signal.SIGKILL else "ended"] += 1
            allowed = (0, 1, 2) if command in ("sync", "refresh") or left else (0,)
            if process.returncode not in (*allowed, -signal.SIGKILL):
                problems.append(f"{command} ended with {process.returncode}: {text.strip()}")
            if "locked" in text or "damaged" in text or "Fatal" in text:
                problems.append(f"{command}: {text.strip()}")
        return text

    def add(name):
        number = 0
        while time.monotonic() < end:
            texts = [f"{name}{number}x{each}" for each in range(3)]
            number += 1
            with lock:
                tried.extend(texts)
            said = start("do " + " ".join(f"create={text}" for text in texts), 1)
            confirmed.extend(texts[:said.count("done ")])

    def repeat(command):
        number = 0
        while time.monotonic() < end:
            number += 1
            start(command, number)

    def leave():
        time.sleep(seconds / 2)
        left.append(True)
        # A process that was killed during the sign-out has not signed out.
        while case.run("sign-out")[0] != 0:
            time.sleep(0.05)

    def kill():
        while time.monotonic() < end:
            time.sleep(random_.uniform(0.01, 0.08))
            with lock:
                # On a busy machine, some programs need more time to confirm a change.
                if counts["killed"] > 20 * (len(confirmed) + 1):
                    continue
                living = [process for process in running if process.poll() is None]
                if living:
                    random_.choice(living).kill()

    threads = [threading.Thread(target=target, args=arguments) for target, arguments in [
        (add, ("p",)), (add, ("q",)), (repeat, ("sync",)), (repeat, ("sync",)), (repeat, ("refresh",)), (kill, ()),
        *([(leave, ())] if signs_out else [])]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if signs_out:
        found = json.loads(case.run("inspect")[1].splitlines()[-1])
        case.must("sign-in")
        again = json.loads(case.run("inspect")[1].splitlines()[-1])
        if found["signedIn"] or again["pending"] or again["notes"]:
            problems.append(f"after the sign-out there is {found}, and after the next sign-in {again}")
    # The service may have requested a pause of a second.
    time.sleep(1.1)
    for _ in range(6):
        status, text = case.run("sync")
        if status == 0:
            break
    else:
        problems.append(f"not all can be sent: {text}")
    done = case.carried_out()
    for text in tried:
        times = done.count(f"create canary {text}")
        if times > 1 or (times == 0 and text in confirmed and not signs_out):
            problems.append(f"{text} was carried out {times} times, confirmed: {text in confirmed}")
    if len(done) != len(set(done)) or not counts["killed"] or not confirmed:
        problems.append(f"nothing was tried, or something twice: {counts}, {len(confirmed)} confirmed")
    status, text = case.run("refresh")
    found = json.loads(case.run("inspect")[1].splitlines()[-1])
    if sorted(found["notes"]) != sorted(
            [f"canary seed {number}" for number in range(1, 31)] + [line.split(" ", 1)[1] for line in done]):
        problems.append(f"the list is not the service's: {len(found['notes'])} of {len(done) + 30}")
    name = "add, send, list, sign out, killed" if signs_out else "add, send, list, killed"
    for _ in range(counts["killed"] + counts["ended"]):
        results.add("several", name, [], "")
    if problems:
        results.add("several", name, problems, f"seed {power_loss.SEED}")
    case.remove()


def build_shim(programs):
    subprocess.run(
        ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", programs.call_shim,
         os.path.join(os.path.dirname(os.path.abspath(__file__)), "call_shim.c"), "-ldl"], check=True)


def run(programs, results, whole, only=None):
    build_shim(programs)
    with ThreadPoolExecutor(programs.parallelism) as pool:
        for scenario in scenarios():
            if only not in (None, scenario.name):
                continue
            before = template(scenario, programs)
            work = run_calls(scenario, before, programs, results, whole, pool)
            more, clean = run_power(scenario, before, programs, results, whole, pool)
            for item in work + more:
                item.result()
            clean()
            before.remove()
    if only in (None, "several"):
        run_several(programs, results, 60 if whole else 10)
        run_several(programs, results, 30 if whole else 6, signs_out=True)
