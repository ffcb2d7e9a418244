"""Which work of a PyTorch trace's devices a table counts: what touches the window, what is tied to
a call, what exchanges with other devices.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_links import COPIES, Links
from powertui.data.window import touches

_COMMUNICATION = re.compile(r"nccl|rccl|cross_device_reduce", re.IGNORECASE)
_COPY_KERNEL = re.compile(
    r"MEMORY_COPY_(?:HOST_TO_DEVICE|DEVICE_TO_HOST|DEVICE_TO_DEVICE)|"
    r"__amd_rocclr_copyBuffer(?:Rect)?(?:Aligned)?(?:\.kd)?"
)
NO_PYTORCH = (
    "This is not a PyTorch trace. Its ops are in framework_op_stats, its kernels in kernel_stats."
)
NO_WORK = "No work of a device is linked to a call of this profile."


def in_window(links: Links, question: Question, rows: Bools) -> Bools:
    """Which of these rows touch the window."""
    if question.is_of_all_time:
        return rows
    tracks = [track for _, track in links.trace.tracks()]
    start = np.zeros(len(rows), np.int64)
    for line in wire.distinct(links.device.line).tolist():
        on_line = links.device.line == line
        rows_on_line = links.device.row[on_line]
        start[on_line] = tracks[line].events.start[rows_on_line]
    lo, hi = question.window
    end = start + links.device.duration
    return rows & touches(start, end, lo, hi)


def unlinked_note(links: Links, question: Question) -> tuple[str, ...]:
    """How much work of the window no call is known of."""
    count = int(in_window(links, question, links.device.call < 0).sum())
    if not count:
        return ()
    why = (
        "were launched before the profile began, or by calls that it does not contain: they "
        "are left out"
    )
    return (f"{count:,} events on devices {why}.",)


def communicates(links: Links) -> Bools:
    """Which work exchanges with other devices."""
    return _by_name(links, _is_communication)


def copies(links: Links) -> Bools:
    """Which work copies: TraceLens also takes AMD's copying kernels for that."""
    return _by_name(links, _is_copy)


def _is_communication(name: str, kind: str) -> bool:
    return kind not in COPIES and _COMMUNICATION.search(name) is not None


def _is_copy(name: str, kind: str) -> bool:
    return kind in COPIES or _COPY_KERNEL.fullmatch(name) is not None


def _by_name(links: Links, matches: Callable[[str, str], bool]) -> Bools:
    """Which work has a name and a category that match; each name is asked once."""
    names = links.trace.names
    kinds = links.device.kind
    name_matches = np.zeros(len(names), np.bool_)
    for index in wire.distinct(links.device.name).tolist():
        name_matches[index] = matches(names.full(index), kinds[index])
    return name_matches[links.device.name]
