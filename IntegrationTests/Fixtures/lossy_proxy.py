"""A reverse proxy that drops responses after the server has carried out the requests.

    lossy_proxy.py --upstream PORT

Forwards every HTTP request to 127.0.0.1:PORT, and prints one line on standard
output once it is ready, with its own address and that of its control port:

    listening on http://127.0.0.1:A http://127.0.0.1:B

    GET B/lose?text=TEXT   closes the connection instead of sending the next response
                           to a request whose head or body contains TEXT
    GET B/log              a line for each request since the last call: method, path
                           and query, status

It exits with status 0 on SIGTERM or SIGINT. Each connection carries one request.
"""

import argparse
import asyncio
import signal
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"


class Proxy:
    def __init__(self, upstream):
        self.upstream = upstream
        self.lost_text = None
        self.log = []

    @staticmethod
    async def read_request(reader):
        head = await reader.readuntil(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return Proxy.closing(head) + await reader.readexactly(length)

    @staticmethod
    def closing(message):
        """Marks a request or response as the last one of its connection, so that neither side reuses the connection."""
        head, _, body = message.partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + body

    async def serve(self, reader, writer):
        try:
            request = await self.read_request(reader)
            upstream, upstream_writer = await asyncio.open_connection(HOST, self.upstream)
            upstream_writer.write(request)
            await upstream_writer.drain()
            response = await upstream.read()
            upstream_writer.close()
            self.log.append(b" ".join([*request.split(b" ", 2)[:2], response.split(b" ", 2)[1]]))
            if self.lost_text is not None and self.lost_text in request:
                self.lost_text = None
                return
            writer.write(self.closing(response))
            await writer.drain()
        except (OSError, EOFError, IndexError):
            pass  # One side has closed the connection; the other side sees it close, too.
        finally:
            writer.close()

    async def control(self, reader, writer):
        request = await self.read_request(reader)
        target = urlsplit(request.split(b" ")[1].decode())
        parameters = {name: values[0] for name, values in parse_qs(target.query).items()}
        body = b""
        match target.path:
            case "/lose":
                self.lost_text = parameters["text"].encode()
            case "/log":
                body, self.log = b"\n".join(self.log), []
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", metavar="PORT", type=int, required=True)
    proxy = Proxy(parser.parse_args().upstream)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    servers = [await asyncio.start_server(handle, HOST, 0) for handle in (proxy.serve, proxy.control)]
    addresses = [f"http://{HOST}:{server.sockets[0].getsockname()[1]}" for server in servers]
    print("listening on " + " ".join(addresses), flush=True)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
