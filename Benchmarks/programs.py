"""The C programs: built like the command, so that the one's loader is not compared with the other's."""

import os
import subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCES = {
    "floor": ["whole-process/floor.c", "Sources/CFloor/open.c", "Sources/CFloor/property_list.c", "Sources/CFloor/save.c"],
    "service": ["whole-process/service.c", "Sources/CLoopback/loopback.c"],
    "swarm": ["whole-process/swarm.c"],
}


def linkage(command):
    """How a program is linked: "static", "static libsodium" or "dynamic"."""
    headers = subprocess.run(["readelf", "-ld", command], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "INTERP" not in headers:
        return "static"
    return "dynamic" if "libsodium" in headers else "static libsodium"


def build(folder, kind):
    os.makedirs(folder, exist_ok=True)
    libraries = {"static": ["-static", "-lsodium"], "static libsodium": ["-l:libsodium.a"], "dynamic": ["-lsodium"]}
    for name, sources in SOURCES.items():
        subprocess.run(
            ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-ISources/CFloor/include",
             "-ISources/CLoopback/include", "-o", os.path.join(folder, name), *sources,
             *(libraries[kind] if name == "floor" else [])],
            cwd=FOLDER, check=True)
