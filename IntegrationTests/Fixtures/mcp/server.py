"""An authorization server for the end-to-end tests: the one of the official MCP SDK for Python, on loopback.

The endpoints are the SDK's, as released; this file is the provider that the SDK leaves to its users, with clients
and tokens in memory, and the page on which alice signs in. Create a virtual environment with prepare.sh, then run:

    server.py --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. Prints one line on standard output once
        it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer.

The SDK issues no ID tokens and has no user info. The issuer http://127.0.0.1:PORT/named is the same server with a user
info endpoint in addition to the SDK's own endpoints.

The API http://127.0.0.1:PORT/api names this server in its metadata (RFC 9728), and accepts only tokens for this resource.
Clients register themselves at this server; GET /control/clients lists them.

Refresh tokens are single-use. The first access token of a sign-in is valid for ten minutes, the next for an hour. A
refresh with fewer scopes returns a refresh token for these scopes only, as in the SDK's examples.

The user is alice, the password "correct horse battery staple". Tests register clients through the control
endpoints (../door.py), with client_id, redirect_uri, and for a client with a secret also client_secret and method.
"""

import argparse
import secrets
import sys
import time
from pathlib import Path

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import (
    build_metadata,
    build_resource_metadata_url,
    create_auth_routes,
    create_protected_resource_routes,
)
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import door  # noqa: E402

SCOPES = ["openid", "profile", "email"]
USER = {"username": "alice", "password": "correct horse battery staple"}
CLAIMS = {"sub": "alice", "preferred_username": "alice", "name": "Alice Liddell", "email": "alice@example.com"}
PAGE = """<!doctype html><title>Sign in</title><h1>Sign in</h1>
<form method="post" action="/sign-in?ticket={ticket}">
<input name="username"><input name="password" type="password"><button>Sign in</button></form>
"""


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    def __init__(self):
        self.clients = {}
        self.requests = {}
        self.codes = {}
        self.access = {}
        self.refresh = {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        ticket = secrets.token_urlsafe()
        self.requests[ticket] = client, params
        return f"/sign-in?ticket={ticket}"

    async def sign_in(self, request):
        """The page on which alice enters her password."""
        ticket = request.query_params["ticket"]
        page = PAGE.format(ticket=ticket)
        if request.method == "GET":
            return HTMLResponse(page)
        if dict(await request.form()) != USER:
            return HTMLResponse(page, status_code=403)
        client, params = self.requests.pop(ticket)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 300,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return RedirectResponse(
            construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state), status_code=302
        )

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, 600, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        await self.revoke_token(refresh_token)
        return self.issue(client, scopes, 3600, refresh_token.resource)

    def issue(self, client, scopes, lifetime, resource=None):
        grant = secrets.token_urlsafe()
        owner = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(token=f"access.{grant}", expires_at=int(time.time()) + lifetime, **owner)
        refresh = RefreshToken(token=f"refresh.{grant}", **owner)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token, expires_in=lifetime, scope=" ".join(scopes), refresh_token=refresh.token
        )

    async def load_access_token(self, token):
        found = self.access.get(token)
        return found if found and found.expires_at > time.time() else None

    async def revoke_token(self, token):
        """Revokes both tokens that were issued together, given either of them."""
        grant = token.token.partition(".")[2]
        self.access.pop(f"access.{grant}", None)
        self.refresh.pop(f"refresh.{grant}", None)

    async def user_info(self, request):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if await self.load_access_token(token):
            return JSONResponse(CLAIMS)
        return Response(status_code=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})

    def add(self, form):
        self.clients[form["client_id"]] = OAuthClientInformationFull(
            client_id=form["client_id"],
            client_secret=form.get("client_secret"),
            token_endpoint_auth_method=form.get("method", "none"),
            redirect_uris=[form["redirect_uri"]],
            scope=" ".join(SCOPES),
        )

    def end(self, client_id):
        for tokens in (self.access, self.refresh):
            for token in [token for token in tokens.values() if token.client_id == client_id]:
                del tokens[token.token]


def make_api(issuer, provider):
    """The API, protected by the SDK."""
    url = AnyHttpUrl(issuer + "/api")

    async def greet(_):
        return JSONResponse({"greeting": "hello"})

    app = RequireAuthMiddleware(Route("/api", greet), ["profile"], build_resource_metadata_url(url))
    verifier = ProviderTokenVerifier(provider)
    app = AuthenticationMiddleware(app, backend=BearerAuthBackend(verifier, resource_server_url=url))
    return [
        Route("/api", app, methods=["GET"]),
        *create_protected_resource_routes(url, [AnyHttpUrl(issuer)], ["profile", "email"]),
    ]


def make_routes(issuer, provider):
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES)
    revocation = RevocationOptions(enabled=True)
    url = AnyHttpUrl(issuer)
    own = create_auth_routes(provider, url, client_registration_options=registration, revocation_options=revocation)
    metadata = build_metadata(url, None, registration, revocation).model_dump(mode="json", exclude_none=True)
    return own, metadata


class Entrance:
    """An ASGI app that logs requests to the token endpoint."""

    def __init__(self, app, door_):
        self.app = app
        self.door = door_

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or not scope["path"].endswith("/token"):
            return await self.app(scope, receive, send)
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        is_read = False

        async def again():
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def noting(event):
            if event["type"] == "http.response.start":
                self.door.note(headers.get("authorization", ""), body.decode(), event["status"])
            await send(event)

        await self.app(scope, again, noting)


def make_app(issuer):
    provider = Provider()
    control = door.Door(client=provider.add, end=provider.end)

    async def open_door(request):
        body = (await request.body()).decode()
        status, text = control.open(request.path_params["name"], request.url.query, body)
        return Response(text, status_code=status, media_type="application/json")

    own, _ = make_routes(issuer, provider)
    named, metadata = make_routes(issuer + "/named", provider)
    metadata["userinfo_endpoint"] = issuer + "/named/userinfo"

    async def describe(_):
        return JSONResponse(metadata)

    async def list_clients(_):
        return JSONResponse({"clients": list(provider.clients)})

    app = Starlette(
        routes=[
            Route(door.PREFIX + "clients", list_clients),
            *make_api(issuer, provider),
            Route(door.PREFIX + "{name}", open_door, methods=["GET", "POST"]),
            Route("/.well-known/oauth-authorization-server/named", describe),
            Route("/sign-in", provider.sign_in, methods=["GET", "POST"]),
            Mount("/named", routes=[*named, Route("/userinfo", provider.user_info)]),
            *own,
        ]
    )
    return Entrance(app, control)


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    # Browsers keep connections open.
    door.serve_asgi(
        make_app(door.origin(arguments.port)), arguments.port, log_level="error", timeout_graceful_shutdown=5
    )


if __name__ == "__main__":
    main()
