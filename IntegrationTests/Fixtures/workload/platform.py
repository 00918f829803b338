"""A platform that issues assertions for a workload, signed with HS256.

    platform.py print --key KEY --audience URL [--subject S] [--lifetime SECONDS]
    platform.py serve --key KEY [--subject S]
    platform.py provide --key KEY --client ID --audience URL [--unverified]

`print` prints one assertion. `serve` imitates the token service of GitHub Actions: it
prints "listening on http://127.0.0.1:PORT", and responds to GET /token?audience=URL with
an assertion for that audience if the request contains "Authorization: bearer runner".
`provide` imitates an identity provider with token exchange (RFC 8693): for an ID token, that
is an assertion of this platform whose audience is "idp-client", it issues an identity
assertion for the client ID at the service URL (draft-ietf-oauth-identity-assertion-authz-grant).
With --unverified, it also accepts ID tokens that other issuers signed for "account-cli".
Both servers exit with status 0 on SIGTERM.
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


def signed(key, header, claims):
    parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "HS256"} | header, claims)]
    message = ".".join(parts)
    code = hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()
    return f"{message}.{encoded(code)}"


def assertion(key, audience, subject, lifetime, header={}, claims={}):
    now = int(time.time())
    standard = {
        "iss": "https://platform.example.com",
        "sub": subject,
        "aud": audience,
        "iat": now,
        "exp": now + lifetime,
        "jti": secrets.token_hex(16),
    }
    return signed(key, header, standard | claims)


def user_of(token, options):
    """The user of an ID token; None if the token is not valid."""
    try:
        header, claims = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]
    except ValueError:
        return None
    if options.unverified:
        valid = claims["aud"] == "account-cli"
    else:
        valid = claims["aud"] == "idp-client" and hmac.compare_digest(signed(options.key, header, claims), token)
    return claims["sub"] if valid and claims["exp"] > time.time() else None


def run(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


class Responder(BaseHTTPRequestHandler):
    def respond(self, status, members):
        body = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def provide(options):
    exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    expected = {
        "grant_type": exchange,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "audience": options.audience,
        "client_id": "account-cli" if options.unverified else "idp-client",
    }

    class Handler(Responder):
        def do_GET(self):
            issuer = f"http://{self.headers['Host']}"
            self.respond(
                200 if self.path == "/.well-known/openid-configuration" else 404,
                {
                    "issuer": issuer,
                    "authorization_endpoint": issuer + "/authorize",
                    "token_endpoint": issuer + "/token",
                    "grant_types_supported": [exchange],
                    "response_types_supported": ["code"],
                },
            )

        def do_POST(self):
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(text).items()}
            wrong = [name for name, value in expected.items() if form.get(name) != value]
            if wrong or "resource" not in form:
                return self.respond(400, {"error": "invalid_request", "error_description": f"check {wrong or 'resource'}"})
            user = user_of(form.get("subject_token", ""), options)
            if not user:
                return self.respond(400, {"error": "invalid_grant", "error_description": "the ID token is not valid"})
            claims = {"client_id": options.client, "resource": form["resource"]}
            token = assertion(
                options.key, form["audience"], user, options.lifetime, {"typ": "oauth-id-jag+jwt"}, claims)
            self.respond(
                200,
                {
                    "access_token": token,
                    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                    "token_type": "N_A",
                    "expires_in": options.lifetime,
                },
            )

    run(Handler)


def serve(options):
    class Handler(Responder):
        def do_GET(self):
            query = parse_qs(urlsplit(self.path).query)
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            allowed = scheme.lower() == "bearer" and token == "runner" and query.get("api-version") == ["2.0"]
            value = assertion(options.key, query["audience"][0], options.subject, options.lifetime) if allowed else None
            self.respond(200 if allowed else 403, {"value": value} if allowed else {"message": "forbidden"})

    run(Handler)


parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["print", "serve", "provide"])
parser.add_argument("--key", required=True)
parser.add_argument("--audience")
parser.add_argument("--client")
parser.add_argument("--unverified", action="store_true")
parser.add_argument("--subject", default="repo:octo/app")
parser.add_argument("--lifetime", type=int, default=300)
options = parser.parse_args()
if options.command == "serve":
    serve(options)
elif options.command == "provide":
    provide(options)
else:
    print(assertion(options.key, options.audience, options.subject, options.lifetime))
