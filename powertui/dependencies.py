"""The packages that powertui stands on: whether the versions here are ones that it works with, and
under which licenses they come.

What is needed is read from powertui's own metadata, so pyproject.toml stays the one list. Folders
of the import path are listed and nothing is parsed for the check at start, which costs a
millisecond. A distribution that moves a package aside (no metadata at all) is not judged.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from powertui.named_tuples import NamedTuple

if TYPE_CHECKING:
    from email.message import Message
    from importlib import metadata

__all__ = [
    "License",
    "Need",
    "bring_along",
    "everything",
    "needs",
    "one_thread",
    "required",
    "tell_licenses",
    "trouble",
]

_REQUIREMENT = re.compile(
    r"Requires-Dist:\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;\s*(.*))?$"
)
# What folder holds the metadata of a package, and in which file.
_METADATA_FILES = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}
# Not compiled here: this is imported at every start, which needs neither.
_PACKAGE_AND_EXTRAS = r"([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?"
_NAMED_EXTRA = r"""extra\s*==\s*["']([^"']+)["']"""
_MAX_LICENSE_CHARACTERS = 60  # of a table's column; chosen, not measured
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([0-9][0-9.]*)")
_PYTHON = re.compile(r"""^python_version\s*<\s*["'](\d+)\.(\d+)["']$""")


class Need(NamedTuple):
    """One package that powertui cannot do without, with its bounds as written: ((">=", "8.2.8"),
    ("<", "8.3")).
    """

    name: str
    bounds: tuple[tuple[str, str], ...]

    def judge(self, version: str) -> str:
        """ "", "old" or "new"."""
        have = _numbers(version)
        for sign, bound in self.bounds:
            bounding = _numbers(bound)
            if sign in (">=", ">", "=="):
                is_old = have < bounding or (sign == ">" and have == bounding)
                if is_old:
                    return "old"
            if sign in ("<", "<=", "=="):
                is_new = have > bounding or (sign == "<" and have == bounding)
                if is_new:
                    return "new"
        return ""

    def __str__(self) -> str:
        return self.name + ",".join(sign + bound for sign, bound in self.bounds)


def _numbers(version: str) -> tuple[int, ...]:
    """The release in numbers, without trailing zeros: 1.24.0rc1 is (1, 24), as 1.24 is."""
    release, *_ = re.split(r"[^0-9.]", version, maxsplit=1)
    numbers = [int(part) for part in re.findall(r"\d+", release)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def needs(metadata: Iterable[str]) -> list[Need]:
    """What lines of a METADATA file ask for here: no extras, and only what this Python needs."""
    needed = []
    for line in metadata:
        match = _REQUIREMENT.match(line.strip())
        if match and _applies_here(match[3] or ""):
            bounds = [(bound[1], bound[2]) for bound in _BOUND.finditer(match[2])]
            needed.append(Need(match[1], tuple(bounds)))
    return needed


def _applies_here(marker: str) -> bool:
    if not marker.strip():
        return True
    older = _PYTHON.match(marker.strip())
    return bool(older and sys.version_info[:2] < (int(older[1]), int(older[2])))


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _listed(path: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(normalized name, version, metadata file) of every package that the import path holds, the
    first of each first.
    """
    for folder in path:
        try:
            entries = os.listdir(folder)  # noqa: PTH208
        except OSError:
            continue
        for entry in entries:
            stem, end = os.path.splitext(entry)  # noqa: PTH122  no pathlib: this runs at every start
            if end in _METADATA_FILES and "-" in stem:
                name, version = stem.split("-")[:2]
                file = os.path.join(folder, entry, _METADATA_FILES[end])  # noqa: PTH118
                yield _key(name), version, file


def bring_along(text: str, path: Sequence[str] | None = None) -> bool:
    """Whether any package of the import path may name this among its entry points.

    To parse them all costs ten times as much.
    """
    name = text.encode()
    for folder in sys.path if path is None else path:
        if not os.path.isdir(folder or "."):  # noqa: PTH112
            if os.path.exists(folder):  # noqa: PTH110
                return True  # an archive
            continue
        for _, _, metadata in _listed([folder or "."]):
            try:
                entry_points = os.path.join(  # noqa: PTH118
                    os.path.dirname(metadata),  # noqa: PTH120
                    "entry_points.txt",
                )
                with open(entry_points, "rb") as file:  # noqa: PTH123
                    if name in file.read():
                        return True
            except FileNotFoundError:
                continue
            except OSError:
                return True
    return any(
        hasattr(finder, "find_distributions")
        for finder in sys.meta_path
        if finder is not PathFinder
    )


def one_thread() -> None:
    """Before numpy is imported: it starts no pool of threads. For what we compute, the pool is
    never worth its start, and while it starts each of its threads takes a processor from what a
    person waits for.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def trouble(path: Sequence[str] | None = None) -> tuple[str, str]:
    """(why powertui cannot start, what may go wrong): a sentence each, or ""."""
    versions: dict[str, str] = {}
    own_metadata = ""
    for name, version, metadata in _listed(sys.path if path is None else path):
        versions.setdefault(name, version)
        if name == "powertui" and not own_metadata:
            own_metadata = metadata
    try:
        with open(own_metadata, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            asked = needs(lines)
    except OSError:
        return "", ""  # a source tree that nobody installed: its imports say what is missing
    stop, warn = [], []
    for need in asked:
        version = versions.get(_key(need.name), "")
        judged = need.judge(version) if version else ""
        if judged == "old":
            stop.append(f"{need.name} {version} is too old (needs {need})")
        elif judged == "new":
            warn.append(
                f"{need.name} {version} is newer than any that powertui was tried with ({need})"
            )
    return "; ".join(stop), "; ".join(warn)


class License(NamedTuple):
    """One package as it is installed here."""

    name: str
    version: str
    license: str
    home: str


def _licenses() -> list[License]:
    """powertui and everything that it needs, and what those need, as installed here.

    By name, powertui first.
    """
    licenses = {}
    for name, package in everything("powertui").items():
        licenses[_key(name)] = License(
            package.metadata["Name"], package.version, _license(package), _home(package)
        )
    first = licenses.pop("powertui", None)
    in_order = sorted(licenses.values(), key=lambda package_license: package_license.name.lower())
    if first is not None:
        in_order.insert(0, first)
    return in_order


def everything(name: str, extra: str = "") -> dict[str, metadata.Distribution]:
    """A package that is installed here, what it needs, and what those need: with the extras that
    are asked for and no others.
    """
    from importlib import metadata

    packages: dict[str, metadata.Distribution] = {}
    done: set[tuple[str, str]] = set()
    queue = [(name, extra)]
    while queue:
        name, extra = queue.pop()
        key = _key(name)
        if (key, extra) in done:
            continue
        done.add((key, extra))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        packages.setdefault(key, package)
        queue += required(package.requires or (), extra)
    return packages


def required(lines: Sequence[str], extra: str = "") -> list[tuple[str, str]]:
    """(package, extra of it) for each line of these that counts without extras, or with the one
    that was asked for.
    """
    requirements = []
    for line in lines:
        match = re.match(_PACKAGE_AND_EXTRAS, line)
        condition = line.partition(";")[2]
        extra_named = re.search(_NAMED_EXTRA, condition)
        if not match or (extra_named[1] if extra_named else "") != extra:
            continue
        name = match[1]
        extras = match[2] or ""
        requirements.append((name, ""))
        for extra_name in extras.split(","):
            if extra_name.strip():
                requirements.append((name, extra_name.strip()))
    return requirements


def _license(package: metadata.Distribution) -> str:
    """The license as the package says it: its expression, else its field when that is short, else
    its classifiers.
    """
    data: Message = package.metadata  # type: ignore[assignment]
    field = " ".join(str(data.get("License-Expression") or data.get("License") or "").split())
    # Some packages put the whole text of their license there.
    if field and len(field) <= _MAX_LICENSE_CHARACTERS and field != "UNKNOWN":
        return field
    names = []
    for line in data.get_all("Classifier") or ():
        if line.startswith("License ::"):
            names.append(line.rpartition(" :: ")[2])
    if names:
        return " and ".join(names)
    if field:
        return field[: _MAX_LICENSE_CHARACTERS - 3] + "..."
    return "not given by the package"


def _home(package: metadata.Distribution) -> str:
    data: Message = package.metadata  # type: ignore[assignment]
    links = dict(str(line).partition(", ")[::2] for line in data.get_all("Project-URL") or ())
    for label in ("Homepage", "homepage", "Repository", "repository", "Source"):
        if links.get(label):
            return str(links[label])
    return str(data.get("Home-page") or next(iter(links.values()), ""))


def tell_licenses() -> str:
    """A table, and the one sentence that a lawyer asks about."""
    from powertui.plain import plain

    rows = [tuple(map(plain, package)) for package in _licenses()]
    if not rows:
        return (
            "powertui is not installed as a package here: the LICENSE file of its sources "
            "holds its license (Apache-2.0).\n"
        )
    *columns, _ = zip(*rows, strict=True)  # the last one, the address, may be as long as it is
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for *cells, home in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([*padded, home]).rstrip())
    note = (
        "Packages are imported unchanged; none is part of powertui's files. Each has its "
        "license text in its .dist-info folder."
    )
    return "\n".join([*lines, "", note]) + "\n"
