"""Where this program's imports come from: never from the working folder.

`python -m` puts the working folder first on the path, and an empty entry of $PYTHONPATH means it
too. A training folder may hold a `json.py` or a `re.py` of its own; a folder where others can write
may hold anything. This file imports nothing that is not loaded before any program begins, because
it runs while the path is still as it was found.
"""

import os
import sys

__all__ = ["clean", "cleaned", "home", "is_program"]

_PACKAGE_FOLDERS = ("site-packages", "dist-packages", "lib-dynload")


def home() -> str:
    """The folder that the package itself was imported from."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  pathlib is not loaded yet


def too_old() -> str:
    """Why this Python cannot run powertui, as a sentence; "" when it can."""
    if sys.version_info >= (3, 10):  # noqa: UP036  this is read by older ones
        return ""
    words = (
        "powertui needs Python 3.10 or newer; this is Python {}.{}. docs/install.md names "
        "newer ones."
    )
    return words.format(*sys.version_info[:2])


def is_program() -> bool:
    """Whether we are `powertui` or `python -m powertui`, and not a library inside somebody's
    script.
    """
    first = sys.argv[0] if sys.argv else ""
    if first != "-m":  # that is what stands there while `python -m` looks for its module
        return os.path.basename(first) == "powertui"  # noqa: PTH119
    words = getattr(sys, "orig_argv", ())  # Pythons that have none are refused
    options = [i for i, word in enumerate(words) if word.startswith("-")]
    return any(
        words[i].endswith("mpowertui")
        or (words[i].endswith("m") and words[i + 1 : i + 2] == ["powertui"])
        for i in options
    )


def cleaned(path: "list[str]", program: str = "") -> "list[str]":
    """`path` without relative entries, and without the working folder and the folder of the script
    that runs.

    The folder that powertui itself came from is kept as the last one: our other packages may lie
    beside it.
    """
    unwanted = {_identity("."), _identity(os.path.dirname(program)) if program else None} - {None}  # noqa: PTH120
    home_identity = _identity(home())
    entries = []
    last = []
    library = os.path.dirname(os.__file__)  # noqa: PTH120
    for entry in path:
        if not isinstance(entry, str) or not os.path.isabs(entry):  # noqa: PTH117
            continue
        identity = _identity(entry)
        if (
            identity is None
            or identity not in unwanted
            or entry == library
            or entry.endswith(_PACKAGE_FOLDERS)
        ):
            entries.append(entry)
        elif identity == home_identity:
            last.append(entry)
    return entries + last


def clean() -> None:
    """Take the working folder off this process's path, when the process is ours."""
    if is_program():
        sys.path[:] = cleaned(sys.path)


def _identity(path: str) -> "tuple[int, int] | None":
    try:
        status = os.stat(path or ".")  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
