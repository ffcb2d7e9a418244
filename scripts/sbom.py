"""A bill of materials (SPDX 2.3, JSON) of wheels: which packages, which versions, under which
licenses, with which checksums.

    python3 scripts/sbom.py dist/powertui-0.1.0-py3-none-any.whl > dist/powertui-0.1.0.spdx.json

For a wheel it lists the wheel and what it asks for, with the versions installed here; a bundle
lists every wheel in it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Sequence
from datetime import datetime, timezone
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from archives import RELEASED  # noqa: E402

from powertui import dependencies  # noqa: E402

# Names that packages wrote before licenses had identifiers.
_KNOWN = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "LGPLv2+": "LGPL-2.1-or-later",
}
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


class Package(NamedTuple):
    """One package of the bill."""

    name: str
    version: str
    license: str  # an SPDX expression, or NOASSERTION
    requires: tuple[str, ...] = ()
    file: str = ""
    sha256: str = ""


def of_wheel(path: Path) -> Package:
    """What a wheel says of itself."""
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        head = Parser().parsestr(archive.read(name).decode("utf-8", "replace"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    license_ = expression(
        head.get("License-Expression"), head.get("License"), head.get_all("Classifier") or ()
    )
    return Package(
        head["Name"],
        head["Version"],
        license_,
        tuple(head.get_all("Requires-Dist") or ()),
        path.name,
        digest,
    )


def installed(found: metadata.Distribution) -> Package:
    """What a package that is installed here says of itself."""
    head = found.metadata
    license_ = expression(
        head.get("License-Expression"), head.get("License"), head.get_all("Classifier") or ()
    )
    return Package(head["Name"], found.version, license_, tuple(found.requires or ()))


def expression(said: str | None, field: str | None, classifiers: Sequence[str]) -> str:
    """An SPDX expression from what a package says, or NOASSERTION: nothing is guessed from long
    texts.
    """
    if said:
        return said
    for text in (
        field or "",
        *(line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")),
    ):
        text = " ".join(text.split())
        if text in _KNOWN:
            return _KNOWN[text]
        if text and len(text) < 60 and _EXPRESSION.fullmatch(text) and text != "UNKNOWN":
            return text
    return "NOASSERTION"


def with_needs(first: Package) -> list[Package]:
    """A package and what it needs, and what those need, as installed here."""
    needed: dict[str, Package] = {}
    for name, extra in dependencies.required(first.requires):
        needed |= {
            key: installed(found) for key, found in dependencies.everything(name, extra).items()
        }
    return [first, *needed.values()]


def document(name: str, packages: Sequence[Package]) -> str:
    """The bill as SPDX JSON.

    The first package of the name powertui is what the document describes.
    """
    body = "".join(f"{one.name} {one.version} {one.sha256}\n" for one in packages)
    own = next((one for one in packages if one.name == "powertui"), packages[0])
    entries = [
        {
            "SPDXID": _id(one),
            "name": one.name,
            "versionInfo": one.version,
            "downloadLocation": f"https://pypi.org/project/{one.name}/{one.version}/"
            if one is not own
            else "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": one.license,
            "copyrightText": "NOASSERTION",
            **_file(one),
            "externalRefs": [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": "pkg:pypi/"
                    f"{one.name.lower().replace('_', '-')}@{one.version}",
                }
            ],
        }
        for one in sorted(packages, key=lambda one: (one is not own, one.name.lower(), one.file))
    ]
    links = [
        {
            "spdxElementId": "SPDXRef-DOCUMENT",
            "relationshipType": "DESCRIBES",
            "relatedSpdxElement": _id(own),
        }
    ]
    links += [
        {
            "spdxElementId": _id(own),
            "relationshipType": "DEPENDS_ON",
            "relatedSpdxElement": entry["SPDXID"],
        }
        for entry in entries
        if entry["SPDXID"] != _id(own)
    ]
    # equal input gives equal bytes
    created = f"{datetime.fromtimestamp(RELEASED, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    whole = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://powertui.invalid/spdx/{name}-{hashlib.sha256(body.encode()).hexdigest()[:16]}",
        "creationInfo": {
            "created": created,
            "creators": ["Tool: powertui-sbom"],
        },
        "packages": entries,
        "relationships": links,
    }
    return json.dumps(whole, indent=1) + "\n"


def _file(package: Package) -> dict[str, object]:
    if not package.file:
        return {}
    return {
        "packageFileName": package.file,
        "checksums": [{"algorithm": "SHA256", "checksumValue": package.sha256}],
    }


def _id(package: Package) -> str:
    return "SPDXRef-" + re.sub(
        r"[^A-Za-z0-9.-]", "-", package.file or f"{package.name}-{package.version}"
    )


if __name__ == "__main__":
    wheel = of_wheel(Path(sys.argv[1]))
    print(document(f"{wheel.name}-{wheel.version}", with_needs(wheel)), end="")
