"""Compares an archive whose key is in a file with one whose key a TPM seals. The TPM is simulated by swtpm, so the time that a chip needs is
missing."""

import contextlib
import os
import socket
import subprocess
import time as clock

from measure import Ratio, duration, hyperfine
from report import time


def run(report, account, containers, rounds):
    with tpm(os.path.join(containers.folder, "tpm-state")) as device:
        roots = {"a key file": containers.make("key-file"), "a key that a TPM seals": containers.make("tpm-key")}
        environment = {**os.environ, "TPM2TOOLS_TCTI": device}
        for words in (["add", "tpm"], ["remove", "file", "--no-recovery"]):
            subprocess.run(
                [account, "key", *words], check=True, capture_output=True,
                env={**environment, "ACCOUNT_HOME": roots["a key that a TPM seals"]})
        # The same command twice, so only the container differs.
        commands = {name: f"env ACCOUNT_HOME={root} {account} whoami --offline" for name, root in roots.items()}
        times = hyperfine(commands, environment, rounds)
    file, sealed = times.values()
    rows = [(name, time(values), Ratio(values, file)) for name, values in times.items()]
    rows.append(("difference", time([two - one for one, two in zip(file, sealed, strict=True)]), ""))
    report.section(
        "Key in a TPM", "`account whoami --offline`, linked to the system's libraries, with the package trait `TPM`. The TPM is simulated "
        "(swtpm): a chip takes longer.", ("the key is in", "time", "to a key file"), rows)


@contextlib.contextmanager
def tpm(state):
    """Runs swtpm, and returns its address in the syntax of tpm2-tools."""
    os.makedirs(state, mode=0o700)
    port = free_pair()
    process = subprocess.Popen(
        ["swtpm", "socket", "--tpm2", "--server", f"type=tcp,port={port},disconnect", "--ctrl", f"type=tcp,port={port + 1}",
         "--flags", "startup-clear,not-need-init", "--tpmstate", f"dir={state}"])
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            clock.sleep(0.02)
        yield f"swtpm:host=127.0.0.1,port={port}"
    finally:
        process.terminate()
        process.wait()


def free_pair():
    """A free port that is followed by another one, which the library uses for control."""
    while True:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                two.bind(("127.0.0.1", port + 1))
                return port
