"""MCP clients for the end-to-end tests: those of the official MCP SDK for Python, over stdio.

Each runs `account mcp URL`, does what its name says, and prints one JSON document with what it saw. Run:

    client.py SCENARIO --account PATH --url URL [--mode MODE] [--control ISSUER] [--server WORD…]

The environment is passed on to `account`. MODE is that of `mcp.Client`: legacy, auto, or a version. ISSUER is the test
authorization server. The words after --server start tools.py, for the scenarios that restart it.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters


class Scenario:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bridge = StdioServerParameters(
            command=arguments.account, args=["mcp", arguments.url], env=dict(os.environ)
        )

    def client(self, **options):
        return Client(self.bridge, mode=self.arguments.mode, **options)

    async def call(self, client, name, **values):
        result = await client.call_tool(name, values)
        assert not result.is_error, result
        return result.content[0].text

    async def control(self, method, path):
        def send():
            request = urllib.request.Request(self.arguments.control + "/control/" + path, method=method)
            with urllib.request.urlopen(request) as response:
                return json.load(response)

        return await asyncio.to_thread(send)

    async def log(self):
        address = self.arguments.url.removesuffix("/mcp") + "/log"

        def send():
            with urllib.request.urlopen(address) as response:
                return json.load(response)

        return await asyncio.to_thread(send)

    def start_server(self):
        server = subprocess.Popen(self.arguments.server, stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline().startswith("listening on "), "the server did not start"
        return server

    async def until(self, condition):
        """Waits for a change in another process, at most three minutes."""
        end = time.monotonic() + 180
        while not await condition():
            assert time.monotonic() < end, "it did not happen in three minutes"
            await asyncio.sleep(0.02)

    async def flooded_bridge(self):
        """Starts a bridge, and reads nothing from it until the server cannot send more of 4,096 messages of 64 KiB.

        Returns the bridge, and the number of messages that the server has sent.
        """
        bridge = subprocess.Popen(
            [self.bridge.command, *self.bridge.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

        def send(message):
            bridge.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
            bridge.stdin.flush()

        client = {"name": "slow", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        send({"id": 1, "method": "initialize", "params": params})
        assert json.loads(bridge.stdout.readline())["id"] == 1
        send({"method": "notifications/initialized"})
        arguments = {"count": 4096, "length": 1 << 16}
        meta = {"progressToken": 7}
        send({"id": 2, "method": "tools/call", "params": {"name": "flood", "arguments": arguments, "_meta": meta}})
        seen = -1

        async def is_held():
            nonlocal seen
            before, seen = seen, (await self.log())["flooded"]
            await asyncio.sleep(0.5)
            return seen > 0 and before == seen

        await self.until(is_held)
        return bridge, seen

    # Scenarios

    async def tools(self):
        """Lists the tools, and calls two of them."""
        async with self.client() as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            echo = await self.call(client, "echo", text="grüße\n\u2028")
            region = await self.call(client, "region", region="südost")
            return {"version": client.protocol_version, "tools": names, "echo": echo, "region": region}

    async def unlisted(self):
        """Calls a tool with a mirrored parameter without listing the tools first."""
        async with self.client() as client:
            result = await client.session.send_request(
                types.CallToolRequest(params=types.CallToolRequestParams(name="region", arguments={"region": "eu"})),
                types.CallToolResult,
            )
            return {"region": result.content[0].text}

    async def refusal(self):
        """Expects that the connection fails, and reports why."""
        try:
            async with self.client() as client:
                await self.call(client, "echo", text="x")
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            if not isinstance(error, MCPError):
                raise
            return {"code": error.error.code, "message": error.error.message}
        return {}

    async def expiry(self):
        """Calls a tool across the end of the token's life."""
        async with self.client() as client:
            before = await self.call(client, "echo", text="before")
            await self.control("POST", "expire")
            return {"before": before, "after": await self.call(client, "echo", text="after")}

    async def restart(self):
        """Calls a tool across a restart of the server."""
        server = self.start_server()
        async with self.client() as client:
            before = await self.call(client, "echo", text="before")
            server.terminate()
            server.wait()
            try:
                await self.call(client, "echo", text="gone")
                meanwhile = None
            except MCPError as error:
                meanwhile = error.error.message
            server = self.start_server()
            after = await self.call(client, "echo", text="after")
        server.terminate()
        return {"before": before, "meanwhile": meanwhile, "after": after}

    async def progress(self):
        """Receives messages before the response."""
        steps = []

        async def note(progress, total, message):
            steps.append(progress)

        async with self.client() as client:
            result = await client.call_tool("steps", {"count": 100}, progress_callback=note)
            return {"steps": len(steps), "result": result.content[0].text}

    async def large(self):
        """Sends and receives 7 MiB, which a response contains twice: as text and as structured content."""
        length = 7 << 20
        async with self.client() as client:
            blob = await self.call(client, "blob", count=length)
            echo = await self.call(client, "echo", text="ü" + "y" * (length - 1))
            return {"blob": len(blob), "echo": len(echo), "first": echo[0]}

    async def cancellation(self):
        """Cancels a call, and then makes another one."""
        began = anyio.Event()

        async def note(progress, total, message):
            began.set()

        async with self.client() as client:
            async with anyio.create_task_group() as group:
                call = anyio.CancelScope()

                async def hang():
                    with call:
                        await client.call_tool("hang", {}, progress_callback=note)

                group.start_soon(hang)
                await began.wait()
                call.cancel()

            async def is_cancelled():
                return (await self.log())["cancelled"] == ["hang"]

            await self.until(is_cancelled)
            return {"after": await self.call(client, "echo", text="after")}

    async def slow_reader(self):
        """Reads nothing while the server sends 256 MiB, and then everything."""
        bridge, flooded = await self.flooded_bridge()
        with open(f"/proc/{bridge.pid}/status") as status:
            memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        threads = len(os.listdir(f"/proc/{bridge.pid}/task"))
        notes = 0
        while (message := json.loads(bridge.stdout.readline())).get("id") != 2:
            assert message["method"] == "notifications/progress", message
            notes += 1
        bridge.stdin.close()
        rest = bridge.stdout.read()
        return {
            "held": flooded < 4096, "notes": notes, "memory": memory, "threads": threads, "rest": rest.decode(),
            "status": bridge.wait(),
        }

    async def blocked_output(self):
        """Sends SIGTERM to a bridge whose output is full, and reads nothing until it has ended."""
        bridge, flooded = await self.flooded_bridge()
        bridge.terminate()
        # At the end of its input, the bridge would wait 30 s for the response.
        return {"held": flooded < 4096, "status": await asyncio.to_thread(bridge.wait, 25)}

    async def drops(self):
        """Calls a tool whose stream ends before the response, first after an event and then in the middle of one."""
        seen = {}
        async with self.client() as client:
            for broken in (False, True):
                steps = []

                async def note(progress, total, message, steps=steps):
                    steps.append(progress)

                result = await client.call_tool("drop", {"broken": broken}, progress_callback=note)
                seen["broken" if broken else "ended"] = f"{steps} {result.content[0].text}"
        return seen


def main():
    summary, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario")
    parser.add_argument("--account", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--control")
    parser.add_argument("--server", nargs=argparse.REMAINDER)
    scenario = Scenario(parser.parse_args())
    json.dump(anyio.run(getattr(scenario, scenario.arguments.scenario)), sys.stdout)


if __name__ == "__main__":
    main()
