#!/usr/bin/env python3
"""Lists the functions that short commands run: the linker places them side by side, so that a start reads fewer pages.

    symbol_order.py ACCOUNT EXERCISER NOTES     writes Scripts/symbol-order.txt

All three are release builds with their symbols; see speed.py. Functions that each command runs come first. A name that a later build
does not contain has no effect.
"""

import pathlib
import re
import sys
import tempfile

import speed

ORDER = pathlib.Path(__file__).parent / "symbol-order.txt"

# The most frequent commands, and the shortest. Requests take so long that the order of their functions makes no difference.
COMMANDS = [["whoami", "--offline"], ["token"]]


def functions(profile):
    """Returns the mangled names of the functions in a profile of Callgrind, which writes each name once: `fn=(ID) NAME`."""
    names = re.findall(r"^c?fn=\(\d+\) (\S+)$", profile, re.M)
    # Callgrind adds ' and a number to the name of a recursive function.
    return {name.split("'")[0] for name in names if re.match(r"[$_A-Za-z]", name)}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    order = []
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="account-speed-") as folder:
        machine = speed.Machine(folder, *sys.argv[1:])
        for command in COMMANDS:
            profile = machine.profile(machine.account, *command, options=["--demangle=no"])
            names = functions(profile)
            if not any(name.startswith("$s10AccountKit") for name in names):
                sys.exit(f"symbol_order.py: {' '.join(command)} ran no function of AccountKit: does the program have symbols?")
            order += sorted(names - set(order))
            print(f"{' '.join(command)}: {len(order)} functions")
    ORDER.write_text("\n".join(order) + "\n")
    print(f"written: {ORDER}")


if __name__ == "__main__":
    main()
