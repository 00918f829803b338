"""The imitated service: `auth-server` behind a front, over TLS, with a new user for each question.

Every client reaches the service through the front, which records each request: what a client sends decides most rows. The front also
answers at the addresses that only one client needs, such as GitHub's GraphQL, from the user info of the server.
"""

import http.client
import json
import re
import ssl
import subprocess
import threading
import urllib.parse
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

USER, PASSWORD = "alice", "correct horse battery staple"
CLIENT_ID = "account-cli"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"

# What the front needs to know of a service: its paths, as in IntegrationTests/Sources/auth-server/Services/Personalities.swift.
_STANDARD = dict(
    issuer="", authorization="/oauth/authorize", token="/oauth/token", device="/oauth/device_authorization", page="/device",
    api="/oauth/userinfo")


def _paths(**others):
    return {**_STANDARD, **others}


PATHS = {
    "github": _paths(
        authorization="/login/oauth/authorize", token="/login/oauth/access_token", device="/login/device/code", page="/login/device",
        api="/api/v3/user"),
    "gitlab": _paths(device="/oauth/authorize_device", page="/oauth/device"),
    "gitea": _paths(
        authorization="/login/oauth/authorize", token="/login/oauth/access_token", device=None, api="/login/oauth/userinfo"),
    "google": _paths(),
    "entra": _paths(
        issuer="/common/v2.0", authorization="/common/oauth2/v2.0/authorize", token="/common/oauth2/v2.0/token",
        device="/common/oauth2/v2.0/devicecode", page="/common/oauth2/deviceauth", api="/oidc/userinfo"),
    "auth0": _paths(authorization="/authorize", device="/oauth/device/code", page="/activate", api="/userinfo"),
    "okta": _paths(
        issuer="/oauth2/default", authorization="/oauth2/default/v1/authorize", token="/oauth2/default/v1/token",
        device="/oauth2/default/v1/device/authorize", page="/activate", api="/oauth2/default/v1/userinfo"),
    "keycloak": _paths(
        issuer="/realms/main", authorization="/realms/main/protocol/openid-connect/auth",
        token="/realms/main/protocol/openid-connect/token", device="/realms/main/protocol/openid-connect/auth/device",
        page="/realms/main/device", api="/realms/main/protocol/openid-connect/userinfo"),
    "atlassian": _paths(authorization="/authorize", device=None, api="/me"),
    "slack": _paths(
        authorization="/openid/connect/authorize", token="/api/openid.connect.token", device=None, api="/api/openid.connect.userInfo"),
    "discord": _paths(authorization="/oauth2/authorize", token="/api/oauth2/token", device=None, api="/api/users/@me"),
    "huggingface": _paths(device="/oauth/device", page="/oauth/device/activate"),
    "bluesky": _paths(device=None),
    # The server without --service, which follows the standards.
    "standard": _paths(),
}
PATHS["github-app"] = PATHS["github"]

# The services that require a client secret, at least for a code, and accept any.
NEEDS_SECRET = {"github", "github-app", "google", "atlassian"}
ENTRA_TENANT = "9122040d-6c67-4c5b-b112-36a304b66dad"

# The client ID that gh contains. The front replaces it by the client ID of the server.
GH_CLIENT_ID = "178c6fc778ccc68e1d6a"

# The scopes that a program would request at a service.
SCOPES = {
    "github": ["read:user"], "github-app": ["read:user"], "gitlab": ["openid", "read_user"], "gitea": ["openid", "profile"],
    "google": ["openid", "profile"], "entra": ["openid", "profile", "offline_access", "User.Read"],
    "auth0": ["openid", "profile", "offline_access"], "okta": ["openid", "profile", "offline_access"],
    "keycloak": ["openid", "profile"], "atlassian": ["read:me", "offline_access"], "slack": ["openid", "profile"],
    "discord": ["identify"], "huggingface": ["openid", "profile"], "bluesky": ["atproto"],
    "standard": ["openid", "profile", "offline_access"],
}


class Refused(Exception):
    """A page of the service that does not sign the user in."""


@dataclass
class Request:
    """A request that the front has forwarded, and its status."""

    method: str
    path: str
    query: dict
    form: dict
    headers: dict
    status: int = 0

    @property
    def grant(self):
        return self.form.get("grant_type")


@dataclass
class Certificate:
    """A certificate for localhost, and the authority that signed it."""

    authority: str
    chain: str
    key: str

    @classmethod
    def make(cls, folder):
        folder = Path(folder)

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=Verification", "-keyout", "ca.key",
                "-out", "ca.pem", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
        (folder / "san").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "leaf.key", "-out", "leaf.csr")
        openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30", "-extfile",
                "san", "-out", "leaf.pem")
        return cls(str(folder / "ca.pem"), str(folder / "leaf.pem"), str(folder / "leaf.key"))


class Service:
    """A running `auth-server --service NAME`, and the front."""

    def __init__(self, program, certificate, name, *options):
        self.name = name
        self.paths = PATHS[name]
        self.requests = []
        # Header fields that a proxy on the way would remove.
        self.stripped = set()
        # Whether clients have a secret where the service requires one.
        self.gives_secret = True
        self._lock = threading.Lock()
        self._server_secret = options[options.index("--client-secret") + 1] if "--client-secret" in options else None
        words = [] if name == "standard" else ["--service", name]
        self._process = subprocess.Popen(
            [program, *words, "--quiet", "--device-interval", "1", "--tls-certificate", certificate.chain, "--tls-key", certificate.key,
             *options],
            stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line.startswith("listening on "):
            self._process.kill()
            raise RuntimeError(f"auth-server did not start: {line}")
        self._port = int(line.strip().rsplit(":", 1)[1])
        self._unverified = ssl._create_unverified_context()
        self._front = _Front(("127.0.0.1", 0), _handler(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.chain, certificate.key)
        # The handshake takes place in the thread of the connection, so that an idle connection delays no other.
        self._front.socket = context.wrap_socket(self._front.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._front.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        self._front.shutdown()
        self._front.server_close()
        self._process.terminate()
        self._process.wait(10)

    # MARK: Addresses

    @property
    def host(self):
        return f"localhost:{self._front.server_address[1]}"

    @property
    def origin(self):
        return "https://" + self.host

    @property
    def issuer(self):
        return self.origin + self.paths["issuer"]

    def url(self, endpoint):
        return self.origin + self.paths[endpoint]

    @property
    def scopes(self):
        return list(SCOPES[self.name])

    @property
    def secret(self):
        return "account-secret" if self.gives_secret and self.name in NEEDS_SECRET else None

    # MARK: The user

    def approve(self, user_code):
        """Approves a sign-in on another device, as the user."""
        self._post_form(self.paths["page"], {"user_code": user_code, "username": USER, "password": PASSWORD, "decision": "approve"})

    def browse(self, url):
        """Signs in on the page of an authorization URL. Returns the URL to which the browser is redirected.

        Raises Refused with the text of the page if there is no redirect, or with the error in it.
        """
        parts = urllib.parse.urlsplit(url)
        query = dict(urllib.parse.parse_qsl(parts.query))
        location = self._post_form(parts.path, {**query, "username": USER, "password": PASSWORD, "decision": "approve"}, query=parts.query)
        if "error=" in location:
            error = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
            raise Refused(f"the service refuses the sign-in: {error.get('error')} {error.get('error_description', '')}")
        return location

    def _post_form(self, path, fields, query=""):
        """Sends a form to the front, which records it. Returns the Location, or raises Refused with the page."""
        connection = http.client.HTTPSConnection("localhost", self._front.server_address[1], context=self._unverified, timeout=20)
        try:
            if query:
                # Browsers open the page first. Some mistakes of a request show only here.
                connection.request("GET", f"{path}?{query}")
                page = connection.getresponse()
                text = page.read().decode(errors="replace")
                if page.status in (302, 303):
                    return page.headers["Location"]
                if page.status != 200:
                    raise Refused(f"the page of the service: {_text(text)}")
            connection.request(
                "POST", path, urllib.parse.urlencode(fields), {"Content-Type": "application/x-www-form-urlencoded"})
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            if response.status >= 400:
                raise Refused(f"the page of the service: {_text(text)}")
            return response.headers.get("Location", "")
        finally:
            connection.close()

    # MARK: Control

    def control(self, path, body=None, method="POST"):
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._unverified, timeout=20)
        try:
            connection.request(
                method, "/control/" + path, None if method in ("GET", "DELETE") else json.dumps(body or {}),
                {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
            if response.status != 200:
                raise RuntimeError(f"/control/{path}: {response.status} {text}")
            return json.loads(text)
        finally:
            connection.close()

    def answer(self, status, body, headers=None, grant=None, path=None, times=None, skip=0, keep=False):
        """Makes the token endpoint, or another path, give this answer; with `keep`, in addition to earlier ones."""
        text = body if isinstance(body, str) else json.dumps(body)
        fault = {"path": path or self.paths["token"], "status": status, "body": text, "headers": headers or {}, "skip": skip}
        if grant:
            fault["grantType"] = grant
        if times:
            fault["times"] = times
        self.control("faults", {"faults": [fault], "keep": keep})

    def alter(self, omit=(), **members):
        """Changes all later token responses."""
        self.control("token-response", {"omit": list(omit), "set": members})

    def tokens(self, scope=None):
        """A token response for the user, from a sign-in on another device past the front."""
        begun = self._device_request(self.paths["device"], {"scope": scope or " ".join(self.scopes)})
        self.approve(begun["user_code"])
        return self._device_request(self.paths["token"], {"grant_type": DEVICE_GRANT, "device_code": begun["device_code"]})

    def _device_request(self, path, fields):
        """Sends a request past the front, so that it is not recorded."""
        secret = self._server_secret or self.secret
        fields = {"client_id": CLIENT_ID, **({"client_secret": secret} if secret else {}), **fields}
        status, _, body = self.forward(
            "POST", path, {"Host": self.host, "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"},
            urllib.parse.urlencode(fields).encode())
        answer = json.loads(body)
        if status != 200 or "error" in answer:
            raise RuntimeError(f"the tester cannot sign in: {status} {answer}")
        return answer

    def clear(self):
        self.control("faults", method="DELETE")

    # MARK: The record

    def forget(self):
        with self._lock:
            self.requests.clear()

    def sent(self, endpoint=None, grant=None):
        """The recorded requests to an endpoint, or with a grant type."""
        with self._lock:
            return [
                r for r in self.requests
                if (endpoint is None or r.path == self.paths[endpoint]) and (grant is None or r.grant == grant)]

    def asked_user(self):
        """Whether a client has begun another sign-in."""
        begun = [self.paths["authorization"], self.paths["device"]]
        return any(r.path in begun for r in self.sent()) or any(
            r.grant in ("password", "authorization_code", DEVICE_GRANT) for r in self.sent())

    def record(self, request):
        with self._lock:
            self.requests.append(request)

    # MARK: Forwarding

    def forward(self, method, target, headers, body):
        """Returns the status, the fields and the body of the server's response, or None if the server has closed the connection."""
        target, body = target.replace(GH_CLIENT_ID, CLIENT_ID), body.replace(GH_CLIENT_ID.encode(), CLIENT_ID.encode())
        if self.name == "github":
            # GitHub accepts both words; the server only the standard one.
            headers = {k: re.sub("^token ", "Bearer ", v) if k.lower() == "authorization" else v for k, v in headers.items()}
        path = urllib.parse.urlsplit(target).path
        rewritten = _REWRITTEN.get(path)
        if rewritten:
            method, target, body = "GET", rewritten[0](self), b""
            headers = {k: v for k, v in headers.items() if k.lower() not in ("content-type", "content-length")}
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._unverified, timeout=60)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            data = response.read()
            fields = [(k, v) for k, v in response.getheaders() if k.lower() not in ("connection", "content-length", "transfer-encoding")]
            if rewritten and response.status == 200:
                data = json.dumps(rewritten[1]).encode()
                fields = [("Content-Type", "application/json"), *rewritten[2]]
            return response.status, fields, data
        except (http.client.HTTPException, OSError):
            return None
        finally:
            connection.close()


# The addresses of single clients: where the server checks the token, and the answer to a valid one.
_REWRITTEN = {
    "/api/graphql": (lambda s: s.paths["api"], {"data": {"viewer": {"login": USER}}}, []),
    "/api/v3/": (lambda s: s.paths["api"], {}, [("X-OAuth-Scopes", "repo, read:org, gist, workflow")]),
    "/api/whoami-v2": (
        lambda s: s.paths["api"], {"type": "user", "name": USER, "id": "1", "auth": {"type": "oauth"}, "orgs": []}, []),
}


def _text(page):
    """The words of a page."""
    words, inside = [], False
    for character in page.split("<body", 1)[-1]:
        inside = character == "<" or inside and character != ">"
        words.append(" " if inside or character == ">" else character)
    return " ".join("".join(words).split())[:200]


class _Front(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client may close its connection at any time."""


def _handler(service):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def log_message(self, *_):
            pass

        def _any(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urllib.parse.urlsplit(self.path)
            form = dict(urllib.parse.parse_qsl(body.decode(errors="replace"))) if self.command == "POST" else {}
            request = Request(self.command, parts.path, dict(urllib.parse.parse_qsl(parts.query)), form, dict(self.headers.items()))
            service.record(request)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in service.stripped}
            answer = service.forward(self.command, self.path, headers, body)
            if answer is None:
                self.close_connection = True
                return
            request.status, fields, data = answer
            self.send_response_only(request.status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_HEAD = do_DELETE = do_PATCH = do_PUT = _any

    return Handler
