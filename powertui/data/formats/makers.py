"""What writers of JSON traces say in words of their own: which process is a device, and from when
their times count.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_GPU = re.compile(r"(?:\d+ )?GPU ?(\d+)|Device (\d+)|(?:RANK \d+ )?DEVICE (\d+)(?:\.\d+)?<.*>")
_HOST = re.compile(r"(?:\d+ )?CPU ((?:HIP|HSA|roctx|markers|functions).*)", re.IGNORECASE)
_PLAIN = {"CUDA functions": "/device:GPU:0", "Ascend Hardware": "/device:NPU:0"}


def process_name(label: str) -> str:
    """A process under the name that devices and hosts have everywhere, where its writer calls them
    otherwise.

    rocprof: "1 GPU0", "0 CPU HIP API"; PyTorch up to 1.8: "CUDA functions"; unitrace: "RANK 0
    DEVICE 1<node>"; nsys: "Device 0"; Ascend: "Ascend Hardware".
    """
    gpu = _GPU.fullmatch(label)
    if gpu is not None:
        return f"/device:GPU:{int(next(filter(None, gpu.groups())))}"
    host = _HOST.fullmatch(label)
    return _PLAIN.get(label) or (f"/host:CPU {host[1]}" if host is not None else label)


class TimeOrigin(NamedTuple):
    """What the times of a trace count from."""

    unix_ns: int
    member: str  # by this member of the file


_NS_OF = {  # where it stands → how many ns one of it is
    ("baseTimeNanoseconds",): 1,  # Kineto
    ("viztracer_metadata", "baseTimeNanoseconds"): 1,
    ("beginningOfTime",): 1_000,  # clang -ftime-trace
    ("otherData", "profile_start_ts"): 1_000_000,  # Bazel
}
_UNIX_NS = (10**17, 4 * 10**18)  # three years … 2096


def origin_of(key: str, value: Any) -> TimeOrigin | None:
    """From a member beside the events; None where it says nothing of the kind."""
    for (first, *rest), ns in _NS_OF.items():
        member = value if first == key else None
        for name in rest:
            member = member.get(name) if isinstance(member, dict) else None
        if (
            isinstance(member, (int, str))
            and not isinstance(member, bool)
            and str(member).isdecimal()
            and len(str(member)) < 20
        ):
            unix_ns = int(member) * ns
            if _UNIX_NS[0] < unix_ns < _UNIX_NS[1] or (
                key == "baseTimeNanoseconds" and unix_ns < _UNIX_NS[1]
            ):
                return TimeOrigin(unix_ns, rest[-1] if rest else first)
    return None
