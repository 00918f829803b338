"""A program on the bus between the processor and a simulated TPM.

    tpm_bus.py PORT [CODE OFFSET]

Reads commands on standard input, and writes the responses of the TPM at 127.0.0.1:PORT to standard output, as the TCTI `cmd` of
tpm2-tss requires. Inverts the byte at OFFSET of each response to the command CODE.
"""

import socket
import struct
import sys


def receive(read):
    """A command or a response: a tag, the size of the whole message, and the rest (TPM 2.0 Library, Part 1, section 18)."""
    head = read(6)
    if len(head) < 6:
        return None
    return head + read(struct.unpack_from(">I", head, 2)[0] - 6)


def main():
    port = int(sys.argv[1])
    code, offset = (int(text, 0) for text in sys.argv[2:4]) if len(sys.argv) > 2 else (None, 0)
    while command := receive(sys.stdin.buffer.read):
        with socket.create_connection(("127.0.0.1", port)) as tpm:
            tpm.sendall(command)
            response = bytearray(receive(tpm.makefile("rb").read))
        if struct.unpack_from(">I", command, 6)[0] == code and len(response) > offset:
            response[offset] ^= 0xFF
        sys.stdout.buffer.write(response)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
