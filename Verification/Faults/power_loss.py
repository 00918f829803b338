"""Power loss: the possible contents of a disk after each call of an operation, if any unsynced data may be lost."""

import itertools
import os
import random
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import tracing
from machinery import ASKED

TRACED = (
    "openat,close,write,pwrite64,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fsync,"
    "fdatasync")
SEED = 20240229
# strace prints a descriptor as `3</path>`.
_PATH_OF_DESCRIPTOR = re.compile(r"<[^>]*>(\(deleted\))?")
_QUEUE = re.compile(r"(?P<root>.*)/Documents/(?:Sessions/(?P<session>[^/]+)/)?Revocation-\d\.plist")
_BYTES = re.compile(r"(?:\\x[0-9a-f]{2})+")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def strings(rest):
    return [bytes.fromhex(text.replace("\\x", "")) for text in _STRING.findall(rest)]


def readable(rest):
    return _BYTES.sub(lambda match: bytes.fromhex(match.group().replace("\\x", "")).decode("utf-8", "replace"), rest)


def is_request(rest):
    return any(ASKED.encode() in text for text in strings(rest))


def result(rest):
    match = re.search(r"= (-?\d+)", rest[rest.rfind(")"):] if ")" in rest else "")
    return int(match.group(1)) if match else None


class Node:
    """A file or a folder on the disk. Its changes are pending until it is synced."""

    def __init__(self, is_folder, content=b""):
        self.is_folder = is_folder
        self.content = {} if is_folder else content


class Disk:
    """A folder, its content on the disk, and the pending changes.

    A change of a folder is atomic. Unsynced changes have no order, so any of them may be on the disk without the others. A
    write that extends a file is two changes: the length, filled with zeros, and the bytes.
    """

    def __init__(self, folder):
        self.folder = os.fsencode(folder)
        self.top = self._load(folder)
        self.pending = []  # (node, change)
        self.names = {}    # the view of the programs: path -> node
        self._index(self.folder, self.top)
        self.open = {}     # (process, descriptor) -> [path's node, offset]
        self.lengths = {}

    def _load(self, path):
        if not os.path.isdir(path):
            with open(path, "rb") as file:
                return Node(False, file.read())
        node = Node(True)
        for name in os.listdir(path):
            node.content[os.fsencode(name)] = self._load(os.path.join(path, name))
        return node

    def _index(self, path, node):
        self.names[path] = node
        if node.is_folder:
            for name, child in node.content.items():
                self._index(path + b"/" + name, child)

    def _change_entry(self, path, change):
        self.pending.append((self.names[os.path.dirname(path)], change))

    # MARK: The calls

    def apply(self, name, rest, without=()):
        """Records a successful call. `without` is "file" or "folder", whose fsync calls are ignored."""
        value = result(rest)
        if value is None or value < 0:
            return
        paths = [path if path.startswith(b"/") else b"" for path in strings(rest)]
        descriptor = int(rest.split(",")[0].split(")")[0]) if rest[0].isdigit() else None
        if name == "openat":
            self._opened(paths[0], rest, value)
        elif name == "close":
            self.open.pop(descriptor, None)
        elif name in ("write", "pwrite64"):
            if descriptor in self.open:
                offset = int(rest.split(")")[0].rsplit(",", 1)[1]) if name == "pwrite64" else None
                self._written(self.open[descriptor], strings(rest)[0][:value], offset)
        elif name in ("ftruncate", "fallocate"):
            if descriptor in self.open:
                numbers = [int(number) for number in rest.split(")")[0].split(",")]
                length = numbers[1] if name == "ftruncate" else numbers[2] + numbers[3]
                self._resized(self.open[descriptor][0], length, only_longer=name == "fallocate")
        elif name in ("fsync", "fdatasync"):
            if descriptor in self.open:
                self._synchronized(self.open[descriptor][0], without)
        elif name.startswith("rename"):
            self._renamed(*paths)
        elif name.startswith("link"):
            self._linked(*paths)
        elif name.startswith("unlink"):
            self._removed(paths[0])
        elif name.startswith("mkdir"):
            if os.path.dirname(paths[0]) in self.names:
                self._entered(paths[0], Node(True))

    def _opened(self, path, rest, descriptor):
        self.open.pop(descriptor, None)
        node = self.names.get(path)
        if node is None and "O_CREAT" in rest and os.path.dirname(path) in self.names:
            node = Node(False)
            self._entered(path, node)
        if node is not None:
            self.open[descriptor] = [node, 0]
            if "O_TRUNC" in rest and not node.is_folder:
                self._resized(node, 0)

    def _entered(self, path, node):
        name = os.path.basename(path)
        self._change_entry(path, lambda entries: entries.__setitem__(name, node))
        self.names[path] = node

    def _written(self, opened, data, offset):
        node, position = opened
        start = position if offset is None else offset
        if offset is None:
            opened[1] = start + len(data)
        end = start + len(data)
        self.pending.append((node, lambda content: content.ljust(end, b"\0")))
        self.pending.append((node, lambda content: content[:start].ljust(start, b"\0") + data + content[end:]))
        self.lengths[node] = max(self.length(node), end)

    def length(self, node):
        return self.lengths.get(node, len(node.content))

    def _resized(self, node, length, only_longer=False):
        if length == self.length(node) or (only_longer and length < self.length(node)):
            return
        self.lengths[node] = length
        self.pending.append((node, lambda content: content[:length].ljust(length, b"\0")))

    def _renamed(self, source, target):
        node = self.names.pop(source, None)
        if node is None:
            return
        old, new = os.path.basename(source), os.path.basename(target)

        def change(entries):
            if entries.get(old) is node:
                del entries[old]
            entries[new] = node

        self._change_entry(target, change)
        self.names[target] = node

    def _linked(self, source, target):
        if source in self.names:
            self._entered(target, self.names[source])

    def _removed(self, path):
        if self.names.pop(path, None) is not None:
            name = os.path.basename(path)
            self._change_entry(path, lambda entries: entries.pop(name, None))

    def _synchronized(self, node, without):
        if ("folder" if node.is_folder else "file") in without:
            return
        self._keep({index for index, (other, _) in enumerate(self.pending) if other is node}, in_place=True)

    def _keep(self, chosen, in_place=False):
        contents = {}
        for index in sorted(chosen):
            node, change = self.pending[index]
            if node.is_folder:
                content = contents.setdefault(node, node.content if in_place else dict(node.content))
                change(content)
            else:
                contents[node] = change(contents.get(node, node.content))
        if in_place:
            for node, content in contents.items():
                node.content = content
            self.pending = [item for index, item in enumerate(self.pending) if index not in chosen]
        return contents

    # MARK: After the power came back

    def states(self, limit, seed):
        """The possible folders: each pending change is kept or lost, in at most `limit` combinations."""
        count = len(self.pending)
        if 2**count <= limit:
            choices = itertools.product((False, True), repeat=count)
        else:
            random_ = random.Random(f"{SEED} {seed}")
            choices = [[False] * count, [True] * count]
            choices += [[random_.random() < 0.5 for _ in range(count)] for _ in range(limit - 2)]
        for choice in choices:
            contents = self._keep({index for index, kept in enumerate(choice) if kept})
            yield tuple(sorted(self._files(self.top, b"", contents))), [int(kept) for kept in choice]

    def _files(self, node, path, contents):
        content = contents.get(node, node.content)
        if not node.is_folder:
            yield path, content
            return
        yield path + b"/", None
        for name, child in content.items():
            yield from self._files(child, path + b"/" + name, contents)


def record(programs, root, command):
    """Runs a command, and returns its calls."""
    trace = root.parent.parent / (root.parent.name + "-trace")
    words = ["strace", "-f", "-qq", "-xx", "-s", "2000000", "-o", str(trace), "-e", f"trace={TRACED}", "--seccomp-bpf"]
    outcome = programs.run(root, command, words)
    calls = tracing.calls_in(trace.read_text(errors="replace"))
    trace.unlink()
    return calls, outcome


def record_fault(programs, root, command, position, inject):
    """Runs a command with a fault. Returns its calls in two forms, for the disk and for `tracing.hit`, and its outcome."""
    trace = root.parent.parent / (root.parent.name + "-trace")
    traced = TRACED if position.name in TRACED.split(",") else f"{TRACED},{position.name}"
    words = tracing.wrapper(programs, trace, position.name, traced, inject)
    outcome = programs.run(root, command, [words[0], "-xx", "-s", "2000000", *words[1:]])
    # Without a trace, strace did not start.
    calls = tracing.calls_in(trace.read_text(errors="replace")) if trace.exists() else []
    trace.unlink(missing_ok=True)
    return (
        [[thread, name, _PATH_OF_DESCRIPTOR.sub("", rest)] for thread, name, rest in calls],
        [[thread, name, readable(rest)] for thread, name, rest in calls], outcome)


class Reader:
    """The results of programs on possible folders, each of which is tested once."""

    def __init__(self, operation, programs):
        self.operation = operation
        self.programs = programs
        self.known = {}
        self.wanted = {}

    def want(self, files):
        if files not in self.known:
            self.wanted[files] = None

    def read(self):
        roots = {}
        for files in self.wanted:
            folder = tempfile.mkdtemp(dir=self.programs.folder, prefix="power-")
            for path, content in files:
                place = os.fsencode(folder) + path
                if content is None:
                    os.makedirs(place, mode=0o700, exist_ok=True)
                else:
                    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT, 0o600)
                    with open(descriptor, "wb") as file:
                        file.write(content)
            roots[files] = os.path.join(folder, "home")
        waiting = list(roots)
        while waiting:
            some, waiting = waiting[:400], waiting[400:]
            states = self.operation.states(self.programs, [roots[files] for files in some])
            self.known.update(zip(some, states))
        for root in roots.values():
            shutil.rmtree(os.path.dirname(root))
        self.wanted = {}


def problems_of(operation, state, files, succeeded, asked):
    """The problems of a state, as for any other fault, and those of the index of revocations.

    The list of files shows whether the unreadable archive is kept.
    """
    aside, operation.aside = operation.aside, None
    problems = operation.state_problems(state, None, succeeded, asked)
    operation.aside = aside
    if aside is not None and not any(content == aside for _, content in files):
        problems.append("the archive that could not be read is lost")
    return problems + index_problems(files)


def index_problems(files):
    """Sessions whose revocation queue has entries, but which are missing in the index that commands search."""
    paths = {os.fsdecode(path) for path, _ in files}
    entries = [entry for path in paths if (entry := _QUEUE.fullmatch(path))]
    return [f"the index does not contain the session of {entry.string}" for entry in entries
            if f"{entry['root']}/Documents/Revocations/{entry['session'] or 'default'}" not in paths]


def replay(operation, programs, reader, before, runs, limit, only_end=False, without=()):
    """Replays each prefix of the calls of `runs`, the last of which succeeded: yields problems and their context."""
    disk = Disk(before)
    steps = [(number == len(runs) - 1, *call) for number, calls in enumerate(runs) for call in calls]
    asked, found = False, []
    previous = None
    for index, (is_last, _, name, rest) in enumerate(steps):
        if previous is not None and previous != is_last:
            disk.open = {}
        previous = is_last
        disk.apply(name, rest, without)
        asked = asked or (is_last and is_request(rest))
        is_end = index == len(steps) - 1
        if name == "close" and not is_end or (only_end and not is_end):
            continue
        for files, choice in disk.states(limit, f"{operation.name} {index}"):
            reader.want(files)
            found.append((files, is_end, asked, f"call {index} {name} of {len(steps)}, kept {choice}"))
    reader.read()
    for files, is_end, was_asked, how in found:
        yield problems_of(operation, reader.known[files], files, is_end, was_asked), how


def run(operations, programs, results, whole):
    limit = 2**10 if whole else 2**6

    def one(operation):
        reader = Reader(operation, programs)
        run_first(operation, programs, results, reader, limit)
        if operation.name == "update":
            for kind in ("file", "folder"):
                found = run_first(operation, programs, None, reader, limit, (kind,))
                results.add("update", f"mistake: no fsync of the {kind}", [] if found else ["it was not noticed"], "run_first")
        run_second(operation, programs, results, reader, limit)

    with ThreadPoolExecutor(programs.parallelism) as pool:
        list(pool.map(one, operations))


def run_first(operation, programs, results, reader, limit, without=()):
    """A run without another fault, then the power loss. Returns the problems. `without` is a mistake: see `Disk.apply`."""
    root = operation.copy(programs)
    before = root.parent.parent / (root.parent.name + "-before")
    shutil.copytree(root.parent, before, symlinks=True)
    calls, outcome = record(programs, root, operation.line(programs, root))
    if not operation.succeeded(outcome):
        raise SystemExit(f"{operation.name} fails without a fault: {outcome.text}")
    if operation.marks_request and not any(is_request(rest) for _, _, rest in calls):
        raise SystemExit(f"the trace of {operation.name} shows no request")
    calls = moved(calls, root.parent, before)
    found = []
    for problems, how in replay(operation, programs, reader, before, [calls], limit, without=without):
        found += problems
        if not without:
            results.add(operation.name, "power loss", problems, f"{outcome.line(root)}\n      {how}")
    shutil.rmtree(root.parent)
    shutil.rmtree(before)
    return found


def run_second(operation, programs, results, reader, limit):
    """A run that died or failed before its data was on the disk, then a successful run, then the power loss."""
    is_tested = False
    for position in tracing.positions(operation, programs):
        if not position.is_change:
            continue
        kinds = [("a death", "signal=KILL")]
        if position.name in ("fsync", "fdatasync"):
            kinds.append(("a failed fsync", "error=EIO"))
        for kind, fault in kinds:
            for problems, how in second_case(operation, programs, reader, limit, position, fault):
                results.add(operation.name, f"power loss after {kind} and success", problems, how)
                is_tested = True
    if not is_tested:
        results.add(operation.name, "power loss after success", ["no second run was tested"], operation.command)


def second_case(operation, programs, reader, limit, position, fault):
    """Yields the problems of each power loss, with their context. If the first run left another state, there is no power loss to test."""
    killed = fault == "signal=KILL"
    number = position.number
    for attempt in range(tracing.ATTEMPTS):
        root = operation.copy(programs)
        before = root.parent.parent / (root.parent.name + "-before")
        shutil.copytree(root.parent, before, symlinks=True)
        inject = f"{position.name}:{fault}:when={number}"
        first, shown, outcome = record_fault(programs, root, operation.line(programs, root), position, inject)
        is_hit = tracing.hit(shown, position, root, killed) and (outcome.status in (-9, 137)) == killed
        if is_hit and operation.state(programs, root).startswith(operation.untouched):
            second, outcome = record(programs, root, operation.line(programs, root))
            runs = [moved(calls, root.parent, before) for calls in (first, second)]
            how = f"{inject}; then {outcome.line(root)}"
            if operation.succeeded(outcome):
                for problems, place in replay(operation, programs, reader, before, runs, limit, only_end=True):
                    yield problems, f"{how}\n      {place}"
            else:
                yield [f"the second run failed: {outcome.status} {outcome.text[:300]}"], how
        shutil.rmtree(root.parent)
        shutil.rmtree(before)
        if is_hit:
            return
        number = tracing.next_number(shown, position, root, attempt)
    yield [tracing.NEVER_HIT], f"{inject}: {outcome.line(root)}\n      -> {outcome.status} {outcome.text[:300]}"


def moved(calls, folder, other):
    """The calls with one folder replaced by another."""
    source = "".join(f"\\x{byte:02x}" for byte in os.fsencode(folder))
    target = "".join(f"\\x{byte:02x}" for byte in os.fsencode(other))
    return [[thread, name, rest.replace(source, target)] for thread, name, rest in calls]
