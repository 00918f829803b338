"""Measures what `account mcp` adds to a call: the same calls to one server, with and without the bridge."""

import http.client
import json
import statistics
import sys
import time

import measure
from bench import TOKEN
from children import Child, Handler, Server
from measure import differences, median_duration

LIMIT = 0.005
INITIALIZE = {
    "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}


def run(bench):
    # The server runs in a separate process, since the client in this process takes processor time too.
    with Child(sys.executable, "-B", __file__) as server:
        origin = server.read()
        url = f"{origin}/mcp"
        environment = bench.environment(bench.container("mcp"))
        measure.run([bench.account, "rule", "add", url], environment)
        with Direct(origin) as direct, Bridge(bench.account, "mcp", url, env=environment) as bridge:
            medians = {direct: [], bridge: []}
            for client in medians:
                client.call(INITIALIZE)
                calls(client, 20)
            for turn in range(bench.plan.rounds):
                for client in medians if turn % 2 == 0 else reversed(medians):
                    medians[client].append(calls(client, bench.plan.calls))
    base, bridged = medians.values()
    added = differences(bridged, base)
    bench.report.section(
        "`account mcp`", "A call of a tool, from the request to the response, on the loopback interface. The token is valid. Each round "
        f"makes {bench.plan.calls} calls one after the other, and its result is their median.",
        ("client of", "time of a call", "added"),
        [("the server", median_duration(base), ""), ("`account mcp`", median_duration(bridged), median_duration(added))])
    bench.report.target("`account mcp`", median_duration(added), "adds ≤ 5 ms to a call", statistics.median(added) <= LIMIT)


def calls(client, count):
    """The median time of a call."""
    times = []
    for number in range(1, count + 1):
        begin = time.perf_counter()
        answer = client.call({"id": number, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}})
        times.append(time.perf_counter() - begin)
        if answer["id"] != number or "result" not in answer:
            raise SystemExit(f"wrong answer to an MCP call: {answer}")
    return statistics.median(times)


class Direct:
    """A client that sends the messages to the server itself, over one connection."""

    def __init__(self, origin):
        self.connection = http.client.HTTPConnection(origin.removeprefix("http://"), timeout=60)
        self.fields = {
            "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def call(self, message):
        self.connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}).encode(), self.fields)
        return json.load(self.connection.getresponse())


class Bridge(Child):
    """A client of `account mcp`."""

    def call(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}))
        return json.loads(self.read())


class MCPHandler(Handler):
    """An MCP server, which requires the token and keeps no sessions."""

    def do_POST(self):
        message = json.loads(self.body())
        result = {"content": [{"type": "text", "text": "x"}]}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "bench", "version": "1"}}
        has_token = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        self.answer({"jsonrpc": "2.0", "id": message["id"], "result": result}, 200 if has_token else 401)


if __name__ == "__main__":
    with Server(MCPHandler) as served:
        print(served.origin, flush=True)
        # The server ends with the benchmark.
        sys.stdin.read()
