"""An etcd node over TLS with users, the host names for it, and a service for sign-ins."""

import base64
import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
import urllib.parse


class Store:
    """One node, for all host names in the URL."""

    user = "notes:a-password"

    def __init__(self, folder, url):
        self.folder, self.url = folder, url
        self.hosts = [part.partition(":")[0] for part in urllib.parse.urlsplit(url).netloc.split(",")]
        self.prefix = urllib.parse.urlsplit(url).path.strip("/")
        self.key = base64.b64encode(os.urandom(32)).decode()
        self.authority = folder / "ca.pem"
        self.node = None

    def __enter__(self):
        self.make_certificates()
        self.start()
        for words, text in [
            (("user", "add", "root", "--interactive=false"), "root-password"),
            (("user", "grant-role", "root", "root"), None),
            (("role", "add", "notes"), None),
            (("role", "grant-permission", "--prefix=true", "notes", "readwrite", self.prefix + "/"), None),
            (("user", "add", "notes", "--interactive=false"), self.user.partition(":")[2]),
            (("user", "grant-role", "notes", "notes"), None),
            (("auth", "enable"), None),
        ]:
            self.etcdctl(*words, text=text).check_returncode()
        return self

    def __exit__(self, *_):
        self.stop()

    def make_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *curve, "-subj", "/O=etcd", "-keyout", "server.key", "-out", "server.csr")
        names = ",".join(f"DNS:{host}" for host in ("localhost", *self.hosts))
        (self.folder / "names").write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
        openssl(
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names",
            "-out", "server.pem")

    def start(self):
        self.node = subprocess.Popen(
            ["etcd", "--data-dir", self.folder / "etcd", "--cert-file", self.folder / "server.pem", "--key-file", self.folder / "server.key",
             "--listen-client-urls", "https://0.0.0.0:2379", "--advertise-client-urls", "https://localhost:2379", "--logger", "zap",
             "--log-level", "error"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 180
        while self.etcdctl("endpoint", "health", text="").returncode != 0:
            if time.monotonic() > deadline:
                raise SystemExit("etcd does not start")
            time.sleep(0.1)

    def stop(self):
        self.node.kill()
        self.node.wait()

    def etcdctl(self, *words, text=None):
        environment = {
            "PATH": os.environ["PATH"], "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": "https://localhost:2379",
            "ETCDCTL_CACERT": str(self.authority)} | ({"ETCDCTL_USER": self.user} if words[0] == "endpoint" and self.is_enabled else {})
        done = subprocess.run(["etcdctl", *words], env=environment, input=text, text=True, capture_output=True)
        self.is_enabled = self.is_enabled or words[0] == "auth"
        return done

    is_enabled = False


@contextlib.contextmanager
def names(hosts):
    """A name server on the loopback interface, which resolves these names to this machine, and no other names."""
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind(("127.0.0.1", 53))

    def serve():
        while True:
            try:
                query, sender = wire.recvfrom(512)
            except OSError:
                return
            end, labels = 12, []
            while query[end]:
                labels.append(query[end + 1 : end + 1 + query[end]].decode())
                end += 1 + query[end]
            question, kind = query[12 : end + 5], query[end + 1 : end + 3]
            is_known, is_address = ".".join(labels) in hosts, kind == b"\0\1"
            answer = b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 60, 4) + bytes([127, 0, 0, 1]) if is_known and is_address else b""
            header = query[:2] + struct.pack(">HHHHH", 0x8180 if is_known else 0x8183, 1, 1 if answer else 0, 0, 0)
            wire.sendto(header + question + answer, sender)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        wire.close()


@contextlib.contextmanager
def auth_server(program, folder):
    process = subprocess.Popen(
        [program, "--quiet", "--port", "0", "--state", folder / "server.json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.wait()
