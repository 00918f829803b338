"""MCP clients for the end-to-end tests: those of the official MCP SDK for Python, over stdio.

Each runs `account mcp URL`, does what its name says, and prints one JSON document with what it saw. Run:

    client.py SCENARIO --account PATH --url URL [--mode MODE] [--control ISSUER]

The environment is passed on to `account`. MODE is that of `mcp.Client`: legacy, auto, or a version. ISSUER is the test
authorization server.
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

    async def conversation(self):
        """Calls tools with texts, progress, 16 MiB, a cancellation, and a token that expires."""
        length = 16 << 20
        steps = []
        began = anyio.Event()

        async def note(progress, total, message):
            steps.append(progress)

        async def begin(progress, total, message):
            began.set()

        async with self.client() as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            echo = await self.call(client, "echo", text="grüße\n\u2028")
            region = await self.call(client, "region", region="südost")
            await client.call_tool("steps", {"count": 100}, progress_callback=note)
            blob = await self.call(client, "blob", count=length)
            large = await self.call(client, "echo", text="ü" + "y" * (length - 1))

            async with anyio.create_task_group() as group:
                call = anyio.CancelScope()

                async def hang():
                    with call:
                        await client.call_tool("hang", {}, progress_callback=begin)

                group.start_soon(hang)
                await began.wait()
                call.cancel()

            async def is_cancelled():
                return (await self.log())["cancelled"] == ["hang"]

            await self.until(is_cancelled)
            await self.control("POST", "expire")
            after = await self.call(client, "echo", text="after")
            return {
                "version": client.protocol_version, "tools": names, "echo": echo, "region": region,
                "steps": len(steps), "lengths": [len(blob), len(large)], "after": after,
            }

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
    scenario = Scenario(parser.parse_args())
    json.dump(anyio.run(getattr(scenario, scenario.arguments.scenario)), sys.stdout)


if __name__ == "__main__":
    main()
