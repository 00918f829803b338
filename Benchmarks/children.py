"""Programs and servers that end with a `with` block."""

import http.server
import json
import subprocess
import threading

import measure


class Child:
    """A process."""

    def __init__(self, *command, **options):
        try:
            self.process = subprocess.Popen(
                command, text=True, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options})
        except OSError as error:
            raise SystemExit(f"`{command[0]}` cannot be started: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def read(self):
        """The next line. Fails at the end of the output."""
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"`{' '.join(self.process.args)}` ended too early, with {self.process.wait()}")
        return line.rstrip("\n")

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


class Service(Child):
    """The service in C."""

    def __init__(self, programs):
        super().__init__(f"{programs}/service")
        self.port = int(self.read())
        self.issuer = f"http://127.0.0.1:{self.port}"

    def usage(self):
        """The processor time of all requests in seconds, and their number."""
        self.write("")
        nanoseconds, requests = map(int, self.read().split())
        return nanoseconds / 1e9, requests

    def requests_of(self, command, environment):
        """The number of requests that a command makes."""
        before = self.usage()[1]
        measure.check(command, environment, None)
        return self.usage()[1] - before


class Server:
    """An HTTP server on the loopback interface, on threads of this process. `state` becomes attributes of the handlers' `server`."""

    def __init__(self, handler, **state):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.__dict__.update(state)
        self.origin = self.http.origin = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this, a response waits until the client has acknowledged the header.
    disable_nagle_algorithm = True

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, document, status=200):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class TokenHandler(Handler):
    """A service whose token endpoint accepts everything, and issues `server.token`."""

    def do_GET(self):
        issuer = self.server.origin
        if self.path == "/userinfo_endpoint":
            return self.answer({"sub": "1", "preferred_username": "alice"})
        places = {name: f"{issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")}
        self.answer({
            "issuer": issuer, **places, "scopes_supported": ["openid", "offline_access"],
            "grant_types_supported": ["authorization_code", "refresh_token"], "response_types_supported": ["code"]})

    def do_POST(self):
        self.body()
        self.answer({
            "access_token": self.server.token, "token_type": "Bearer", "expires_in": 86400, "refresh_token": "refresh",
            "scope": "openid offline_access"})
