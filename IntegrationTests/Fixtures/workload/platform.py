"""A platform that issues assertions for a workload, signed with HS256.

    platform.py print --key KEY --audience URL [--subject S] [--lifetime SECONDS]
    platform.py serve --key KEY [--subject S]

`print` prints one assertion. `serve` imitates the token service of GitHub Actions: it
prints "listening on http://127.0.0.1:PORT", and responds to GET /token?audience=URL with
an assertion for that audience if the request contains "Authorization: bearer runner".
It exits with status 0 on SIGTERM.
"""

import argparse
import base64
import hashlib
import hmac
import json
import secrets
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def assertion(key, audience, subject, lifetime):
    now = int(time.time())
    claims = {
        "iss": "https://platform.example.com",
        "sub": subject,
        "aud": audience,
        "iat": now,
        "exp": now + lifetime,
        "jti": secrets.token_hex(16),
    }
    parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims)]
    message = ".".join(parts)
    code = hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()
    return f"{message}.{encoded(code)}"


def serve(options):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            query = parse_qs(urlsplit(self.path).query)
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            allowed = scheme.lower() == "bearer" and token == "runner" and query.get("api-version") == ["2.0"]
            value = assertion(options.key, query["audience"][0], options.subject, options.lifetime) if allowed else None
            body = json.dumps({"value": value} if allowed else {"message": "forbidden"}).encode()
            self.send_response(200 if allowed else 403)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["print", "serve"])
parser.add_argument("--key", required=True)
parser.add_argument("--audience")
parser.add_argument("--subject", default="repo:octo/app")
parser.add_argument("--lifetime", type=int, default=300)
options = parser.parse_args()
if options.command == "serve":
    serve(options)
else:
    print(assertion(options.key, options.audience, options.subject, options.lifetime))
