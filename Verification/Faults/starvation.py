"""Limits of the system: disk space, a read-only disk, file sizes, descriptors, the lock, a long-running loop."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machinery
import power_loss
import tracing
from machinery import Outcome, debris, locked, problems_after


def run(operations, programs, results, whole):
    # Run all of the cases that mostly wait at once, and the others at the same time.
    with ThreadPoolExecutor(len(operations) + 1) as waiting, ThreadPoolExecutor(programs.parallelism) as pool:
        work = [waiting.submit(stopped_holder, operation, programs, results) for operation in operations]
        for operation in operations:
            if not operation.name.startswith("refresh"):
                work.append(pool.submit(stopped_refresh, operation, programs, results))
            for fault, arguments in confined_cases(operation, whole):
                work.append(pool.submit(confined, operation, programs, results, fault, arguments))
            for fault, wrapper in [*limits(whole), *clocks(programs)]:
                work.append(pool.submit(limited, operation, programs, results, fault, wrapper))
        for item in work:
            item.result()
    update = next((operation for operation in operations if operation.name == "update"), None)
    if update:
        kill_loop(programs, results, 20 if whole else 8)
        results.add("update", "planted file", planted_file(update, programs), "planted_file")
        results.add("update", "two holders of the lock", lock_that_lies(update, programs), "lock_that_lies")


# MARK: Disks, in a private mount namespace

def confined_cases(operation, whole):
    """Disks with this many free pages, for a small account and for one of several pages."""
    for free in range(0, 40) if whole else (0, 1, 2, 3, 4, 6, 9, 14):
        yield "full disk", {"free": free, "large": False}
    if operation.name in ("update", "refresh", "leave"):
        for free in range(0, 40) if whole else (0, 1, 3, 5, 7, 12, 17):
            yield "full disk, large account", {"free": free, "large": True}
    yield "read-only disk", {"free": None, "large": False}


def confined(operation, programs, results, fault, arguments):
    """Restarts this file in a private mount namespace, where it can mount file systems."""
    arguments = {
        **arguments, "operation": operation.name, "account": programs.account, "exerciser": programs.exerciser,
        "folder": str(programs.folder)}
    command = ["unshare", "--mount", "--propagation", "private"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    command += [sys.executable, "-B", str(Path(__file__).resolve()), json.dumps(arguments)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        problems, how = json.loads(done.stdout.decode().splitlines()[-1])
    except subprocess.TimeoutExpired:
        problems, how = ["did not end"], json.dumps(arguments)
    except (ValueError, IndexError):
        problems, how = [f"the case broke down: {done.stdout.decode()[-500:]}"], json.dumps(arguments)
    results.add(operation.name, fault, problems, f"{fault} {arguments['free']}: {how}")


def inside(arguments):
    """Runs the case inside of the namespace."""
    programs = machinery.Programs.__new__(machinery.Programs)
    programs.account, programs.exerciser = arguments["account"], arguments["exerciser"]
    programs.folder = Path(arguments["folder"])
    programs.set_processors()
    operation = next(o for o in machinery.operations() if o.name == arguments["operation"])
    operation.find_template(programs)
    root = operation.copy(programs)
    if arguments["large"]:
        programs.run(root, [programs.exerciser, str(root), "note", "20000"])
        operation.old += " note=20000"
        if operation.new != "out":
            operation.new += " note=20000"
        if not operation.state(programs, root).startswith(operation.old):
            raise SystemExit(f"{operation.name} begins with {operation.state(programs, root)}, not with {operation.old}")
    folder = root.parent
    if arguments["free"] is None:
        mount("--bind", str(folder), str(folder))
        mount("-o", "remount,bind,ro", str(folder))
    else:
        moved = folder.with_name(folder.name + "-disk")
        moved.mkdir()
        mount("-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", str(moved))
        if root.exists():
            shutil.copytree(root, moved / "home", symlinks=True)
        root, folder = moved / "home", moved
        size = os.statvfs(folder)
        with open(folder / "ballast", "wb") as ballast:
            ballast.write(bytes((size.f_bfree - arguments["free"]) * size.f_frsize))
    outcome = programs.run(root, operation.line(programs, root))
    asked = operation.name == "refresh" and outcome.status == 0
    before_next = (lambda: mount("-o", "remount,bind,rw", str(folder))) if arguments["free"] is None else (
        lambda: os.unlink(folder / "ballast"))
    problems = problems_after(operation, programs, root, outcome, asked=asked, before_next=before_next)
    print(json.dumps([problems, f"{outcome.line(root)} -> {outcome.status} {outcome.text}"]))


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


# MARK: Limits of the process

def limits(whole):
    for size in range(0, 1200, 50) if whole else (0, 1, 200, 500, 900, 973):
        yield "long files refused", ["env", "--ignore-signal=XFSZ", "prlimit", f"--fsize={size}"]
        yield "death by a long file", ["prlimit", f"--fsize={size}", "--core=0"]
    for count in range(3, 24) if whole else range(3, 16):
        yield "few descriptors", ["prlimit", f"--nofile={count}", "--core=0"]


def clocks(programs):
    """Wrong dates, from the start or from one read to the next. They must have no effect."""
    year = 365 * 24 * 3600
    for fault, clock in (("clock a year ahead", year), ("clock a year behind", -year), ("clock steps", "steps")):
        yield fault, ["env", f"LD_PRELOAD={programs.shim}", f"FAULTS_CLOCK={clock}"]


def limited(operation, programs, results, fault, wrapper):
    root = operation.copy(programs)
    outcome = programs.run(root, operation.line(programs, root), wrapper)
    # With so few descriptors the loader or Swift's runtime fails: mostly before the program starts, sometimes later when it
    # needs a timer. A trap in the program's own code prints its reason.
    gave_up = fault == "few descriptors" and (
        outcome.status == 127 and root_is_untouched(operation, root)
        or outcome.status == -signal.SIGILL and "Fatal error" not in outcome.text)
    killed = gave_up or (fault.startswith("death") and outcome.status == -signal.SIGXFSZ)
    problems = problems_after(operation, programs, root, outcome, killed=killed)
    if fault.startswith("clock") and not operation.succeeded(outcome):
        problems.append("a wrong clock kept it from being done")
    results.add(operation.name, fault, problems, f"{outcome.line(root)} -> {outcome.status} {outcome.text[:300]}")
    shutil.rmtree(root.parent)


def root_is_untouched(operation, root):
    files = [
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        for top in (root, operation.template)]
    return files[0] == files[1]


# MARK: Other processes

def hold(operation, root, name):
    """A stopped process that holds a lock, and the folder of the lock."""
    # A refresh locks the account's folder.
    folder = root / ("Documents" if name == "Refresh.lock" and operation.is_about_client else operation.folder)
    for place in (*reversed(list(folder.relative_to(root.parent).parents)[:-1]), folder):
        (root.parent / place).mkdir(mode=0o700, exist_ok=True)
    script = (
        "import fcntl, os, struct, sys, time\n"
        "d = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
        "fcntl.fcntl(d, 37, struct.pack('hhqqi4x', 1, 0, 0, 0, 0))\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n")
    holder = subprocess.Popen([sys.executable, "-c", script, str(folder / name)], stdout=subprocess.PIPE)
    if holder.stdout.readline() != b"held\n":
        raise RuntimeError(f"the lock {folder / name} cannot be acquired")
    holder.send_signal(signal.SIGSTOP)
    return holder, folder


def stopped_refresh(operation, programs, results):
    """A stopped refresh blocks no other process, and its reserved file is kept until the process has ended."""
    root = operation.copy(programs)
    holder, folder = hold(operation, root, "Refresh.lock")
    ready = folder / ".Account.plist.refresh.tmp"
    ready.write_bytes(b"reserved")
    ready.chmod(0o600)
    command = operation.line(programs, root)
    problems = []
    try:
        began = time.monotonic()
        done = subprocess.run(
            command, env=programs.environment(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=120)
        seconds = time.monotonic() - began
        outcome = Outcome(command, done.returncode, done.stdout.decode())
        if not operation.succeeded(outcome):
            problems.append("did not succeed during a refresh")
        # Less than any time limit of a lock: 30 s for the archive's lock, and 150 s for the lease.
        if seconds > 25:
            problems.append(f"took {seconds:.0f} s during a refresh")
        if ready.read_bytes() != b"reserved":
            problems.append("changed the reserved file of a refresh")
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        problems.append(f"the reserved file of a refresh is gone, or the refresh never ended: {error}")
        outcome = Outcome(command, -1000, "")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    # A repeated sign-out has nothing to sign out and writes nothing, and a registration is in another folder.
    writes_nothing = operation.name == "sign-out-all" or operation.is_about_client
    before_next = (lambda: ready.unlink(missing_ok=True)) if writes_nothing else None
    problems += problems_after(operation, programs, root, outcome, before_next=before_next)
    results.add(operation.name, "refresh stopped", problems, outcome.line(root) + f" -> {outcome.status} {outcome.text}")
    shutil.rmtree(root.parent)


def stopped_holder(operation, programs, results):
    """While the holder of the lock is stopped, another process times out and changes nothing. Then the holder continues."""
    root = operation.copy(programs)
    holder, folder = hold(operation, root, "Account.lock")
    lock = folder / "Account.lock"
    problems = []
    try:
        before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        command = operation.line(programs, root)
        done = subprocess.run(
            command, env=programs.environment(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=120)
        outcome = Outcome(command, done.returncode, done.stdout.decode())
        if operation.succeeded(outcome):
            problems.append("succeeded without the lock")
        if "another process" not in outcome.text and "busy" not in outcome.text and operation.name != "refresh":
            problems.append(f"does not say that it waited: {outcome.text}")
        # The lease of a refresh is acquired before the lock.
        after = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        after.pop(folder / "Refresh.lock", None)
        if after != {path: content for path, content in before.items() if path.name != "Refresh.lock"}:
            problems.append("something was changed without the lock")
        if not operation.state(programs, root).startswith(operation.old):
            problems.append("cannot be read while the lock is held")
        if not locked(lock):
            problems.append("the lock was broken")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    problems += problems_after(operation, programs, root, outcome)
    results.add(operation.name, "lock holder stopped", problems, outcome.line(root) + f" -> {outcome.status} {outcome.text}")
    shutil.rmtree(root.parent)


def kill_loop(programs, results, seconds):
    """Eight writers are repeatedly killed: no successful write is lost, and nothing else changes."""
    root = programs.folder / "loop" / "home"
    programs.run(root, [programs.exerciser, str(root), "sign-in"])
    end = time.monotonic() + seconds
    random_ = random.Random(power_loss.SEED)
    state, lock = {"done": 0, "killed": 0, "problems": []}, threading.Lock()
    running = set()

    def write():
        while time.monotonic() < end:
            process = subprocess.Popen(
                [programs.exerciser, str(root), "update", "1"], env=programs.environment(root),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            with lock:
                running.add(process)
            text = process.communicate()[0].decode().strip()
            with lock:
                running.discard(process)
                if process.returncode == 0:
                    state["done"] += 1
                elif process.returncode == -signal.SIGKILL:
                    state["killed"] += 1
                else:
                    state["problems"].append(f"a writer ended with {process.returncode}: {text}")

    def kill():
        while time.monotonic() < end:
            time.sleep(random_.uniform(0, 0.02))
            with lock:
                # On a busy machine, some writers need more time to succeed.
                if state["killed"] > 20 * (state["done"] + 1):
                    continue
                living = [process for process in running if process.poll() is None]
                if living:
                    random_.choice(living).kill()

    def read():
        last = 0
        while time.monotonic() < end:
            line = programs.inspect(root)[0]
            points = int(line.split("points=")[1].split()[0]) if line.startswith("in alice points=") else -1
            if points < last:
                state["problems"].append(f"read {line} after {last} points")
                return
            last = points
            time.sleep(0.02)

    threads = [threading.Thread(target=write) for _ in range(8)] + [threading.Thread(target=f) for f in (kill, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line = programs.inspect(root)[0]
    points = int(line.split("points=")[1].split()[0]) if "points=" in line else -1
    problems = state["problems"]
    if not state["done"] <= points <= state["done"] + state["killed"]:
        problems.append(f"{state['done']} succeeded, {state['killed']} were killed, and there are {points} points")
    if not state["done"] or not state["killed"]:
        problems.append(f"nothing was tried: {state['done']} succeeded, {state['killed']} were killed")
    programs.run(root, [programs.exerciser, str(root), "update", "1"])
    if debris(root):
        problems.append(f"the next change left {debris(root)}")
    if locked(root / "Documents" / "Account.lock"):
        problems.append("the lock is held")
    for _ in range(state["done"] + state["killed"]):
        results.add("update", "8 writers, killed", [], "")
    if problems:
        results.add("update", "8 writers, killed", problems, f"{seconds} s, seed {power_loss.SEED}")


# MARK: Others

def planted_file(operation, programs):
    """An attacker has guessed the name of the temporary file and planted a link there. The command must refuse the link."""
    root = operation.copy(programs)
    victim = root.parent / "victim"
    victim.write_text("theirs")
    outcome = programs.run(
        root, operation.line(programs, root), ["env", f"LD_PRELOAD={programs.shim}", f"FAULTS_PLANT={victim}"])
    problems = []
    if victim.read_bytes() != b"theirs":
        problems.append("another file was written to")
    if operation.succeeded(outcome) or "EEXIST" not in outcome.text:
        problems.append(f"the planted file was taken: {outcome.status} {outcome.text}")
    if not operation.state(programs, root).startswith(operation.old):
        problems.append("the account was changed")
    shutil.rmtree(root.parent)
    return problems


def lock_that_lies(operation, programs):
    """Two writers hold the lock at once. The slow writer must not overwrite the other writer's change."""
    found = tracing.positions(operation, programs)
    looks = [position for position in found if position.name == "openat" and '/Account.plist"' in position.rest]
    problems, have_met = [], False
    for number, position in enumerate(looks[1:], 2):
        for pause in (0.6, 3, 15):
            root = operation.copy(programs)
            wrapper = tracing.wrapper(
                programs, root.parent / "trace", "openat", "openat,fcntl",
                f"openat:delay_enter={round(pause * 2.5e6)}:when={position.number}")
            slow = subprocess.Popen(
                ["taskset", "-c", str(min(os.sched_getaffinity(0))), *wrapper, "-e", "inject=fcntl:retval=0",
                 *operation.line(programs, root)],
                env=programs.environment(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            time.sleep(pause)
            began = time.monotonic()
            quick = subprocess.run(
                ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fcntl", "-e", "inject=fcntl:retval=0",
                 *operation.line(programs, root)], env=programs.environment(root), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            is_quick = time.monotonic() - began < pause
            text = slow.communicate()[0].decode().strip()
            successes = (quick.returncode == 0) + (slow.returncode == 0)
            state = programs.inspect(root)[0]
            shutil.rmtree(root.parent)
            is_lost = f"points={successes} " not in state
            # On a busy machine, the quick writer may begin before the slow writer's delay, or end after it.
            if is_quick and (is_lost or text.startswith("conflict")):
                have_met = True
                break
        if is_lost:
            problems.append(f"look {number}: {successes} changes succeeded, and the state is: {state} ({text})")
    return problems if have_met else [*problems, "the two writers never met"]


if __name__ == "__main__":
    inside(json.loads(sys.argv[1]))
