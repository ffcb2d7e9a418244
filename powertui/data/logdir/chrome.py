"""Which JSON files of a folder are traces in Chrome's form, whatever their names: each is a run of
its own.

PyTorch's are told apart before (pytorch.py). What powertui itself exported is a trace, too, but
nobody's run: it opens when named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from powertui.data.formats import filenames
from powertui.data.logdir.tree import FoundFile, head_of
from powertui.patterns import late_pattern

_ENDING = late_pattern(r"\.json(?:\.gz)?$", re.IGNORECASE)
_HEAD_BYTES = 16_384  # that are looked at; chosen, not measured
_MIN_SCORE = 70  # of the reader, for a file that is no bare list of events
_EVENT = late_pattern(rb'"ph"\s*:\s*"[A-Za-z]"')


def traces(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Those of these files that are Chrome traces by their heads, and that no name tells of."""
    from powertui.data.formats import trace_json

    out = []
    for file in files:
        if (
            not _ENDING.search(file.name)
            or file.size < 32
            or filenames.split_tool(file.name) is not None
        ):
            continue
        head = head_of(file.path, _HEAD_BYTES)
        if not _EVENT.search(head) or b'"powertui":' in head:
            continue
        # A bare list of events with times needs no other sign.
        is_list = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and b'"ts"' in head
        if trace_json.sniff(head, file.path) >= (1 if is_list else _MIN_SCORE):
            out.append(file)
    return out


def stem(file: FoundFile) -> str:
    """Its name without its ending."""
    return _ENDING.sub("", file.name)


def suffix(file: FoundFile) -> str:
    """As the reader names such files."""
    if file.name.lower().endswith(".gz"):
        return "trace.json.gz"
    return "trace.json"
