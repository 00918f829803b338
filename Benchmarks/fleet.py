"""Measures sessions in an etcd cluster: a valid token compared with files, and many simultaneous requests."""

import base64
import contextlib
import os
import socket
import statistics
import threading
import time
import urllib.request

import measure
from bench import TOKEN
from children import Child, Server, TokenHandler
from measure import Ratio, differences, duration, median_duration

PROCESSES = 4
# The seconds that the service takes to exchange a token, like a service on another continent.
EXCHANGE = 0.5


class Node(Child):
    """A cluster of one node, on the loopback interface."""

    def __init__(self, bench):
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            self.port, peer = (place.getsockname()[1] for place in (one, two))
        self.address, peer = f"127.0.0.1:{self.port}", f"http://127.0.0.1:{peer}"
        self.location = f"etcd://{self.address}/bench"
        log = open(os.path.join(bench.folder, "etcd.log"), "w+", encoding="utf-8")
        super().__init__(
            "etcd", "--name", "n", "--data-dir", bench.root("etcd"), "--listen-client-urls", f"http://{self.address}",
            "--advertise-client-urls", f"http://{self.address}", "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"n={peer}", "--logger", "zap", "--log-level", "error", stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        try:
            while "etcd_server_is_leader 1" not in self.metrics():
                if time.monotonic() > deadline or self.process.poll() is not None:
                    log.seek(0)
                    raise SystemExit(f"etcd does not start: {log.read()}")
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise

    def metrics(self):
        try:
            # Without the proxy that the environment may name.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://{self.address}/metrics", timeout=5) as response:
                return response.read().decode().splitlines()
        except OSError:
            return []

    def requests(self):
        """The number of calls by method. The gateway makes one for each HTTP request."""
        counts = {}
        for line in self.metrics():
            if line.startswith("grpc_server_started_total{"):
                method = line.partition('grpc_method="')[2].partition('"')[0]
                counts[method] = counts.get(method, 0) + int(float(line.split()[-1]))
        return counts


def difference(after, before):
    return {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}


class SlowHandler(TokenHandler):
    """Counts the exchanges in `server.exchanges`, and delays each."""

    def do_POST(self):
        with self.server.lock:
            self.server.exchanges += 1
        time.sleep(EXCHANGE)
        super().do_POST()


def text(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def run(bench):
    key = base64.b64encode(os.urandom(32)).decode()
    good_token(bench, key)
    storm(bench, key)


def signed_in(bench, name, key, service, **store):
    """The environment of a machine whose session is in a cluster, or in files without one."""
    root = bench.root(name)
    environment = bench.environment(root, ACCOUNT_KEY=key, **store)
    for words, typed in [
        (("key", "add", "environment"), ""), (("key", "remove", "file"), ""),
        (("login", "--issuer", service.origin, "--client-id", "bench", "--username", "alice", "--password-stdin"), "a password\n"),
    ]:
        measure.run([bench.account, *words], environment, input=typed)
    return environment


def good_token(bench, key):
    with Node(bench) as cluster, Server(TokenHandler, token=TOKEN) as service:
        shared = signed_in(bench, "fleet", key, service, ACCOUNT_STORE=cluster.location)
        # Use the same key source, so that both read the same setting.
        local = signed_in(bench, "fleet-files", key, service)
        before = cluster.requests()
        measure.check(f"{bench.account} token", shared, TOKEN)
        counted = difference(cluster.requests(), before)
        # No program listens on port 1.
        offline = bench.container("fleet-offline", "--issuer", "http://127.0.0.1:1")
        entry = base64.b64encode(b"bench/account/default/Account.plist").decode()
        # Start all commands of `account` with env(1), so that its cost is the same for all.
        command = lambda variables, words: "env -i " + " ".join(f"{name}={value}" for name, value in variables.items()) + f" {bench.account} {words}"
        times = bench.hyperfine({
            "`account token`, files": (command(local, "token"), TOKEN),
            "`account token`, etcd": (command(shared, "token"), TOKEN),
            "a C program that makes the same request to etcd": (f"{bench.programs}/floor range {cluster.port} {entry}", 0),
            "a C program that makes no request": (f"{bench.programs}/floor none {offline}", 0),
            "`account whoami --max-age 0`, connection refused": (command(bench.environment(offline), "whoami --max-age 0"), "alice"),
            "`account whoami --offline`": (command(bench.environment(offline), "whoami --offline"), "alice"),
        }, bench.environment(offline))
    files, remote, request, none, refused, without = times.values()
    more, answer, client = differences(remote, files), differences(request, none), differences(refused, without)
    rest = differences(differences(more, answer), client)
    rows = [(name, median_duration(values), Ratio(values, files)) for name, values in times.items()]
    rows += [
        (f"*{part}*", median_duration(values), "")
        for part, values in (
            ("etcd, more than files", more), ("of this: a new connection, and the response of etcd (in C)", answer),
            ("of this: the start of SwiftNIO and of the HTTP client (a refused connection)", client),
            ("of this: the rest: HTTP, JSON, Base64, the copy of the archive on this machine", rest))]
    bench.report.section(
        "Sessions in etcd", f"A valid token, from one node on this machine without TLS. Requests to etcd: {text(counted)}. The last rows are "
        "differences of the rows above.", ("command", "time", "to files"), rows)
    row = "`account token`, etcd"
    bench.report.target(
        row, f"{median_duration(more)} ({duration(min(more))}–{duration(max(more))})", "≤ 2 ms more than files", statistics.median(more) <= 0.002)
    bench.report.target(row, text(counted), "1 read", counted == {"Range": 1})


def storm(bench, key):
    program, root, stores = f"{bench.build}/fleet-storm", bench.root("storm"), bench.plan.stores
    environment = {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_KEY": key}
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Node(bench))
        service = stack.enter_context(Server(SlowHandler, token=TOKEN, exchanges=0, lock=threading.Lock()))
        place = (cluster.location, root, service.origin)
        measure.run([program, "sign-in", *place], environment)
        processes = [
            stack.enter_context(Child(program, "take", *place, str(stores // PROCESSES), env=environment)) for _ in range(PROCESSES)]
        for process in processes:
            process.read()
        ready, _, trip = together(processes)
        before = cluster.requests()
        served, fastest, slowest = together(processes)
        counted = difference(cluster.requests(), before)
        exchanges = service.http.exchanges
    if ready != stores or served != stores:
        raise SystemExit(f"of {stores} stores, {ready} read the account, and {served} got a token")
    each = sum(counted.values()) / stores
    bench.report.section(
        "A storm", f"{stores} stores in {PROCESSES} processes, each with a separate storage, request a token at once when the old one has expired. The "
        f"service takes {duration(EXCHANGE)} for an exchange. Requests to etcd: {text(counted)}.",
        ("exchanges", "first", "last", "last, if all read once", "requests to etcd per store"),
        [(exchanges, duration(fastest), duration(slowest), duration(trip), f"{each:.1f}")])
    # Measure from the first request, and from the time when the new tokens are stored, which is when the first store gets a token.
    whole, after = (slowest - EXCHANGE) / trip, (slowest - fastest) / trip
    # Each store requests the account, the record of refreshes, the refresh lease (twice if the lookup was slow), a watch, the record when
    # the token is sent, and the account again. Stores that find the lease free send a few more requests.
    for measured, demand, is_met in (
        (f"{exchanges}", "1 exchange", exchanges == 1),
        (f"the exchange and {whole:.1f}", "the last ≤ the exchange and 3 reads by all at once", whole <= 3),
        (f"{after:.1f}", "the last ≤ 3 reads by all at once after the first", after <= 3),
        (f"{each:.1f}", "≤ 8 requests to etcd per store", each <= 8),
    ):
        bench.report.target(f"storm of {stores}", measured, demand, is_met)


def together(processes):
    """Starts the next step. Returns the number of stores that succeeded, and the seconds of the fastest and the slowest store."""
    for process in processes:
        process.write("")
    results = [[int(word) for word in process.read().split()] for process in processes]
    return sum(one[0] for one in results), min(one[2] for one in results) / 1000, max(1, *(one[3] for one in results)) / 1000
