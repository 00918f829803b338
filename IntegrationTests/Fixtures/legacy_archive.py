"""Writes the file of an older app: an archive in the layout of NSKeyedArchiver, or a broken one.

    legacy_archive.py FORMAT TOKEN FILE

FORMAT is binary or xml for a valid file, or truncated, no-token or not-an-archive.
"""

import plistlib
import sys
from plistlib import UID

FIELDS = {
    "token": None,
    "id": 8,
    "username": "wang",
    "nickname": "老王 👋",
    "registerTime": "1448266500",
    "points": 1350,
}


def archive(fields):
    """Returns the property list of an archive with one object under `root`."""
    members = {}
    objects = ["$null", members]
    for name, value in fields.items():
        if isinstance(value, int):
            # encodeInteger:forKey: puts numbers into the object itself.
            members[name] = value
        else:
            members[name] = UID(len(objects))
            objects.append(value)
    members["$class"] = UID(len(objects))
    objects.append({"$classname": "JFAccountModel", "$classes": ["JFAccountModel", "NSObject"]})
    return {"$version": 100000, "$objects": objects, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(1)}}


def with_references_as_dictionaries(value):
    """Replaces UIDs with dictionaries, as NSKeyedArchiver does in XML, which has no UIDs."""
    if isinstance(value, UID):
        return {"CF$UID": value.data}
    if isinstance(value, list):
        return [with_references_as_dictionaries(element) for element in value]
    if isinstance(value, dict):
        return {key: with_references_as_dictionaries(element) for key, element in value.items()}
    return value


def contents(form, token):
    fields = dict(FIELDS, token=token)
    if form == "no-token":
        del fields["token"]
    plist = archive(fields)
    if form == "xml":
        return plistlib.dumps(with_references_as_dictionaries(plist))
    if form == "not-an-archive":
        return b"token=" + token.encode()
    data = plistlib.dumps(plist, fmt=plistlib.FMT_BINARY)
    return data[:-40] if form == "truncated" else data


def main():
    form, token, path = sys.argv[1:]
    with open(path, "wb") as file:
        file.write(contents(form, token))


if __name__ == "__main__":
    main()
