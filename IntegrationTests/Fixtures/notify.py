"""A service manager for one service, which prints each notification of the service (sd_notify(3)) as a line.

    notify.py [--abstract] SOCKET COMMAND…

Forwards SIGTERM, waits until the service has ended, and prints how it ended.
"""

import os
import signal
import socket
import subprocess
import sys
import threading

words = sys.argv[1:]
is_abstract = words[0] == "--abstract"
path, *command = words[is_abstract:]
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = "\0" + path if is_abstract else path
listener.bind(address)


def listen():
    while message := listener.recv(65536):
        print(message.decode().replace("\n", " | "), flush=True)


listening = threading.Thread(target=listen)
listening.start()
environment = {**os.environ, "NOTIFY_SOCKET": "@" + path if is_abstract else path, "WATCHDOG_USEC": "200000"}
service = subprocess.Popen(command, env=environment)
signal.signal(signal.SIGTERM, lambda *_: service.terminate())
status = service.wait()
# An empty message ends the thread after all notifications have been printed.
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
    end.sendto(b"", address)
listening.join()
print(f"ended {status}", flush=True)
