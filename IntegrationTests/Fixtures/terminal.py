"""Runs a command on a separate terminal, and simulates the user.

    terminal.py [columns:N] STEP… -- COMMAND ARGUMENT…

With `columns`, the terminal has that width and 24 lines. A step is one of

    wait:TEXT     waits until TEXT appears after the text of an earlier step
    silent        waits until echo is off
    silent-now    fails unless echo is already off
    type:TEXT     types TEXT, with the backslash escapes of Python
    insist:TEXT   types TEXT repeatedly until the command ends; always the last step
    signal:N      sends the command the signal N
    type-file:F   waits until the file F exists, and types its content
    appears:F     waits until the file F exists
    tell:F        writes the screen's text so far to the file F
    find:PATTERN  waits until a regular expression matches the screen's text

After the last step, it waits until the command ends, and prints one JSON document: `screen` is everything that the
command wrote and the terminal echoed, `status` is the exit code or the negative number of a signal, and `echo` is
whether echo is on after the command has ended, and `canonical` whether the terminal edits lines itself.

After three minutes, it gives up: it creates the files of all `tell` steps, reports on standard error what it was waiting
for, and exits with 1.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

TIMEOUT = 180


class Terminal:
    def __init__(self, command, columns, told):
        # On failure, these files are created, so that no test waits for them forever.
        self.told = told
        self.screen = b""
        self.seen = 0
        # Keep the device open here, so that the terminal and its settings outlive the command.
        self.controller, self.device = pty.openpty()
        if columns:
            fcntl.ioctl(self.device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = os.fork()
        if self.process == 0:
            os.setsid()
            # The first terminal that a new session opens becomes its controlling terminal, whose Ctrl-C reaches it.
            device = os.open(os.ttyname(self.device), os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(device, number)
            os.closerange(3, 256)
            os.execvp(command[0], command)
        self.deadline = time.monotonic() + TIMEOUT

    def echoes(self):
        return bool(termios.tcgetattr(self.device)[3] & termios.ECHO)

    def read(self, seconds):
        """Reads the available output, waiting for the given number of seconds at most."""
        ready, _, _ = select.select([self.controller], [], [], seconds)
        if ready:
            self.screen += os.read(self.controller, 65536)
        return bool(ready)

    def until(self, condition, what):
        while not condition():
            if time.monotonic() > self.deadline:
                os.kill(self.process, signal.SIGKILL)
                for path in self.told:
                    open(path, "ab").close()
                sys.exit(f"terminal.py: gave up waiting for {what}; on the screen: {self.screen!r}")
            self.read(0.01)

    def wait(self, text):
        self.until(lambda: text in self.screen[self.seen :], text)
        self.seen = self.screen.index(text, self.seen) + len(text)

    def send(self, data):
        """Writes all of the data, of which the terminal accepts only a part at once."""
        os.set_blocking(self.controller, False)
        while data:
            try:
                data = data[os.write(self.controller, data) :]
            except BlockingIOError:
                self.read(0.01)
        os.set_blocking(self.controller, True)

    def type(self, text):
        text = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        self.send(text.encode())

    def end(self, insisting=""):
        status = None

        def ended():
            nonlocal status
            self.type(insisting)
            process, result = os.waitpid(self.process, os.WNOHANG)
            status = os.waitstatus_to_exitcode(result) if process else None
            return process != 0

        self.until(ended, "the end")
        while self.read(0):
            pass
        return status


def main():
    separator = sys.argv.index("--")
    steps = sys.argv[1:separator]
    columns = int(steps.pop(0).partition(":")[2]) if steps and steps[0].startswith("columns:") else 0
    told = [step.partition(":")[2] for step in steps if step.startswith("tell:")]
    terminal = Terminal(sys.argv[separator + 1 :], columns, told)
    insisting = ""
    for step in steps:
        kind, _, text = step.partition(":")
        if kind == "wait":
            terminal.wait(text.encode())
        elif kind == "silent":
            terminal.until(lambda: not terminal.echoes(), "silence")
        elif kind == "silent-now":
            if terminal.echoes():
                os.kill(terminal.process, signal.SIGKILL)
                sys.exit("terminal.py: input typed now would be visible")
        elif kind == "signal":
            os.kill(terminal.process, int(text))
        elif kind == "appears":
            terminal.until(lambda: os.path.exists(text), text)
        elif kind == "type-file":
            terminal.until(lambda: os.path.exists(text), text)
            with open(text, "rb") as file:
                terminal.send(file.read())
        elif kind == "tell":
            with open(text + ".new", "wb") as file:
                file.write(terminal.screen)
            os.rename(text + ".new", text)
        elif kind == "find":
            terminal.until(lambda: re.search(text.encode(), terminal.screen), text)
        elif kind == "type":
            terminal.type(text)
        elif kind == "insist":
            insisting = text
        else:
            sys.exit(f"terminal.py: unknown step {step}")
    status = terminal.end(insisting)
    screen = terminal.screen.decode(errors="replace")
    canonical = bool(termios.tcgetattr(terminal.device)[3] & termios.ICANON)
    print(json.dumps({"screen": screen, "status": status, "echo": terminal.echoes(), "canonical": canonical}))


if __name__ == "__main__":
    main()
