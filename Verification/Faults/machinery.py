"""The programs, the operations, and the conditions that hold after each of them, whatever the fault."""

import fcntl
import json
import os
import random
import shlex
import shutil
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
F_OFD_SETLK = 37

# The tokens, and the words of a program that crashed instead of reporting an error.
SECRETS = ["canary-"]
CRASHES = ["Fatal error", "atal:", "recondition", "Segmentation", "BUG IN", "Illegal", "Crash", "Traceback", "Assertion"]
# The exit codes of sysexits(3) and the command's documentation. The exerciser uses only 0 and 1.
STATUSES = {0, 1, 64, 65, 69, 74, 75, 77, 78}
# The status of a program that did not end in time.
TIMED_OUT = -1000
# A file that does not exist. A program opens it at the moment of the request to the service, to mark the request in a trace.
ASKED = "/nonexistent-faults/asked"


class Programs:
    """The paths of all programs."""

    def __init__(self, build, seed, share):
        build = Path(build).resolve()
        # Select the errors of system calls, if not all of them are tested.
        self.seed = seed
        self.share = share
        self.build = build
        self.account = str(build / "account")
        self.exerciser = str(build / "archive-exerciser")
        self.offline_exerciser = str(build / "offline-exerciser")
        # Use a folder in memory, because a disk would delay each of many thousands of fsync calls.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="faults-", dir=memory))
        self.shim = str(self.folder / "shim.so")
        self.call_shim = str(self.folder / "call_shim.so")
        subprocess.run(
            ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", self.shim, str(HERE / "shim.c"), "-ldl"],
            check=True)
        self.set_processors()

    def set_processors(self):
        # Run one program at a time on each processor. Swift's thread pool then usually has one thread, which makes the calls in the same
        # order each time.
        self._processors = sorted(os.sched_getaffinity(0))
        # Each case in a namespace is a separate process, which uses the last of these processors.
        self._free = random.sample(self._processors, len(self._processors))
        self._changed = threading.Condition()

    @property
    def parallelism(self):
        """The number of cases to run at once. While a case copies and compares files, the program of another case runs."""
        return 2 * len(self._processors)

    def environment(self, root):
        return {
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder), "ACCOUNT_HOME": str(root), "EXERCISER_APP": "account",
            "LC_ALL": "C.UTF-8"}

    def run(self, root, command, wrapper=(), timeout=60):
        """Runs a command until it ends, on its own processor. `wrapper` is prepended to the command."""
        with self._changed:
            while not self._free:
                self._changed.wait()
            processor = self._free.pop()
        try:
            whole = ["taskset", "-c", str(processor), *wrapper, *command]
            try:
                done = subprocess.run(
                    whole, env=self.environment(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, timeout=timeout, cwd=self.folder)
                return Outcome(whole, done.returncode, done.stdout.decode("utf-8", "replace"))
            except subprocess.TimeoutExpired:
                return Outcome(whole, TIMED_OUT, "(it did not end)")
        finally:
            with self._changed:
                self._free.append(processor)
                self._changed.notify()

    def inspect(self, *roots, mode="inspect"):
        """The state that a new process finds in containers."""
        done = subprocess.run(
            [self.exerciser, str(roots[0]), mode, *map(str, roots[1:])], env=self.environment(roots[0]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        if done.returncode != 0 or len(lines) != len(roots):
            return [f"the reader failed: {done.returncode} {lines}"] * len(roots)
        return lines

    def default_session(self, root, *arguments):
        outcome = self.run(root, [self.account, "status", "--json", *arguments])
        try:
            state = json.loads(outcome.text)
            return f"session {state['session']} {state['state']} {state.get('account', {}).get('username')}"
        except (ValueError, KeyError):
            return f"status failed: {outcome.status} {outcome.text.strip()}"

    def all_sessions(self, root):
        states = [self.default_session(root, "--session", name) for name in ("default", "work")]
        if any(state.split()[2] not in ("unverified", "signedOut") for state in states):
            return str(states)
        return "all " + ",".join(state.split()[2] for state in states)


class Outcome:
    def __init__(self, command, status, text):
        self.command = command
        self.status = status
        self.text = text.strip()

    def line(self, root):
        """The command line for repeating a case."""
        return f"ACCOUNT_HOME={shlex.quote(str(root))} EXERCISER_APP=account {shlex.join(self.command)}"


class Operation:
    """A user action, and the states before and after it.

    `prepare` contains the commands that create the container before the action. `after` is a command that must succeed after the action.
    `between` is a state that an interrupted action may leave. The action locks `folder`.
    """

    def __init__(
        self, name, command, prepare, old, new, after, says="", sign_out=False, adapt=None, between=None, folder="Documents"
    ):
        self.name = name
        self.command = command
        self.prepare = prepare
        self.old = old
        self.new = new
        self.after = after
        self.says = says
        self.sign_out = sign_out
        self.adapt = adapt
        self.between = between
        self.folder = folder
        # The complete state before any change, if `old` is only a part of it.
        self.untouched = "all unverified,unverified" if old == "all " else old
        self.template = None
        self.aside = None

    def make_template(self, programs):
        """Creates the container that each case copies before the operation."""
        self.template = programs.folder / ("before " + self.name) / "home"
        self.template.parent.mkdir()
        for command in self.prepare:
            done = programs.run(self.template, resolve(command, programs, self.template))
            if done.status != 0:
                raise SystemExit(f"{self.name} cannot be prepared: {done.text}")
        if self.adapt:
            self.aside = self.adapt(self.template)
        state = self.state(programs, self.template)
        if not state.startswith(self.old):
            raise SystemExit(f"{self.name} begins with {state}, not with {self.old}")

    def find_template(self, programs):
        """Finds the container that another process has created."""
        self.template = programs.folder / ("before " + self.name) / "home"
        if self.adapt is spoil:
            self.aside = (self.template / "Documents" / "Account.plist").read_bytes()

    def copy(self, programs):
        folder = Path(tempfile.mkdtemp(dir=programs.folder, prefix="case-"))
        root = folder / "home"
        if self.template.exists():
            shutil.copytree(self.template, root, symlinks=True)
        return root

    def line(self, programs, root):
        return resolve(self.command, programs, root)

    def state(self, programs, root):
        return self.states(programs, [root])[0]

    def states(self, programs, roots):
        if self.old.startswith("session"):
            return [programs.default_session(root) for root in roots]
        if self.old.startswith("all"):
            return [programs.all_sessions(root) for root in roots]
        return programs.inspect(*roots, mode="inspect-client" if self.is_about_client else "inspect")

    @property
    def marks_request(self):
        """Whether the program opens `ASKED` when it sends the refresh token."""
        return "ASKED" in self.command.split()

    @property
    def is_about_client(self):
        """Whether the action changes the registration of the app."""
        return self.old.startswith("client")

    def is_unfinished(self, state):
        """Whether the action can be repeated."""
        return state.startswith(self.old) or self.between is not None and state.startswith(self.between)

    def succeeded(self, outcome):
        return outcome.status == 0 and self.says in outcome.text

    def state_problems(self, state, root, succeeded, asked=False, said=""):
        """The problems of a state: neither old nor new, or not new after a reported success."""
        problems = []
        is_old, is_new = state.startswith(self.old), state.startswith(self.new)
        if not (is_new or self.is_unfinished(state)):
            problems.append(f"neither the old state nor the new one, but: {state}")
        elif succeeded and not is_new:
            problems.append(f"success was reported, but the state is: {state}")
        if is_old and asked and "intent=yes" not in state:
            problems.append(f"the refresh token was spent, but no record shows it: {state}")
        if self.name == "rotate" and "revocations=1" not in state:
            problems.append(f"the pending revocation is lost: {state}")
        if self.name == "leave" and is_new and "revocations=0" in state and "left, lost" not in said:
            problems.append(f"signed out, but no revocation is queued: {state}")
        # The revocation is queued, or the program reported that it could not be written.
        if self.name == "replace-queue" and is_new and "revocations=0" in state and ", 0 pending" not in said:
            problems.append(f"the tokens of the previous user stay valid: {state}")
        if self.name == "refresh-late" and succeeded and "revocations=1" not in state:
            problems.append(f"the late tokens stay valid: {state}")
        if self.aside is not None:
            kept = [path for path in (root / "Documents").iterdir() if path.is_file() and path.read_bytes() == self.aside]
            if not kept:
                problems.append("the archive that could not be read is lost")
        return problems


def resolve(command, programs, root):
    words = {
        "ACCOUNT": programs.account, "EXERCISER": programs.exerciser, "ROOT": str(root), "ASKED": ASKED}
    return [words.get(word, word) for word in command.split()]


def spoil(root):
    """Makes an archive unreadable by flipping one bit."""
    path = root / "Documents" / "Account.plist"
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    path.write_bytes(bytes_)
    return bytes(bytes_)


def spoil_registration(root):
    """Makes a registration unreadable by flipping one bit."""
    path, = (root / "Documents" / "Clients").glob("Client-*.plist")
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    path.write_bytes(bytes_)


def lose_registration_key(root):
    """Makes all registrations unreadable by removing their key."""
    (root / "Library" / "Keys" / "Clients" / "Registrations.key").unlink()


def operations():
    alice = "EXERCISER ROOT sign-in"
    update = "EXERCISER ROOT update 1"
    return [
        Operation("create", alice, [], "out", "in alice points=0 token=first", update, "signed in"),
        Operation("update", update, [alice], "in alice points=0 token=first", "in alice points=1 token=first", update),
        Operation(
            "refresh", "EXERCISER ROOT refresh ASKED", [alice], "in alice points=0 token=first",
            "in alice points=0 token=second", update, "refreshed, true"),
        # The response arrives after a sign-out.
        Operation(
            "refresh-late", "EXERCISER ROOT refresh-late", [alice], "in alice points=0 token=first", "out", alice,
            "signed out, 1", sign_out=True),
        Operation(
            "replace-queue", "EXERCISER ROOT sign-in-bob", [alice], "in alice points=0 token=first",
            "in bob points=0 token=other", update, "signed in, 1"),
        Operation("sign-out", "ACCOUNT logout --local", [alice], "in alice points=0 token=first", "out", alice,
                  sign_out=True),
        Operation("leave", "EXERCISER ROOT leave", [alice], "in alice points=0 token=first", "out", alice,
                  "left, undelivered", sign_out=True),
        # After a failure, some sessions may be signed out and others not.
        Operation(
            "sign-out-all", "ACCOUNT logout --all --local", [alice, alice + " work"], "all ",
            "all signedOut,signedOut", alice, sign_out=True),
        Operation(
            "switch", "ACCOUNT switch work", [alice, alice + " work"],
            "session default unverified alice", "session work unverified alice", "ACCOUNT switch default",
            folder="Library/Preferences"),
        # The account stays the same, and at least one key opens it.
        Operation(
            "rotate", "ACCOUNT key rotate", [alice, "EXERCISER ROOT leave", alice],
            "in alice points=0 token=first", "in alice points=0 token=first", update, "available"),
        Operation(
            "unreadable", "EXERCISER ROOT sign-in-bob", [alice], "unreadable", "in bob points=0 token=other", update,
            "signed in", adapt=spoil),
        Operation(
            "leave-unreadable", "ACCOUNT logout --local", [alice], "unreadable", "out", alice, "Signed out",
            sign_out=True, adapt=spoil),
        *registrations(),
    ]


def registrations():
    """Changes of the registration of the app. The account must stay signed in, whatever happens to the registration."""
    registering, again = "EXERCISER ROOT sign-in-registering", "EXERCISER ROOT register third"
    alice = "in alice points=0 token=first"
    clients = "Documents/Clients"
    return [
        Operation(
            "register", registering, [], "client none, out", f"client first, {alice}", "EXERCISER ROOT update 1", "signed in",
            between="client first, out", folder=clients),
        Operation(
            "register-new", "EXERCISER ROOT register second", [registering], f"client first, {alice}",
            f"client second, {alice}", again, "registered", folder=clients),
        Operation(
            "register-bad", "EXERCISER ROOT register second", [registering], f"client damaged, {alice}",
            f"client second, {alice}", again, "registered", adapt=spoil_registration, folder=clients),
        Operation(
            "register-key", "EXERCISER ROOT register second", [registering], f"client damaged, {alice}",
            f"client second, {alice}", again, "registered", adapt=lose_registration_key, folder=clients),
        Operation(
            "unregister", "EXERCISER ROOT forget-client", [registering], f"client first, {alice}",
            f"client none, {alice}", again, "forgotten", folder=clients),
    ]


def locked(path):
    """Whether a process holds the lock of a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.fcntl(descriptor, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def debris(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.tmp"))


def problems_after(
    operation, programs, root, outcome, killed=False, asked=False, with_doctor=False, mute=False, before_next=None
):
    """All problems of a container and an outcome. `mute` means that no output was possible, including output to the terminal.

    `before_next` ends the fault. After this call, the next change must succeed.
    """
    problems = []
    succeeded = not killed and operation.succeeded(outcome)
    if any(secret in outcome.text for secret in SECRETS):
        problems.append("a secret in the output")
    if not killed:
        if outcome.status not in STATUSES:
            problems.append(f"ended with {outcome.status}")
        if outcome.status != 0 and not outcome.text and not mute:
            problems.append("failed without a word")
        if any(word in outcome.text for word in CRASHES):
            problems.append("broke down")
    for path in root.rglob("*") if root.exists() else ():
        if path.is_file() and path.name != "DefaultSession.plist" and b"canary-" in path.read_bytes():
            problems.append(f"a secret legible in {path.name}")
        if path.name in ("Account.lock", "Refresh.lock") and locked(path):
            problems.append(f"{path.name} is held")
    state = operation.state(programs, root)
    problems += operation.state_problems(state, root, succeeded, asked, outcome.text)
    if with_doctor and not state.startswith("unreadable") and root.exists():
        copy = root.parent / "doctor"
        shutil.copytree(root, copy, symlinks=True)
        found = programs.run(copy, [programs.account, "doctor", "--fix"])
        if found.status != 0:
            problems.append(f"doctor --fix ended with {found.status}: {found.text}")
        if debris(copy):
            problems.append(f"doctor --fix left {debris(copy)}")
    if before_next:
        before_next()
    following = operation.command if operation.is_unfinished(state) else operation.after
    done = programs.run(root, resolve(following, programs, root))
    if done.status != 0:
        problems.append(f"the next change failed: {done.text}")
    # Leftovers in the folder of the key are removed when the next archive is created, or by `doctor`.
    if any(path.startswith("Library/Keys/") for path in debris(root)):
        programs.run(root, [programs.account, "doctor", "--fix"])
    if debris(root):
        problems.append(f"the next change left {debris(root)}")
    if with_doctor:
        found = programs.run(root, [programs.account, "doctor"])
        if found.status != 0:
            problems.append(f"doctor ended with {found.status}: {found.text}")
    return problems


class Results:
    """The table, and the failed cases."""

    def __init__(self):
        self.rows = {}
        self.failures = []
        self._lock = threading.Lock()

    @property
    def count(self):
        return sum(cases for cases, _ in self.rows.values())

    def add(self, operation, fault, problems, how):
        with self._lock:
            row = self.rows.setdefault((operation, fault), [0, 0])
            row[0] += 1
            row[1] += not problems
            if problems:
                self.failures.append((operation, fault, problems, how))
