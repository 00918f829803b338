"""Writes an image without layers, in the format of containers/image's `dir:` transport: image.py FOLDER"""

import hashlib
import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir()
config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
digest = hashlib.sha256(config).hexdigest()
kind = "application/vnd.docker.distribution.manifest.v2+json"
manifest = {
    "schemaVersion": 2,
    "mediaType": kind,
    "config": {
        "mediaType": "application/vnd.docker.container.image.v1+json",
        "size": len(config),
        "digest": f"sha256:{digest}",
    },
    "layers": [],
}
(folder / "version").write_text("Directory Transport Version: 1.1\n")
(folder / "manifest.json").write_text(json.dumps(manifest))
(folder / digest).write_bytes(config)
