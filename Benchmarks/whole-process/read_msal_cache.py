"""Reads a token from a cache of msal-extensions, as a tool that uses it does: read_msal_cache.py CACHE [--make SECRET]"""

import sys

from msal_extensions import FilePersistence, PersistedTokenCache

cache = PersistedTokenCache(FilePersistence(sys.argv[1]))
if sys.argv[2:]:
    cache.add({
        "client_id": "bench", "scope": ["profile"], "token_endpoint": "https://login.example.com/common/oauth2/v2.0/token",
        "response": {"access_token": sys.argv[3], "token_type": "Bearer", "expires_in": 86400},
    })
else:
    print(cache.find(cache.CredentialType.ACCESS_TOKEN)[0]["secret"])
