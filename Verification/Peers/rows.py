"""The questions: one function for each documented behavior of a service.

A function raises NotHeld if the client does not do what a good client does, and CannotAsk if the behavior cannot be asked of the client.
An application must tell the user to sign in, and a library must hand on the error of the service, where a row requires a new sign-in.
"""

import base64
import contextlib
import json
import re
import secrets
import shutil
import tempfile
import urllib.parse
from dataclasses import dataclass, replace
from typing import Callable

from clients import CannotAsk, Said
from service import ENTRA_TENANT, Service


class NotHeld(Exception):
    """The client does not keep to a row. The text says what it did."""


@dataclass
class Row:
    number: str
    service: str
    text: str
    sources: list
    ask: Callable


ROWS = []


def row(number, service, text, *sources):
    """Adds a question. `text` is what the service does, and what a good client does."""
    def add(function):
        ROWS.append(Row(str(number), service, text, list(sources), function))
        return function

    return add


def require(condition, reason):
    if not condition:
        raise NotHeld(reason)


SIGN_IN_WORDS = re.compile(r"sign(ing)?[ -]in|log ?in\b|auth login|re-?authenticate", re.IGNORECASE)
# How the libraries report that only a new sign-in helps.
EXPIRED_WORDS = re.compile(r"expired|invalid_token|token_invalid|interaction|returned None", re.IGNORECASE)


class Session:
    """A client at a service, with what the rows have in common."""

    def __init__(self, service, client):
        self.service = service
        self.client = client

    def sign_in(self, **options):
        said = self.client.sign_in(**options)
        require(said.ok, f"the sign-in {said}")

    def refresh(self):
        """Makes the client renew its tokens. It has succeeded only if the service has issued tokens."""
        if not self.client.refreshes:
            raise CannotAsk("has no refresh tokens")
        self.service.forget()
        said = self.client.refresh()
        renewed = any(r.status == 200 for r in self.service.sent("token", grant="refresh_token"))
        return Said(said.ok and renewed, said.text)

    def must_refresh(self, when=""):
        said = self.refresh()
        require(said.ok, f"the refresh{when} {said}")

    def must_use(self, when=""):
        said = self.client.use()
        require(said.ok, f"a request{when} {said}")

    def refuse_refresh(self, status, body, headers=None):
        """Makes the service refuse refreshes with an answer. Returns what the client says."""
        self.service.answer(status, body, headers, grant="refresh_token")
        said = self.refresh()
        require(self.service.sent("token", grant="refresh_token") and not said.ok, "the client did not notice the answer")
        return said

    def must_be_kept(self, after=""):
        """The stored refresh token still works once the service gives its usual answers, without a new sign-in."""
        self.service.clear()
        said = self.refresh()
        require(not self.service.asked_user(), f"the login is lost{after}: the client began another sign-in")
        require(said.ok, f"the login is lost{after}: a later refresh {said}")

    def must_tell(self, said, *codes):
        """The user or the program learns that only a new sign-in helps, or sees one of these codes."""
        text = said.text
        found = SIGN_IN_WORDS.search(text) or any(code in text for code in codes) or (
            not self.client.is_application and EXPIRED_WORDS.search(text))
        require(found, f"says only: {text.strip()[-200:] or 'nothing'}")
        require("misconfigur" not in text, f"says: {text.strip()[-200:]}")

    def pass_time(self, seconds):
        self.service.control("clock", {"offsetSeconds": seconds})
        self.client.pass_time(seconds)

    def sign_in_scope(self):
        """The scope that the client requested."""
        for request in self.service.sent("device") + self.service.sent("authorization"):
            scope = request.form.get("scope") or request.query.get("scope")
            if scope:
                return scope
        return None


class Case:
    """One row, asked of one client."""

    def __init__(self, client_class, tools, program, certificate):
        self.client_class = client_class
        self._tools = tools
        self._program = program
        self._certificate = certificate

    def home(self, name, exact=False):
        """The service for a row. Unless `exact`, a client that cannot sign in there gets the same answers at another service."""
        kind = self.client_class
        if name in kind.cannot:
            raise CannotAsk(kind.cannot[name])
        if exact and name in kind.reachable:
            return name
        home = kind.homes.get(name, name)
        if exact and home != name:
            raise CannotAsk(kind.bound)
        return home

    @contextlib.contextmanager
    def at(self, name, *options, exact=False):
        """Starts the service for a row, and the client."""
        kind = self.client_class
        home = self.home(name, exact)
        folder = tempfile.mkdtemp(prefix="peers-")
        service = Service(self._program, self._certificate, home, *kind.server_options(), *options)
        client = None
        try:
            client = kind(service, replace(self._tools, folder=folder))
            yield Session(service, client)
        finally:
            if client:
                client.close()
            service.stop()
            shutil.rmtree(folder, ignore_errors=True)


INVALID_GRANT = {"error": "invalid_grant", "error_description": "The refresh token is invalid or expired."}

# MARK: GitHub, GitLab, Gitea


@row(1, "GitHub", "a bad code gets status 200 with an error: not a sign-in, nothing is stored", "golang/oauth2#274")
def bad_code(case):
    with case.at("github") as session:
        session.service.answer(200, {"error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."})
        said = session.client.sign_in()
        require(not said.ok, "reports a sign-in")
        require(not session.client.has_login(), "stores the error as a login")


@row(2, "GitHub", "the token response is a form, also if a proxy removes `Accept`: read it", "modelcontextprotocol/python-sdk#1523")
def form_body(case):
    with case.at("github") as session:
        if session.service.name == "github":
            session.service.stripped = {"accept"}
        else:
            body = urllib.parse.urlencode(session.service.tokens())
            session.service.answer(200, body, {"Content-Type": "application/x-www-form-urlencoded"})
        session.sign_in()
        session.must_use()


@row(4, "GitHub", "a refresh of an app's token has an empty `scope`: the scopes are not narrower",
     "docs.github.com, Refreshing user access tokens")
def empty_scope(case):
    with case.at("github-app") as session:
        service, client = session.service, session.client
        service.gives_secret = False
        if service.name == "github-app" and client.flow() != "device":
            # Its code needs a secret, so the program has the tokens from elsewhere.
            client.stored = service.tokens()
        else:
            session.sign_in()
        service.alter(scope="", refresh_token_expires_in=15_897_600, token_type="bearer")
        for _ in range(2):
            session.must_refresh()
        session.must_use()


@row(5, "GitHub", "an eleventh sign-in ends the first, whose next request gets 401 without a challenge: report it, without a loop",
     "cli/cli#12490")
def eviction(case):
    with case.at("github") as session:
        service, client = session.service, session.client
        if not client.calls_api:
            raise CannotAsk("sends no requests to APIs")
        session.sign_in()
        session.must_use()
        if service.name == "github":
            scope = session.sign_in_scope()
            for _ in range(10):
                service.tokens(scope)
        else:
            service.answer(401, {"message": "Bad credentials", "status": "401"}, path=client.api_path)
        service.forget()
        said = client.check()
        require(not said.ok, "does not notice the end")
        calls = [r for r in service.sent() if r.path in (client.api_path, client.call_path)]
        require(len(calls) <= 2, f"sends {len(calls)} requests")
        session.must_tell(said, "Bad credentials")


@row(7, "GitHub", "access tokens of 520 characters with dots: no limit of the length", "dessant/lock-threads#55")
def long_token(case):
    with case.at("github") as session:
        service, client = session.service, session.client
        token = "ghs_2113_" + ".".join(secrets.token_urlsafe(count)[:count] for count in (40, 400, 69))
        user = service.forward("GET", service.paths["api"], {
            "Host": service.host, "Authorization": "Bearer " + service.tokens()["access_token"], "User-Agent": "tester"}, b"")[2].decode()
        # The first request of an MCP client has no token.
        service.answer(200, user, path=client.api_path, skip=int(client.api_path == "/mcp"))
        service.alter(access_token=token)
        session.sign_in()
        found = client.token()
        require(found == token, f"has {len(found or '')} of {len(token)} characters")
        session.must_use()


@row(8, "GitLab", "a refused refresh gets 401 with a challenge and `invalid_grant` in JSON: the JSON decides",
     "hickford/git-credential-oauth#2")
def challenge_and_json(case):
    with case.at("gitlab") as session:
        session.sign_in()
        challenge = 'Bearer realm="Doorkeeper", error="invalid_token", error_description="The access token is invalid"'
        said = session.refuse_refresh(
            401, {"error": "invalid_grant", "error_description": "The provided authorization grant is invalid"},
            {"WWW-Authenticate": challenge})
        session.must_tell(said, "invalid_grant")


@row(9, "Gitea", "a used refresh token gets `unauthorized_client`: a new sign-in, and not a wrong configuration",
     "woodpecker-ci #5839")
def unauthorized_client(case):
    with case.at("gitea") as session:
        session.sign_in()
        said = session.refuse_refresh(400, {"error": "unauthorized_client", "error_description": "token was already used"})
        session.must_tell(said, "token was already used")


# MARK: Google


@row(10, "Google", "after the reauthentication interval, `invalid_grant` with `invalid_rapt`: keep the login, and ask for a sign-in",
     "googleapis/google-auth-library-nodejs#1961")
def reauthentication(case):
    with case.at("google") as session:
        session.sign_in()
        said = session.refuse_refresh(
            400, {"error": "invalid_grant", "error_subtype": "invalid_rapt", "error_description": "reauth related error (invalid_rapt)"})
        session.must_tell(said, "invalid_grant", "invalid_rapt")
        session.must_be_kept()


@row(11, "Google", "refuses the scope `offline_access`: request `access_type=offline`", "oh-my-pi #12438")
def offline_scope(case):
    with case.at("google", exact=True) as session:
        session.sign_in(flow="code")
        session.must_refresh()


@row(13, "Google, Okta", "a refresh brings no refresh token: keep the old one", "modelcontextprotocol/python-sdk#2270")
def no_new_refresh_token(case):
    with case.at("okta", "--refresh-rotation", "off") as session:
        session.sign_in()
        session.service.alter(omit=["refresh_token"])
        session.must_refresh()
        session.must_refresh(", after one without a refresh token,")


@row(15, "Google", "devices: `verification_url`, and status 428 while the user has not approved",
     "developers.google.com, OAuth 2.0 for TV and Limited-Input Device Applications")
def google_device(case):
    with case.at("google", exact=True) as session:
        pending = {"error": "authorization_pending", "error_description": "Precondition Required"}
        session.client.flow("device")
        session.service.answer(428, pending, grant="urn:ietf:params:oauth:grant-type:device_code", times=1)
        session.sign_in(flow="device")


# MARK: Microsoft Entra


@row(16, "Entra", "after a change of policy, `invalid_grant` with a `suberror`: keep the refresh token, and ask for interaction",
     "AzureAD/microsoft-authentication-library-for-dotnet#1720")
def suberror(case):
    with case.at("entra") as session:
        session.sign_in()
        for name in ("basic_action", "additional_action", "consent_required"):
            said = session.refuse_refresh(400, {
                "error": "invalid_grant", "suberror": name, "error_codes": [50076], "error_description": "AADSTS50076: use multi-factor",
                "claims": json.dumps({"access_token": {"capolids": {"essential": True, "values": ["1"]}}})})
            session.must_tell(said, "invalid_grant", "AADSTS50076")
            session.must_be_kept(f" after {name}")


@row(17, "Entra", "refuses `resource` beside scopes: omit it", "geelen/mcp-remote#217")
def no_resource(case):
    with case.at("entra", exact=True) as session:
        session.client.sign_in(**({"scopes": ["api://notes/.default"]} if session.client.chooses_scopes else {}))
        session.client.refresh()
        sent = [r for r in session.service.sent() if "resource" in r.form or "resource" in r.query]
        require(not sent, f"sends `resource` to {len(sent)} endpoints")
        require(session.client.has_login(), "cannot sign in")


@row(18, "Entra", "the metadata do not list S256: use it", "modelcontextprotocol/typescript-sdk#832")
def unlisted_challenge(case):
    if case.home("entra") == "entra" and not case.client_class.discovers:
        raise CannotAsk("the program chooses the method")
    case.home("entra", exact=case.client_class.chooses_scopes)
    with case.at("entra") as session:
        session.service.control("discovery-response", {"omit": ["code_challenge_methods_supported"]})
        session.sign_in(flow="code")
        methods = {r.query.get("code_challenge_method") for r in session.service.sent("authorization") if r.method == "GET"}
        require(methods == {"S256"}, f"sends {methods}")


@row(19, "Entra", "a refresh without scopes brings a token for another API: repeat them", "claude-code #73460")
def repeated_scopes(case):
    with case.at("entra", exact=case.client_class.chooses_scopes) as session:
        if session.client.chooses_scopes:
            session.sign_in(scopes=["api://notes/.default", "offline_access"])
            wanted = "api://notes/.default"
        else:
            session.sign_in()
            wanted = "openid"
        session.must_refresh()
        scopes = [r.form.get("scope", "") for r in session.service.sent("token", grant="refresh_token")]
        require(all(wanted in scope.split() for scope in scopes), f"sends {scopes[0] or 'no scope'}")


@row(20, "Entra", "user info refuses the token of another API with 401: the session has not ended",
     "IdentityServer4 #812")
def foreign_user_info(case):
    case.home("entra", exact=case.client_class.chooses_scopes)
    if not case.client_class.asks_user_info:
        raise CannotAsk("does not ask for user info")
    with case.at("entra", exact=True) as session:
        session.sign_in(scopes=["api://notes/.default", "offline_access"])
        session.client.check()
        require(session.client.has_login(), "ends the session")
        session.must_be_kept()


@row(21, "Entra", "only `http://localhost:PORT` is a redirect URI with any port, and not 127.0.0.1",
     "learn.microsoft.com, Redirect URI restrictions and limitations")
def localhost(case):
    case.home("entra", exact=case.client_class.chooses_scopes)
    if not case.client_class.receives_redirect:
        raise CannotAsk("the program chooses the redirect URI")
    with case.at("entra", exact=True) as session:
        session.service.paths = {**session.service.paths, "issuer": f"/{ENTRA_TENANT}/v2.0"}
        session.client.sign_in(flow="code")
        uris = {r.query.get("redirect_uri", "") for r in session.service.sent("authorization") if r.method == "GET"}
        require(uris and all(uri.startswith("http://localhost:") for uri in uris), f"sends {uris}")


@row(22, "Entra", '`expires_in` is a text, such as "5250": read it', "librechat.ai #420")
def text_lifetime(case):
    with case.at("entra") as session:
        session.service.alter(expires_in="3600")
        session.sign_in()
        session.must_use()
        session.must_refresh()


@row(24, "Entra", "an API answers 401 with `insufficient_claims`: get a token with the claims, and stay signed in",
     "Azure/azure-sdk-for-net#46129")
def claims(case):
    case.home("entra", exact=case.client_class.chooses_scopes)
    with case.at("entra") as session:
        service, client = session.service, session.client
        session.sign_in()
        wanted = json.dumps({"access_token": {"nbf": {"essential": True, "value": "1604106651"}}})
        encoded = base64.b64encode(wanted.encode()).decode()
        if client.calls_api:
            challenge = f'Bearer error="insufficient_claims", claims="{encoded}"'
            service.answer(401, "", {"WWW-Authenticate": challenge}, path=client.api_path, times=1)
        service.forget()
        said = client.renew_with_claims(wanted)
        require(any("claims" in r.form or "claims" in r.query for r in service.sent()), f"sends no claims, and {said}")
        require(said.ok and client.has_login(), f"{said}")


# MARK: Rotation and grace


@row(25, "Auth0", "while the user has not approved on the device, 403 and 429 `slow_down`: keep polling",
     "auth0.com, Device Authorization Flow")
def polling(case):
    with case.at("auth0") as session:
        session.client.flow("device")
        device = "urn:ietf:params:oauth:grant-type:device_code"
        session.service.answer(403, {"error": "authorization_pending", "error_description": "not yet"}, grant=device, times=1)
        session.service.answer(429, {"error": "slow_down", "error_description": "too fast"}, grant=device, times=1, keep=True)
        session.sign_in(flow="device")


@row(27, "Supabase", "an early refresh is refused: the access token works until its expiry, then a new sign-in",
     "hermes-agent #110720", "documentation of supabase-swift, sessions")
def early_refusal(case):
    with case.at("auth0") as session:
        client = session.client
        session.sign_in()
        if not client.refreshes:
            raise CannotAsk("has no refresh tokens")
        if client.renews_early:
            # 30 s before the expiry.
            session.pass_time(3570)
        session.service.answer(403, INVALID_GRANT, grant="refresh_token")
        if client.renews_on_request:
            client.refresh()
        session.must_use(" with the access token, which is still valid,")


@row(28, "Atlassian", "a dead refresh token gets 403 with `invalid_grant`: the same as 400", "blog of nango", "FAQ of Atlassian")
def forbidden(case):
    with case.at("atlassian") as session:
        session.sign_in()
        said = session.refuse_refresh(403, {"error": "invalid_grant", "error_description": "Unknown or invalid refresh token."})
        session.must_tell(said, "invalid_grant")


@row(29, "Atlassian", "a refresh by one process ends the access token of another: use the stored token, and retry once",
     "community.developer.atlassian.com/t/83103")
def second_process(case):
    with case.at("atlassian", "--refresh-rotation", "both") as session:
        session.sign_in()
        use = session.client.second_holder()
        session.must_refresh()
        session.service.forget()
        said = use()
        require(said.ok and not session.service.asked_user(), f"the other process {said}")
        require(session.service.control("log", method="GET")["counts"].get("reuseAlarms", 0) == 0, "sends the refresh token twice")


# MARK: Slack, Linear and others


@row(31, "Slack", '`"token_type": "user"`: use it as Bearer', "UsefulSoftwareCo/executor#2050")
def user_token(case):
    with case.at("slack") as session:
        session.service.alter(token_type="user")
        session.sign_in()
        session.must_use()


@row(32, "Slack", "no refresh token: work until the expiry, then ask for a sign-in", "slack-skills-plugin #2")
def no_refresh_token(case):
    with case.at("slack") as session:
        session.service.alter(omit=["refresh_token"], expires_in=3599, token_type="Bearer")
        session.sign_in()
        session.must_use()
        session.pass_time(7200)
        said = session.client.use()
        require(not said.ok, "does not notice the expiry")
        session.must_tell(said)


@row(33, "Linear", '`"token_type": "bearer"`, but only `Bearer` is accepted in requests: always send it so', "coder/coder#23516")
def capital_letter(case):
    if not case.client_class.calls_api:
        raise CannotAsk("sends no requests to APIs")
    with case.at("standard") as session:
        session.service.alter(token_type="bearer")
        session.sign_in()
        session.service.forget()
        said = session.client.check()
        sent = [r.headers.get("Authorization", "") or r.headers.get("authorization", "") for r in session.service.sent()
                if r.path in (session.client.api_path, session.client.call_path)]
        require(said.ok and sent and all(value.startswith("Bearer ") for value in sent), f"sends {[v.split(' ')[0] for v in sent]}")


@row(35, "Keycloak", "`refresh_expires_in` is 0: ignore it", "keycloak/keycloak#48063")
def no_refresh_lifetime(case):
    with case.at("keycloak") as session:
        session.service.alter(refresh_expires_in=0)
        session.sign_in()
        for _ in range(2):
            session.must_refresh()


# MARK: Error shapes of dead refresh tokens


@row(37, "Discord", "a dead refresh token gets `invalid_request`: keep the login, and ask for a sign-in after the expiry",
     "metabase #80389", "better-auth #8103", "member-gentei #18")
def invalid_request(case):
    with case.at("discord") as session:
        session.sign_in()
        answer = {"error": "invalid_request"}
        session.refuse_refresh(400, answer)
        session.must_be_kept()
        session.service.answer(400, answer, grant="refresh_token")
        session.pass_time(14_400)
        said = session.client.use()
        require(not said.ok, "does not notice the expiry")
        session.must_tell(said, *([] if session.client.is_application else ["invalid_request"]))


@row(40, "Bluesky", "pushed requests, and a proof with an old nonce spends the refresh token: get a nonce first",
     "bluesky-social/atproto#3859")
def nonce_first(case):
    with case.at("bluesky") as session:
        session.sign_in()
        session.service.control("nonces", method="DELETE")
        for _ in range(2):
            session.must_refresh()


# MARK: Others


@row("S", "Salesforce", "no `expires_in`: use the token, without a refresh for each request", "a report without a link")
def no_lifetime(case):
    with case.at("standard") as session:
        session.service.alter(omit=["expires_in"])
        session.sign_in()
        session.service.forget()
        for _ in range(2):
            session.must_use()
        require(not session.service.sent("token", grant="refresh_token"), "renews the token for each request")
