"""Why a client does not keep to a row, or with what help it does. A cell that is not held needs a note.

The keys are the row and the client; the notes belong to one result.
"""

JSON_ONLY = "Reads only JSON. At GitHub this is enough, unless a proxy removes the field `Accept` that the client sends."
JSON_NOT_REQUESTED = "Reads only JSON, and sends no field `Accept` that asks for it."
TYPE_REFUSED = "Refuses each token type but Bearer."
PARAMETERS = "With the parameters that the program passes, as the documentation of the service asks it to do."
NOT_EARLY = "Renews a token only after its expiry, or if the program asks for it."
STORED_BY_PROGRAM = "The program stores the tokens. The library leaves them unchanged after an error."


def _no(text):
    return {"not held": text}


def _yes(text):
    return {"held": text}


NOTES = {
    ("2", "oidc-agent"): _no(JSON_NOT_REQUESTED),
    ("2", "huggingface_hub"): _no("Reads only JSON, and waits until the code expires."),
    ("2", "MSAL"): _no(JSON_ONLY),
    ("2", "Authlib"): _no(JSON_ONLY),
    ("2", "MCP SDK"): _no(JSON_NOT_REQUESTED),
    ("4", "requests-oauthlib"): _no("Raises the change of the scope as an error, unless the program sets `OAUTHLIB_RELAX_TOKEN_SCOPE`."),
    ("10", "Authlib"): _yes(STORED_BY_PROGRAM),
    ("10", "requests-oauthlib"): _yes(STORED_BY_PROGRAM),
    ("11", "Authlib"): _yes(PARAMETERS),
    ("11", "requests-oauthlib"): _yes(PARAMETERS),
    ("11", "MCP SDK"): _no("Does not send `access_type`, so it gets no refresh token."),
    ("16", "Authlib"): _yes(STORED_BY_PROGRAM),
    ("16", "requests-oauthlib"): _yes(STORED_BY_PROGRAM),
    ("17", "MCP SDK"): _no("Always sends `resource` for an API with metadata, so the sign-in fails."),
    ("18", "oidc-agent"): _no("Sends no challenge if the metadata do not list S256."),
    ("19", "MCP SDK"): _no("Sends no scopes with a refresh."),
    ("24", "MSAL"): _yes("The program passes the claims of the challenge."),
    ("24", "MCP SDK"): _no("Asks for a new sign-in, without the claims."),
    ("27", "`account`"): _no(
        "Ends the session if the service refuses the refresh token, although the access token is still valid for a short time."),
    ("27", "oidc-agent"): _yes(NOT_EARLY),
    ("27", "MSAL"): _no(
        "Does not use an access token that expires within five minutes, unless the service has sent `refresh_in`."),
    ("27", "Authlib"): _no("Renews a token that expires within a minute, and raises the error."),
    ("27", "requests-oauthlib"): _yes(NOT_EARLY),
    ("27", "MCP SDK"): _yes(NOT_EARLY),
    ("29", "MCP SDK"): _no("Asks for a new sign-in, and does not read the store again."),
    ("31", "Authlib"): _no(TYPE_REFUSED),
    ("31", "requests-oauthlib"): _no(TYPE_REFUSED),
    ("31", "MCP SDK"): _no(TYPE_REFUSED),
    ("32", "oidc-agent"): _no("Refuses a sign-in without a refresh token."),
    ("37", "Authlib"): _yes(STORED_BY_PROGRAM),
    ("37", "requests-oauthlib"): _yes(STORED_BY_PROGRAM),
    ("37", "oidc-agent"): _no("Keeps the login, but calls the error a bug, and does not ask for a sign-in."),
    ("S", "oidc-agent"): _no("Renews the token for each request."),
}
