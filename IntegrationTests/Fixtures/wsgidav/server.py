"""A WebDAV server for the end-to-end tests: WsgiDAV on loopback, over cheroot.

Both are as released; this file configures and starts them. Create a virtual
environment with prepare.sh, then run:

    server.py --folder FOLDER
        Serves the files of FOLDER on 127.0.0.1 until SIGTERM, then exits with
        status 0. Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

Each request must have a bearer token. Any token is accepted.
"""

import argparse
import signal

from cheroot import wsgi
from wsgidav.wsgidav_app import WsgiDAVApp


def guarded(app):
    """Checks the token in front of WsgiDAV, which does not support bearer tokens."""

    def guard(environ, start_response):
        scheme, _, token = environ.pop("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme == "Bearer" and token:
            return app(environ, start_response)
        headers = [("WWW-Authenticate", 'Bearer realm="files"'), ("Content-Length", "0")]
        start_response("401 Unauthorized", headers)
        return [b""]

    return guard


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", required=True)
    arguments = parser.parse_args()
    app = WsgiDAVApp(
        {
            "provider_mapping": {"/": arguments.folder},
            # The check above has already validated the token.
            "simple_dc": {"user_mapping": {"*": True}},
            "verbose": 1,
        }
    )
    server = wsgi.Server(("127.0.0.1", 0), guarded(app), numthreads=10, shutdown_timeout=1)
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
