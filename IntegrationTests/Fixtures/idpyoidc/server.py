"""An authorization server for the end-to-end tests: idpyoidc on loopback, which supports token exchange (RFC 8693).

The protocol code is idpyoidc's, as released; this file writes its configuration, and passes requests to its endpoints
and their responses back. Create a virtual environment with prepare.sh, then run:

    server.py --folder FOLDER --redirect-uri URI [--public-key FILE]
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. All data is in FOLDER and in memory.
        Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer. GET /control/log lists the requests to the token endpoint, in order, each with its grant
        type, target and status.

A sign-in with the scope offline_access gets a single-use refresh token; without that scope, it gets none. Tokens can be
exchanged for the audience and the resource https://api.example/ only.

The user is alice, the password "correct horse battery staple". The client account-cli has no secret. The client
account-cli-secret (client_secret_basic, the secret is "s3cret-of-the-tests") and the client account-cli-key
(private_key_jwt, with the key in the PEM file --public-key) get tokens without a user. The audience of assertions is the
token endpoint.
"""

import argparse
import http.server
import json
import os
import signal
import sys
import threading
import traceback
import urllib.parse
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptojwt.jwk.ec import ECKey
from cryptojwt.utils import as_unicode
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import FailedAuthentication
from idpyoidc.server.user_authn.user import verify_signed_jwt

HOST = "127.0.0.1"
TARGET = "https://api.example/"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
TOKEN_TYPES = ["urn:ietf:params:oauth:token-type:access_token"]
PAGE = """<!doctype html><title>idpyoidc</title><h1>{{ page_header }}</h1>
<form method="post" action="{{ action }}"><input type="hidden" name="token" value="{{ token }}">
<input name="username"><input name="password" type="password"><button type="submit">{{ submit_btn }}</button></form>
"""
METHODS = {
    "/.well-known/openid-configuration": ("GET", "provider_config"),
    "/authorization": ("GET", "authorization"),
    "/token": ("POST", "token"),
    "/userinfo": ("GET", "userinfo"),
    "/revoke": ("POST", "token_revocation"),
}


def configuration(folder, issuer):
    endpoint = "idpyoidc.server."
    public = {"client_authn_method": ["public"]}
    minted = {"supports_minting": ["access_token", "refresh_token", "id_token"]}
    target = {"audience": [TARGET], "resource": [TARGET]}
    exchange = {
        "subject_token_types_supported": TOKEN_TYPES,
        "requested_token_types_supported": TOKEN_TYPES,
        "policy": {
            "": {"function": "idpyoidc.server.oauth2.token_helper.validate_token_exchange_policy", "kwargs": target}
        },
    }
    helpers = {
        "authorization_code": {"class": endpoint + "oidc.token_helper.access_token.AccessTokenHelper"},
        "refresh_token": {"class": endpoint + "oidc.token_helper.refresh_token.RefreshTokenHelper"},
        EXCHANGE: {"class": endpoint + "oidc.token_helper.token_exchange.TokenExchangeHelper", "kwargs": exchange},
        "client_credentials": {"class": endpoint + "oauth2.token_helper.client_credentials.ClientCredentials"},
    }
    clients = {"client_authn_method": ["client_secret_basic", "private_key_jwt", "public"]}
    endpoints = {
        "provider_info": (
            ".well-known/openid-configuration",
            "oidc.provider_config.ProviderConfiguration",
            {"client_authn_method": None},
        ),
        "authorization": (
            "authorization",
            "oidc.authorization.Authorization",
            {"client_authn_method": None, "response_types_supported": ["code"]},
        ),
        "token": (
            "token",
            "oidc.token.Token",
            {**clients, "grant_types_helpers": helpers, "revoke_refresh_on_issue": True},
        ),
        "userinfo": ("userinfo", "oidc.userinfo.UserInfo", {"client_authn_method": ["bearer_header"]}),
        "revocation": ("revoke", "oauth2.token_revocation.TokenRevocation", clients),
    }
    # One key signs tokens, the other the hidden field of the page.
    keys = [{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]}]
    token = {"class": endpoint + "token.jwt_token.JWTToken"}
    return {
        "issuer": issuer,
        "base_url": issuer,
        "template_dir": str(folder),
        "key_conf": {"key_defs": keys, "uri_path": "keys"},
        "preference": {
            "subject_types_supported": ["public"],
            "grant_types_supported": list(helpers),
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
        },
        "endpoint": {
            name: {"path": path, "class": endpoint + kind, "kwargs": kwargs}
            for name, (path, kind, kwargs) in endpoints.items()
        },
        "add_on": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}},
            }
        },
        "authz": {
            "class": endpoint + "authz.AuthzHandling",
            "kwargs": {
                "grant_config": {
                    "usage_rules": {
                        "authorization_code": {**minted, "max_usage": 1, "expires_in": 300},
                        "access_token": {"supports_minting": ["access_token"], "expires_in": 3600},
                        "refresh_token": {**minted, "expires_in": 86400},
                    },
                    "expires_in": 86400,
                }
            },
        },
        "authentication": {
            "password": {
                "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
                "class": endpoint + "user_authn.user.UserPassJinja2",
                "kwargs": {
                    "template": "sign_in.jinja2",
                    "verify_endpoint": "/verify",
                    "db": {"class": endpoint + "util.JSONDictDB", "kwargs": {"filename": str(folder / "passwords")}},
                },
            }
        },
        "userinfo": {"class": endpoint + "user_info.UserInfo", "kwargs": {"db_file": str(folder / "users")}},
        "token_handler_args": {
            # Otherwise the file would be in the working directory of the tests.
            "jwks_file": str(folder / "token-keys"),
            "jwks_def": {"key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}]},
            "code": {"kwargs": {"lifetime": 300}},
            "token": {**token, "kwargs": {"lifetime": 3600}},
            "refresh": {**token, "kwargs": {"lifetime": 86400}},
            "id_token": {"class": endpoint + "token.id_token.IDToken"},
        },
        "session_params": {
            "encrypter": {
                "kwargs": {
                    "keys": {"key_defs": [{"type": "OCT", "use": ["enc"], "kid": kid} for kid in ("password", "salt")]}
                }
            }
        },
        "cookie_handler": {
            "class": endpoint + "cookie_handler.CookieHandler",
            "kwargs": {
                "keys": {"key_defs": [{"type": "OCT", "use": [use], "kid": use} for use in ("enc", "sig")]},
                "name": {"session": "session", "register": "register", "session_management": "management"},
            },
        },
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.respond("GET", "")

    def do_POST(self):
        self.respond("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

    def respond(self, method, body):
        path, _, query = self.path.partition("?")
        # idpyoidc's sessions are not thread-safe.
        with self.server.turn:
            try:
                if path == "/control/log":
                    return self.send(200, json.dumps(self.server.log), [("Content-Type", "application/json")])
                if (method, path) == ("POST", "/verify"):
                    return self.verify(dict(urllib.parse.parse_qsl(body)))
                expected, name = METHODS.get(path, (None, None))
                if expected != method:
                    return self.send(404, "there is no such page")
                self.ask(self.server.op.get_endpoint(name), body or query)
            except Exception:  # errors that the endpoints do not handle
                traceback.print_exc()
                self.send(500, "see standard error")

    def ask(self, endpoint, text):
        """Passes a request to an endpoint of idpyoidc."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = dict(urllib.parse.parse_qsl(text))
        if endpoint.name == "token" or endpoint.name == "authorization":
            request = text
        form = dict(urllib.parse.parse_qsl(text))
        if form.get("grant_type") == "client_credentials":
            # idpyoidc 5.0.0 cannot issue a second token in the session of a client.
            sessions = self.server.op.context.session_manager
            branch = sessions.branch_key("client_credentials", form["client_id"])
            if branch in sessions.db.keys():
                del sessions.db[branch]
        parsed = endpoint.parse_request(request, http_info={"headers": headers, "method": self.command})
        result = parsed if "error" in parsed else endpoint.process_request(parsed)
        # For client credentials, idpyoidc 5.0.0 names its own class of token instead of the type (RFC 6749, section 7.1).
        issued = result.get("response_args", {}) if endpoint.name == "token" else {}
        if issued.get("token_type") == "access_token":
            issued["token_type"] = "Bearer"
        status = self.carry(endpoint, parsed, result)
        if endpoint.name == "token":
            form = urllib.parse.parse_qs(text)
            kept = {key: " ".join(form[key]) for key in ("grant_type", "audience", "resource", "scope") if key in form}
            self.server.log.append({**kept, "status": str(status)})

    def carry(self, endpoint, request, result):
        """Sends the response from an endpoint, and returns the status."""
        if "http_response" in result:
            return self.send(200, result["http_response"], [("Content-Type", "text/html; charset=utf-8")])
        if "error" in result:
            status = 401 if endpoint.name == "userinfo" else 400
            challenge = [("WWW-Authenticate", f'Bearer error="{result["error"]}"')] if status == 401 else []
            details = {key: result[key] for key in ("error", "error_description") if key in result}
            return self.send(status, json.dumps(details), [("Content-Type", "application/json"), *challenge])
        response = endpoint.do_response(request=request, **result)
        if endpoint.response_placement == "url" and response.get("response_placement") != "body":
            return self.send(303, "", [("Location", response["response"])])
        return self.send(200, response["response"], response["http_headers"])

    def verify(self, form):
        """Handles the form in which alice has entered her password."""
        endpoint = self.server.op.get_endpoint("authorization")
        context = self.server.op.context
        method = context.authn_broker["password"]["method"]
        try:
            username = method.verify(**form)
        except FailedAuthentication:
            return self.send(403, "wrong password")
        details = verify_signed_jwt(form["token"], self.server.op.keyjar)
        request = endpoint.request_cls().from_urlencoded(as_unicode(details["query"]))
        session = endpoint.create_session(request, username, details["authn_class_ref"], details["iat"], method)
        result = endpoint.authz_part2(request=request, session_id=session)
        return self.carry(endpoint, request, result)

    def send(self, status, text, headers=()):
        content = (text or "").encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return status


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--redirect-uri", metavar="URI", required=True)
    parser.add_argument("--public-key", metavar="FILE", type=Path, help="a P-256 key of account-cli-key")
    arguments = parser.parse_args()
    os.umask(0o077)
    folder = arguments.folder.resolve()
    folder.mkdir(exist_ok=True)
    (folder / "passwords").write_text(json.dumps({"alice": "correct horse battery staple"}))
    (folder / "users").write_text(json.dumps({"alice": {"preferred_username": "alice", "email": "alice@example.com"}}))
    (folder / "sign_in.jinja2").write_text(PAGE)

    server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    server.turn = threading.Lock()
    server.log = []
    issuer = f"http://{HOST}:{server.server_address[1]}"
    server.op = Server(OPConfiguration(configuration(folder, issuer), base_path=str(folder)))
    server.op.context.cdb["account-cli"] = {
        "client_id": "account-cli",
        "redirect_uris": [(arguments.redirect_uri, {})],
        "response_types_supported": ["code"],
        "token_endpoint_auth_method": "none",
        "client_salt": "only for these tests",
        "allowed_scopes": ["openid", "profile", "email", "offline_access"],
    }
    machine = {"client_salt": "only for these tests", "allowed_scopes": ["profile"], "response_types_supported": []}
    server.op.context.cdb["account-cli-secret"] = {
        **machine,
        "client_id": "account-cli-secret",
        "client_secret": "s3cret-of-the-tests",
        "token_endpoint_auth_method": "client_secret_basic",
    }
    if arguments.public_key:
        server.op.context.cdb["account-cli-key"] = {
            **machine,
            "client_id": "account-cli-key",
            "token_endpoint_auth_method": "private_key_jwt",
        }
        key = ECKey().load_key(load_pem_public_key(arguments.public_key.read_bytes()))
        server.op.keyjar.import_jwks({"keys": [key.serialize()]}, "account-cli-key")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on {issuer}", flush=True)
    server.serve_forever(poll_interval=0.05)
    sys.exit(0)


if __name__ == "__main__":
    main()
