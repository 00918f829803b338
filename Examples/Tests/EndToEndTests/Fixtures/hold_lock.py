"""Holds the lock of an archive, as another process that changes it would.

    hold_lock.py FILE

Takes an open file description lock on the whole of FILE, says "listening on FILE", and keeps it until SIGTERM.
"""

import fcntl
import signal
import struct
import sys

F_OFD_SETLK = 37  # Linux; Python's fcntl has a name for it on macOS only before 3.9


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    file = open(sys.argv[1], "r+b")
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    fcntl.fcntl(file, getattr(fcntl, "F_OFD_SETLK", F_OFD_SETLK), lock)
    print("listening on", sys.argv[1], flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
