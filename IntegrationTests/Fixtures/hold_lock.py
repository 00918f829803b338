"""Holds the lock of an archive, like another process that changes the archive.

    hold_lock.py FILE

Acquires an open file description lock on the whole of FILE, prints "listening on FILE", and holds the lock until SIGTERM.
"""

import fcntl
import signal
import struct
import sys

F_OFD_SETLK = 37  # Linux; before 3.9, Python's fcntl has this constant on macOS only


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    file = open(sys.argv[1], "r+b")
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    fcntl.fcntl(file, getattr(fcntl, "F_OFD_SETLK", F_OFD_SETLK), lock)
    print("listening on", sys.argv[1], flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
