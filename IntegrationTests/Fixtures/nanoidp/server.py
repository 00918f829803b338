"""An authorization server for the end-to-end tests: nanoidp on loopback.

The server is nanoidp's own, as released; this file writes its configuration and
starts it. Create a virtual environment with prepare.sh, then run:

    server.py --folder FOLDER --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0.
        Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer. All data is in FOLDER, so another run with the
        same FOLDER and --port continues with the same data.

Refresh tokens are single-use, and the reuse of a token revokes its family.

The user is alice, the password "correct horse battery staple". Clients:
account-cli-public (no secret) and account-cli-secret (client_secret_basic, the
secret is "s3cret-of-the-tests").
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"


def parse_arguments():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args()


def settings(arguments, origin):
    return {
        "config_version": 1,
        "server": {"host": HOST, "port": arguments.port},
        "oauth": {
            "issuer": origin,
            "audience": "account",
            "refresh_token_rotation": True,
            "require_pkce": True,
            "dynamic_registration": {"enabled": True},
            "token_expiry_minutes": 60,
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "clients": [
                {"client_id": "account-cli-public", "client_secret": "", "token_endpoint_auth_method": "none"},
                {
                    "client_id": "account-cli-secret",
                    "client_secret": "s3cret-of-the-tests",
                    "token_endpoint_auth_method": "client_secret_basic",
                },
            ],
        },
        "device_flow": {"polling_interval": 1},
        "runtime": {"store": "sqlite", "path": str(arguments.folder / "runtime.sqlite3")},
        "session": {"enforce_password_check": True, "secret_key": "only for these tests"},
        "logging": {"verbose_logging": False},
        "jwt": {"keys_dir": str(arguments.folder / "keys")},
    }


def users():
    alice = {"password": "correct horse battery staple", "email": "alice@example.com"}
    return {"config_version": 1, "users": {"alice": alice}}


def wait(origin, process):
    """Waits until the server is ready."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and process.poll() is None:
        try:
            opener.open(origin + "/.well-known/openid-configuration", timeout=5).close()
            return
        except OSError:
            time.sleep(0.02)
    process.kill()
    sys.exit("server.py: nanoidp does not answer")


def main():
    arguments = parse_arguments()
    os.umask(0o077)  # the folder contains tokens and keys
    arguments.folder = arguments.folder.resolve()
    origin = f"http://{HOST}:{arguments.port}"
    configuration = arguments.folder / "configuration"
    for folder in (configuration, arguments.folder / "keys"):
        folder.mkdir(parents=True, exist_ok=True)
    # JSON is valid YAML.
    (configuration / "settings.yaml").write_text(json.dumps(settings(arguments, origin)))
    (configuration / "users.yaml").write_text(json.dumps(users()))

    words = ["-m", "nanoidp", "--config", str(configuration), "--strict-config"]
    process = subprocess.Popen([sys.executable, "-B", *words], stdout=sys.stderr)
    is_asked_to_end = False

    def end(*_):
        nonlocal is_asked_to_end
        is_asked_to_end = True
        process.terminate()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    wait(origin, process)
    print(f"listening on {origin}", flush=True)
    status = process.wait()
    if not is_asked_to_end:
        sys.exit(f"server.py: nanoidp ended with {status}")


if __name__ == "__main__":
    main()
