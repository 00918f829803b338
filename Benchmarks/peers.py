"""Other programs that store secrets of a user. Each reads a prepared secret in a temporary home."""

import os
import re
import shutil
import subprocess
import sys
import time

from token_service import TokenService

SECRET = "benchmark-access-token-" + "0123456789abcdef" * 4


class Peers:
    """The available peers by name, and the missing ones with the reason."""

    def __init__(self, home, archive_size, names=("age", "gpg_pass", "gh", "secret_service", "msal")):
        self.home = home
        self.commands = {}
        self.missing = {}
        self.versions = {}
        self.processes = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG")},
            "HOME": home, "GNUPGHOME": f"{home}/gnupg", "PASSWORD_STORE_DIR": f"{home}/store",
            "GH_CONFIG_DIR": f"{home}/gh", "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache", "XDG_RUNTIME_DIR": f"{home}/run",
        }
        for folder in ("gnupg", "store", "gh", "data", "config", "cache", "run"):
            os.makedirs(f"{home}/{folder}", 0o700, exist_ok=True)
        for prepare in (getattr(self, name) for name in names):
            try:
                prepare(archive_size)
            except (OSError, subprocess.CalledProcessError, AssertionError) as error:
                self.missing[prepare.__doc__.strip()] = getattr(error, "stderr", None) or str(error)

    def run(self, *command, text=None, **options):
        return subprocess.run(
            command, env=self.environment, input=text, check=True, capture_output=True, text=True, **options).stdout

    def add(self, name, command, secret=SECRET):
        """Adds a command, which must print the secret."""
        printed = self.run(*command.split()).strip()
        assert printed == secret, f"it did not print the secret: {printed[:80]!r}"
        self.commands[name] = command

    def age(self, archive_size):
        """age -d"""
        self.run("age-keygen", "-o", f"{self.home}/age.key")
        recipient = self.run("age-keygen", "-y", f"{self.home}/age.key").strip()

        def encrypt(count):
            path = f"{self.home}/secret.age"
            self.run("age", "-r", recipient, "-o", path, text="x" * count)
            return path, os.path.getsize(path)

        _, size = encrypt(archive_size)
        path, size = encrypt(2 * archive_size - size)
        assert size == archive_size, f"the file has {size} bytes"
        command = f"age -d -i {self.home}/age.key {path}"
        self.add("`age -d`, a file of the same size", command, secret=self.run(*command.split()).strip())
        self.versions["age"] = self.run("age", "--version").strip()

    def gpg_pass(self, _):
        """pass show"""
        self.run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                 "bench <bench@example.com>", "default", "default", "never")
        self.run("pass", "init", "bench@example.com")
        self.run("pass", "insert", "--multiline", "token", text=SECRET + "\n")
        self.add("`pass show` (gpg-agent running)", "pass show token")
        self.versions["pass"] = next(word for word in self.run("pass", "version").split() if word[0] == "v")
        self.versions["gpg"] = self.run("gpg", "--version").split()[2]

    def gh(self, _):
        """gh auth token"""
        with open(f"{self.home}/gh/hosts.yml", "w", encoding="utf-8") as hosts:
            for host in ("github.com", "git.example.com"):
                hosts.write(f"{host}:\n    user: alice\n    oauth_token: {SECRET}\n    git_protocol: https\n")
        self.add("`gh auth token`, a plain file", "gh auth token")
        self.versions["gh"] = self.run("gh", "--version").split()[2]

    def git(self, _):
        """git-credential-oauth"""
        self.versions["git"] = self.run("git", "--version").split()[2]
        assert shutil.which("git-credential-oauth"), "it is not installed"
        os.makedirs(f"{self.home}/run/cache", 0o700, exist_ok=True)
        self.run(
            "git", "credential-cache", "--timeout", "7200", "--socket", f"{self.home}/run/cache/socket", "store",
            text=f"protocol=https\nhost=git.example.com\nusername=alice\npassword={SECRET}\n\n")

    def oidc_agent(self, _):
        """oidc-token"""
        os.makedirs(f"{self.home}/.oidc-agent", 0o700, exist_ok=True)
        service = TokenService(SECRET)
        try:
            # The background process prints its socket and keeps standard output open, so a pipe would never end.
            with open(f"{self.home}/oidc-agent", "a+", encoding="ascii") as said:
                subprocess.run(["oidc-agent"], env=self.environment, check=True, stdout=said, stderr=subprocess.DEVNULL)
                deadline, found = time.monotonic() + 20, {}
                while len(found) < 2 and time.monotonic() < deadline:
                    said.seek(0)
                    found = dict(re.findall(r"(OIDC_SOCK|OIDCD_PID)=([^;]+);", said.read()))
            self.environment |= found
            self.run(
                "oidc-gen", "--manual", "--flow=refresh", "--rt=refresh", f"--issuer={service.issuer}", "--client-id=bench",
                "--client-secret=", "--scope=openid offline_access", "--pw-cmd=echo password", "--prompt=none",
                "--confirm-default", "bench", timeout=60)
            self.add("`oidc-token` (oidc-agent running)", "oidc-token bench")
        finally:
            service.stop()
        self.versions["oidc-agent"] = self.run("oidc-agent", "--version").split()[-1]

    def secret_service(self, _):
        """secret-tool lookup and Python keyring"""
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address=1"], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.processes.append(bus)
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        # The daemon reads the password that unlocks its login keyring, and closes its standard output when it is ready.
        keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(keyring)
        keyring.stdin.write(b"password")
        keyring.stdin.close()
        self.run("gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets")
        self.run("secret-tool", "store", "--label=bench", "service", "bench", "username", "alice", text=SECRET)
        self.add("`secret-tool lookup` (gnome-keyring running)", "secret-tool lookup service bench username alice")
        self.versions["gnome-keyring"] = self.run("gnome-keyring-daemon", "--version").split()[1]
        self.keyring()

    def keyring(self):
        python = self.python()
        self.add("Python `keyring` (gnome-keyring running)", f"{python} -m keyring get bench alice")
        self.versions["keyring"] = self.run(
            python, "-c", "import importlib.metadata as m; print(m.version('keyring'))").strip()

    def msal(self, _):
        """Python msal-extensions"""
        python, cache = self.python(), f"{self.home}/msal.json"
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "whole-process", "read_msal_cache.py")
        self.run(python, script, cache, "--make", SECRET)
        self.add("Python msal-extensions, a plain file", f"{python} {script} {cache}")
        self.versions["msal-extensions"] = self.run(
            python, "-c", "import importlib.metadata as m; print(m.version('msal-extensions'))").strip()

    def python(self):
        """The interpreter of an environment with both packages, which is kept for the next run."""
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".build", "python")
        python = f"{folder}/bin/python"
        probe = [python, "-c", "import keyring, msal_extensions"]
        if not os.path.exists(python) or subprocess.run(probe, capture_output=True).returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "keyring>=25", "msal-extensions>=1.2"], check=True,
                capture_output=True, text=True)
        self.versions["Python"] = self.run(python, "--version").split()[1]
        return python

    def stop(self):
        subprocess.run(["gpgconf", "--kill", "all"], env=self.environment, capture_output=True)
        if "OIDCD_PID" in self.environment:
            subprocess.run(["oidc-agent", "--kill"], env=self.environment, capture_output=True)
        for process in reversed(self.processes):
            process.kill()
            process.wait()
