"""Measures sessions in an etcd cluster: a valid token compared with files, and many simultaneous requests."""

import base64
import os
import shutil
import socket
import statistics
import subprocess
import threading
import time
import urllib.request

from measure import Ratio, duration, hyperfine
from report import time as shown
from token_service import Handler, TokenService

STORES, PROCESSES = 1000, 4
# The seconds that the service takes to exchange a token, like a service on another continent.
EXCHANGE = 0.5


class Node:
    """A cluster of one node, on the loopback interface."""

    def __init__(self, folder):
        folder = os.path.join(folder, "etcd")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            self.address, peer = (f"127.0.0.1:{place.getsockname()[1]}" for place in (one, two))
        self.url = f"etcd://{self.address}/bench"
        self.process = subprocess.Popen(
            ["etcd", "--name", "n", "--data-dir", f"{folder}/n", "--listen-client-urls", f"http://{self.address}", "--advertise-client-urls",
             f"http://{self.address}", "--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls", f"http://{peer}",
             "--initial-cluster", f"n=http://{peer}", "--logger", "zap", "--log-level", "error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while "etcd_server_is_leader 1" not in self.metrics():
            if time.monotonic() > deadline:
                raise SystemExit("etcd does not start")
            time.sleep(0.1)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def metrics(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as response:
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


class SlowService(TokenService):
    """Counts the exchanges, and delays each."""

    def __init__(self, token):
        super().__init__(token)
        self.server.RequestHandlerClass = SlowHandler
        self.server.exchanges, self.server.delay, self.server.lock = 0, EXCHANGE, threading.Lock()


class SlowHandler(Handler):
    def do_POST(self):
        with self.server.lock:
            self.server.exchanges += 1
        time.sleep(self.server.delay)
        super().do_POST()


def run(report, account, build, containers, folder, rounds):
    key = base64.b64encode(os.urandom(32)).decode()
    good_token(report, account, containers, folder, key, rounds)
    storm(report, os.path.join(build, "fleet-storm"), folder, key)


def signed_in(account, containers, cluster, name, key, service):
    """The environment of a machine whose session is in the cluster, or in files without a cluster."""
    root = os.path.join(containers.folder, name)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root, mode=0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_HOME": root, "ACCOUNT_KEY": key}
    if cluster:
        environment["ACCOUNT_STORE"] = cluster.url
    for words, text in [
        (("key", "add", "environment"), ""), (("key", "remove", "file"), ""),
        (("login", "--issuer", service.issuer, "--client-id", "bench", "--username", "alice", "--password-stdin"), "a password\n"),
    ]:
        subprocess.run([account, *words], env=environment, input=text, text=True, check=True, capture_output=True)
    return environment


class Person(SlowHandler):
    def do_GET(self):
        if self.path == "/userinfo_endpoint":
            return self.answer({"sub": "1", "preferred_username": "alice"})
        return super().do_GET()


def service_with_person(delay=0.0):
    service = SlowService("t" * 87)
    service.server.RequestHandlerClass, service.server.delay = Person, delay
    return service


def good_token(report, account, containers, folder, key, rounds):
    cluster, service = Node(folder), service_with_person()
    try:
        shared = signed_in(account, containers, cluster, "fleet", key, service)
        # Use the same key source, so that both read the same setting.
        local = signed_in(account, containers, None, "fleet-files", key, service)
        before = cluster.requests()
        subprocess.run([account, "token"], env=shared, check=True, capture_output=True)
        counted = difference(cluster.requests(), before)
        # Start both commands with env(1), so that its cost is the same for both.
        command = lambda variables: "env -i " + " ".join(f"{name}={value}" for name, value in variables.items()) + f" {account} token"
        times = hyperfine(
            {"`account token`, files": command(local), "`account token`, etcd": command(shared)}, dict(os.environ), rounds)
    finally:
        service.stop()
        cluster.stop()
    files, remote = times.values()
    gaps = [one - other for one, other in zip(remote, files, strict=True)]
    report.section(
        "Sessions in etcd", f"A valid token, from one node on this machine without TLS. Requests to etcd: {text(counted)}.",
        ("command", "time", "to files"), [(name, shown(values), Ratio(values, files)) for name, values in times.items()])
    gap = statistics.median(gaps)
    report.target("`account token`, etcd", "≤ 2 ms more than files", f"{duration(gap)} ({duration(min(gaps))}–{duration(max(gaps))})", gap <= 0.002)
    report.target("`account token`, etcd", "1 read", text(counted), counted == {"Range": 1})


def storm(report, program, folder, key):
    cluster, service = Node(folder), SlowService("t" * 87)
    root = os.path.join(folder, "storm")
    environment = {"PATH": os.environ["PATH"], "HOME": root, "ACCOUNT_KEY": key}
    processes = []
    try:
        subprocess.run([program, "sign-in", cluster.url, root, service.issuer], env=environment, check=True)
        processes = [
            subprocess.Popen(
                [program, "take", cluster.url, root, service.issuer, str(STORES // PROCESSES)], env=environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
            for _ in range(PROCESSES)]
        for process in processes:
            process.stdout.readline()
        trip = together(processes)[2]
        before = cluster.requests()
        served, fastest, slowest = together(processes)
        counted = difference(cluster.requests(), before)
        exchanges = service.server.exchanges
    finally:
        for process in processes:
            process.kill()
            process.wait()
        service.stop()
        cluster.stop()
        shutil.rmtree(root, ignore_errors=True)
    each = sum(counted.values()) / STORES
    report.section(
        "A storm", f"{STORES} stores in {PROCESSES} processes, each with a separate storage, request a token at once when the old one has expired. The "
        f"service takes {duration(EXCHANGE)} for an exchange. Requests to etcd: {text(counted)}.",
        ("served", "exchanges", "first", "last", "last, if all read once", "requests to etcd per store"),
        [(served, exchanges, duration(fastest), duration(slowest), duration(trip), f"{each:.1f}")])
    report.target(f"storm of {STORES}", "all are served, 1 exchange", f"{served} served, {exchanges} exchanges", (served, exchanges) == (STORES, 1))
    # Measure from the first request, and from the time when the new tokens are stored, which is when the first store gets a token.
    whole, after = (slowest - EXCHANGE) / trip, (slowest - fastest) / trip
    report.target(f"storm of {STORES}", "the last ≤ the exchange and 3 reads by all at once", f"the exchange and {whole:.1f}", whole <= 3)
    report.target(f"storm of {STORES}", "the last ≤ 3 reads by all at once after the first", f"{after:.1f}", after <= 3)
    # Each store requests the account, the record of refreshes, the refresh lease (twice if the lookup was slow), a watch, the record when
    # the token is sent, and the account again. Stores that find the lease free send a few more requests.
    report.target(f"storm of {STORES}", "≤ 8 requests to etcd per store", f"{each:.1f}", each <= 8)


def together(processes):
    """Starts the next step. Returns the number of stores that succeeded, and the seconds of the fastest and the slowest store."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = [[int(word) for word in process.stdout.readline().split()] for process in processes]
    return sum(one[0] for one in results), min(one[2] for one in results) / 1000, max(one[3] for one in results) / 1000


def text(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
