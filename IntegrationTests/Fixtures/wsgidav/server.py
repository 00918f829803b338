"""A WebDAV server for the end-to-end tests: WsgiDAV on loopback, over cheroot.

Both are as released; this file configures and starts them. Create a virtual
environment with prepare.sh, then run:

    server.py --folder FOLDER --refused FILE
        Serves the files of FOLDER on 127.0.0.1 until SIGTERM, then exits with
        status 0. Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

Each request must have a bearer token. Any token is accepted, except for those in
the lines of FILE, which get 401 with error="invalid_token" (RFC 6750). FILE may be
missing.
"""

import argparse
import signal
from pathlib import Path

from cheroot import wsgi
from wsgidav.wsgidav_app import WsgiDAVApp


def guarded(app, refused):
    """Checks the token in front of WsgiDAV, which does not support bearer tokens."""

    def guard(environ, start_response):
        scheme, _, token = environ.pop("HTTP_AUTHORIZATION", "").partition(" ")
        dead = refused.read_text().splitlines() if refused.exists() else []
        if scheme == "Bearer" and token not in dead:
            return app(environ, start_response)
        challenge = 'Bearer realm="files"' + (', error="invalid_token"' if token else "")
        start_response("401 Unauthorized", [("WWW-Authenticate", challenge), ("Content-Length", "0")])
        return [b""]

    return guard


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", required=True)
    parser.add_argument("--refused", metavar="FILE", type=Path, required=True)
    arguments = parser.parse_args()
    app = WsgiDAVApp(
        {
            "provider_mapping": {"/": arguments.folder},
            # The check above has already validated the token.
            "simple_dc": {"user_mapping": {"*": True}},
            "verbose": 1,
        }
    )
    server = wsgi.Server(("127.0.0.1", 0), guarded(app, arguments.refused), numthreads=10, shutdown_timeout=1)
    server.prepare()

    def stop(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    print(f"listening on http://127.0.0.1:{server.bind_addr[1]}", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
