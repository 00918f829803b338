"""An authorization server for the end-to-end tests: Debian's LemonLDAP::NG on loopback.

The server is the portal of liblemonldap-ng-portal-perl, as packaged, served by starman; this file writes its
configuration and starts it:

    server.py --folder FOLDER --port PORT --redirect-uri URI
        Serves on 127.0.0.1 until SIGTERM or SIGINT, then exits with status 0. Prints one line on standard output once
        it is ready:

            listening on http://127.0.0.1:PORT

        The URL is the issuer. The configuration and sessions are in FOLDER. FOLDER/sessions has a file for each
        token, named after the token. Removing the file revokes the token.

A refresh token is valid as long as the user's session at the service, and a refresh returns no new one. The server does
not support revocation. Redirect URIs are compared exactly; URI is used for each client. Users must give their consent.

The users are those of the package's Demo module: dwho (Doctor Who), rtyler and msmith, each with the user name as the
password. Clients: account-cli-public (no secret), account-cli-secret (the secret is "s3crettests"), and
account-cli-signed (no secret; its user info is a JWT).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HOST = "127.0.0.1"
SHARE = Path("/usr/share/lemonldap-ng/portal")
SECRET = "s3crettests"
CLIENTS = {
    "account-cli-public": {},
    "account-cli-secret": {"ClientSecret": SECRET, "Public": 0},
    "account-cli-signed": {"UserInfoSignAlg": "RS256"},
}
PSGI = """use Lemonldap::NG::Portal::Main;
use Plack::Builder;

builder {
    enable "Static", path => qr{^/static/}, root => "SHARE/htdocs";
    Lemonldap::NG::Portal::Main->run({});
};
"""
SETTINGS = """[all]
logLevel = error
[configuration]
type = File
dirName = FOLDER/configuration
localStorage = Cache::FileCache
localStorageOptions = {'namespace' => 'configuration', 'default_expires_in' => 600, 'cache_root' => 'FOLDER/cache'}
[portal]
staticPrefix = /static
templateDir = SHARE/templates
languages = en
"""


def parse_arguments():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--redirect-uri", metavar="URI", required=True)
    return parser.parse_args()


def openssl(*words, text=None):
    return subprocess.run(["openssl", *words], input=text, capture_output=True, text=True, check=True).stdout


def client(client_id, redirect_uri, options):
    options = {
        "ClientID": client_id,
        "DisplayName": client_id,
        "Public": 1,
        "RequirePKCE": 1,
        "RedirectUris": redirect_uri,
        "IDTokenSignAlg": "RS256",
        "RefreshToken": 1,
        "AllowPasswordGrant": 1,
        "BypassConsent": 0,
        "AccessTokenExpiration": 3600,
        **options,
    }
    return {"oidcRPMetaDataOptions" + name: value for name, value in options.items()}


def files(kind, folder):
    place = folder / kind
    (place / "lock").mkdir(parents=True, exist_ok=True)
    return {
        "Directory": str(place),
        "LockDirectory": str(place / "lock"),
        "generateModule": "Lemonldap::NG::Common::Apache::Session::Generate::SHA256",
    }


def configuration(folder, origin, redirect_uri):
    key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    return {
        "cfgNum": 1,
        "cfgAuthor": "tests",
        "cfgDate": "1",
        "portal": origin,
        "domain": HOST,
        "cookieName": "lemonldap",
        "securedCookie": 0,
        "authentication": "Demo",
        "userDB": "Same",
        "demoExportedVars": {"cn": "cn", "mail": "mail", "uid": "uid"},
        "whatToTrace": "uid",
        "macros": {},
        "exportedVars": {},
        "locationRules": {HOST: {"default": "accept"}},
        "globalStorage": "Apache::Session::File",
        "globalStorageOptions": files("sessions", folder),
        "persistentStorage": "Apache::Session::File",
        "persistentStorageOptions": files("persistent", folder),
        "localSessionStorage": "",
        "loginHistoryEnabled": 0,
        # The portal starts only with a captcha module, although no test uses one. The module in the package needs Image::Magick.
        "captcha": "::Plugins::History",
        "issuerDBOpenIDConnectActivation": 1,
        "issuerDBOpenIDConnectPath": "^/oauth2/",
        "issuerDBOpenIDConnectRule": 1,
        "oidcServiceMetaDataIssuer": origin,
        "oidcServiceAllowAuthorizationCodeFlow": 1,
        "oidcServicePrivateKeySig": key,
        "oidcServicePublicKeySig": openssl("pkey", "-pubout", text=key),
        "oidcServiceKeyIdSig": "tests",
        "oidcRPMetaDataOptions": {
            name: client(name, redirect_uri, options) for name, options in CLIENTS.items()
        },
        "oidcRPMetaDataExportedVars": {
            name: {"name": "cn", "email": "mail", "preferred_username": "uid"} for name in CLIENTS
        },
    }


def wait(origin, process):
    """Waits until the server is ready."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 180
    problem = "it cannot be reached"
    while time.monotonic() < deadline and process.poll() is None:
        try:
            opener.open(origin + "/.well-known/openid-configuration", timeout=10).close()
            return
        except urllib.error.HTTPError as error:
            problem = str(error)
            break
        except OSError:
            time.sleep(0.02)
    process.terminate()
    process.wait()
    sys.exit(f"server.py: LemonLDAP::NG does not answer: {problem}")


def main():
    arguments = parse_arguments()
    os.umask(0o077)  # the folder contains tokens and keys
    folder = arguments.folder.resolve()
    origin = f"http://{HOST}:{arguments.port}"
    (folder / "configuration").mkdir(parents=True, exist_ok=True)
    file = folder / "configuration" / "lmConf-1.json"
    if not file.exists():
        file.write_text(json.dumps(configuration(folder, origin, arguments.redirect_uri)))
    settings = folder / "lemonldap-ng.ini"
    settings.write_text(SETTINGS.replace("FOLDER", str(folder)).replace("SHARE", str(SHARE)))
    app = folder / "portal.psgi"
    app.write_text(PSGI.replace("SHARE", str(SHARE)))

    words = ["starman", "--listen", f"{HOST}:{arguments.port}", "--workers", "4", "--preload-app", "--disable-keepalive"]
    environment = {**os.environ, "LLNG_DEFAULTCONFFILE": str(settings)}
    process = subprocess.Popen([*words, str(app)], stdout=sys.stderr, env=environment)
    is_asked_to_end = False

    def end(*_):
        nonlocal is_asked_to_end
        is_asked_to_end = True
        process.terminate()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    wait(origin, process)
    print(f"listening on {origin}", flush=True)
    status = process.wait()
    if not is_asked_to_end:
        sys.exit(f"server.py: LemonLDAP::NG ended with {status}")


if __name__ == "__main__":
    main()
