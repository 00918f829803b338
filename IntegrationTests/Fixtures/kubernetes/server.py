"""The part of a Kubernetes API server that the end-to-end tests need: TLS, and one list that requires a token.

    server.py --certificate FILE --key FILE [--issuer URL]
        Serves on 127.0.0.1 until SIGTERM, then exits with status 0. Prints one line on standard output once it is ready:

            listening on https://127.0.0.1:PORT

With --issuer, that service's user info endpoint validates the token; without, any token is valid.
"""

import argparse
import http.server
import json
import signal
import ssl
import sys
import threading
import urllib.error
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PODS = "/api/v1/namespaces/default/pods"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if not self.is_authenticated():
            return self.reply(401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401})
        if self.path.partition("?")[0] != PODS:
            return self.reply(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
        pod = {"metadata": {"name": "notes", "namespace": "default"}, "spec": {"containers": [{"name": "notes"}]}}
        self.reply(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]})

    def is_authenticated(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not token or not self.server.issuer:
            return scheme == "Bearer" and bool(token)
        url = self.server.issuer + "/oauth/userinfo"
        try:
            OPENER.open(urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"}), timeout=60).close()
            return True
        except urllib.error.HTTPError:
            return False

    def reply(self, status, document):
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--issuer")
    arguments = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.issuer = arguments.issuer
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.certificate, arguments.key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on https://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)
    sys.exit(0)


if __name__ == "__main__":
    main()
