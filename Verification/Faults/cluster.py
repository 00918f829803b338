"""An etcd cluster on this machine, and a proxy that can inspect and change each request."""

import base64
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request

GIVEN_PORTS = set()


def free_port():
    """Returns a port outside the range of ephemeral ports, because the kernel could assign such a port to another program before
    the node listens, or while the node is down."""
    while True:
        port = random.randrange(10_000, 32_768)
        if port in GIVEN_PORTS:
            continue
        GIVEN_PORTS.add(port)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def wait_for(what, condition, seconds=120):
    """Waits until a condition holds, and fails at the deadline."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"it never happened: {what}")


class Cluster:
    """Nodes, on loopback or each in its own network namespace, where `hosts` and `peer_hosts` are their addresses."""

    def __init__(self, folder, options=(), hosts=None, peer_hosts=None, wrappers=None):
        count = 3
        self.folder, self.options = folder, list(options)
        self.wrappers = wrappers or [[]] * count
        ports = [free_port() for _ in range(2 * count)] if hosts is None else [2379] * count + [2380] * count
        self.hosts = hosts or ["127.0.0.1"] * count
        self.clients = [f"{host}:{port}" for host, port in zip(self.hosts, ports)]
        self.peers = [f"{host}:{port}" for host, port in zip(peer_hosts or self.hosts, ports[count:])]
        self.names = [f"node{index}" for index in range(count)]
        self.processes = [None] * count
        self.stopped = set()
        folder.mkdir(exist_ok=True)

    def start(self, index, state="new"):
        initial = ",".join(f"node{other}=http://{self.peers[other]}" for other in range(len(self.names)))
        client, peer = f"http://{self.clients[index]}", f"http://{self.peers[index]}"
        command = [
            *self.wrappers[index], "etcd", "--name", self.names[index], "--data-dir", str(self.data(index)),
            "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", initial, "--initial-cluster-state", state,
            "--logger", "zap", "--log-level", "error", *self.options]
        # On a busy machine, short timeouts cause unwanted elections. Each case triggers the elections that it needs.
        command += ["--heartbeat-interval", "100", "--election-timeout", "1500"]
        with open(self.folder / f"node{index}.log", "ab") as log:
            self.processes[index] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def data(self, index):
        return self.folder / self.names[index]

    def start_all(self):
        for index in range(len(self.names)):
            if self.processes[index] is None:
                self.start(index)
        self.wait()
        return self

    def wait(self):
        wait_for("the cluster has a leader", lambda: self.control("get", "ready", check=False).returncode == 0)

    def kill(self, index):
        process, self.processes[index] = self.processes[index], None
        process.kill()
        process.wait()

    def pause(self, index):
        self.processes[index].send_signal(signal.SIGSTOP)
        self.stopped.add(index)

    def resume(self, index):
        self.stopped.discard(index)
        self.processes[index].send_signal(signal.SIGCONT)

    def end(self):
        for process in self.processes:
            if process is not None:
                process.kill()
                process.wait()

    def running(self):
        return [index for index, process in enumerate(self.processes) if process is not None and index not in self.stopped]

    def control(self, *arguments, nodes=None, check=True, timeout=60):
        endpoints = ",".join(f"http://{self.clients[index]}" for index in nodes or self.running())
        return subprocess.run(
            # A failed command that need not succeed is repeated.
            ["etcdctl", "--endpoints", endpoints, f"--command-timeout={30 if check else 5}s", *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=check, timeout=timeout,
            env={**os.environ, "ETCDCTL_API": "3"})

    def status(self, index):
        done = self.control("endpoint", "status", "-w", "json", nodes=[index], check=False)
        return json.loads(done.stdout)[0]["Status"] if done.returncode == 0 and done.stdout.strip() else None

    def leader(self):
        def look():
            for index in self.running():
                status = self.status(index)
                # A deposed leader may still report itself as the leader.
                if status and status["leader"] == status["header"]["member_id"]:
                    return [index]
            return None
        return wait_for("a node leads", look)[0]

    def revision(self):
        return int(self.gateway("/v3/kv/range", {"key": encoded("ready")})["header"]["revision"])

    def gateway(self, path, body, timeout=30):
        """The response from a running node to a call of the JSON gateway."""
        last = None
        for index in self.running():
            request = urllib.request.Request(
                f"http://{self.clients[index]}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=timeout) as response:
                    return json.load(response)
            except OSError as error:
                last = error
        raise RuntimeError(f"no node says anything: {last}")

    def leases(self):
        # etcdctl prints and accepts the identifiers in hexadecimal.
        lines = self.control("lease", "list").stdout.split("\n")
        return [line.strip() for line in lines if line and not line.startswith("found")]

    def leases_below(self, prefix):
        """The leases of the keys of one case. Other cases may run at the same time."""
        kvs = self.gateway("/v3/kv/range", {"key": encoded(prefix), "range_end": encoded(end_of(prefix))}).get("kvs", [])
        return {int(kv["lease"]) for kv in kvs if int(kv.get("lease", 0))}

    def revoke(self, leases):
        """Revokes leases, as if they had expired now."""
        for lease in leases:
            self.control("lease", "revoke", f"{lease:x}", check=False)

    def history(self, prefix, first=1):
        """All changes below a prefix, in order: the events of a watch from a revision up to a mark that is set now."""
        try:
            self.gateway("/v3/kv/put", {"key": encoded(prefix + "~end"), "value": encoded("")})
            patience = 60
        except RuntimeError:
            # Without space, no mark can be set: wait for a while, then assume that all events have arrived.
            patience = 3
        index = self.running()[0]
        body = {"create_request": {
            "key": encoded(prefix), "range_end": encoded(end_of(prefix)), "start_revision": str(first)}}
        request = urllib.request.Request(
            f"http://{self.clients[index]}/v3/watch", json.dumps(body).encode(), {"Content-Type": "application/json"})
        events = []
        with urllib.request.urlopen(request, timeout=patience) as response:
            while True:
                try:
                    line = response.readline()
                except TimeoutError:
                    line = b""
                if not line and patience < 60:
                    return events
                if not line:
                    raise RuntimeError("the watch ended before the mark")
                result = json.loads(line).get("result", {})
                if int(result.get("compact_revision", 0)):
                    raise RuntimeError(f"compacted at {result['compact_revision']}")
                for event in result.get("events", []):
                    kv = event["kv"]
                    key = base64.b64decode(kv["key"]).decode()
                    if key == prefix + "~end":
                        if "value" in kv or event.get("type") != "DELETE":
                            self.gateway("/v3/kv/deleterange", {"key": encoded(key)})
                            return events
                        continue
                    events.append(Change(key[len(prefix):], int(kv["mod_revision"]), event.get("type") == "DELETE", kv))


class Change:
    """A key that was written or removed, and the revision."""

    def __init__(self, key, revision, is_deletion, kv):
        self.key, self.revision, self.is_deletion = key, revision, is_deletion
        self.create_revision = int(kv.get("create_revision", 0))
        self.lease = int(kv.get("lease", 0))
        self.value = base64.b64decode(kv.get("value", ""))

    def __repr__(self):
        return f"{self.revision} {'-' if self.is_deletion else '+'}{self.key}"


def encoded(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def end_of(prefix):
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


# MARK: The proxy

class Request:
    """A request through the proxy: its time, content and result."""

    def __init__(self, number, method, path, head, body, port):
        self.number, self.method, self.path, self.head, self.body, self.port = number, method, path, head, body, port
        self.began, self.ended = time.monotonic(), None
        self.status, self.response = None, b""
        # Whether the request was sent, and whether the client may have received the response.
        self.is_forwarded, self.is_answered = False, False

    def json(self):
        try:
            return json.loads(self.response)
        except ValueError:
            return {}

    def what(self):
        """A description, with the entry for requests to etcd."""
        words = []
        try:
            call = json.loads(self.body)
        except ValueError:
            return self.path
        for part in [call, call.get("create_request", {}), *[
                next(iter(o.values())) for o in call.get("success", [])], *call.get("compare", [])]:
            key = base64.b64decode(part.get("key", "")).decode().split("/")[-1] if isinstance(part, dict) else ""
            if key and key not in words:
                words.append(key)
        return f"{self.path.removeprefix('/v3/')} {' '.join(words)}".strip()


class Proxy:
    """Accepts HTTP requests at its own ports and forwards them, one for each connection.

    The proxy calls `rule(request)` before it sends a request. The rule returns `None` to forward the request, or a function that the proxy
    calls with `(proxy, request, forward)`. This function returns whether the client gets the response. `forward()` sends the request and
    returns the bytes of the response. `head_rule(head)` is called before the body of a request is read.
    """

    def __init__(self, targets, namespace=None):
        self.namespace = namespace
        self.rule, self.head_rule = None, None
        self.requests = []
        self.lock = threading.Lock()
        self.listeners, self.addresses, self.cut = [], [], False
        for target in targets:
            self.addresses.append(self.listen(target, namespace))

    def listen(self, target, namespace=None, port=0):
        """Listens for a target at a loopback port, in a network namespace. Returns the address."""
        listener = within(namespace, lambda: socket.create_server(("127.0.0.1", port), backlog=256))
        self.listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener, target), daemon=True).start()
        return "%s:%d" % listener.getsockname()[:2]

    def connect(self, target):
        return within(self.namespace, lambda: socket.create_connection(target, timeout=5))

    def close(self):
        for listener in self.listeners:
            hang_up(listener)
            listener.close()

    def _accept(self, listener, target):
        while True:
            try:
                connection, peer = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection, peer[1], target), daemon=True).start()

    def _serve(self, connection, port, target):
        with connection:
            try:
                head, body = read_message(connection, on_head=self.head_rule)
                if head is None or self.cut:
                    return
                method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
                with self.lock:
                    request = Request(len(self.requests) + 1, method, path, head, body, port)
                    self.requests.append(request)
                rule = self.rule(request) if self.rule else None
                if path == "/v3/watch" and rule is None:
                    request.is_forwarded = True
                    self._relay(connection, target, head, body)
                    return

                def forward():
                    request.is_forwarded = True
                    answer = exchange(target, head, request.body, self.connect)
                    request.ended = time.monotonic()
                    request.status = int(answer.split(b" ", 2)[1])
                    request.response = content(answer)
                    return answer

                answer = forward() if rule is None else rule(self, request, forward)
                if answer is not None:
                    request.is_answered = True
                    connection.sendall(answer)
            except OSError:
                pass
            finally:
                if "request" in locals() and request.ended is None:
                    request.ended = time.monotonic()

    def _relay(self, connection, target, head, body):
        """Relays a streamed response until one side ends it."""
        with self.connect(target) as upstream:
            upstream.settimeout(None)
            upstream.sendall(closing(head) + body)

            def ended():
                try:
                    connection.recv(1)
                except OSError:
                    pass
                hang_up(upstream)
            threading.Thread(target=ended, daemon=True).start()
            try:
                while (part := upstream.recv(65536)) and not self.cut:
                    connection.sendall(part)
            finally:
                # Closing alone does not wake the reading thread.
                hang_up(connection)


def within(namespace, make):
    """Creates a socket in a network namespace, in a temporary thread that enters the namespace. The socket stays there."""
    if namespace is None:
        return make()
    made = []

    def body():
        try:
            with open(f"/run/netns/{namespace}") as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(make())
        except OSError as error:
            made.append(error)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def hang_up(connection):
    """Shuts the connection down, because closing alone does not wake the threads that wait at the socket."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def closing(head):
    lines = [line for line in head.rstrip(b"\r\n").split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join(lines + [b"Connection: close"]) + b"\r\n\r\n"


def exchange(target, head, body, connect=socket.create_connection):
    """Sends a request and returns the complete response, with a length and without chunks."""
    lines = [line for line in closing(head).rstrip(b"\r\n").split(b"\r\n")
             if not line.lower().startswith((b"content-length:", b"transfer-encoding:"))]
    if body or head.startswith(b"POST"):
        lines.append(b"Content-Length: %d" % len(body))
    with connect(target) as upstream:
        upstream.settimeout(60)
        upstream.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        head, body = read_message(upstream, is_response=True)
    if head is None:
        raise OSError("no response")
    return response(head, body)


def response(head, body):
    lines = [line for line in head.rstrip(b"\r\n").split(b"\r\n") if not line.lower().startswith(
        (b"content-length:", b"transfer-encoding:", b"connection:", b"trailer:"))]
    return b"\r\n".join(lines + [b"Content-Length: %d" % len(body), b"Connection: close"]) + b"\r\n\r\n" + body


def answer(status, words, body=b"{}", *fields):
    head = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n" % (status, words.encode())
    return response(head + b"".join(field.encode() + b"\r\n" for field in fields), body)


def content(answer):
    return answer.partition(b"\r\n\r\n")[2]


def read_message(connection, is_response=False, on_head=None):
    """The head and the unchunked body, or nothing if the other side has closed the connection. `on_head` is called before the body is read.
    """
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None, b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    head += b"\r\n\r\n"
    if on_head:
        on_head(head)
    fields = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip().lower()

    def more():
        nonlocal body
        part = connection.recv(65536)
        body += part
        return part
    if fields.get(b"transfer-encoding") == b"chunked":
        whole = b""
        while True:
            while b"\r\n" not in body:
                if not more():
                    raise OSError("cut off")
            size, _, body = body.partition(b"\r\n")
            size = int(size.split(b";")[0], 16)
            while len(body) < size + 2:
                if not more():
                    raise OSError("cut off")
            whole, body = whole + body[:size], body[size + 2:]
            if size == 0:
                return head, whole
    if b"content-length" in fields:
        while len(body) < int(fields[b"content-length"]):
            if not more():
                raise OSError("cut off")
    elif is_response and not head.startswith(b"HTTP/1.1 204"):
        while more():
            pass
    return head, body


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
