"""Runs a command with nonblocking standard input and output, which a parent process may leave behind.

    streams.py TEXT COMMAND ARGUMENT…

Standard output is a pipe that is full when the command starts. When the command waits for room, this program empties the
pipe. When it waits for input, it gets TEXT. At last, this program prints what the command has printed, and exits as the
command did.
"""

import fcntl
import os
import subprocess
import sys


def waits(process):
    """Whether the process waits for an event, or has ended (proc_pid_stat(5))."""
    with open(f"/proc/{process.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] in "SZ"


text, command = sys.argv[1], sys.argv[2:]
(input_end, input_start), (output_end, output_start) = os.pipe(), os.pipe()
os.set_blocking(input_end, False)
os.set_blocking(output_start, False)
fill = b"." * fcntl.fcntl(output_start, fcntl.F_GETPIPE_SZ)
assert os.write(output_start, fill) == len(fill)
process = subprocess.Popen(command, stdin=input_end, stdout=output_start)
os.close(input_end)
os.close(output_start)
while not waits(process):
    pass
os.write(input_start, text.encode())
os.close(input_start)
output = b""
while chunk := os.read(output_end, 65536):
    output += chunk
os.write(1, output[len(fill) :])
sys.exit(process.wait())
