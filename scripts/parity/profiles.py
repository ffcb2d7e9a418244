"""The profiles that are compared: those beside the checkout, or those of the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared" / "data"
TESTS = ROOT / "tests" / "data" / "logdirs"
SUFFIX = ".xplane.pb"
# Folders of a logdir that say nothing about which profile it is.
_WITHOUT_MEANING = frozenset({"plugins", "profile", "logs", "train", "fit"})


@dataclass(frozen=True)
class Profile:
    """One XPlane file, and what the page calls it."""

    name: str
    path: Path


def stored_profiles() -> list[Profile]:
    """Every XPlane file in ../shared/data; those in tests/data where that folder is not there."""
    if SHARED.is_dir():
        folders = [SHARED / "own", SHARED / "public"]
        return named_profiles(SHARED, [path for folder in folders for path in _files(folder)])
    return named_profiles(TESTS.parent, list(_files(TESTS)))


def profiles_below(path: Path) -> list[Profile]:
    """One XPlane file, or every one below a folder."""
    if path.is_file():
        return [Profile(path.name.removesuffix(SUFFIX), path)]
    return named_profiles(path.parent, list(_files(path)))


def named_profiles(root: Path, paths: Sequence[Path]) -> list[Profile]:
    """Each with the shortest name that no other profile has."""
    longer_names = [_names(root, path) for path in paths]
    counts = [Counter(names[length] for names in longer_names) for length in range(3)]
    return [
        Profile(_first_unique(names, counts), path)
        for names, path in zip(longer_names, paths, strict=True)
    ]


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(folder.rglob(f"*{SUFFIX}")))


def _names(root: Path, path: Path) -> tuple[str, str, str]:
    """(the run's folder, that and the time of the profile, that and the host)."""
    *folders, stamp = path.relative_to(root).parent.parts or ("",)
    if path.parent.parent.name == "profile":
        run = "/".join(part for part in folders if part not in _WITHOUT_MEANING)
    else:
        run = "/".join((*folders, stamp))
    host = path.name.removesuffix(SUFFIX)
    return run, f"{run}/{stamp}", f"{run}/{stamp}/{host}"


def _first_unique(names: Sequence[str], counts: Sequence[Counter[str]]) -> str:
    for name, count in zip(names, counts, strict=True):
        if name and count[name] == 1:
            return name
    return names[-1]
