"""An authorization server for the end-to-end tests: Authlib on loopback.

The protocol code is Authlib's, as released, in a Flask app; this file adds what Authlib leaves to its users: clients and
tokens in memory, the pages, and the discovery document. Create a virtual environment with prepare.sh, then run:

    server.py --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. Prints one line on standard output once
        it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer.

Refresh tokens are single-use. The first access token of a sign-in is valid for ten minutes, the next for an hour.
Redirect URIs are compared exactly. Revoking a refresh token also revokes the access token that was issued with it.

The user is alice, the password "correct horse battery staple". Tests register clients through the control
endpoints (../door.py), with client_id, redirect_uri, and for a client with a secret also client_secret and method. A
client with a key has public_key, a PEM file, instead.

The server accepts the assertions of ../workload/platform.py with the key "platform-key-of-the-tests": as client assertions of a client
whose method is "workload" and whose ID is the subject, as grants (RFC 7523), and as subject tokens (RFC 8693, which Authlib
leaves to its users).
"""

import argparse
import sys
import time
from pathlib import Path

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2 import OAuth2Error, rfc6749, rfc6750, rfc7009, rfc7523, rfc7636, rfc7662, rfc8628, rfc9207
from authlib.oidc import core as oidc
from flask import Flask, jsonify, request
from joserfc.jwk import OctKey, RSAKey, import_key

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import door  # noqa: E402

ASSERTION = rfc7523.JWTBearerClientAssertion.CLIENT_AUTH_METHOD
METHODS = ["client_secret_basic", "client_secret_post", "none"]
CLIENT_METHODS = [*METHODS, ASSERTION]
PLATFORM = "https://platform.example.com"
PLATFORM_KEY = OctKey.import_key("platform-key-of-the-tests")
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
SCOPES = ["openid", "profile", "email"]
CLAIMS = {"sub": "alice", "preferred_username": "alice", "name": "Alice Liddell", "email": "alice@example.com"}
PASSWORD = "correct horse battery staple"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
PAGE = """<!doctype html><title>Sign in</title><h1>{heading}</h1>
<form method="post">{fields}<input name="username"><input name="password" type="password">
<button name="answer" value="accept">Accept</button><button name="answer" value="deny">Deny</button></form>
"""
CODE_FIELD = '<input name="user_code">'


class User:
    def get_user_id(self):
        return "alice"


USER = User()


class Client(rfc6749.ClientMixin):
    client_metadata = {}

    def __init__(self, form):
        self.client_id = form["client_id"]
        self.secret = form.get("client_secret")
        self.public_key = form.get("public_key")
        has_assertion = self.public_key or form.get("method") == "workload"
        self.method = ASSERTION if has_assertion else form.get("method", "none")
        self.redirect_uri = form["redirect_uri"]

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return self.redirect_uri

    def get_allowed_scope(self, scope):
        return " ".join(word for word in (scope or "").split() if word in SCOPES)

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret):
        return client_secret == self.secret

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.method

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return True


class Code(oidc.AuthorizationCodeMixin):
    def __init__(self, code, payload):
        self.code = code
        self.redirect_uri = payload.redirect_uri
        self.scope = payload.scope
        self.nonce = payload.data.get("nonce")
        self.code_challenge = payload.data.get("code_challenge")
        self.code_challenge_method = payload.data.get("code_challenge_method")
        self.auth_time = int(time.time())

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return self.auth_time

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class Token(rfc6749.TokenMixin):
    def __init__(self, token, client):
        self.client = client
        self.access_token = token["access_token"]
        self.refresh_token = token.get("refresh_token")
        self.scope = token["scope"]
        self.expires_in = token["expires_in"]
        self.issued_at = int(time.time())
        self.access_token_is_revoked = False
        self.refresh_token_is_revoked = False

    def check_client(self, client):
        return client is self.client

    def get_scope(self):
        return self.scope

    def get_expires_in(self):
        return self.expires_in

    def is_expired(self):
        return self.issued_at + self.expires_in <= time.time()

    def is_revoked(self):
        return self.access_token_is_revoked

    def get_user(self):
        return USER

    def get_client(self):
        return self.client


class Store:
    def __init__(self):
        self.clients = {}
        self.codes = {}
        self.tokens = []
        self.devices = {}
        self.answers = {}
        self.assertions = set()

    def note(self, assertion):
        """Returns whether the assertion is new."""
        is_new = assertion not in self.assertions
        self.assertions.add(assertion)
        return is_new

    def register(self, form):
        self.clients[form["client_id"]] = Client(form)

    def save(self, token, oauth_request):
        self.tokens.append(Token(token, oauth_request.client))

    def token(self, value, kind=None):
        for token in self.tokens:
            if kind != "refresh_token" and token.access_token == value:
                return token
            if kind != "access_token" and token.refresh_token == value:
                return token
        return None

    def of(self, client_id):
        return [token for token in self.tokens if token.client.client_id == client_id]

    def expire(self, client_id):
        """Expires access tokens; refresh tokens stay valid."""
        for token in self.of(client_id):
            token.expires_in = 0

    def end(self, client_id):
        for token in self.of(client_id):
            token.access_token_is_revoked = token.refresh_token_is_revoked = True


def make_server(app, store, issuer):
    key = RSAKey.generate_key(2048, {"kid": "tests", "use": "sig", "alg": "RS256"})

    class AuthorizationCodeGrant(rfc6749.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def save_authorization_code(self, code, request):
            store.codes[code] = Code(code, request.payload)

        def query_authorization_code(self, code, client):
            return store.codes.get(code)

        def delete_authorization_code(self, authorization_code):
            del store.codes[authorization_code.code]

        def authenticate_user(self, authorization_code):
            return USER

    class OpenIDCode(oidc.OpenIDCode):
        def exists_nonce(self, nonce, request):
            return any(code.nonce == nonce for code in store.codes.values())

        def resolve_client_private_key(self, client):
            return key

        def get_client_algorithm(self, client):
            return "RS256"

        def get_client_claims(self, client):
            return {"iss": issuer, "aud": [client.client_id]}

        def get_encode_header(self, client):
            return {"alg": "RS256", "kid": key.kid}

        def generate_user_info(self, user, scope):
            return oidc.UserInfo(CLAIMS).filter(scope)

    class PasswordGrant(rfc6749.ResourceOwnerPasswordCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS

        def authenticate_user(self, username, password):
            return USER if (username, password) == ("alice", PASSWORD) else None

    class ClientCredentialsGrant(rfc6749.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = CLIENT_METHODS

    class ClientAssertion(rfc7523.JWTBearerClientAssertion):
        def get_audiences(self):
            return [issuer]

        def validate_jti(self, claims, jti):
            return store.note((claims["iss"], jti))

        def resolve_client_public_key(self, client):
            return import_key(client.public_key) if client.public_key else PLATFORM_KEY

        def verify_claims(self, claims):
            # The platform is the issuer of its assertions, and Authlib expects the client.
            super().verify_claims({**claims, "iss": claims["sub"]} if claims.get("iss") == PLATFORM else claims)

    class AssertionGrant(rfc7523.JWTBearerGrant):
        def get_audiences(self):
            return [issuer]

        def resolve_issuer_client(self, issuer):
            return store.clients.get(self.request.payload.client_id) if issuer == PLATFORM else None

        def resolve_client_public_key(self, client):
            return PLATFORM_KEY

        def authenticate_user(self, subject):
            return USER

        def has_granted_permission(self, client, user):
            return True

    class TokenExchangeGrant(AssertionGrant):
        GRANT_TYPE = EXCHANGE

        def validate_token_request(self):
            form = self.request.form
            if form.get("subject_token_type") != "urn:ietf:params:oauth:token-type:jwt":
                raise rfc6749.InvalidRequestError("subject_token_type must be jwt")
            claims = self.process_assertion_claims(form.get("subject_token", ""))
            self.request.client = self.resolve_issuer_client(claims["iss"])
            self.validate_requested_scope()
            self.request.user = USER

        def create_token_response(self):
            status, token, headers = super().create_token_response()
            return status, {**token, "issued_token_type": ACCESS_TOKEN}, headers

    class RefreshTokenGrant(rfc6749.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = METHODS
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, refresh_token):
            token = store.token(refresh_token, "refresh_token")
            return token if token and not token.refresh_token_is_revoked else None

        def authenticate_user(self, refresh_token):
            return USER

        def revoke_old_credential(self, refresh_token):
            refresh_token.access_token_is_revoked = refresh_token.refresh_token_is_revoked = True

    class DeviceCodeGrant(rfc8628.DeviceCodeGrant):
        def query_device_credential(self, device_code):
            return store.devices.get(device_code)

        def query_user_grant(self, user_code):
            return (USER, store.answers[user_code]) if user_code in store.answers else None

        def should_slow_down(self, credential):
            return False

    class DeviceAuthorizationEndpoint(rfc8628.DeviceAuthorizationEndpoint):
        INTERVAL = 1

        def get_verification_uri(self):
            return issuer + "/device"

        def save_device_credential(self, client_id, scope, data):
            fields = {**data, "client_id": client_id, "scope": scope, "expires_at": time.time() + data["expires_in"]}
            store.devices[data["device_code"]] = rfc8628.DeviceCredentialDict(fields)

    class RevocationEndpoint(rfc7009.RevocationEndpoint):
        CLIENT_AUTH_METHODS = CLIENT_METHODS

        def query_token(self, token_string, token_type_hint):
            return store.token(token_string, token_type_hint)

        def revoke_token(self, token, request):
            token.access_token_is_revoked = True
            if request.form.get("token_type_hint") != "access_token":
                token.refresh_token_is_revoked = True

    class IntrospectionEndpoint(rfc7662.IntrospectionEndpoint):
        CLIENT_AUTH_METHODS = METHODS

        def query_token(self, token_string, token_type_hint):
            return store.token(token_string, token_type_hint)

        def check_permission(self, token, client, request):
            return token.check_client(client)

        def introspect_token(self, token):
            return {"active": True, "sub": "alice", "username": "alice", "scope": token.scope, "iss": issuer}

    class TokenValidator(rfc6750.BearerTokenValidator):
        def authenticate_token(self, token_string):
            return store.token(token_string, "access_token")

    class UserInfoEndpoint(oidc.UserInfoEndpoint):
        def generate_user_info(self, user, scope):
            return oidc.UserInfo(CLAIMS).filter(scope)

    class IssuerParameter(rfc9207.IssuerParameter):
        def get_issuer(self):
            return issuer

    app.config.update(
        OAUTH2_REFRESH_TOKEN_GENERATOR=True,
        OAUTH2_TOKEN_EXPIRES_IN={"authorization_code": 600, "password": 600, DEVICE: 600, "refresh_token": 3600},
    )
    server = AuthorizationServer(app, query_client=store.clients.get, save_token=store.save)
    server.register_grant(AuthorizationCodeGrant, [OpenIDCode(), rfc7636.CodeChallenge(required=True)])
    for grant in (PasswordGrant, ClientCredentialsGrant, RefreshTokenGrant, DeviceCodeGrant):
        server.register_grant(grant)
    for grant in (AssertionGrant, TokenExchangeGrant):
        server.register_grant(grant)
    server.register_client_auth_method(ASSERTION, ClientAssertion())
    protector = ResourceProtector()
    protector.register_token_validator(TokenValidator())
    for endpoint in (DeviceAuthorizationEndpoint, RevocationEndpoint, IntrospectionEndpoint):
        server.register_endpoint(endpoint)
    server.register_endpoint(UserInfoEndpoint(resource_protector=protector))
    server.register_extension(IssuerParameter())
    return server, key


def make_app(issuer):
    store = Store()
    app = Flask("authorization-server")
    server, key = make_server(app, store, issuer)

    @app.get("/.well-known/openid-configuration")
    def discovery():
        return jsonify(
            issuer=issuer,
            authorization_endpoint=issuer + "/authorize",
            token_endpoint=issuer + "/token",
            userinfo_endpoint=issuer + "/userinfo",
            revocation_endpoint=issuer + "/revoke",
            introspection_endpoint=issuer + "/introspect",
            device_authorization_endpoint=issuer + "/device_authorization",
            jwks_uri=issuer + "/keys",
            scopes_supported=SCOPES,
            response_types_supported=["code"],
            grant_types_supported=[
                "authorization_code",
                "password",
                "client_credentials",
                "refresh_token",
                DEVICE,
                rfc7523.JWTBearerGrant.GRANT_TYPE,
                EXCHANGE,
            ],
            token_endpoint_auth_methods_supported=[*METHODS, "private_key_jwt"],
            token_endpoint_auth_signing_alg_values_supported=["ES256", "RS256", "EdDSA"],
            revocation_endpoint_auth_methods_supported=[*METHODS, "private_key_jwt"],
            code_challenge_methods_supported=["S256"],
            subject_types_supported=["public"],
            id_token_signing_alg_values_supported=["RS256"],
            authorization_response_iss_parameter_supported=True,
        )

    @app.get("/keys")
    def keys():
        return jsonify(keys=[key.as_dict(private=False)])

    def is_alice():
        return (request.form["username"], request.form["password"]) == ("alice", PASSWORD)

    @app.route("/authorize", methods=["GET", "POST"])
    def authorize():
        try:
            grant = server.get_consent_grant(end_user=None)
        except OAuth2Error as error:
            return server.handle_error_response(server.create_oauth2_request(request), error)
        if request.method == "GET" or not is_alice():
            return PAGE.format(heading="Sign in", fields="")
        accepts = request.form["answer"] == "accept"
        return server.create_authorization_response(grant=grant, grant_user=USER if accepts else None)

    @app.route("/device", methods=["GET", "POST"])
    def device():
        codes = [credential["user_code"] for credential in store.devices.values()]
        if request.method == "GET" or not is_alice() or request.form["user_code"] not in codes:
            return PAGE.format(heading="Enter the code", fields=CODE_FIELD)
        store.answers[request.form["user_code"]] = request.form["answer"] == "accept"
        return "<!doctype html><title>Done</title><h1>Done</h1>"

    @app.post("/token")
    def token():
        return server.create_token_response()

    def add(path, name, methods):
        app.add_url_rule(path, name, lambda: server.create_endpoint_response(name), methods=methods)

    add("/device_authorization", DEVICE_ENDPOINT, ["POST"])
    add("/revoke", "revocation", ["POST"])
    add("/introspect", "introspection", ["POST"])
    add("/userinfo", "userinfo", ["GET", "POST"])
    return app, door.Door(client=store.register, expire=store.expire, end=store.end)


DEVICE_ENDPOINT = rfc8628.DeviceAuthorizationEndpoint.ENDPOINT_NAME


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    app, entrance = make_app(door.origin(arguments.port))
    door.serve(app, arguments.port, "/token", entrance)


if __name__ == "__main__":
    main()
