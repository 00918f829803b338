#!/usr/bin/env python3
"""Flips each bit of an archive in turn, and checks that read_account.py refuses every one.

    flip_every_bit.py Account.plist Account.key APP SESSION

Prints the number of refused bits. Exits with 1 if a changed file opens, or fails in any other way.
"""

import sys

import read_account

archive, key_file, app, session = sys.argv[1:]
with open(archive, "rb") as file:
    original = file.read()
with open(key_file, "rb") as file:
    key = file.read()
context = read_account.context_of(app, session)
read_account.read(original, context, key)

for bit in range(len(original) * 8):
    changed = bytearray(original)
    changed[bit // 8] ^= 1 << bit % 8
    try:
        read_account.read(bytes(changed), context, key)
    except read_account.Refusal:
        continue
    sys.exit(f"it opens with bit {bit % 8} of byte {bit // 8} changed")
print(len(original) * 8)
