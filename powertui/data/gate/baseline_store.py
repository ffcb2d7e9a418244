"""Saved baselines: one file each, in one folder that a CI can cache.

A name is never a path: it has letters, digits, dots, dashes and underscores alone.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from powertui.config import data_folder
from powertui.data.gate.baseline_file import MAX_FILE_BYTES, read_baseline
from powertui.data.gate.run_values import BaselineRuns
from powertui.errors import PowertuiError, UnreadableFile, UsageError
from powertui.plain import plain

_FOLDER_VARIABLE = "POWERTUI_BASELINES"
_SUFFIX = ".json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_MAX_LISTED = 1000  # baselines of a folder; more is a folder of something else


def baseline_folder(named: str | None = None) -> Path:
    """Where baselines are: as named, else as the environment says, else the user's own folder."""
    given = named or os.environ.get(_FOLDER_VARIABLE, "")
    if given:
        return Path(given).expanduser()
    return data_folder() / "baselines"


def check_name(name: str) -> str:
    """The name. Raises `UsageError` for what could be a path or cannot be typed."""
    if not _NAME.fullmatch(name) or name.endswith(_SUFFIX):
        raise UsageError(
            f"{plain(name, 80)!r} cannot be the name of a baseline.",
            hint="A name has up to 64 letters, digits, dots, dashes and underscores.",
        )
    return name


def baseline_path(folder: Path, name: str) -> Path:
    """The file of a saved baseline."""
    return folder / f"{check_name(name)}{_SUFFIX}"


def _is_path(words: str) -> bool:
    """Whether words mean a file and not a saved name."""
    return "/" in words or words.endswith(_SUFFIX)


def find_baseline(words: str, folder: Path) -> BaselineRuns:
    """The baseline of a file, or of a saved name. Raises `UnreadableFile` where it is not there."""
    if _is_path(words):
        return read_baseline(os.path.expanduser(words))  # noqa: PTH111
    path = baseline_path(folder, words)
    if not path.exists():
        raise UnreadableFile(
            str(path),
            f"there is no baseline named {words}",
            hint=f"Save one: powertui baseline save {words} RUN... (a file is named *.json)",
        )
    return read_baseline(str(path))


def save_baseline(folder: Path, name: str, content: str, *, replace: bool) -> Path:
    """Write it, whole or not at all. Raises `UsageError` where there is one of that name."""
    path = baseline_path(folder, name)
    if len(content.encode()) > MAX_FILE_BYTES:
        raise PowertuiError(f"The baseline takes more than {MAX_FILE_BYTES // 1000} kB.")
    if path.exists() and not replace:
        raise UsageError(
            f"There is a baseline named {name} already.",
            hint="--replace writes over it, --add keeps its runs.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(path, content)
    except OSError as error:
        raise PowertuiError(
            f"{folder}: {(error.strerror or 'it cannot be written').lower()}.",
            hint=f"--dir FOLDER or {_FOLDER_VARIABLE} names another folder.",
        ) from None
    return path


def _write_whole(path: Path, content: str) -> None:
    """A CI that is stopped in the middle leaves the old file."""
    handle, part = tempfile.mkstemp(
        prefix=f".{path.stem}-",
        suffix=".part",
        dir=path.parent,
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        Path(part).chmod(0o644)  # whoever restores the folder may be another user
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)


def saved_names(folder: Path) -> list[str]:
    """The names in a folder; none where there is no such folder."""
    try:
        files = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnreadableFile(str(folder), (error.strerror or "cannot be read").lower()) from None
    names = [name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)]
    return [name for name in names if _NAME.fullmatch(name)][:_MAX_LISTED]
