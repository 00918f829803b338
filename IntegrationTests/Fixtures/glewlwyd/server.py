"""An authorization server for the end-to-end tests: Debian's Glewlwyd on loopback.

The server is /usr/bin/glewlwyd, as packaged; this file creates its database from
the schema in the package's documentation, its configuration, and, through its
administration API, one user, two clients and the OpenID Connect plugin:

    server.py --folder FOLDER --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0.
        Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT/api/oidc

        The URL is the issuer. The database, configuration and log are in FOLDER,
        so another run with the same FOLDER and --port continues with the same
        data.

    server.py --folder FOLDER --port PORT --revoke-all
        Revokes alice's refresh tokens, as she would on the server's profile page.
        Works while the server is running.

Refresh tokens are single-use, and the reuse of a token ends its chain. Redirect
URIs are compared exactly. Only clients with a secret can revoke tokens. Clients
can register themselves, and manage their registrations.

The user is alice, the password "correct horse battery staple". Clients:
account-cli-public (no secret) and account-cli-secret (client_secret_basic, the
secret is "s3cret-of-the-tests"). Both can use the URIs given by --redirect-uri,
and device codes. account-cli-secret and account-cli-key (private_key_jwt, with the
key in --public-key) get tokens without a user, with the scope "reports".
"""

import argparse
import gzip
import http.cookiejar
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
SCHEMA = Path("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz")
MODULES = Path("/usr/lib/glewlwyd")
PAGES = Path("/usr/share/glewlwyd/webapp")
PAGE_SETTINGS = Path("/usr/share/glewlwyd/templates/config.json")
# The administrator in the schema.
ADMINISTRATOR = {"username": "admin", "password": "password"}
MIME_TYPES = {
    ".html": "text/html",
    ".js": "application/javascript",
    ".json": "application/json",
    ".css": "text/css",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".ttf": "font/ttf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
SCOPES = ("profile", "email", "offline_access")
CLIENT_SCOPE = "reports"
SECRET = "s3cret-of-the-tests"
USER = {
    "username": "alice",
    "name": "Alice Liddell",
    "email": "alice@example.com",
    "password": "correct horse battery staple",
    "scope": ["g_profile", "openid", *SCOPES],
    "enabled": True,
}
CLIENTS = (
    ("account-cli-public", "none"),
    ("account-cli-secret", "client_secret_basic"),
)


def parse_arguments():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--redirect-uri", metavar="URI", action="append", default=[])
    parser.add_argument("--dpop", choices=["on", "nonces"], help="accept proofs (RFC 9449), perhaps only with a nonce")
    parser.add_argument("--public-key", metavar="FILE", type=Path, help="the key of account-cli-key, a PEM file")
    parser.add_argument("--revoke-all", action="store_true", help="revoke alice's refresh tokens and exit")
    return parser.parse_args()


def make_database(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript(gzip.decompress(SCHEMA.read_bytes()).decode())
    connection.close()


def make_pages(folder, origin):
    """Copies the pages, with separate settings: Debian's link to the settings leads to a folder."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("config.json"))
    settings = json.loads(PAGE_SETTINGS.read_text())
    settings["GlewlwydUrl"] = origin + "/"
    (folder / "config.json").write_text(json.dumps(settings))


def configuration(arguments, origin, database):
    lines = {
        "port": arguments.port,
        "bind_address": HOST,
        "external_url": origin,
        "login_url": "login.html",
        "api_prefix": "api",
        "static_files_path": str(arguments.folder / "pages") + "/",
        "log_mode": "file",
        "log_level": "INFO",
        "log_file": str(arguments.folder / "glewlwyd.log"),
        "cookie_domain": HOST,
        "cookie_secure": 0,
        "session_expiration": 2419200,
        "session_key": "GLEWLWYD2_SESSION_ID",
        "admin_scope": "g_admin",
        "profile_scope": "g_profile",
        "hash_algorithm": "SHA512",
        "user_module_path": str(MODULES / "user"),
        "user_middleware_module_path": str(MODULES / "user_middleware"),
        "client_module_path": str(MODULES / "client"),
        "user_auth_scheme_module_path": str(MODULES / "scheme"),
        "plugin_module_path": str(MODULES / "plugin"),
        "login_api_enabled": True,
    }
    text = "".join(f"{name}={json.dumps(value)}\n" for name, value in lines.items())
    text += f'database =\n{{\n  type = "sqlite3"\n  path = {json.dumps(str(database))}\n}};\n'
    types = ",\n".join(
        f"  {{ extension = {json.dumps(extension)} mime_type = {json.dumps(mime_type)} compress = 0 }}"
        for extension, mime_type in MIME_TYPES.items()
    )
    return text + f"static_files_mime_types =\n(\n{types}\n)\n"


class Administration:
    """The server's API, with the cookies of a session."""

    def __init__(self, origin):
        self.api = origin + "/api"
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=60) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            sys.exit(f"server.py: {method} {path}: {error.code} {error.read().decode()}")

    def wait(self, process):
        """Waits until the server is ready."""
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and process.poll() is None:
            try:
                self.opener.open(self.api.removesuffix("/api") + "/config", timeout=5).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit("server.py: Glewlwyd does not answer")


def openssl(*words, text=None):
    return subprocess.run(["openssl", *words], input=text, capture_output=True, text=True, check=True).stdout


def plugin(arguments, issuer):
    key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    return {
        "module": "oidc",
        "name": "oidc",
        "display_name": "OpenID Connect",
        "parameters": {
            "iss": issuer,
            "jwt-type": "ecdsa",
            "jwt-key-size": "256",
            "key": key,
            "cert": openssl("pkey", "-pubout", text=key),
            "access-token-duration": 3600,
            "refresh-token-duration": 1209600,
            "code-duration": 600,
            "refresh-token-rolling": False,
            "refresh-token-one-use": "always",
            "allow-non-oidc": True,
            "auth-type-code-enabled": True,
            "auth-type-code-revoke-replayed": True,
            "auth-type-token-enabled": False,
            "auth-type-implicit-enabled": False,
            "auth-type-none-enabled": False,
            "auth-type-id-token-enabled": True,
            "auth-type-password-enabled": False,
            "auth-type-client-enabled": True,
            "auth-type-device-enabled": True,
            "auth-type-refresh-enabled": True,
            "device-authorization-expiration": 600,
            "device-authorization-interval": 1,
            "scope": [],
            "additional-parameters": [],
            "claims": [],
            "name-claim": "on-demand",
            "name-claim-scope": ["profile"],
            "email-claim": "on-demand",
            "email-claim-scope": ["email"],
            "scope-claim": "no",
            "allowed-scope": ["openid", *SCOPES],
            "pkce-allowed": True,
            "pkce-method-plain-allowed": False,
            "pkce-required": False,
            "pkce-required-public-client": True,
            "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True,
            "introspection-revocation-auth-scope": [],
            "register-client-allowed": True,
            "register-client-auth-scope": [],
            "register-client-credentials-scope": [],
            "register-client-management-allowed": True,
            "session-management-allowed": False,
            "subject-type": "public",
            "oauth-as-iss-id": True,
            "request-parameter-allow": True,
            "client-pubkey-parameter": "pubkey",
            "oauth-dpop-allowed": arguments.dpop is not None,
            "oauth-dpop-iat-duration": 60,
            "oauth-dpop-iat-gap-duration": 60,
            "oauth-dpop-nonce-mandatory": arguments.dpop == "nonces",
            "oauth-dpop-nonce-counter": 5,
        },
    }


def populate(administration, arguments, issuer):
    administration.send("POST", "/auth/", ADMINISTRATOR)
    for scope in SCOPES:
        administration.send(
            "POST", "/scope/", {"name": scope, "display_name": scope, "password_required": True, "scheme": {}}
        )
    administration.send("POST", "/user/?source=database", USER)
    administration.send(
        "POST",
        "/scope/",
        {"name": CLIENT_SCOPE, "display_name": CLIENT_SCOPE, "password_required": False, "scheme": {}},
    )
    if arguments.public_key:
        client = {
            "client_id": "account-cli-key",
            "name": "account-cli-key",
            "confidential": True,
            "enabled": True,
            "authorization_type": ["client_credentials"],
            "token_endpoint_auth_method": ["private_key_jwt"],
            "pubkey": arguments.public_key.read_text(),
            "scope": [CLIENT_SCOPE],
        }
        administration.send("POST", "/client/?source=database", client)
    for client_id, method in CLIENTS:
        client = {
            "client_id": client_id,
            "name": client_id,
            "confidential": method != "none",
            "enabled": True,
            "redirect_uri": arguments.redirect_uri,
            "authorization_type": ["code", "device_authorization", "refresh_token"],
            "token_endpoint_auth_method": [method],
            "scope": [],
        }
        if method != "none":
            client |= {"client_secret": SECRET}
            client["authorization_type"].append("client_credentials")
            client["scope"].append(CLIENT_SCOPE)
        administration.send("POST", "/client/?source=database", client)
    administration.send("POST", "/mod/plugin/", plugin(arguments, issuer))


def revoke_all(origin):
    session = Administration(origin)
    session.send("POST", "/auth/", {name: USER[name] for name in ("username", "password")})
    for token in json.loads(session.send("GET", "/oidc/token/")):
        if token["enabled"]:
            session.send("DELETE", "/oidc/token/" + urllib.parse.quote(token["token_hash"], safe=""))


def main():
    arguments = parse_arguments()
    origin = f"http://{HOST}:{arguments.port}"
    if arguments.revoke_all:
        revoke_all(origin)
        return
    os.umask(0o077)  # the database contains tokens
    arguments.folder = arguments.folder.resolve()
    arguments.folder.mkdir(exist_ok=True)
    issuer = origin + "/api/oidc"
    database = arguments.folder / "glewlwyd.sqlite3"
    is_new = not database.exists()
    if is_new:
        make_database(database)
    make_pages(arguments.folder / "pages", origin)
    file = arguments.folder / "glewlwyd.conf"
    file.write_text(configuration(arguments, origin, database))

    process = subprocess.Popen(["glewlwyd", "--config-file=" + str(file)], stdout=sys.stderr)

    is_asked_to_end = False

    def kill(*_):
        process.kill()

    def end(*_):
        nonlocal is_asked_to_end
        is_asked_to_end = True
        process.terminate()
        # Glewlwyd waits for connections that a browser keeps open.
        signal.alarm(20)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGALRM, kill)
    try:
        administration = Administration(origin)
        administration.wait(process)
        if is_new:
            populate(administration, arguments, issuer)
    except SystemExit:
        process.kill()
        raise
    print(f"listening on {issuer}", flush=True)
    status = process.wait()
    if not is_asked_to_end:
        sys.exit(f"server.py: Glewlwyd ended with {status}")


if __name__ == "__main__":
    main()
