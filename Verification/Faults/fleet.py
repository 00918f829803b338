"""Sessions shared by machines: the real command on several machines, a real cluster, a real service, and faults between them."""

import base64
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import cluster
import history
import machinery
from cluster import Proxy

PASSWORDS = {"alice": "correct horse battery staple", "bob": "hunter2 but longer"}
TIMEOUT = 240


# The content of an account, as the service returns it.
PERSONAL = [
    "alice", "Liddell", "u-5f0c2a9b7d314e86", "bob@example.org", "Bob Sawyer", "u-c41e88d20b9f6a57", "example.org"]
# For each cluster that has ended: the legible secrets in its files.
AT_REST = []


def legible(folder, secrets):
    """The secrets that files contain, in plain text or in Base64, and the places of these secrets."""
    wanted = {}
    for secret in secrets:
        text = secret.encode()
        wanted[text] = secret
        for skipped in range(3):
            # For each alignment in Base64's groups of three, without the bytes that depend on neighboring text.
            whole = base64.b64encode(bytes(skipped) + text)[4 if skipped else 0:]
            wanted[whole[:len(whole) // 4 * 4 - 4]] = secret
    wanted = {text: secret for text, secret in wanted.items() if len(text) >= 5}
    pattern = re.compile(b"|".join(re.escape(text) for text in wanted))
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with open(path, "rb") as file:
            data = file.read()
        found += {f"{wanted[match.group()]} is legible in {path.relative_to(folder)}" for match in pattern.finditer(data)}
    return found


class Programs:
    """The paths of the command and the service, and the library that is preloaded to change a clock."""

    def __init__(self, build, shim=None):
        self.build, self.shim = str(build), shim
        self.account, self.auth_server = f"{build}/account", f"{build}/auth-server"


class World:
    """A cluster and a service, which the cases share. Each case has its own prefix and proxies."""

    def __init__(self, programs, folder, **options):
        self.programs, self.folder = programs, folder
        folder.mkdir(parents=True)
        self.cluster = cluster.Cluster(folder / "etcd", **options)
        self.service_process, self.service = start_service(programs, folder)
        self.numbers = itertools.count(1)
        self.tokens = set()

    def start(self):
        self.cluster.start_all()
        return self

    def end(self):
        """Ends everything, and searches the files of the nodes for legible secrets."""
        self.cluster.end()
        self.service_process.kill()
        self.service_process.wait()
        AT_REST.append((self.folder.name, legible(self.cluster.folder, self.secrets())))

    def secrets(self):
        return [token for token in self.tokens if token] + [*PASSWORDS.values(), *PERSONAL]


def start_service(programs, folder):
    process = subprocess.Popen(
        [programs.auth_server, "--quiet", "--port", "0"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=open(folder / "service.log", "wb"), text=True)
    line = process.stdout.readline()
    if not line.startswith("listening on "):
        raise RuntimeError(f"the service does not start: {line}")
    return process, ("127.0.0.1", int(line.rsplit(":", 1)[1]))


class Machine:
    def __init__(self, case, name, nodes, namespace=None):
        self.case, self.name, self.home = case, name, case.folder / name
        self.home.mkdir(parents=True)
        self.proxy = Proxy(nodes, namespace)
        self.endpoints = ",".join(self.proxy.addresses)
        self.wrapper, self.variables = [], {}
        if namespace:
            self.wrapper = ["nsenter", f"--net=/run/netns/{namespace}", "--"]
            case.service.listen(case.world.service, namespace, address(case.service.addresses[0])[1])

    @property
    def store(self):
        return f"etcd://{self.endpoints}/{self.case.prefix}"

    def environment(self):
        return {
            "PATH": "/usr/bin:/bin", "HOME": str(self.home), "ACCOUNT_HOME": str(self.home), "LC_ALL": "C.UTF-8",
            "ACCOUNT_STORE": self.store, "ISSUER": self.case.issuer, **self.variables}

    def start(self, *arguments, user=None):
        return Program(self, arguments, user)

    def run(self, *arguments, user=None):
        return self.start(*arguments, user=user).wait()

    def login(self, user="alice"):
        return self.run(*self.login_arguments(user), user=user)

    def login_arguments(self, user="alice"):
        return ("login", "--issuer", self.case.issuer, "--username", user, "--password-stdin")

    def key(self):
        path = self.home / "Library/Keys/Account.key"
        return path.read_bytes() if path.exists() else None

    def take_key(self, other):
        (self.home / "Library/Keys").mkdir(parents=True, mode=0o700, exist_ok=True)
        shutil.copy2(other.home / "Library/Keys/Account.key", self.home / "Library/Keys/Account.key")

    def replica_revision(self):
        """The revision of the machine's replica, from the file. See `ReplicaContent`."""
        path = self.home / "Library/Caches/Store/default/Account.plist"
        if not path.exists():
            return None
        data = path.read_bytes()
        length = int.from_bytes(data[:2], "big")
        return int.from_bytes(data[2 + length:10 + length], "big")


class Program:
    """A run of the command on a machine."""

    def __init__(self, machine, arguments, user=None):
        self.machine, self.arguments, self.began = machine, arguments, time.monotonic()
        self.who = f"{machine.name}{next(machine.case.numbers)}"
        self.lock = threading.Lock()
        self.is_interrupted, self.is_killed, self.said = False, False, None
        self.process = subprocess.Popen(
            [*machine.wrapper, machine.case.world.programs.account, *arguments], env=machine.environment(),
            stdin=subprocess.PIPE if user else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        machine.case.programs.append(self)
        if user:
            self.process.stdin.write((PASSWORDS[user] + "\n").encode())
            self.process.stdin.close()
            self.process.stdin = None

    def wait(self, timeout=TIMEOUT):
        with self.lock:
            if self.said:
                return self.said
            try:
                text = self.process.communicate(timeout=timeout)[0].decode("utf-8", "replace").strip()
                status = self.process.returncode
            except subprocess.TimeoutExpired:
                self.process.kill()
                text, status = self.process.communicate()[0].decode("utf-8", "replace").strip() + " (it did not end)", -1000
            self.said = history.Said(
                self.who, " ".join(self.arguments), status, self.began, time.monotonic(), self.machine.name, text)
            return self.said

    def kill(self):
        if self.process.poll() is None:
            self.interrupt(signal.SIGKILL)
        said = self.wait()
        # The program may have ended before the signal.
        self.is_killed = said.status == -signal.SIGKILL
        return said

    def stop(self):
        self.interrupt(signal.SIGSTOP)

    def interrupt(self, number):
        self.is_interrupted = True
        self.process.send_signal(number)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Case:
    """Machines with their own session, whose history is judged at the end."""

    def __init__(self, world, machines="ABC", name="case", namespaces=None):
        self.world = world
        self.numbers = itertools.count(1)
        self.prefix = f"{name}{next(world.numbers)}"
        self.folder = world.folder / self.prefix
        self.programs, self.problems = [], []
        self.expired, self.may_leave_leases, self.is_removed_by_hand = set(), False, False
        # Problems that the case causes on purpose.
        self.expected_problems = []
        self.owners = {}
        self.service = Proxy([world.service])
        self.service.rule = self.at_service
        self.service_rule = None
        self.issuer = f"http://{self.service.addresses[0]}"
        self.first_revision = world.cluster.revision() if world.cluster.running() else 1
        targets = [address(one) for one in world.cluster.clients]
        self.machines = {name: Machine(self, name, targets, (namespaces or {}).get(name)) for name in machines}
        self.a = self.machines["A"]
        self.changes, self.seen_revision = [], None

    def expect(self, condition, words):
        if not condition:
            self.problems.append(words)

    def sign_in(self, user="alice"):
        done = self.a.login(user)
        if done.status != 0:
            raise RuntimeError(f"the sign-in failed: {done.text}")
        self.copy_key()
        return self

    def copy_key(self, source=None):
        for machine in self.machines.values():
            if machine is not (source or self.a):
                machine.take_key(source or self.a)

    # MARK: The service

    def at_service(self, request):
        """Records the sender of a request. Refuses access tokens that the case has expired, with the service's own error."""
        self.owners[request.number] = self.owner(request.port)
        if self.service_rule and (rule := self.service_rule(request)):
            return rule
        if any(b"Bearer " + token.encode() in request.head for token in self.expired):
            return expired_response
        return None

    def owner(self, port):
        """Finds the process of a connection through the kernel's socket table, which must be read in the machine's namespace."""
        running = [program for program in self.programs if program.said is None]
        if len(running) == 1:
            return running[0].who
        # The socket table may omit an entry while connections open and close, so try several times.
        for _ in range(5):
            for program in running:
                try:
                    inode = socket_inode(port, program.process.pid)
                    if inode and any(
                            os.readlink(f"/proc/{program.process.pid}/fd/{fd}") == f"socket:[{inode}]"
                            for fd in os.listdir(f"/proc/{program.process.pid}/fd")):
                        return program.who
                except OSError:
                    continue
        return None

    def expire(self):
        """Expires all access tokens that were issued so far."""
        self.expired |= {exchange.access for exchange in self.exchanges()} - {None}

    def exchanges(self):
        found = []
        for request in list(self.service.requests):
            if request.path != "/oauth/token" or not request.is_forwarded:
                continue
            form = urllib.parse.parse_qs(request.body.decode())
            said = request.json()
            exchange = history.Exchange(
                request.began, form.get("refresh_token", [None])[0], request.status, said.get("refresh_token"),
                self.owners.get(request.number) or "somebody", request.ended, said.get("error"), request.is_answered)
            exchange.access = said.get("access_token")
            found.append(exchange)
        return found

    # MARK: The end

    def finish(self, refresh=True):
        """Resumes all programs and waits until they end, inspects each machine, and judges the history.

        - Returns: The problems.
        """
        for machine in self.machines.values():
            machine.proxy.rule, machine.proxy.cut = None, False
        self.service_rule = None
        for program in self.programs:
            if program.process.poll() is None:
                program.go_on()
            program.wait()
        found = history.History()
        prefix = f"{self.prefix}/account/"
        found.left = self.what_is_left(prefix)
        if any(program.is_interrupted for program in self.programs) or self.may_leave_leases:
            # The keys of a dead process expire, and no other keys remain.
            self.world.cluster.revoke(self.world.cluster.leases_below(prefix))
            found.left = self.what_is_left(prefix)
        if source := next((machine for machine in self.machines.values() if machine.key()), None):
            for machine in self.machines.values():
                if machine.key() is None:
                    machine.take_key(source)
        if refresh and source:
            last = list(self.machines.values())[-1]
            done = last.run("refresh")
            self.expect(done.status in (0, 77), f"the next refresh failed: {done.status} {done.text}")
            found.left += self.what_is_left(prefix)
        for machine in self.machines.values():
            if machine.key() is None:
                continue
            done = machine.run("status", "--json")
            try:
                state = json.loads(done.text)
                found.found[machine.name] = f"{state.get('state')} {state.get('account', {}).get('username')}"
            except ValueError:
                found.found[machine.name] = f"{done.status} {done.text}"
            found.replicas[machine.name] = machine.replica_revision()
        self.judge(found, prefix)
        for machine in self.machines.values():
            machine.proxy.close()
        self.service.close()
        return self.problems

    def what_is_left(self, prefix):
        kvs = self.world.cluster.gateway("/v3/kv/range", {
            "key": cluster.encoded(prefix), "range_end": cluster.encoded(cluster.end_of(prefix))}).get("kvs", [])
        names = [cluster.base64.b64decode(kv["key"]).decode()[len(prefix):] for kv in kvs]
        return [name for name, kv in zip(names, kvs) if int(kv.get("lease", 0)) or name.replace("/.", "/").startswith(
            tuple("default/" + one for one in history.TRANSIENT))]

    def collect(self):
        """Reads the history from etcd before it is compacted."""
        prefix = f"{self.prefix}/account/"
        first = self.first_revision + 1 if self.seen_revision is None else self.seen_revision + 1
        self.changes += self.world.cluster.history(prefix, first)
        self.seen_revision = self.world.cluster.revision()

    def judge(self, found, prefix):
        self.collect()
        keys = {machine.key() for machine in self.machines.values()} - {None}
        requests = [r for machine in self.machines.values() for r in list(machine.proxy.requests)]
        found.commits = history.commits(self.changes, requests, keys, self.prefix)
        found.exchanges = self.exchanges()
        found.said = [program.wait() for program in self.programs]
        found.interrupted = {program.who for program in self.programs if program.is_interrupted}
        found.dead = {program.who for program in self.programs if program.is_killed}
        if found.dead:
            # If a connection cannot be attributed, it has already closed, and its process has ended.
            found.dead.add("somebody")
            found.interrupted.add("somebody")
        found.is_removed_by_hand = self.is_removed_by_hand
        found.alarms = alarms(found.exchanges)
        found.live = {e.new for e in found.exchanges if e.status == 200 and self.is_good(e.access)}
        found.queued = self.queued(found.commits, keys)
        self.world.tokens |= {e.new for e in found.exchanges} | {e.access for e in found.exchanges} - {None}
        for said in found.said:
            if any(word in said.text for word in machinery.CRASHES):
                self.problems.append(f"broke down: {said.text[:300]}")
            if said.status not in machinery.STATUSES and not (said.status in (-9, -15) and said.who in found.interrupted):
                self.problems.append(f"ended with {said.status}: {said.command}: {said.text[:300]}")
            if said.status not in (0, -9, -15) and not said.text:
                self.problems.append(f"failed without a message: {said.command}: {said.status}")
            if any(password in said.text for password in PASSWORDS.values()) or any(
                    t and t in said.text for e in found.exchanges for t in (e.new, e.access)
                    ) and not said.command.startswith("token"):
                self.problems.append(f"a secret in the output of {said.command}")
        self.problems += found.violations()
        self.history = found

    def queued(self, commits, keys):
        """The tokens that are in the revocation queue at the end."""
        queue = {}
        for commit in commits:
            queue |= {entry: value for entry, value in commit.entries.items() if entry.startswith("Revocation")}
        return {account.token for value in queue.values() if value and (account := history.read(value, keys, self.prefix))}

    def is_good(self, access):
        """Whether the service accepts an access token."""
        head = f"GET /oauth/userinfo HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {access}\r\n\r\n"
        return cluster.exchange(self.world.service, head.encode(), b"").split(b" ", 2)[1] == b"200"

    def story(self):
        """A readable history."""
        if not hasattr(self, "history"):
            return f"{self.prefix}: it did not end"
        events = [(s.began, f"{s.who} on {s.machine}: {s.command}") for s in self.history.said]
        events += [(s.ended, f"{s.who} ended with {s.status}: {s.text[:160]}") for s in self.history.said]
        names = {}
        for e in self.history.exchanges:
            for token in (e.token, e.new):
                names.setdefault(token, f"t{len(names)}" if token else "-")
            events.append((e.began, f"{e.who} spends {names[e.token]}"))
            events.append((e.ended, f"the service gives {e.who} {e.status} {names[e.new]} {e.error or ''}"))
        for c in self.history.commits:
            what = ", ".join(("-" if v is None else "+") + k for k, v in c.entries.items())
            token = names.get(c.account.token, "?") + f" gen {c.account.generation}" if c.account else ""
            events.append((c.began or 0, f"revision {c.revision}: {what} {token}"))
        start = min((at for at, _ in events if at), default=0)
        return "\n".join(f"    {max(at - start, 0):8.3f} {text}" for at, text in sorted(events, key=lambda e: e[0]))


def alarms(exchanges):
    """The number of uses of a token that was already exchanged, each of which makes a service end the sign-in."""
    spent, count = set(), 0
    for exchange in sorted((e for e in exchanges if e.token), key=lambda e: e.began):
        if exchange.status == 200:
            spent.add(exchange.token)
        elif exchange.error == "invalid_grant" and exchange.token in spent:
            count += 1
    return count


def expired_response(proxy, request, forward):
    """The service's error for an expired access token (RFC 6750, section 3.1)."""
    return cluster.answer(
        401, "Unauthorized", b'{"error":"invalid_token"}',
        'WWW-Authenticate: Bearer error="invalid_token", error_description="expired"')


def socket_inode(port, process):
    wanted = f":{port:04X}"
    try:
        with open(f"/proc/{process}/net/tcp") as table:
            for line in table:
                fields = line.split()
                if fields[1].endswith(wanted) and fields[1].startswith("0100007F"):
                    return fields[9]
    except OSError:
        pass
    return None


def address(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


# MARK: All cases

def run(programs, results, whole, only=None):
    """Runs all cases. The short form runs one of each kind; `only` selects one operation or one case."""
    # These modules import this file.
    import fleet_calls
    import fleet_cluster
    import fleet_network

    folder = programs.folder / "fleet"
    own = Programs(programs.build, programs.shim)
    AT_REST.clear()
    history.run(results)

    world = World(own, folder / "common").start()
    try:
        work = []
        if only is None or only in fleet_network.CASES:
            work.append(lambda: fleet_network.run(own, folder / "network", results, whole, only))
        work += fleet_cluster.jobs(own, folder, world, results, whole, only)
        work += fleet_calls.jobs(world, results, whole, only)
        if not work:
            raise SystemExit(f"no case is called {only}")
        # The cases mostly wait.
        with ThreadPoolExecutor(5) as pool:
            for job in [pool.submit(one) for one in work]:
                job.result()
    finally:
        world.end()
    for name, found in AT_REST:
        results.add("at rest", "legible", found, name)
