"""An MCP server for the end-to-end tests: the one of the official MCP SDK for Python, on loopback.

Every request needs an access token of the test authorization server. Run:

    tools.py --port PORT --issuer URL
        Serves on 127.0.0.1 until SIGTERM. Prints one line on standard output once it is ready:

            listening on http://127.0.0.1:PORT

        The MCP endpoint is at /mcp.

GET /log returns the requests to the endpoint as a JSON array, with the header fields that the tests check, and the
tools that were cancelled.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Annotated

import httpx2
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field
from starlette.responses import JSONResponse

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import door  # noqa: E402

LOG = []
CANCELLED = []


class Verifier:
    """Asks the authorization server whose token it is."""

    def __init__(self, issuer):
        self.client = httpx2.AsyncClient()
        self.url = issuer + "/oauth/userinfo"

    async def verify_token(self, token):
        response = await self.client.get(self.url, headers={"Authorization": f"Bearer {token}"})
        if response.status_code != 200:
            return None
        return AccessToken(token=token, client_id="account-cli", scopes=[], subject=response.json()["sub"])


def make_server(issuer, origin):
    auth = AuthSettings(issuer_url=issuer, resource_server_url=origin + "/mcp", validate_token_resource=False)
    server = MCPServer("tools", token_verifier=Verifier(issuer), auth=auth, log_level="ERROR")

    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    def region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        return region

    @server.tool()
    def blob(count: int) -> str:
        return "x" * count

    @server.tool()
    async def steps(count: int, context: Context) -> str:
        for step in range(count):
            await context.report_progress(step + 1, count)
        return "done"

    @server.tool()
    async def flood(count: int, length: int, context: Context) -> str:
        for step in range(count):
            await context.report_progress(step + 1, count, "x" * length)
            LOG.append({"flood": step + 1})
        return "done"

    @server.tool()
    async def hang(context: Context) -> str:
        await context.report_progress(0, 1)
        try:
            await asyncio.Event().wait()
        finally:
            CANCELLED.append("hang")

    @server.custom_route("/log", methods=["GET"])
    async def log(_):
        return JSONResponse({"requests": [entry for entry in LOG if "method" in entry], "cancelled": CANCELLED,
                             "flooded": sum(1 for entry in LOG if "flood" in entry)})

    return server


class Entrance:
    """An ASGI app that logs requests to the endpoint."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["path"] != "/mcp":
            return await self.app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        entry = {
            "method": scope["method"],
            "hasToken": "authorization" in headers,
            "version": headers.get("mcp-protocol-version"),
            "call": headers.get("mcp-method"),
            "name": headers.get("mcp-name"),
            "region": headers.get("mcp-param-region"),
            "session": headers.get("mcp-session-id"),
        }
        LOG.append(entry)

        async def noting(event):
            if event["type"] == "http.response.start":
                entry["status"] = event["status"]
            await send(event)

        await self.app(scope, receive, noting)


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--issuer", required=True)
    arguments = parser.parse_args()
    server = make_server(arguments.issuer, door.origin(arguments.port))
    app = server.streamable_http_app(max_request_body_size=1 << 27)
    # Clients keep streams open.
    door.serve_asgi(Entrance(app), arguments.port, log_level="critical", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
