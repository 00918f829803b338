"""A service with records for the end-to-end tests: Kinto on loopback.

The server is Kinto's own, as released; this file configures it. Create a virtual
environment with prepare.sh, then run:

    server.py --issuer URL

Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. Prints one
line on standard output once it is ready:

    listening on http://127.0.0.1:PORT

Kinto's own OpenID Connect policy identifies the user of a request: it sends the
bearer token to the userinfo endpoint of the authorization server at URL, which
must already be running. Each user has a separate bucket, `default`. All data is
in memory, and lost at the end.
"""

import argparse
import signal
import sys

import kinto
import waitress

HOST = "127.0.0.1"


def settings(issuer):
    return {
        "kinto.includes": "kinto.plugins.default_bucket kinto.plugins.openid",
        "kinto.userid_hmac_secret": "only for these tests",
        "kinto.default_bucket_hmac_secret": "only for these tests",
        "multiauth.policies": "openid",
        "multiauth.policy.openid.use": "kinto.plugins.openid.OpenIDConnectPolicy",
        "multiauth.policy.openid.issuer": issuer,
        "multiauth.policy.openid.client_id": "account-cli",
        # Validates a token with every request, and caches nothing.
        "multiauth.policy.openid.verification_ttl_seconds": "-1",
    }


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--issuer", metavar="URL", required=True)
    arguments = parser.parse_args()

    def end(*_):
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    server = waitress.create_server(kinto.main({}, **settings(arguments.issuer)), host=HOST, port=0)
    print(f"listening on http://{HOST}:{server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
