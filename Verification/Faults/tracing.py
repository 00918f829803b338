"""Faults at single system calls: every call of an operation fails in each possible way, or is the last one of the process."""

import random
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

from machinery import ASKED, TIMED_OUT, problems_after

CALLS = (
    "openat,read,write,pwrite64,close,newfstatat,statx,fcntl,getdents64,fchmod,chmod,fchmodat,fallocate,ftruncate,fsync,"
    "fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat")
# The maximum number of calls of one kind by the loader.
PAD = 128
# The beginning of the arguments of the calls that `shim.c` adds.
PADDING = ("-1", "0xffffffffffffffff")
ATTEMPTS = 24
NEVER_HIT = "the fault never occurred at its place"

_ANY = ["EIO", "ENOMEM"]
_PATH = _ANY + ["EACCES", "ELOOP", "ENAMETOOLONG"]
_CHANGE = _PATH + ["EPERM", "ENOSPC", "EDQUOT", "EROFS"]
ERRORS = {
    "openat": _PATH + ["EPERM", "EMFILE", "ENFILE", "EINTR", "EBUSY"],
    "create": _CHANGE + ["EMFILE", "ENFILE", "EINTR", "EBUSY"],
    "newfstatat": _PATH, "statx": _PATH, "getdents64": _ANY,
    "read": ["EIO", "EINTR"], "write": ["EIO", "ENOSPC", "EDQUOT", "EINTR"], "pwrite64": ["EIO", "ENOSPC", "EDQUOT"],
    # An injected error skips the call, but a close that fails still closes the descriptor (close(2)).
    "close": [], "fcntl": ["ENOLCK", "EINTR", "EAGAIN", "EACCES"],
    "fchmod": ["EIO", "EPERM", "EROFS"], "chmod": _PATH + ["EPERM", "EROFS"], "fchmodat": _PATH + ["EPERM", "EROFS"],
    "fallocate": ["EIO", "ENOSPC", "EDQUOT", "EINTR", "EPERM", "EOPNOTSUPP", "ENOSYS"],
    "ftruncate": ["EIO", "EPERM", "EINTR"], "fsync": ["EIO", "ENOSPC", "EDQUOT", "EROFS"],
    "fdatasync": ["EIO", "ENOSPC", "EDQUOT", "EROFS"],
    "rename": _CHANGE + ["EBUSY", "EXDEV"], "link": _CHANGE + ["EXDEV", "EMLINK"], "unlink": _PATH + ["EPERM", "EROFS", "EBUSY"],
    "mkdir": _CHANGE + ["EMLINK"],
}
for alias, name in (("renameat", "rename"), ("renameat2", "rename"), ("linkat", "link"), ("unlinkat", "unlink"), ("mkdirat", "mkdir")):
    ERRORS[alias] = ERRORS[name]
# Calls that a program may repeat forever, and a lock that is never free. Stopped holders are a separate case.
ENDLESS = {("openat", "EINTR"), ("read", "EINTR"), ("write", "EINTR"), ("fcntl", "EINTR"), ("fcntl", "EAGAIN"),
           ("fcntl", "EACCES")}
CHANGING = {"openat", "write", "pwrite64", "fchmod", "chmod", "fchmodat", "fallocate", "ftruncate", "fsync", "fdatasync", "rename",
            "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat"}

_LINE = re.compile(r"^(\d+) +([a-z0-9_]+)\((.*)$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. ([a-z0-9_]+) resumed>(.*)$")


def calls_in(text):
    """The calls of a trace as (thread, name, rest of the line). The parts of interrupted calls are joined."""
    calls, open_ = [], {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            thread, name, rest = match.groups()
            call = [thread, name, rest]
            calls.append(call)
            if rest.endswith("<unfinished ...>"):
                call[2] = rest.removesuffix("<unfinished ...>")
                open_[thread] = call
        elif (match := _RESUMED.match(line)) and match.group(1) in open_:
            open_.pop(match.group(1))[2] += match.group(3)
    return calls


class Position:
    """A system call of an operation: the `number`-th of its name in its thread, and the `ordinal`-th in the container. `first` is the number
    of the first call of this name in the container.
    """

    def __init__(self, index, name, number, ordinal, first, rest, asked):
        self.index = index
        self.name = name
        self.number = number
        self.ordinal = ordinal
        self.first = first
        self.rest = rest
        self.asked = asked

    @property
    def errors(self):
        return ERRORS["create" if self.name == "openat" and "O_CREAT" in self.rest else self.name]

    @property
    def is_change(self):
        return self.name in CHANGING and not (self.name == "openat" and "O_CREAT" not in self.rest)


def wrapper(programs, trace, pad, traced, inject=None):
    # strace 6.1 sends no signal at a call that a seccomp filter stopped.
    filter_ = [] if inject and "signal=" in inject else ["--seccomp-bpf"]
    words = ["strace", "-f", "-qq", "-y", *filter_, "-o", str(trace), "-E", f"LD_PRELOAD={programs.shim}", "-E",
             f"FAULTS_PAD={pad}:{PAD}", "-e", f"trace={traced}"]
    return words + (["-e", f"inject={inject}"] if inject else [])


def is_about(rest, root):
    return str(root) in rest


def positions(operation, programs):
    """The calls of an operation that touch the container, from a run without faults.

    On a busy machine, the thread pool may start a second thread. Its calls have other numbers than in later runs, so record again.
    """
    for _ in range(ATTEMPTS):
        found, is_repeatable = recorded(operation, programs)
        if not found:
            raise SystemExit(f"the trace of {operation.name} shows no call in the container")
        if is_repeatable:
            return found
    raise SystemExit(f"{operation.name} never ran in a single working thread")


def recorded(operation, programs):
    """The calls of one run that touch the container, and whether only the main thread and the padded thread made them."""
    root = operation.copy(programs)
    trace = root.parent / "trace"
    outcome = programs.run(root, operation.line(programs, root), wrapper(programs, trace, "all", CALLS))
    if not operation.succeeded(outcome):
        raise SystemExit(f"{operation.name} fails without a fault: {outcome.text}")
    calls = calls_in(trace.read_text(errors="replace"))
    usable = {calls[0][0], *(thread for thread, _, rest in calls if rest.startswith(PADDING))}
    numbers, ordinals, firsts, found, asked, is_repeatable = {}, {}, {}, [], False, True
    for thread, name, rest in calls:
        number = numbers[thread, name] = numbers.get((thread, name), 0) + 1
        asked = asked or ASKED in rest
        if is_about(rest, root):
            is_repeatable = is_repeatable and thread in usable
            ordinal = ordinals[name] = ordinals.get(name, 0) + 1
            first = firsts.setdefault(name, number)
            found.append(Position(len(found), name, number, ordinal, first, rest, asked))
    shutil.rmtree(root.parent)
    if operation.marks_request and not asked:
        raise SystemExit(f"the trace of {operation.name} shows no request")
    return found, is_repeatable


def hit(calls, position, root, killed):
    """Whether the fault occurred at the intended call, and at no earlier call of this name in the same thread."""
    about = [call for call in calls if call[1] == position.name and is_about(call[2], root)]
    if len(about) < position.ordinal:
        return False
    intended = about[position.ordinal - 1]
    same_thread = [call for call in calls if call[:2] == intended[:2] and not call[2].startswith(PADDING)]
    if killed:
        return same_thread[-1] is intended
    injected = [call for call in same_thread if "(INJECTED)" in call[2]]
    return bool(injected) and injected[0] is intended


def shift_of(calls, position, root):
    """The number of calls by which the first call in the container was later or earlier than in the run without faults, or None."""
    numbers = {}
    for thread, name, rest in calls:
        if name == position.name:
            number = numbers[thread] = numbers.get(thread, 0) + 1
            if is_about(rest, root):
                return number - position.first
    return None


def next_number(calls, position, root, attempt):
    """The number for the next attempt, after the fault missed the call.

    The number of calls by the loader and the runtime differs between runs. Try the number of this run and its neighbors.
    """
    shift = shift_of(calls, position, root) if attempt % 2 == 0 else None
    return position.number + (shift if shift is not None else (0, 1, -1, 2, -2)[attempt // 2 % 5])


def run_case(operation, programs, position, inject, killed):
    """Runs one fault. Returns the problems and the command for repeating it. Searches again if the fault missed the call."""
    number, timeouts = position.number, 0
    for attempt in range(ATTEMPTS):
        root = operation.copy(programs)
        trace = root.parent / "trace"
        traced = ",".join(sorted({"openat", position.name}))
        fault = inject.replace("NUMBER", str(number))
        outcome = programs.run(
            root, operation.line(programs, root), wrapper(programs, trace, position.name, traced, fault))
        # Without a trace, strace did not start. That counts as a miss, and its output is shown if all attempts fail.
        calls = calls_in(trace.read_text(errors="replace")) if trace.exists() else []
        has_died = outcome.status in (-9, 137)
        if hit(calls, position, root, killed) and has_died == killed:
            asked = any(ASKED in rest for _, _, rest in calls)
            problems = problems_after(
                operation, programs, root, outcome, killed=killed, asked=asked, with_doctor=killed,
                mute=fault.startswith("write:") and fault.endswith("+"))
            how = outcome.line(root) + f"\n      -> {outcome.status} {outcome.text[:300]}"
            shutil.rmtree(root.parent, ignore_errors=True)
            return problems, how
        how = outcome.line(root) + f"\n      -> {outcome.status} {outcome.text[:300]}"
        shutil.rmtree(root.parent, ignore_errors=True)
        if outcome.status == TIMED_OUT:
            timeouts += 1
            # A busy machine may be slow once.
            if timeouts == 2:
                return ["did not end"], how
        elif outcome.status < 0 and not has_died:
            return [f"died of signal {-outcome.status}"], how
        number = next_number(calls, position, root, attempt)
    return [NEVER_HIT], how


def cases(found, whole, share, choice):
    """The cases in which a call fails, either once or from then on. With `whole`, each call fails with each possible error in both ways.
    Otherwise `choice` selects one of the calls in `share`, and one way for each of them.
    """
    for position in found:
        if not whole and choice.randrange(share):
            continue
        possible = [
            (error, plus) for plus in ("", "+") for error in position.errors if not (plus and (position.name, error) in ENDLESS)]
        some = possible if whole or not possible else [choice.choice(possible)]
        for error, plus in some:
            yield position, f"{position.name}:error={error}:when=NUMBER{plus}", "errors, lasting" if plus else "errors, once"


def deaths(found, whole):
    """Death before every call. Without `whole`, death only before the calls that change something, and before the call after each of them.
    """
    before = None
    for position in found:
        if whole or position.is_change or (before and before.is_change):
            yield position, f"{position.name}:signal=KILL:when=NUMBER", "death"
        before = position


def run(operations, programs, results, whole):
    if not whole:
        print(f"seed of the errors: {programs.seed}, at one call in {programs.share}", file=sys.stderr, flush=True)
    work = []
    for operation in operations:
        found = positions(operation, programs)
        choice = random.Random(f"{programs.seed} {operation.name}")
        work += [(operation, *case, False) for case in cases(found, whole, programs.share, choice)]
        work += [(operation, *case, True) for case in deaths(found, whole)]

    def one(case):
        operation, position, inject, fault, killed = case
        problems, how = run_case(operation, programs, position, inject, killed)
        results.add(operation.name, fault, problems, how)

    with ThreadPoolExecutor(programs.parallelism) as pool:
        list(pool.map(one, work))
