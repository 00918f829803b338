"""The clients, each behind the same small interface. An adapter uses its client as the documentation of the client describes.

A library is asked through a program of a few lines: it signs in, stores what the library returns, and hands errors on. What such a program
would have to decide, and not the library, cannot be asked.
"""

import asyncio
import contextlib
import importlib.metadata
import json
import logging
import os
import random
import re
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from service import CLIENT_ID, ENTRA_TENANT, PASSWORD, PATHS, USER, Refused

# The redirect URI of clients whose program receives the redirect. Nothing listens there: the tester reads the URL.
REDIRECT = "http://localhost:8765/callback"


class CannotAsk(Exception):
    """A row that cannot be asked of a client. The text is the reason, for a footnote."""


class AskedUser(Exception):
    """A client wants to sign the user in again."""


@dataclass
class Said:
    """Whether an action succeeded, and what the user or the program was told."""

    ok: bool
    text: str = ""

    def __str__(self):
        return f"{'succeeded' if self.ok else 'failed'}: {self.text.strip()[-300:]}" if self.text.strip() else (
            "succeeded" if self.ok else "failed without a word")


# MARK: The date

_real_time = time.time
_ahead = 0.0
time.time = lambda: _real_time() + _ahead


def set_clock(seconds):
    """Moves the date of the libraries in this process."""
    global _ahead
    _ahead = seconds


@dataclass
class Tools:
    """What adapters need: paths of programs, the certificate, and a folder for one client."""

    account: str
    certificate: str
    clock: str
    folder: str


class Client:
    """A client with an own, empty store.

    The interface: `sign_in`, `refresh`, `use`, `token`, `has_login`, and `pass_time`.
    """

    name = ""
    from_debian = False
    # Whether the client talks to users. A library talks to its program.
    is_application = False
    # The ways to sign in, the preferred one first.
    flows = ("code",)
    # Whether the client sends requests to APIs, and does not only provide tokens for them.
    calls_api = True
    # Whether the client renews tokens.
    refreshes = True
    # Whether the client discovers endpoints.
    discovers = True
    # The services where it cannot sign in, with the service at which it gets the same answers.
    homes = {}
    # The services about which it cannot be asked, with the reason.
    cannot = {"bluesky": "does not support DPoP (RFC 9449)"}
    # The services of `homes` that it can reach, for the rows about the sign-in there.
    reachable = ()
    # Why it cannot be asked about a service of `homes` itself.
    bound = "cannot sign in at this service"
    # Whether the program or the user chooses the scopes.
    chooses_scopes = True
    # Whether it asks the user info endpoint who has signed in.
    asks_user_info = False
    # Whether it receives the redirect of a browser itself.
    receives_redirect = False
    # Whether it renews a token before its expiry without a request to do so.
    renews_early = True
    # Whether a user can make it renew a token that is valid.
    renews_on_request = False

    def __init__(self, service, tools):
        self.service = service
        self.tools = tools
        self.ahead = 0
        self._approved = set()

    @classmethod
    def version(cls, tools):
        raise NotImplementedError

    @classmethod
    def server_options(cls):
        """The options of the server for this client."""
        return []

    def sign_in(self, flow=None, scopes=None):
        """Signs the user in. The scopes replace those of the service."""
        raise NotImplementedError

    def refresh(self):
        """Makes the client renew its tokens now."""
        raise CannotAsk("has no refresh tokens")

    def use(self):
        """Uses the session as a user would, with one request to the API."""
        raise NotImplementedError

    def check(self):
        """Makes the client itself look whether the session is valid."""
        return self.use()

    def token(self):
        """The access token that programs get, or None."""
        raise NotImplementedError

    def has_login(self):
        """Whether the store of the client has a login."""
        raise NotImplementedError

    def renew_with_claims(self, claims):
        """Handles the challenge of an API for further claims."""
        raise CannotAsk("hands the response of the API to the program" if self.calls_api else "sends no requests to APIs")

    def second_holder(self):
        """Another holder of the same store, which has read the tokens already. Returns a function that uses the tokens."""
        raise CannotAsk("leaves the store to the program")

    def pass_time(self, seconds):
        self.ahead = seconds
        set_clock(seconds)

    def close(self):
        set_clock(0)

    @property
    def api_path(self):
        """The path of the API that `use` calls, at the server."""
        return self.service.paths["api"]

    @property
    def call_path(self):
        """The path of the API in the requests of the client."""
        return self.api_path

    # MARK: Support

    def flow(self, wanted=None):
        """The way to sign in at this service."""
        for flow in self.flows:
            if wanted in (None, flow) and (flow != "device" or self.service.paths["device"]):
                return flow
        raise CannotAsk(f"has no sign-in by {wanted or 'a way that the service has'}")

    def call(self, token):
        """Sends a request with a token, as curl would."""
        request = urllib.request.Request(self.service.url("api"), headers={"Authorization": f"Bearer {token}", "User-Agent": "curl/8"})
        return _open(request)

    def environment(self):
        home = self.tools.folder
        return {
            "PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": self.tools.certificate,
            "BROWSER": "none", **({"LD_PRELOAD": self.tools.clock, "CLOCK_AHEAD": str(self.ahead)} if self.ahead else {})}

    def run(self, words, environment=None, on_line=None, text="", timeout=60):
        """Runs a program, and calls `on_line` with each line of its output."""
        process = subprocess.Popen(
            words, env=environment or self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=self.tools.folder, start_new_session=True)
        timer = threading.Timer(timeout, lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.start()
        said = []
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(text.encode())
                process.stdin.close()
            for line in process.stdout:
                line = line.decode(errors="replace")
                if "\x1b[48" in line:
                    continue
                said.append(line)
                if on_line:
                    on_line(line)
            process.wait()
        except Refused as refused:
            # The page has no way back to the client, which would wait for the user.
            return Said(False, str(refused))
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return Said(process.returncode == 0, "".join(said))

    def approve_code(self, line):
        """Approves the code of a sign-in on another device, if a line contains one."""
        found = re.search(r"\b([A-Z]{4}-[A-Z]{4})\b", line)
        if found and found.group(1) not in self._approved:
            self._approved.add(found.group(1))
            self.service.approve(found.group(1))


def _open(request):
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as response:
            return Said(True, f"{response.status}")
    except urllib.error.HTTPError as error:
        return Said(False, f"{error.code} {error.read().decode(errors='replace')[:200]}")
    except OSError as error:
        return Said(False, str(error))


def free_port():
    """A free port that is not one of those that the system hands out."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("there is no free port")


# MARK: Applications


class AccountCommand(Client):
    """The command of AccountKit."""

    name = "`account`"
    is_application = True
    flows = ("device", "code")
    asks_user_info = receives_redirect = True
    cannot = {}
    # The services that compare the port of the redirect URI.
    _comparing_port = {"auth0", "okta", "atlassian", "slack", "discord", "huggingface"}

    @classmethod
    def version(cls, tools):
        return subprocess.run([tools.account, "--version"], capture_output=True, text=True).stdout.split()[-1]

    def environment(self):
        secret = {"ACCOUNT_CLIENT_SECRET": self.service.secret} if self.service.name in ("google", "atlassian") else {}
        return super().environment() | {"ACCOUNT_HOME": self.tools.folder + "/account"} | secret

    def account(self, *words, **options):
        return self.run([self.tools.account, *words], **options)

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)
        name = self.service.name
        words = ["login", "--issuer", self.service.issuer, "--client-id", CLIENT_ID]
        if name != "standard":
            words += ["--service", "github" if name.startswith("github") else name]
        for scope in scopes or []:
            words += ["--scope", scope]
        if flow == "device":
            return self.account(*words, "--device", on_line=self.approve_code)
        if name in self._comparing_port:
            words += ["--redirect-uri", f"http://127.0.0.1:{free_port()}/callback"]
        if name == "bluesky":
            words += ["--username", USER]
        return self.account(*words, "--web", on_line=self._open_page)

    def _open_page(self, line):
        found = re.search(r"^ +(https://localhost\S+)$", line.rstrip())
        if not found:
            return
        location = self.service.browse(found.group(1))
        with contextlib.suppress(OSError):
            urllib.request.urlopen(location, timeout=10).read()

    def refresh(self):
        return self.account("refresh")

    def use(self):
        token = self.account("token")
        if not token.ok:
            return token
        return self.call(token.text.strip())

    def check(self):
        return self.account("whoami", "--max-age", "0")

    def token(self):
        said = self.account("token")
        return said.text.strip() if said.ok else None

    def has_login(self):
        return Path(self.tools.folder, "account/Documents/Account.plist").exists()

    def renew_with_claims(self, claims):
        """Of the commands, `account mcp` sends requests to an API."""
        self.service.answer(200, {"jsonrpc": "2.0", "id": 1, "result": {}}, path=self.api_path, keep=True)
        url = self.service.url("api")
        said = self.account("rule", "add", url, "--session", "default")
        if not said.ok:
            return said
        said = self.account("mcp", url, text='{"jsonrpc":"2.0","id":1,"method":"ping"}\n', timeout=20)
        return Said(said.ok and '"result"' in said.text, said.text)

    def second_holder(self):
        return lambda: self.account("whoami", "--max-age", "0")

    def pass_time(self, seconds):
        self.ahead = seconds


class GitHubCommand(Client):
    """GitHub's own command. It speaks to a host with HTTPS, and finds the port in GH_HOST."""

    name = "gh"
    from_debian = True
    is_application = True
    flows = ("device",)
    refreshes = False
    discovers = False
    cannot = {name: "signs in at GitHub only" for name in PATHS if name != "github"} | {
        "github-app": "has tokens of an OAuth app, which do not expire"}

    @classmethod
    def version(cls, tools):
        return subprocess.run(["gh", "--version"], capture_output=True, text=True).stdout.split()[2]

    def environment(self):
        return super().environment() | {
            "GH_HOST": self.service.host, "GH_CONFIG_DIR": self.tools.folder + "/gh", "GH_BROWSER": "true", "GH_NO_UPDATE_NOTIFIER": "1",
            "NO_COLOR": "1"}

    def sign_in(self, flow=None, scopes=None):
        self.flow(flow)
        return self.run(
            ["gh", "auth", "login", "--web", "--git-protocol", "https"], text="\n", on_line=self.approve_code, timeout=30)

    def use(self):
        return self.run(["gh", "api", "user"])

    def token(self):
        """The token in a request: for a host with a port, `gh auth token` finds none."""
        self.use()
        fields = self.service.sent("api")[-1].headers
        return fields["Authorization"].split(" ")[-1]

    def has_login(self):
        hosts = Path(self.tools.folder, "gh/hosts.yml")
        return hosts.exists() and "oauth_token" in hosts.read_text()


class OIDCAgent(Client):
    """oidc-agent, as the user of its commands. Its requests have a client secret in any case.

    It runs without the automatic re-authentication, which needs a desktop. It knows Google by its address, so that the tester cannot be
    Google for it.
    """

    name = "oidc-agent"
    from_debian = True
    is_application = True
    flows = ("device", "code")
    calls_api = False
    # It requires OpenID Connect Discovery.
    homes = {name: "okta" for name in (
        "github", "github-app", "gitlab", "gitea", "google", "atlassian", "slack", "discord")}
    receives_redirect = renews_on_request = True
    renews_early = False
    bound = "knows Google by its address"

    @classmethod
    def server_options(cls):
        return ["--client-secret", "account-secret"]

    @classmethod
    def version(cls, tools):
        return subprocess.run(["oidc-agent", "--version"], capture_output=True, text=True).stdout.split()[-1]

    def __init__(self, service, tools):
        super().__init__(service, tools)
        self._agent = None
        self._is_loaded = True
        Path(tools.folder, "oidc").mkdir()
        self._start()

    def _start(self):
        environment = super().environment() | {"OIDC_CONFIG_DIR": self.tools.folder + "/oidc"}
        said = subprocess.run(
            ["oidc-agent", "--json", "--no-autoreauthenticate"], env=environment, capture_output=True, text=True, timeout=20)
        self._agent = json.loads(said.stdout)

    def _stop(self):
        if self._agent:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self._agent["dpid"]), signal.SIGTERM)
        self._agent = None

    def environment(self):
        return super().environment() | {
            "OIDC_CONFIG_DIR": self.tools.folder + "/oidc", "OIDC_ENCRYPTION_PW": "password", "OIDC_SOCK": self._agent["socket"],
            "OIDCD_PID": self._agent["dpid"]}

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)
        issuer = self.service.issuer
        if self.service.name == "entra":
            issuer = f"{self.service.origin}/{ENTRA_TENANT}/v2.0"
        words = [
            "oidc-gen", "test", "--manual", "--iss", issuer, "--client-id", CLIENT_ID, "--client-secret", "account-secret", "--scope",
            " ".join(scopes or self.service.scopes), "--flow", flow, "--cp", self.tools.certificate, "--pw-env", "--prompt=none",
            "--no-url-call", "--no-scheme"]
        if flow == "device":
            return self.run(words, on_line=self.approve_code)
        return self.run([*words, "--redirect-uri", f"http://localhost:{free_port()}/callback"], on_line=self._open_page)

    def _open_page(self, line):
        found = re.search(r"(https://localhost\S+response_type\S+)", line)
        if found:
            location = self.service.browse(found.group(1))
            with contextlib.suppress(OSError):
                urllib.request.urlopen(location, timeout=10).read()

    def _token(self, *options):
        """Runs oidc-token. A new agent first loads the configuration, with its password."""
        if not self._is_loaded:
            said = self.run(["oidc-add", "--pw-env", "test"])
            if not said.ok:
                return said
            self._is_loaded = True
        return self.run(["oidc-token", *options, "test"])

    def refresh(self):
        return self._token("--force-new")

    def use(self):
        said = self._token()
        return self.call(said.text.strip()) if said.ok else said

    def token(self):
        said = self._token()
        return said.text.strip() if said.ok else None

    def has_login(self):
        return Path(self.tools.folder, "oidc/test").exists()

    def second_holder(self):
        raise CannotAsk("one agent provides the tokens for all programs")

    def pass_time(self, seconds):
        """Starts another agent, because a process cannot change its own date."""
        self._stop()
        self.ahead = seconds
        self._start()
        self._is_loaded = False

    def close(self):
        self._stop()
        super().close()


class HuggingFaceHub(Client):
    """The command of huggingface_hub. It renews a token that is valid for less than a day, so each command renews those of the server."""

    name = "huggingface_hub"
    is_application = True
    flows = ("device",)
    discovers = False
    homes = {name: "huggingface" for name in PATHS if name not in ("huggingface", "bluesky")}
    cannot = {"bluesky": "signs in at Hugging Face only"}
    bound = "signs in at Hugging Face only"
    _command = [str(Path(sys.executable).parent / "hf")]

    @classmethod
    def version(cls, tools):
        return importlib.metadata.version("huggingface_hub")

    def environment(self):
        return super().environment() | {
            "HF_ENDPOINT": self.service.origin, "HF_HOME": self.tools.folder + "/hf", "HF_DEVICE_CODE_OAUTH_CLIENT_ID": CLIENT_ID,
            "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_UPDATE_CHECK": "1", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}

    def sign_in(self, flow=None, scopes=None):
        self.flow(flow)
        return self.run([*self._command, "auth", "login"], on_line=self.approve_code)

    def use(self):
        return self.run([*self._command, "auth", "whoami"])

    refresh = use

    def token(self):
        said = self.run([*self._command, "auth", "token"])
        # The output also has hints, which are sentences.
        return max((line for line in said.text.splitlines() if " " not in line), key=len, default=None) if said.ok else None

    def has_login(self):
        return Path(self.tools.folder, "hf/token").exists()

    @property
    def call_path(self):
        return "/api/whoami-v2"

    def second_holder(self):
        """A program that has read the token, and uses it again after a line of input."""
        program = (
            "import sys\nfrom huggingface_hub import HfApi\nfrom huggingface_hub.utils import get_token\n"
            "api = HfApi()\napi.whoami()\nprint('ready', flush=True)\nsys.stdin.readline()\n"
            "try:\n    print(api.whoami()['name'])\nexcept Exception as error:\n    sys.exit(str(error))\n")
        process = subprocess.Popen(
            [sys.executable, "-c", program], env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        while "ready" not in (line := process.stdout.readline()):
            if not line:
                raise RuntimeError("the second program did not start")

        def use():
            text, _ = process.communicate("\n", timeout=60)
            return Said(process.returncode == 0, text)

        return use

    def pass_time(self, seconds):
        self.ahead = seconds


# MARK: Libraries


class Library(Client):
    """A library in this process. `stored` is what its program would write to a file."""

    def __init__(self, service, tools):
        super().__init__(service, tools)
        self.stored = None
        os.environ["SSL_CERT_FILE"] = os.environ["REQUESTS_CA_BUNDLE"] = tools.certificate

    def attempt(self, action):
        """Runs an action as a program would, which reports each error."""
        try:
            return action()
        except CannotAsk:
            raise
        except AskedUser:
            return Said(False, "asks for a new sign-in in the browser")
        except Exception as error:
            # A group of errors contains those of its tasks.
            return Said(False, "; ".join(f"{type(e).__name__}: {e}" for e in getattr(error, "exceptions", [error])))

    def has_login(self):
        return bool(self.stored)

    def wait_for_code(self, begun):
        self.service.approve(begun["user_code"])


class MSAL(Library):
    """MSAL for Python, with a serialized cache. An authority needs a path, so it is asked at Entra, Okta and Keycloak."""

    name = "MSAL"
    flows = ("device", "code")
    calls_api = False
    receives_redirect = True
    bound = "needs an authority with a path"
    homes = {name: "entra" for name in PATHS if name not in ("entra", "okta", "keycloak", "bluesky")}

    @classmethod
    def version(cls, tools):
        return importlib.metadata.version("msal")

    @classmethod
    def server_options(cls):
        # Its redirect URI has no path. The test server accepts such a one only if it is registered, with its port.
        cls._port = free_port()
        return ["--redirect-uri", f"http://localhost:{cls._port}"]

    def __init__(self, service, tools):
        super().__init__(service, tools)
        self.scopes = ["User.Read"] if service.name == "entra" else []

    def app(self):
        """A new process: the application with the stored cache."""
        import msal

        cache = msal.SerializableTokenCache()
        if self.stored:
            cache.deserialize(self.stored)
        is_entra = self.service.name == "entra"
        where = {"authority": self.service.origin + "/common"} if is_entra else {"oidc_authority": self.service.issuer}
        return msal.PublicClientApplication(CLIENT_ID, instance_discovery=False, token_cache=cache, **where)

    def keep(self, app):
        if app.token_cache.has_state_changed:
            self.stored = app.token_cache.serialize()

    def has_login(self):
        entries = json.loads(self.stored or "{}")
        return bool(entries.get("RefreshToken") or entries.get("AccessToken"))

    def said(self, app, result):
        self.keep(app)
        if result and "access_token" in result:
            return Said(True)
        return Said(False, json.dumps(result) if result else "acquire_token_silent returned None")

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)
        if scopes:
            # It adds this scope itself.
            self.scopes = [scope for scope in scopes if scope != "offline_access"]

        def action():
            app = self.app()
            if flow == "device":
                begun = app.initiate_device_flow(self.scopes)
                if "user_code" not in begun:
                    return Said(False, json.dumps(begun))
                self.wait_for_code(begun)
                return self.said(app, app.acquire_token_by_device_flow(begun))

            def open_page(url):
                with contextlib.suppress(Refused):
                    threading.Thread(target=_post_back, args=[self.service.browse(url)], daemon=True).start()

            return self.said(
                app, app.acquire_token_interactive(self.scopes, auth_uri_callback=open_page, port=self._port, timeout=10))

        return self.attempt(action)

    def silent(self, **options):
        app = self.app()
        accounts = app.get_accounts()
        if not accounts:
            return app, None
        return app, app.acquire_token_silent_with_error(self.scopes, accounts[0], **options)

    def refresh(self):
        return self.attempt(lambda: self.said(*self.silent(force_refresh=True)))

    def use(self):
        def action():
            app, result = self.silent()
            said = self.said(app, result)
            return self.call(result["access_token"]) if said.ok else said

        return self.attempt(action)

    def token(self):
        app, result = self.silent()
        return (result or {}).get("access_token")

    def renew_with_claims(self, claims):
        return self.attempt(lambda: self.said(*self.silent(claims_challenge=claims)))

    def second_holder(self):
        raise CannotAsk("sends no requests to APIs")


def _post_back(location):
    """Sends the parameters of a redirect as a form, as the page of the service does for `response_mode=form_post`."""
    address, query = location.split("?", 1)
    with contextlib.suppress(OSError):
        urllib.request.urlopen(address, query.encode(), timeout=10).read()


class Authlib(Library):
    """Authlib's OAuth2Session for requests. The program names the endpoints."""

    name = "Authlib"
    flows = ("code", "password")
    discovers = False

    @classmethod
    def version(cls, tools):
        return importlib.metadata.version("Authlib")

    def session(self, scopes=None):
        from authlib.integrations.requests_client import OAuth2Session

        self.scopes = scopes or getattr(self, "scopes", self.service.scopes)
        return OAuth2Session(
            CLIENT_ID, self.service.secret, scope=" ".join(self.scopes), redirect_uri=REDIRECT, code_challenge_method="S256",
            token_endpoint=self.service.url("token"), token=self.stored, update_token=self._update,
            token_endpoint_auth_method="client_secret_post" if self.service.secret else "none")

    def _update(self, token, refresh_token=None, access_token=None):
        self.stored = dict(token)

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)

        def action():
            session = self.session(scopes)
            if flow == "password":
                self.stored = dict(session.fetch_token(username=USER, password=PASSWORD))
                return Said(True)
            verifier = secrets.token_urlsafe(48)
            url, state = session.create_authorization_url(
                self.service.url("authorization"), code_verifier=verifier, **_extra(self.service))
            location = self.service.browse(url)
            self.stored = dict(session.fetch_token(authorization_response=location, state=state, code_verifier=verifier))
            return Said(True)

        return self.attempt(action)

    def refresh(self):
        def action():
            session = self.session()
            self.stored = dict(session.refresh_token())
            return Said(True)

        return self.attempt(action)

    def use(self):
        return self.attempt(lambda: _said(self.session().get(self.service.url("api"), headers={"User-Agent": "program"})))

    def token(self):
        return self.stored and self.stored["access_token"]


class RequestsOAuthlib(Library):
    """requests-oauthlib's OAuth2Session. The program names the endpoints."""

    name = "requests-oauthlib"
    flows = ("code", "password")
    discovers = False

    @classmethod
    def version(cls, tools):
        return importlib.metadata.version("requests-oauthlib")

    def session(self, scopes=None):
        from requests_oauthlib import OAuth2Session

        self.scopes = scopes or getattr(self, "scopes", self.service.scopes)
        renews = {"auto_refresh_url": self.service.url("token"), "auto_refresh_kwargs": self._own(), "token_updater": self._update}
        return OAuth2Session(
            CLIENT_ID, scope=self.scopes, redirect_uri=REDIRECT, pkce="S256", token=self.stored,
            **(renews if (self.stored or {}).get("refresh_token") else {}))

    def _own(self):
        return {"client_id": CLIENT_ID} | ({"client_secret": self.service.secret} if self.service.secret else {})

    def _update(self, token):
        self.stored = dict(token)

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)

        def action():
            session = self.session(scopes)
            url, _ = session.authorization_url(self.service.url("authorization"), **_extra(self.service))
            location = self.service.browse(url)
            code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))["code"]
            self.stored = dict(session.fetch_token(
                self.service.url("token"), code=code, include_client_id=True, client_secret=self.service.secret))
            return Said(True)

        return self.attempt(action)

    def refresh(self):
        def action():
            self.stored = dict(self.session().refresh_token(self.service.url("token"), **self._own()))
            return Said(True)

        return self.attempt(action)

    def use(self):
        return self.attempt(lambda: _said(self.session().get(self.service.url("api"), headers={"User-Agent": "program"})))

    def token(self):
        return self.stored and self.stored["access_token"]


def _said(response):
    return Said(response.status_code == 200, f"{response.status_code} {response.text[:200]}")


def _extra(service):
    """The parameters that the documentation of a service asks programs to add."""
    return {"access_type": "offline", "prompt": "consent"} if service.name == "google" else {}


class MCPClient(Library):
    """The client of the MCP Python SDK: its authentication for HTTP, with a store in memory, at an API of the service."""

    name = "MCP SDK"
    homes = {name: "standard" for name in ("github", "github-app", "google", "atlassian", "entra")}
    reachable = ("google", "entra")
    chooses_scopes = renews_early = False

    @classmethod
    def server_options(cls):
        return ["--api"]

    @classmethod
    def version(cls, tools):
        return importlib.metadata.version("mcp")

    def __init__(self, service, tools):
        super().__init__(service, tools)
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        self.may_browse = True
        self.stored = {}
        self.provider = None

    # The protocol TokenStorage.
    async def get_tokens(self):
        from mcp.shared.auth import OAuthToken

        return OAuthToken.model_validate_json(self.stored["tokens"]) if "tokens" in self.stored else None

    async def set_tokens(self, tokens):
        self.stored["tokens"] = tokens.model_dump_json()

    async def get_client_info(self):
        from mcp.shared.auth import OAuthClientInformationFull

        if "client" in self.stored:
            return OAuthClientInformationFull.model_validate_json(self.stored["client"])
        secret = self.service.secret
        return OAuthClientInformationFull(
            client_id=CLIENT_ID, client_secret=secret, redirect_uris=[REDIRECT],
            token_endpoint_auth_method="client_secret_post" if secret else "none")

    async def set_client_info(self, client_info):
        self.stored["client"] = client_info.model_dump_json()

    def has_login(self):
        return "tokens" in self.stored

    @property
    def api_path(self):
        return "/mcp"

    def new_provider(self):
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

        location = []

        async def redirect(url):
            if not self.may_browse:
                raise AskedUser
            location.append(self.service.browse(url))

        async def callback():
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location[-1]).query))
            return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

        return OAuthClientProvider(
            self.service.origin + "/mcp", OAuthClientMetadata(redirect_uris=[REDIRECT], client_name="program"), self, redirect, callback)

    def request(self, provider=None):
        import httpx2

        async def send():
            context = ssl.create_default_context(cafile=self.tools.certificate)
            async with httpx2.AsyncClient(auth=provider or self.provider, verify=context, timeout=30) as client:
                response = await client.get(self.service.origin + "/mcp")
                return Said(response.status_code == 200, f"{response.status_code} {response.text[:200]}")

        return self.attempt(lambda: asyncio.run(send()))

    def sign_in(self, flow=None, scopes=None):
        self.flow(flow)
        self.provider = self.new_provider()
        self.may_browse = True
        said = self.request()
        self.may_browse = False
        return said

    def refresh(self):
        # The SDK renews tokens only after their expiry.
        self.provider.context.token_expiry_time = 1
        return self.request()

    def use(self):
        return self.request()

    def token(self):
        return json.loads(self.stored["tokens"])["access_token"] if self.has_login() else None

    def renew_with_claims(self, claims):
        return self.request()

    def second_holder(self):
        other = self.new_provider()
        self.request(other)
        return lambda: self.request(other)


ALL = [AccountCommand, GitHubCommand, OIDCAgent, HuggingFaceHub, MSAL, Authlib, RequestsOAuthlib, MCPClient]
