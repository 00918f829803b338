"""An authorization server for the end-to-end tests: Canaille on loopback.

The server is Canaille's own, as released; this file writes its configuration, creates one user, and serves it with
../door.py. Create a virtual environment with prepare.sh, then run:

    server.py --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. All data is in memory. Prints one line
        on standard output once it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer.

Refresh tokens are single-use, and expire together with their access token: ten minutes after a sign-in, an hour after a
refresh. Redirect URIs are compared exactly. Users must give their consent.

The user is alice, the password "correct horse battery staple". Tests register clients through the control
endpoints, with client_id, redirect_uri, and for a client with a secret also client_secret and method.
"""

import argparse
import datetime
import sys
from pathlib import Path

import canaille
from canaille.app import models
from canaille.backends import Backend

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import door  # noqa: E402

SCOPES = ["openid", "profile", "email"]


def configuration(port):
    return {
        "SECRET_KEY": "only for these tests",
        "SERVER_NAME": f"{door.HOST}:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "OAUTH2_TOKEN_EXPIRES_IN": {"authorization_code": 600, "password": 600, "refresh_token": 3600},
        "CANAILLE": {
            "DATABASE": "memory",
            "FORCE_HTTPS": False,
            "TIMEZONE": "UTC",
            "LOGGING": {"version": 1, "root": {"level": "ERROR"}},
            "SMTP": None,
            "ACL": {"DEFAULT": {"PERMISSIONS": ["use_oidc"]}},
        },
        "CANAILLE_OIDC": {"REQUIRE_NONCE": False, "TRUSTED_DOMAINS": []},
    }


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def save(model):
    Backend.instance.save(model)


def register(form):
    client = models.Client(
        client_id=form["client_id"],
        client_name=form["client_id"],
        client_id_issued_at=now(),
        client_secret=form.get("client_secret"),
        token_endpoint_auth_method=form.get("method", "none"),
        redirect_uris=[form["redirect_uri"]],
        grant_types=["authorization_code", "password", "client_credentials", "refresh_token"],
        response_types=["code"],
        scope=SCOPES,
    )
    save(client)
    client.audience = [client]
    save(client)


def expire(client_id):
    client = Backend.instance.get(models.Client, client_id=client_id)
    for token in Backend.instance.query(models.Token, client=client):
        token.lifetime = 0
        save(token)


def end(client_id):
    client = Backend.instance.get(models.Client, client_id=client_id)
    for token in Backend.instance.query(models.Token, client=client):
        token.revokation_date = now()
        save(token)


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()

    app = canaille.create_app(config=configuration(arguments.port))

    def inside(action):
        def run(argument):
            with app.app_context(), app.backend.session():
                action(argument)

        return run

    def populate(_):
        user = models.User(
            user_name="alice",
            display_name="alice",
            formatted_name="Alice Liddell",
            given_name="Alice",
            family_name="Liddell",
            emails=["alice@example.com"],
            password="correct horse battery staple",
        )
        save(user)

    inside(populate)(None)
    entrance = door.Door(client=inside(register), expire=inside(expire), end=inside(end))
    door.serve(app, arguments.port, "/oauth/token", entrance)


if __name__ == "__main__":
    main()
