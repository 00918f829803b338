#!/usr/bin/env python3
"""Writes archives as NSKeyedArchiver of iOS and macOS lays them out, without NSKeyedArchiver.

    python3 make_fixtures.py

plistlib is a second, independent producer: it writes the references as UIDs into JFAccountModel.plist, and here they
are written as CF$UID dictionaries into JFAccountModel.xml.plist. The same input always gives the same bytes.
"""

import plistlib
from pathlib import Path
from plistlib import UID

FIELDS = {
    "token": "canary-5d41402abc4b2a76b9719d911017c592",
    "id": 8,
    "username": "wang",
    "nickname": "老王 👋",
    "registerTime": "1448266500",
    "email": None,
    "avatarUrl": "https://example.com/avatars/8.png?size=120&round=1",
    "groupName": "注册会员",
    "points": 1350,
    "saytext": "<Stay hungry & foolish>",
    "phone": "13800138000",
    "qq": "10001",
}


def archive(fields):
    """The property list of an archive with one JFAccountModel under `root`."""
    members = {}
    objects = ["$null", members]
    for name, value in fields.items():
        if isinstance(value, int):
            # encodeInteger:forKey: puts numbers into the object itself.
            members[name] = value
        elif value is None:
            members[name] = UID(0)
        else:
            if value not in objects:
                objects.append(value)
            members[name] = UID(objects.index(value))
    members["$class"] = UID(len(objects))
    objects.append({"$classname": "JFAccountModel", "$classes": ["JFAccountModel", "NSObject"]})
    return {
        "$version": 100000,
        "$objects": objects,
        "$archiver": "NSKeyedArchiver",
        "$top": {"root": UID(1)},
    }


def with_references_as_dictionaries(value):
    if isinstance(value, UID):
        return {"CF$UID": value.data}
    if isinstance(value, list):
        return [with_references_as_dictionaries(element) for element in value]
    if isinstance(value, dict):
        return {key: with_references_as_dictionaries(element) for key, element in value.items()}
    return value


def main():
    folder = Path(__file__).parent
    binary = plistlib.dumps(archive(FIELDS), fmt=plistlib.FMT_BINARY, sort_keys=False)
    folder.joinpath("JFAccountModel.plist").write_bytes(binary)
    xml = with_references_as_dictionaries(archive(FIELDS))
    folder.joinpath("JFAccountModel.xml.plist").write_bytes(
        plistlib.dumps(xml, fmt=plistlib.FMT_XML, sort_keys=False)
    )


if __name__ == "__main__":
    main()
