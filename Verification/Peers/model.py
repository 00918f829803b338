"""A small client that keeps to every row, and makes one mistake on request. It shows that each row can be held, and that the tester
notices when a row is not held."""

import base64
import hashlib
import http.client
import json
import secrets
import ssl
import time
import urllib.parse

from clients import REDIRECT, Client, Said
from service import CLIENT_ID, DEVICE_GRANT, Refused

SIGN_IN = "Sign in again."


class Model(Client):
    name = "model"
    is_application = True
    flows = ("device", "code")
    asks_user_info = receives_redirect = True
    cannot = {}
    # The row whose rule it breaks.
    mistake = None

    def __init__(self, service, tools):
        super().__init__(service, tools)
        self.store = {}
        # The tokens in memory, and what the service has said to other processes.
        self.memory = None
        self.scopes = []
        self.key = None
        self.nonce = None

    @classmethod
    def version(cls, tools):
        return "1"

    def has_login(self):
        return bool(self.store)

    def token(self):
        return self.store.get("access_token")

    # MARK: Requests

    def send(self, method, path, form=None, bearer=None, headers=None):
        context = ssl.create_default_context(cafile=self.tools.certificate)
        connection = http.client.HTTPSConnection("localhost", int(self.service.host.split(":")[1]), context=context, timeout=20)
        try:
            fields = {"Accept": "application/json", "User-Agent": "model", **(headers or {})}
            if form is not None:
                fields["Content-Type"] = "application/x-www-form-urlencoded"
            if bearer:
                scheme = self.store.get("token_type") if self.mistake == "33" else "DPoP" if self.key else "Bearer"
                fields["Authorization"] = f"{scheme} {bearer}"
            connection.request(method, path, urllib.parse.urlencode(form) if form is not None else None, fields)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def post(self, endpoint, **form):
        """Sends a form to the token or device endpoint. Returns the status and the members of the response."""
        form = {"client_id": CLIENT_ID, **({"client_secret": self.service.secret} if self.service.secret else {}), **form}
        if self.mistake == "17":
            form["resource"] = self.service.origin
        path = self.service.paths[endpoint]
        status, headers, text = self.send("POST", path, form, headers=self.proof("POST", path))
        self.nonce = headers.get("DPoP-Nonce") or self.nonce
        try:
            return status, json.loads(text)
        except ValueError:
            if self.mistake == "2":
                return status, {"error": "the response is not JSON"}
            return status, dict(urllib.parse.parse_qsl(text))

    # MARK: Signing in

    def sign_in(self, flow=None, scopes=None):
        flow = self.flow(flow)
        self.scopes = scopes or self.service.scopes
        if self.mistake == "11":
            self.scopes.append("offline_access")
        try:
            return self.device() if flow == "device" else self.code()
        except (Refused, KeyError) as error:
            return Said(False, repr(error))

    def device(self):
        _, begun = self.post("device", scope=" ".join(self.scopes))
        if self.mistake != "15" and "verification_url" in begun:
            begun["verification_uri"] = begun["verification_url"]
        if not begun["verification_uri"]:
            return Said(False, "no page")
        self.service.approve(begun["user_code"])
        pause = int(begun.get("interval", 5))
        while True:
            time.sleep(pause)
            status, answer = self.post("token", grant_type=DEVICE_GRANT, device_code=begun["device_code"])
            if self.mistake == "25" and status not in (200, 400):
                return Said(False, f"HTTP {status}")
            if answer.get("error") == "slow_down":
                pause += 5
            elif answer.get("error") != "authorization_pending":
                return self.keep(answer, status)

    def code(self):
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(8)
        redirect = REDIRECT.replace("localhost", "127.0.0.1") if self.mistake == "21" else REDIRECT
        query = {
            "response_type": "code", "client_id": CLIENT_ID, "redirect_uri": redirect, "scope": " ".join(self.scopes), "state": state}
        if self.mistake != "18":
            digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
            query |= {"code_challenge": digest, "code_challenge_method": "S256"}
        if self.service.name == "google" and self.mistake != "11":
            query |= {"access_type": "offline", "prompt": "consent"}
        if self.mistake == "17":
            query["resource"] = self.service.origin
        if self.service.name == "bluesky":
            self.make_key()
            query = {"client_id": CLIENT_ID, "request_uri": self.pushed(query)["request_uri"]}
        location = self.service.browse(self.service.url("authorization") + "?" + urllib.parse.urlencode(query))
        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
        if answer["state"] != state:
            return Said(False, "another state")
        status, tokens = self.post(
            "token", grant_type="authorization_code", code=answer["code"], redirect_uri=redirect, code_verifier=verifier)
        return self.keep(tokens, status)

    def keep(self, answer, status=200):
        """Stores a token response."""
        if "access_token" not in answer:
            if self.mistake == "1" and status == 200:
                self.store = answer
                return Said(True)
            return Said(False, f"{answer.get('error')}: {answer.get('error_description', '')}")
        if self.mistake == "31" and answer.get("token_type", "").lower() != "bearer":
            return Said(False, "this token type is not supported")
        if self.mistake == "22" and isinstance(answer.get("expires_in"), str):
            return Said(False, "expires_in is not a number")
        if self.mistake == "4" and answer.get("scope") == "":
            return Said(False, "the service has not granted the scopes")
        if self.mistake == "7":
            answer["access_token"] = answer["access_token"][:255]
        old = self.store.get("refresh_token")
        self.store = dict(answer)
        if not self.store.get("refresh_token") and self.mistake != "13":
            self.store["refresh_token"] = old
        if self.mistake == "35" and answer.get("refresh_expires_in") == 0:
            self.store["refresh_token"] = None
        lifetime = answer.get("expires_in")
        self.store["expires_at"] = time.time() + float(lifetime) if lifetime else 0 if self.mistake == "S" else None
        return Said(True)

    # MARK: The session

    def refresh(self, **parameters):
        if not self.store.get("refresh_token"):
            return Said(False, "The network cannot be reached." if self.mistake == "32" else SIGN_IN)
        if self.mistake != "19":
            parameters["scope"] = " ".join(self.scopes)
        if self.key and self.mistake != "40":
            self.pushed({})
        status, answer = self.post("token", grant_type="refresh_token", refresh_token=self.store["refresh_token"], **parameters)
        if "access_token" in answer:
            return self.keep(answer)
        kind = "10" if "error_subtype" in answer else "16" if "suberror" in answer else "37" if answer["error"] == "invalid_request" else ""
        if self.mistake == kind:
            self.store = {}
        if self.mistake == "27":
            self.store = {}
        said = {"8": "HTTP 401. Check the password.", "28": "Forbidden. Try later.", "9": "The client is misconfigured."}.get(
            self.mistake, f"{answer['error']}: {answer.get('error_description', '')}. {SIGN_IN}")
        return Said(False, said)

    def use(self):
        if not self.store:
            return Said(False, SIGN_IN)
        expires_at = self.store["expires_at"]
        if expires_at is not None and expires_at < time.time() + 60:
            said = self.refresh()
            if not self.store or not said.ok and expires_at < time.time():
                return said
        return self.request(self.store["access_token"])

    def request(self, token, retry=True):
        for _ in range(6 if self.mistake == "5" else 1):
            status, headers, text = self.send("GET", self.service.paths["api"], bearer=token)
        if status == 200:
            return Said(True, text)
        if self.mistake != "29" and retry and token != self.store["access_token"]:
            return self.request(self.store["access_token"], retry=False)
        return Said(False, f"HTTP {status}. {SIGN_IN}")

    def check(self):
        said = self.use()
        if not said.ok and self.mistake == "20":
            self.store = {}
        return said

    def renew_with_claims(self, claims):
        return self.refresh(**({} if self.mistake == "24" else {"claims": claims}))

    def second_holder(self):
        token = self.store["access_token"]
        return lambda: self.request(token)

    # MARK: DPoP

    def make_key(self):
        from cryptography.hazmat.primitives.asymmetric import ec

        self.key = ec.generate_private_key(ec.SECP256R1())

    def pushed(self, query):
        """Pushes an authorization request (RFC 9126). The response also contains the nonce for the next request."""
        for _ in range(2):
            form = {"client_id": CLIENT_ID, **query}
            status, headers, text = self.send("POST", "/oauth/par", form, headers=self.proof("POST", "/oauth/par"))
            self.nonce = headers.get("DPoP-Nonce") or self.nonce
            if status < 300:
                break
        return json.loads(text)

    def proof(self, method, path):
        """The field of a proof (RFC 9449, section 4.2), or none without a key."""
        if not self.key:
            return {}
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        def encoded(data):
            return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).decode().rstrip("=")

        numbers = self.key.public_key().public_numbers()
        jwk = {"kty": "EC", "crv": "P-256", "x": encoded(numbers.x.to_bytes(32, "big")), "y": encoded(numbers.y.to_bytes(32, "big"))}
        claims = {"jti": secrets.token_urlsafe(12), "htm": method, "htu": self.service.origin + path, "iat": int(time.time())}
        if self.nonce:
            claims["nonce"] = self.nonce
        signed = encoded({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk}) + "." + encoded(claims)
        r, s = utils.decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return {"DPoP": signed + "." + encoded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))}
