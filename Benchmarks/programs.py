"""Builds the programs for comparison: those in C, and a minimal Swift program."""

import os
import subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))
FLOOR = ["whole-process/floor.c", "Sources/CFloor/open.c", "Sources/CFloor/property_list.c", "Sources/CFloor/save.c"]
LIBRARIES = {"static": ["-static", "-lsodium"], "static libsodium": ["-l:libsodium.a"], "dynamic": ["-lsodium"]}
SWIFT_FLAGS = {"static": ["-static-executable"], "static libsodium": ["-static-stdlib"], "dynamic": []}


def linkage(command):
    """The linkage of a program: "static", "static libsodium" or "dynamic"."""
    headers = subprocess.run(["readelf", "-ld", command], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "INTERP" not in headers:
        return "static"
    return "dynamic" if "libsodium" in headers else "static libsodium"


def build(folder, kind):
    """Builds one floor that uses the system's libraries, and a second floor and the Swift program that are linked like the command."""
    os.makedirs(folder, exist_ok=True)
    for name, sources, libraries in (
        ("floor", FLOOR, LIBRARIES["dynamic"]),
        ("floor-linked-alike", FLOOR, LIBRARIES[kind]),
        ("service", ["whole-process/service.c", "Sources/CLoopback/loopback.c"], []),
        ("rows", ["whole-process/rows.c"], ["-lsqlite3"]),
    ):
        subprocess.run(
            ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-ISources/CFloor/include",
             "-ISources/CLoopback/include", "-o", os.path.join(folder, name), *sources, *libraries],
            cwd=FOLDER, check=True)
    subprocess.run(
        ["swiftc", "-O", *SWIFT_FLAGS[kind], "whole-process/hello.swift", "-o", os.path.join(folder, "hello")],
        cwd=FOLDER, check=True)
