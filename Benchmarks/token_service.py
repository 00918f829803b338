"""A service for programs that must refresh a token before they have one: discovery, and a token endpoint that accepts everything."""

import http.server
import json
import threading


class TokenService:
    def __init__(self, token):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.token = token
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        issuer = f"http://127.0.0.1:{self.server.server_port}"
        places = {name: f"{issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")}
        self.answer({
            "issuer": issuer, **places, "scopes_supported": ["openid", "offline_access"],
            "grant_types_supported": ["authorization_code", "refresh_token"], "response_types_supported": ["code"]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({
            "access_token": self.server.token, "token_type": "Bearer", "expires_in": 86400, "refresh_token": "refresh",
            "scope": "openid offline_access"})

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
