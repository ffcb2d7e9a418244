"""What Kineto calls its events: what each category is, names with their categories, `args` under
the names that the rest of the program asks for, and devices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from powertui.data.formats import stat_columns
from powertui.data.formats.json_stats import ArgStats, PairNames, clean, stat
from powertui.data.model import Stat, StatColumn, UInt64s

# By category, in lower case: releases before 2022 write `Kernel`, `Memcpy`, `Operator`, `Runtime`.
DEVICE_WORK = frozenset(
    (
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "memcpy",
        "memset",
        "mtia_ccp_events",
        "hpu_op",
        "privateuse1_kernel",
    )
)
# Drawn on a device's streams, but no work of the device.
DEVICE_COPIES = frozenset(("gpu_user_annotation", "cuda_sync"))
_PYTHON = "python_function"
_ADDRESS = re.compile(r"(?<=\S) at 0x[0-9a-fA-F]+(?=>)")
_SYNTHETIC = frozenset(("trace",))  # the profiling window itself
# What an event is, by its category.
DROPPED, HOST, FRAMES, WORK, ANNOTATIONS, SYNCHRONIZATION = range(6)
# A stat of the host: the `ts` of the trace's zero.
ZERO = "ts of the trace's zero (us)"
# Properties of a device whose names differ in the rest of the program.
_PROPERTY_NAMES = {"name": "device_name"}
_DIGIT_GROUP = re.compile(r"\d+")


def category_of(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower()


def kind_of(category: str) -> int:
    if category in _SYNTHETIC:
        return DROPPED
    if category in DEVICE_WORK:
        return WORK
    if category == "gpu_user_annotation":
        return ANNOTATIONS
    if category in DEVICE_COPIES:
        return SYNCHRONIZATION
    return FRAMES if category == _PYTHON else HOST


class LaunchStats(ArgStats):
    """The `args`, also under the names that the rest of the program asks for.

    A launch and its kernel share a `correlation_id`; `kernel_details` says how a kernel was
    launched.
    """

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """As in ArgStats."""
        plain = [_KINETO_NAMES.get(name, name) for name in names if name != "kernel_details"]
        if "kernel_details" not in names:
            columns = super().columns(positions, plain)
        else:
            columns = super().columns(positions, list(dict.fromkeys((*plain, *_LAUNCH))))
            texts = [columns[name].texts or () for name in _LAUNCH]
            details = [
                _details(dict(zip(_LAUNCH, row, strict=True))) for row in zip(*texts, strict=True)
            ]
            columns["kernel_details"] = stat_columns.from_texts(details)
        return {name: columns[_KINETO_NAMES.get(name, name)] for name in names}


_KINETO_NAMES = {"correlation_id": "correlation"}
_LAUNCH = {
    "grid": "grid",
    "block": "block",
    "registers per thread": "regs",
    "shared memory": "static_shared",
    "est. achieved occupancy %": "occ_pct",
}


def _details(args: dict[str, str | None]) -> str | None:
    """A launch as NVIDIA's collector writes it; None for an event that is no kernel.

    `regs:32 static_shared:0 grid:4,1,1 block:64,1,1`
    """
    if not args["grid"] or not args["block"]:
        return None
    parts = []
    for name, value in args.items():
        if value:
            parts.append(f"{_LAUNCH[name]}:{value.strip('[]').replace(' ', '')}")
    return " ".join(parts)


class CategoryNames(PairNames):
    """Event names, each with its category: one text in two categories is two names."""

    def __init__(self) -> None:
        super().__init__()
        self._index_by_category: dict[tuple[str, str], int] = {}
        self._categories: list[str] = []

    def name_number(self, category: str, name: str) -> int:
        """The index of a name in a category; a new index for a new name."""
        index = self._index_by_category.get((category, name))
        if index is None and category == _PYTHON and _ADDRESS.search(name):
            # Where an object lay in memory says nothing, and makes a name of every object.
            index = self.name_number(category, _ADDRESS.sub("", name))
            self._index_by_category[category, name] = index
        if index is None:
            index = self._index_by_category[category, name] = self.add(name, name)
            self._categories.append(clean(category))
        return index

    def stats(self, index: int) -> tuple[Stat, ...]:
        """What holds for every event of this name: its category, in small letters ("cpu_op")."""
        category = self._categories[index]
        return (Stat("cat", category, "str"),) if category else ()


def device_stats(device: dict[str, Any]) -> tuple[Stat, ...]:
    """The properties of a device as stats."""
    return tuple(
        stat(_PROPERTY_NAMES.get(key, clean(key)), value)
        for key, value in device.items()
        if key != "id" and isinstance(value, (str, int, float))
    )


def device_number(arg: Any, place: Any) -> int:
    """The number of a device or stream: its arg, else that in the pid or tid ("stream 7").

    0 is a number like any other.
    """
    for value in (arg, place):
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31:
            return value
        if isinstance(value, str):
            match = _DIGIT_GROUP.search(value)
        else:
            match = None
        if match is not None and len(match[0]) < 10:
            return int(match[0])
    return 0
