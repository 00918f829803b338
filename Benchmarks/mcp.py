"""Measures what `account mcp` adds to a call: the same calls to one server, with and without the bridge."""

import http.client
import http.server
import json
import os
import statistics
import subprocess
import sys
import time

from report import time as shown

# The number of calls in a round.
CALLS = 200
LIMIT = 0.005
INITIALIZE = {
    "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}


def run(report, account, containers, rounds):
    server = Server()
    try:
        environment = {**os.environ, "ACCOUNT_HOME": containers.make("mcp")}
        subprocess.run([account, "rule", "add", server.url], env=environment, check=True, capture_output=True)
        token = subprocess.run([account, "token"], env=environment, check=True, capture_output=True, text=True).stdout.strip()
        direct, bridge = Direct(server, token), Bridge(account, server, environment)
        try:
            times = {"the server": (direct, []), "`account mcp`": (bridge, [])}
            for client, _ in times.values():
                client.call(INITIALIZE)
                calls(client, 20)
            for turn in range(rounds):
                for client, medians in times.values() if turn % 2 == 0 else reversed(times.values()):
                    medians.append(calls(client, CALLS))
        finally:
            bridge.stop()
            direct.stop()
    finally:
        server.stop()
    base, bridged = (medians for _, medians in times.values())
    added = [one - other for one, other in zip(bridged, base, strict=True)]
    report.section(
        "`account mcp`", "A call of a tool, from the request to the response, on the loopback interface. The token is valid. Each round "
        f"makes {CALLS} calls one after the other, and its result is their median.",
        ("client of", "time of a call", "added"),
        [("the server", shown(base), ""), ("`account mcp`", shown(bridged), shown(added))])
    report.target("`account mcp`", "adds ≤ 5 ms to a call", shown(added), statistics.median(added) <= LIMIT)


def calls(client, count):
    """The median time of a call."""
    times = []
    for number in range(1, count + 1):
        begin = time.perf_counter()
        answer = client.call({"id": number, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}})
        times.append(time.perf_counter() - begin)
        assert answer["id"] == number and "result" in answer, answer
    return statistics.median(times)


class Direct:
    """A client that sends the messages to the server itself, over one connection."""

    def __init__(self, server, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port)
        self.fields = {
            "Authorization": f"Bearer {token}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream"}

    def call(self, message):
        self.connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}).encode(), self.fields)
        return json.load(self.connection.getresponse())

    def stop(self):
        self.connection.close()


class Bridge:
    """A client of `account mcp`."""

    def __init__(self, account, server, environment):
        self.process = subprocess.Popen(
            [account, "mcp", server.url], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Server:
    """An MCP server in a separate process, which requires a token and keeps no sessions."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-B", __file__], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this, a response waits until the client has acknowledged the header.
    disable_nagle_algorithm = True

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        has_token = self.headers.get("Authorization", "").startswith("Bearer ")
        result = {"content": [{"type": "text", "text": "x"}]}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "bench", "version": "1"}}
        self.answer(200 if has_token else 401, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        print(served.server_port, flush=True)
        served.serve_forever()
