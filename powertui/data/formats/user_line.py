"""Which line of a stack of calls is the user's: the innermost that is no library's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from powertui.data.formats.snapshot_records import StackFrame

# Files of libraries, of C++ and of no file at all.
_LIBRARY = re.compile(
    r"(^|[/\\])(site-packages|dist-packages|lib[/\\]python3[^/\\]*|torch)[/\\]|^<|^\?*$"
    r"|\.(cpp|cc|cxx|c|cu|cuh|h|hpp|so)(\.\d+)*$"
)
_MAX_TEXT = 300  # letters of a line; names of C++ run to thousands


def user_line(frames: Sequence[StackFrame]) -> str:
    """The line as "train.py:31 forward"; "" for an empty stack.

    Of a stack of libraries alone it is their innermost Python line, else the innermost call.
    """
    if not frames:
        return ""
    python = [frame for frame in frames if frame.file.endswith(".py")]
    own = [frame for frame in python if not _LIBRARY.search(frame.file)]
    chosen = (own or python or list(frames))[0]
    if not chosen.file or chosen.file == "??":
        return chosen.function[:_MAX_TEXT]
    name = PurePosixPath(chosen.file.replace("\\", "/")).name
    return f"{name}:{chosen.line} {chosen.function}"[:_MAX_TEXT].rstrip()
