"""A minimal file server in a separate process: serves the files of a folder, and accepts an upload."""

import http.server
import os
import shutil
import subprocess
import sys


class FileServer:
    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.origin = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def stop(self):
        self.process.kill()
        self.process.wait()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(self.path.lstrip("/"), "rb") as file:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.send_header("ETag", '"1"')
            self.end_headers()
            shutil.copyfileobj(file, self.wfile, 1 << 16)

    def do_PUT(self):
        rest = int(self.headers["Content-Length"])
        with open(self.path.lstrip("/"), "wb") as file:
            while rest > 0:
                piece = self.rfile.read(min(rest, 1 << 16))
                file.write(piece)
                rest -= len(piece)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
