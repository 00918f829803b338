"""AWS for the end-to-end tests: moto's own server on loopback, as released.

    server.py --port PORT
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0.
        Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

GET /recorded returns the web identity tokens that it has received, as a JSON list.
"""

import argparse
import io
import json
import logging
import signal
import sys
import threading
import urllib.parse

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

recorded = []


def recording(app):
    """Wraps moto's app, and records the tokens."""

    def respond(environment, start):
        if environment["PATH_INFO"] == "/recorded":
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(recorded).encode()]
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        environment["wsgi.input"] = io.BytesIO(body)
        recorded.extend(urllib.parse.parse_qs(body.decode("latin-1"), keep_blank_values=True).get("WebIdentityToken", []))
        return app(environment, start)

    return respond


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    logging.disable(logging.INFO)
    server = make_server("127.0.0.1", port, recording(DomainDispatcherApplication(create_backend_app)), threaded=True)
    # From another thread, since shutdown() waits until the server has stopped.
    end = lambda *_: threading.Thread(target=server.shutdown).start()
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
