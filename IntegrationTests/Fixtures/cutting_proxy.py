"""A proxy in front of a server that can stop a response halfway, and then cut the connection.

    cutting_proxy.py --upstream PORT

Forwards connections to 127.0.0.1:PORT, and prints one line on standard output
once it is ready, with its own address and that of its control port:

    listening on http://127.0.0.1:A http://127.0.0.1:B

    GET B/hold?after=N   stops the next connection once its responses have N bytes
    GET B/cut            closes the stopped connections

It exits with status 0 on SIGTERM or SIGINT.
"""

import argparse
import asyncio
import signal
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"


class Proxy:
    def __init__(self, upstream):
        self.upstream = upstream
        self.limit = None
        self.cut = asyncio.Event()

    async def up(self, reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()

    async def down(self, reader, writer, limit):
        count = 0
        while data := await reader.read(65536):
            if limit is not None and count + len(data) >= limit:
                writer.write(data[: limit - count])
                await writer.drain()
                await self.cut.wait()
                return
            count += len(data)
            writer.write(data)
            await writer.drain()

    async def serve(self, reader, writer):
        limit, self.limit = self.limit, None
        tasks = []
        try:
            upstream, upstream_writer = await asyncio.open_connection(HOST, self.upstream)
            tasks = [
                asyncio.create_task(self.up(reader, upstream_writer)),
                asyncio.create_task(self.down(upstream, writer, limit)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            upstream_writer.close()
        except OSError:
            pass  # One side has closed the connection; the other side sees it close, too.
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            writer.close()

    async def control(self, reader, writer):
        target = urlsplit((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode())
        match target.path:
            case "/hold":
                self.limit = int(parse_qs(target.query)["after"][0])
            case "/cut":
                self.cut.set()
                self.cut = asyncio.Event()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
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
