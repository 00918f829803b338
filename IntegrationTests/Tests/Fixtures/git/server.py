"""A git server for the end-to-end tests: git's own `git http-backend` behind a token check.

    server.py --folder FOLDER [--issuer URL]
        Serves the repositories in FOLDER on 127.0.0.1 until SIGTERM, then exits with status 0. Prints one line on standard
        output once it is ready:

            listening on http://127.0.0.1:PORT

A request requires a token, as `Bearer` or as the password of `Basic`. With --issuer, that service's user info endpoint
validates the token; without, any token is valid.

    GET    /control/log        the requests so far: [{"method", "path", "authorization", "status"}]
    POST   /control/redirect   body: a URL, to which all later requests are redirected
"""

import argparse
import base64
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.serve()

    def do_POST(self):
        self.serve()

    def serve(self):
        body = self.body()
        server = self.server
        if self.path == "/control/log":
            with server.lock:
                return self.reply(200, json.dumps(server.log).encode())
        if self.path == "/control/redirect":
            server.redirect = body.decode()
            return self.reply(200, b"")
        entry = {"method": self.command, "path": self.path, "authorization": self.headers.get("Authorization"), "status": 0}
        with server.lock:
            server.log.append(entry)
        if server.redirect:
            entry["status"] = 302
            return self.reply(302, b"", [("Location", server.redirect + self.path)])
        if not server.accepts(token_of(entry["authorization"])):
            entry["status"] = 401
            return self.reply(401, b"", [("WWW-Authenticate", 'Basic realm="Example"')])
        status, headers, content = self.backend(body)
        entry["status"] = status
        self.reply(status, content, headers)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def backend(self, body):
        """Runs git http-backend as a web server runs it (git-http-backend(1); RFC 3875)."""
        path, _, query = self.path.partition("?")
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.server.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "alice",
            "REMOTE_ADDR": "127.0.0.1",
        }
        run = subprocess.run(["git", "http-backend"], input=body, env=variables, stdout=subprocess.PIPE, check=False)
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        return status, [header for header in headers if header[0] != "Status"], content

    def reply(self, status, content, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def token_of(authorization):
    scheme, _, value = (authorization or "").partition(" ")
    if scheme == "Bearer":
        return value
    if scheme == "Basic":
        return base64.b64decode(value).decode().partition(":")[2]
    return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, arguments):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = arguments.folder
        self.issuer = arguments.issuer
        self.lock = threading.Lock()
        self.log = []
        self.redirect = None

    def accepts(self, token):
        if not token or not self.issuer:
            return bool(token)
        request = urllib.request.Request(self.issuer + "/oauth/userinfo", headers={"Authorization": f"Bearer {token}"})
        try:
            OPENER.open(request, timeout=60).close()
            return True
        except urllib.error.HTTPError:
            return False


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", required=True)
    parser.add_argument("--issuer")
    server = Server(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)
    sys.exit(0)


if __name__ == "__main__":
    main()
