"""Runs the loopback service in a separate process."""

import os
import subprocess


class Service:
    def __init__(self, programs):
        self.process = subprocess.Popen(
            [os.path.join(programs, "service")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.issuer = f"http://127.0.0.1:{self.port}"

    def stop(self):
        """Ends the service. Returns its processor time per request in seconds."""
        output, _ = self.process.communicate()
        nanoseconds, requests = (int(word) for word in output.split())
        return nanoseconds / 1e9 / max(requests, 1)
