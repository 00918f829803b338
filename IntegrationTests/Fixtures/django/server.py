"""An authorization server for the end-to-end tests: django-oauth-toolkit on loopback.

The protocol code is django-oauth-toolkit's, as released; this file is only the
project around it (settings, URLs, one user, three clients). Create a virtual
environment with prepare.sh, then run:

    server.py --database FILE [--port 0] [--reuse-protection on|off] [--hold FILE]
        Creates or migrates the SQLite database FILE and serves it on 127.0.0.1
        until SIGTERM or SIGINT, then exits with status 0. Prints one line on
        standard output once it is ready:

            listening on http://127.0.0.1:PORT/o

        The URL is the issuer. Requests are logged to standard error. Users, tokens,
        browser sessions and the signing key are all in FILE, so another run
        with the same FILE and --port continues with the same data.

    server.py --database FILE --revoke-all
        Ends the access of all users, as an administrator would: deletes access
        tokens, ID tokens and unused authorization codes, and revokes refresh
        tokens. Works while the server is running.

    server.py --database FILE --expire-all
        Moves the expiry of every access token into the past. Refresh tokens
        stay valid. Works while the server is running.

    server.py --database FILE --count-alive
        Prints the number of valid access and refresh tokens, and of registrations
        that clients can manage. Works while the server is running.

    server.py --database FILE --count-refreshes
        Prints the number of times that a refresh token was exchanged for a new
        one. Works while the server is running.

Below the issuer:

    /.well-known/openid-configuration    OpenID Connect discovery
    /authorize/  /token/  /revoke_token/  /introspect/  /userinfo/
    /device-authorization/  /device/      RFC 8628

At the root of the server:

    /.well-known/oauth-authorization-server/o    RFC 8414 metadata
    /login/                                      the sign-in page

Both metadata documents name the device authorization endpoint (RFC 8628,
section 4), unlike the package's own documents.

The user is alice, the password "correct horse battery staple". All clients are
public: account-cli (password grant), account-cli-code (authorization code with
PKCE, redirects to http://127.0.0.1:ANY with the path "", "/" or "/callback"),
and account-cli-device (device authorization grant).
"""

import argparse
import json
import logging.config
import os
import signal
import socketserver
import sqlite3
import sys
import time
from datetime import timedelta
from pathlib import Path

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.management import call_command
from django.core.management.utils import get_random_secret_key
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.urls import include, path
from django.utils import timezone

HOST = "127.0.0.1"

USER = {
    "username": "alice",
    "password": "correct horse battery staple",
    "email": "alice@example.com",
    "first_name": "Alice",
    "last_name": "Liddell",
}

SCOPES = {
    "openid": "Know who you are",
    "profile": "See your name",
    "email": "See your email address",
    "read": "Read your data",
    "write": "Change your data",
}

TEMPLATES = {
    # The package's own base page links a style sheet, but this server has no static files.
    "oauth2_provider/base.html": """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{% block title %}Account{% endblock %}</title></head>
<body>{% block content %}{% endblock %}</body>
</html>
""",
    "registration/login.html": """{% extends "oauth2_provider/base.html" %}
{% block title %}Sign in{% endblock %}
{% block content %}
<h1>Sign in</h1>
<form method="post">
  {% csrf_token %}
  {{ form.as_p }}
  <input type="hidden" name="next" value="{{ next }}">
  <button type="submit">Sign in</button>
</form>
{% endblock %}
""",
}

# load_project() fills this in, since views cannot be imported before Django is set up.
urlpatterns = []


def parse_arguments():
    def non_negative(text):
        value = int(text)
        if value < 0:
            raise ValueError(text)
        return value

    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", metavar="FILE", type=Path, required=True)
    parser.add_argument("--port", type=non_negative, default=0, help="0: one the system picks (default)")
    parser.add_argument(
        "--reuse-protection",
        choices=("on", "off"),
        default="off",
        help="revoke the whole family of a refresh token that is used twice (default: off)",
    )
    parser.add_argument(
        "--hold", metavar="FILE", type=Path, help="answer no request for a token as long as there is this file"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--revoke-all", action="store_true", help="revoke all tokens and exit")
    action.add_argument("--expire-all", action="store_true", help="expire all access tokens and exit")
    action.add_argument("--count-alive", action="store_true", help="print the number of live tokens and exit")
    action.add_argument("--count-refreshes", action="store_true", help="print the number of refreshes and exit")
    arguments = parser.parse_args()

    arguments.database = arguments.database.resolve()
    if not arguments.database.parent.is_dir():
        parser.error(f"no such directory: {arguments.database.parent}")
    arguments.action = next(
        (run for name, run in ACTIONS.items() if getattr(arguments, name)),
        None,
    )
    if arguments.action and not arguments.database.is_file():
        parser.error(f"no such database: {arguments.database}")
    return arguments


def new_signing_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def load_secrets(database):
    """Returns the keys of this database, which are generated when it is first opened.

    The keys are settings, so they are read before Django and its models are loaded.
    """
    generators = {"signing-key": new_signing_key, "secret-key": get_random_secret_key}
    secrets = {}
    connection = sqlite3.connect(database, timeout=30)
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS fixture_secret (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
        )
        for name, generate in generators.items():
            query = "SELECT value FROM fixture_secret WHERE name = ?"
            row = connection.execute(query, (name,)).fetchone()
            if row is None:
                with connection:
                    connection.execute("INSERT OR IGNORE INTO fixture_secret VALUES (?, ?)", (name, generate()))
                row = connection.execute(query, (name,)).fetchone()
            secrets[name] = row[0]
    finally:
        connection.close()
    return secrets


def configure(arguments, origin):
    secrets = load_secrets(arguments.database)
    settings.configure(
        SECRET_KEY=secrets["secret-key"],
        ALLOWED_HOSTS=[HOST, "localhost"],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(arguments.database),
                "OPTIONS": {
                    # Wait for another thread or process instead of failing, and acquire the
                    # write lock at BEGIN, where waiting is possible.
                    "timeout": 30,
                    "transaction_mode": "IMMEDIATE",
                    # Skips fsync, which is still safe if this process is killed.
                    "init_command": "PRAGMA synchronous=OFF",
                },
            }
        },
        # The only password is written above, so a slow hash would only slow the tests down.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", TEMPLATES),
                        "django.template.loaders.app_directories.Loader",
                    ],
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                    ],
                },
            }
        ],
        LOGIN_URL="/login/",
        LOGIN_REDIRECT_URL="/o/authorized_tokens/",
        LOGGING_CONFIG=None,
        OAUTH2_PROVIDER={
            "SCOPES": SCOPES,
            "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
            "ROTATE_REFRESH_TOKEN": True,
            "REFRESH_TOKEN_REUSE_PROTECTION": arguments.reuse_protection == "on",
            "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
            "PKCE_REQUIRED": True,
            "OIDC_ENABLED": True,
            # Fixed instead of derived from each request's Host header.
            "OIDC_ISS_ENDPOINT": f"{origin}/o",
            "OIDC_RSA_PRIVATE_KEY": secrets["signing-key"],
            "OAUTH2_VALIDATOR_CLASS": f"{__name__}.ProfileValidator",
            "OAUTH_DEVICE_VERIFICATION_URI": f"{origin}/o/device/",
            "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": lambda code: f"{origin}/o/device/?user_code={code}",
            "DEVICE_FLOW_INTERVAL": 1,
            # Clients that register themselves may be public, unlike those of the package's own documents.
            "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": [
                "client_secret_post",
                "client_secret_basic",
                "none",
            ],
            "DCR_ENABLED": True,
            "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
            "CIMD_ENABLED": True,
            "CIMD_METADATA_FETCHER": f"{__name__}.LocalFetcher",
        },
    )
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": "INFO"},
            # django.server logs every request; this logger would log each 4xx again.
            "loggers": {"django.request": {"level": "ERROR"}},
        }
    )
    # Write warnings, such as the package's for every password grant, to the same log.
    logging.captureWarnings(True)


class LocalFetcher:
    """Returns the metadata document of a client without a request, since the package fetches none from this machine."""

    def fetch(self, client_id):
        document = {
            "client_id": client_id,
            "client_name": "account",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
        return document, 300


def naming_device_endpoint(view):
    """Wraps a metadata view to add the device authorization endpoint."""

    def named(request, *arguments, **parameters):
        response = view(request, *arguments, **parameters)
        document = json.loads(response.content)
        document["device_authorization_endpoint"] = f"{document['issuer']}/device-authorization/"
        response.content = json.dumps(document)
        return response

    return named


def held(view, file):
    """Wraps a view to wait while a file exists."""

    def waiting(request, *arguments, **parameters):
        while file.exists():
            time.sleep(0.02)
        return view(request, *arguments, **parameters)

    waiting.csrf_exempt = getattr(view, "csrf_exempt", False)
    return waiting


def load_project(arguments):
    """Defines the part of the project that requires a set-up Django."""
    django.setup()

    from django.contrib.auth.views import LoginView
    from django.db.models.signals import pre_save
    from django.http import HttpResponse
    from oauth2_provider import urls as oauth2_urls
    from oauth2_provider import views
    from oauth2_provider.models import get_application_model
    from oauth2_provider.oauth2_validators import OAuth2Validator

    class ProfileValidator(OAuth2Validator):
        """Adds the claims of the profile and email scopes; "sub" is the user's number."""

        def get_additional_claims(self):
            return {
                "preferred_username": lambda request: request.user.get_username(),
                "name": lambda request: request.user.get_full_name(),
                "email": lambda request: request.user.email,
            }

    globals()["ProfileValidator"] = ProfileValidator  # for OAUTH2_VALIDATOR_CLASS

    metadata = naming_device_endpoint(views.OAuthServerMetadataView.as_view())
    configuration = naming_device_endpoint(views.ConnectDiscoveryInfoView.as_view())
    token = views.TokenView.as_view()
    if arguments.hold:
        token = held(token, arguments.hold)

    def choose_algorithm(instance, **_):
        # The package chooses none for a client that registers itself, and then fails to sign ID tokens.
        instance.algorithm = instance.algorithm or instance.RS256_ALGORITHM

    pre_save.connect(choose_algorithm, sender=get_application_model(), weak=False)

    class API(views.ProtectedResourceView):
        """The API http://127.0.0.1:PORT/api, whose metadata (RFC 9728) is the package's."""

        def get(self, request):
            return HttpResponse("hello")

    urlpatterns[:] = [
        path("api", API.as_view()),
        # The first match wins, so these patterns precede the package's own.
        path(".well-known/oauth-authorization-server/<path:issuer_path>", metadata),
        path("o/.well-known/openid-configuration", configuration),
        path("o/token/", token),
        # RFC 8414 puts the well-known part between the host and the issuer's path.
        path("", include((oauth2_urls.metadata_urlpatterns, "metadata"))),
        path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
        path("login/", LoginView.as_view(), name="login"),
    ]


def populate():
    from django.contrib.auth import get_user_model
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0, interactive=False)

    users = get_user_model().objects
    if not users.filter(username=USER["username"]).exists():
        users.create_user(**USER)

    application = get_application_model()
    for client_id, grant_type, redirect_uris in (
        ("account-cli", application.GRANT_PASSWORD, ""),
        (
            "account-cli-code",
            application.GRANT_AUTHORIZATION_CODE,
            # The port of a loopback redirect may vary (RFC 8252), but the path may not.
            "http://127.0.0.1 http://127.0.0.1/ http://127.0.0.1/callback",
        ),
        ("account-cli-device", application.GRANT_DEVICE_CODE, ""),
    ):
        client, _ = application.objects.update_or_create(
            client_id=client_id,
            defaults={
                "name": client_id,
                "client_type": application.CLIENT_PUBLIC,
                "authorization_grant_type": grant_type,
                "redirect_uris": redirect_uris,
                "algorithm": application.RS256_ALGORITHM,
            },
        )
        client.full_clean()


def access_tokens():
    """All access tokens, except those with which clients manage their registrations."""
    from oauth2_provider.models import get_access_token_model
    from oauth2_provider.settings import oauth2_settings

    return get_access_token_model().objects.exclude(scope=oauth2_settings.DCR_REGISTRATION_SCOPE)


def revoke_all():
    from django.db import transaction
    from oauth2_provider import models

    with transaction.atomic():
        refresh_tokens = models.get_refresh_token_model().objects.filter(revoked__isnull=True)
        revoked = 0
        for token in refresh_tokens:
            token.revoke()
            revoked += 1
        # An ID token is accepted as a bearer token too; a code or an approved device
        # could still be exchanged for new tokens.
        access_tokens().delete()
        models.get_id_token_model().objects.all().delete()
        models.get_grant_model().objects.all().delete()
        models.get_device_grant_model().objects.filter(user__isnull=False).delete()
    print(f"revoked {revoked} refresh tokens and deleted all access tokens", file=sys.stderr)


def expire_all():
    expired = access_tokens().update(expires=timezone.now() - timedelta(minutes=1))
    print(f"expired {expired} access tokens", file=sys.stderr)


def count_refreshes():
    from oauth2_provider.models import get_refresh_token_model

    # A sign-in starts a token family, every refresh adds a token, and no token is ever deleted.
    tokens = get_refresh_token_model().objects
    print(tokens.count() - tokens.values("token_family").distinct().count())


def count_alive():
    from oauth2_provider import models

    access_tokens = models.get_access_token_model().objects.filter(expires__gt=timezone.now())
    refresh_tokens = models.get_refresh_token_model().objects.filter(revoked__isnull=True)
    print(access_tokens.count() + refresh_tokens.count())


ACTIONS = {"revoke_all": revoke_all, "expire_all": expire_all, "count_refreshes": count_refreshes, "count_alive": count_alive}


class Server(ThreadedWSGIServer):
    request_queue_size = 128

    def server_bind(self):
        # Skips the superclass's reverse lookup of the address, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()


def serve(arguments):
    from django.core.wsgi import get_wsgi_application

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))

    # The port is part of the issuer, so it must be known before the settings.
    try:
        server = Server((HOST, arguments.port), WSGIRequestHandler)
    except (OSError, OverflowError) as error:
        sys.exit(f"server.py: cannot listen on {HOST}:{arguments.port}: {error}")
    with server:
        origin = f"http://{HOST}:{server.server_port}"
        configure(arguments, origin)
        load_project(arguments)
        populate()
        server.set_app(get_wsgi_application())
        print(f"listening on {origin}/o", flush=True)
        server.serve_forever(poll_interval=0.1)


def main():
    arguments = parse_arguments()
    os.umask(0o077)  # the database contains tokens and keys
    if arguments.action:
        configure(arguments, origin=f"http://{HOST}")
        load_project(arguments)
        arguments.action()
    else:
        serve(arguments)


if __name__ == "__main__":
    main()
