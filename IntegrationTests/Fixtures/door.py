"""Control endpoints for the tests in an authorization server in Python, and ways to serve a WSGI or ASGI app.

In addition to the server's own pages, there are:

    POST /control/client                    registers the client that the form describes
    POST /control/expire?client_id=ID       expires the client's access tokens
    POST /control/end?client_id=ID          ends the client's sessions, as an administrator would
    GET  /control/log?client_id=ID          the client's requests to the token endpoint, in order

Each but the last calls a function of the server. If the server does not have it, the response is a 404.
"""

import base64
import contextlib
import io
import json
import logging
import signal
import threading
import urllib.parse

HOST = "127.0.0.1"
PREFIX = "/control/"


def origin(port):
    return f"http://{HOST}:{port}"


def parse(text):
    return dict(urllib.parse.parse_qsl(text, keep_blank_values=True))


def basic_user(header):
    """Returns the user name of a Basic authorization (RFC 6749, section 2.3.1), or None for any other header."""
    if not header.startswith("Basic "):
        return None
    text = base64.b64decode(header.removeprefix("Basic ")).decode()
    return urllib.parse.unquote_plus(text.partition(":")[0])


class Door:
    def __init__(self, **actions):
        self.actions = actions
        self.log = []

    def note(self, authorization, body, status):
        """Adds a request to the token endpoint to the log."""
        form = parse(body)
        user = basic_user(authorization)
        method = "basic" if user is not None else "post" if "client_secret" in form else "none"
        entry = {"client": user or form.get("client_id"), "grant": form.get("grant_type"), "authentication": method}
        if "scope" in form:
            entry["scope"] = form["scope"]
        self.log.append({**entry, "status": status})

    def open(self, name, query, body):
        """Returns the status and the body of the response."""
        if name == "log":
            client_id = parse(query)["client_id"]
            return 200, json.dumps([entry for entry in self.log if entry["client"] == client_id])
        if name not in self.actions:
            return 404, ""
        self.actions[name](parse(body) if name == "client" else parse(query)["client_id"])
        return 200, ""


class Entrance:
    """A WSGI app with control endpoints. It gets one request at a time, since these servers' stores are not thread-safe."""

    def __init__(self, app, token_path, door):
        self.app = app
        self.token_path = token_path
        self.door = door
        self.turn = threading.Lock()

    def __call__(self, environ, start_response):
        content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(content)
        body = content.decode()
        path = environ["PATH_INFO"]
        with self.turn:
            if path.startswith(PREFIX):
                status, text = self.door.open(path.removeprefix(PREFIX), environ.get("QUERY_STRING", ""), body)
                start_response(f"{status} -", [("Content-Type", "application/json")])
                return [text.encode()]

            def start(status, *rest):
                if path == self.token_path:
                    self.door.note(environ.get("HTTP_AUTHORIZATION", ""), body, int(status.split()[0]))
                return start_response(status, *rest)

            # Read the whole response, which some apps generate lazily.
            return [b"".join(self.app(environ, start))]


def serve(app, port, token_path, door):
    """Prints the address, and serves a WSGI app until SIGTERM or SIGINT."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server(HOST, port, Entrance(app, token_path, door), threaded=True)
    server.daemon_threads = True
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening on {origin(port)}", flush=True)
    server.serve_forever(poll_interval=0.05)


def serve_asgi(app, port, **options):
    """Prints the address, and serves an ASGI app until SIGTERM or SIGINT.

    The options are those of uvicorn's Config.
    """
    import uvicorn

    class Server(uvicorn.Server):
        def capture_signals(self):
            # After its end, uvicorn would raise the signal again, and the exit status would not be 0.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self.handle_exit)
            return contextlib.nullcontext()

        async def startup(self, sockets=None):
            await super().startup(sockets)
            print(f"listening on {origin(self.config.port)}", flush=True)

    Server(uvicorn.Config(app, host=HOST, port=port, **options)).run()
