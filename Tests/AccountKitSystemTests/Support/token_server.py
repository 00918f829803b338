"""A service that issues given tokens, for a process whose memory is searched.

    token_server.py

The first two lines of standard input are the next access token and the next refresh token. Arguments would be visible in
the memory of other processes. Prints its port.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

access_token, refresh_token = (sys.stdin.readline().strip() for _ in range(2))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def response(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        if self.path.startswith("/.well-known/"):
            self.response({"issuer": base, "token_endpoint": base + "/token", "userinfo_endpoint": base + "/me",
                        "revocation_endpoint": base + "/revoke"})
        else:
            self.response({"sub": "1", "name": "Alice"})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.response({"access_token": access_token, "refresh_token": refresh_token, "token_type": "Bearer",
                    "expires_in": 3600} if self.path == "/token" else {})

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
# End when the test has ended.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
