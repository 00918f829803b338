"""Describes the measured version, the machine and the date."""

import datetime
import os
import subprocess


def first_line(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout.splitlines()[0].strip()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")


def system():
    with open("/etc/os-release", encoding="utf-8") as lines:
        return next(line.split("=")[1].strip().strip('"') for line in lines if line.startswith("PRETTY_NAME"))


def file_system(folder):
    return subprocess.run(["df", "--output=fstype", folder], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]


def description(folder, versions):
    """The rows of the report's header."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = first_line("git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty")
    versions = {
        "Swift": first_line(os.environ.get("SWIFT", "swift"), "--version").removeprefix("Swift version ").split()[0],
        "gcc": first_line("gcc", "-dumpfullversion"),
        "libsodium": first_line("pkg-config", "--modversion", "libsodium"),
        "hyperfine": first_line("hyperfine", "--version").split()[-1],
        **versions,
    }
    return [
        ("date", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("commit", commit),
        ("machine", f"{os.cpu_count()} cores of {processor()}, {memory:.0f} GiB; files on {file_system(folder)}"),
        ("system", f"{system()}, Linux {os.uname().release}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
