"""What writers of JSON traces say in words of their own: which process is a device, and from when
their times count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from powertui.data.model import Stat
from powertui.named_tuples import NamedTuple

_GPU = re.compile(r"(?:\d+ )?GPU ?(\d+)|Device (\d+)|(?:RANK \d+ )?DEVICE (\d+)(?:\.\d+)?<.*>")
_HOST = re.compile(r"(?:\d+ )?CPU ((?:HIP|HSA|roctx|markers|functions).*)", re.IGNORECASE)
_AIU = re.compile(r"AIU (?:Device ?)?(\d{1,9})")
_IS_AIU = re.compile(r"\bAIU\b|\bspyre\b", re.IGNORECASE)  # in a device's properties
_PLAIN = {
    "CUDA functions": "/device:GPU:0",
    "Ascend Hardware": "/device:NPU:0",
    # torch-neuronx' timeline of operators: one core, its work by module, framework op and HLO op
    "Process Execution": "/device:NeuronCore:0",
}


def process_name(label: str) -> str:
    """A process under the name that devices and hosts have everywhere, where its writer calls them
    otherwise.

    rocprof: "1 GPU0", "0 CPU HIP API"; PyTorch up to 1.8: "CUDA functions"; unitrace: "RANK 0
    DEVICE 1<node>"; nsys: "Device 0"; Ascend: "Ascend Hardware"; IBM's AIU: "AIU 0", "AIU Device0".
    """
    gpu = _GPU.fullmatch(label)
    if gpu is not None:
        number = next(filter(None, gpu.groups()))
        return f"/device:GPU:{int(number)}"
    aiu = _AIU.fullmatch(label)
    if aiu is not None:
        return f"/device:AIU:{int(aiu[1])}"
    if label in _PLAIN:
        return _PLAIN[label]
    host = _HOST.fullmatch(label)
    if host is not None:
        return f"/host:CPU {host[1]}"
    return label


def holds_aiu_registers(head: bytes) -> bool:
    """Whether a trace's events hold the registers of IBM's AIU, by its beginning (aiu_power)."""
    return b'"TS4"' in head and b'"Power"' in head


def is_aiu(properties: Iterable[Stat]) -> bool:
    """Whether a device is IBM's AIU, by its properties as PyTorch's traces list them."""
    return any(_IS_AIU.search(str(stat.value)) is not None for stat in properties)


class TimeOrigin(NamedTuple):
    """What the times of a trace count from."""

    unix_ns: int
    member: str  # by this member of the file


_NS_OF = {  # where it stands → how many ns one of it is
    ("baseTimeNanoseconds",): 1,  # Kineto
    ("neuronStartTimestampNs",): 1,  # torch-neuronx
    ("viztracer_metadata", "baseTimeNanoseconds"): 1,
    ("beginningOfTime",): 1_000,  # clang -ftime-trace
    ("otherData", "profile_start_ts"): 1_000_000,  # Bazel
}
_UNIX_NS = (10**17, 4 * 10**18)  # three years … 2096
_MAX_DIGITS = 20  # of a time in ns: an int64 has 19


def origin_of(key: str, value: Any) -> TimeOrigin | None:
    """From a member beside the events; None where it says nothing of the kind."""
    for (first, *rest), ns in _NS_OF.items():
        member = value if first == key else None
        for name in rest:
            if isinstance(member, dict):
                member = member.get(name)
            else:
                member = None
        count = _whole_number(member)
        if count is None:
            continue
        earliest_ns, end_ns = _UNIX_NS
        if key == "baseTimeNanoseconds":
            earliest_ns = -1  # the name alone says what it is: a small number counts as well
        if earliest_ns < count * ns < end_ns:
            return TimeOrigin(count * ns, rest[-1] if rest else first)
    return None


def _whole_number(member: Any) -> int | None:
    """A number, or the text of one."""
    if not isinstance(member, (int, str)) or isinstance(member, bool):
        return None
    text = str(member)
    if text.isdecimal() and len(text) < _MAX_DIGITS:
        return int(text)
    return None
