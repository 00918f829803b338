"""Other programs that store secrets of a user. Each reads a prepared secret in a temporary home."""

import os
import re
import shutil
import subprocess
import time

import measure
from bench import TOKEN
from children import Child, Server, TokenHandler


class Peers:
    """The commands of the peers that `names` lists, until the end of a `with` block."""

    def __init__(self, bench, *names, archive_size=0):
        self.bench = bench
        self.home = bench.home
        self.names = names
        self.archive_size = archive_size
        # For each name, the command and the line that it must print.
        self.commands = {}
        self.processes = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG")},
            "HOME": self.home, "GNUPGHOME": f"{self.home}/gnupg", "PASSWORD_STORE_DIR": f"{self.home}/store",
            "GH_CONFIG_DIR": f"{self.home}/gh", "XDG_DATA_HOME": f"{self.home}/data", "XDG_CONFIG_HOME": f"{self.home}/config",
            "XDG_CACHE_HOME": f"{self.home}/cache", "XDG_RUNTIME_DIR": f"{self.home}/run",
        }

    def __enter__(self):
        for folder in ("gnupg", "store", "gh", "data", "config", "cache", "run/cache", ".oidc-agent"):
            os.makedirs(f"{self.home}/{folder}", 0o700, exist_ok=True)
        try:
            for name in self.names:
                getattr(self, name)()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        ends = {
            "gpg_pass": ("gpgconf", "--kill", "all"), "oidc_agent": ("oidc-agent", "--kill"),
            "git": ("git", "credential-cache", "--socket", self.socket, "exit")}
        for name in self.names:
            if name in ends and shutil.which(ends[name][0]):
                subprocess.run(ends[name], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)
        for process in reversed(self.processes):
            process.__exit__()

    def run(self, *command, **options):
        return measure.run(command, self.environment, **options).stdout

    def version(self, name, *command, word=-1):
        """Records the version of a program, which is a word of what it prints."""
        self.bench.versions[name] = self.run(*command).split()[word]

    def age(self):
        key = f"{self.home}/age.key"
        self.run("age-keygen", "-o", key)
        recipient = self.run("age-keygen", "-y", key).strip()
        path, wanted = f"{self.home}/secret.age", self.archive_size
        # The encrypted file is to have the size of the archive.
        text = "x" * wanted
        self.run("age", "-r", recipient, "-o", path, input=text)
        text = text[os.path.getsize(path) - wanted:]
        self.run("age", "-r", recipient, "-o", path, input=text)
        if os.path.getsize(path) != wanted:
            raise SystemExit(f"the file of age has {os.path.getsize(path)} bytes instead of {wanted}")
        self.commands["`age -d`, a file of the same size"] = (f"age -d -i {key} {path}", text)
        self.version("age", "age", "--version")

    def gpg_pass(self):
        self.version("gpg", "gpg", "--version", word=2)
        self.bench.versions["pass"] = next(word for word in self.run("pass", "version").split() if word[0] == "v")
        self.run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                 "bench <bench@example.com>", "default", "default", "never")
        self.run("pass", "init", "bench@example.com")
        self.run("pass", "insert", "--multiline", "token", input=TOKEN + "\n")
        self.commands["`pass show` (gpg-agent running)"] = ("pass show token", TOKEN)

    def gh(self):
        with open(f"{self.home}/gh/hosts.yml", "w", encoding="utf-8") as hosts:
            for host in ("github.com", "git.example.com"):
                hosts.write(f"{host}:\n    user: alice\n    oauth_token: {TOKEN}\n    git_protocol: https\n")
        self.commands["`gh auth token`, a plain file"] = ("gh auth token", TOKEN)
        self.version("gh", "gh", "--version", word=2)

    @property
    def socket(self):
        """The socket of git's own credential cache."""
        return f"{self.home}/run/cache/socket"

    def git(self):
        self.version("git", "git", "--version", word=2)
        self.run(
            "git", "credential-cache", "--timeout", "7200", "--socket", self.socket, "store",
            input=f"protocol=https\nhost=git.example.com\nusername=alice\npassword={TOKEN}\n\n")

    def oidc_agent(self):
        self.version("oidc-agent", "oidc-agent", "--version")
        with Server(TokenHandler, token=TOKEN) as service:
            # The background process prints its socket and keeps standard output open, so a pipe would never end.
            with open(f"{self.home}/oidc-agent", "a+", encoding="ascii") as said:
                self.run("oidc-agent", stdout=said, stderr=subprocess.DEVNULL)
                deadline, found = time.monotonic() + 20, {}
                while len(found) < 2 and time.monotonic() < deadline:
                    said.seek(0)
                    found = dict(re.findall(r"(OIDC_SOCK|OIDCD_PID)=([^;]+);", said.read()))
            self.environment |= found
            self.run(
                "oidc-gen", "--manual", "--flow=refresh", "--rt=refresh", f"--issuer={service.origin}", "--client-id=bench",
                "--client-secret=", "--scope=openid offline_access", "--pw-cmd=echo password", "--prompt=none",
                "--confirm-default", "bench")
            # The agent keeps the token that this command obtains.
            self.run("oidc-token", "bench")
        self.commands["`oidc-token` (oidc-agent running)"] = ("oidc-token bench", TOKEN)

    def secret_service(self):
        bus = Child(
            "dbus-daemon", "--session", "--nofork", "--print-address=1", env=self.environment, stderr=self.log("dbus-daemon"))
        self.processes.append(bus)
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.read().strip()
        # The daemon reads the password that unlocks its login keyring.
        log = self.log("gnome-keyring-daemon")
        keyring = Child(
            "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", env=self.environment, stdout=log, stderr=log)
        self.processes.append(keyring)
        keyring.process.stdin.write("password")
        keyring.process.stdin.close()
        self.run("gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets")
        self.run("secret-tool", "store", "--label=bench", "service", "bench", "username", "alice", input=TOKEN)
        self.commands["`secret-tool lookup` (gnome-keyring running)"] = ("secret-tool lookup service bench username alice", TOKEN)
        self.version("gnome-keyring", "gnome-keyring-daemon", "--version", word=1)

    def log(self, name):
        return open(f"{self.home}/{name}.log", "w", encoding="utf-8")
