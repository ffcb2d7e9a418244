"""What each event stands for in the breakdown of a step: TensorBoard's types, by its rules, from
the least telling to the most.

At each moment the most telling type that is active counts (`sweep`). Which type an event has, its
name says, and for a few names a stat. Two of the rules differ by mode: collectors write copies as
`MemcpyH2D`, which TensorFlow's rules do not know, so that they count as compute there; `corrected`
takes them for what they are.
"""

from __future__ import annotations

import enum
from functools import lru_cache

from powertui.data import category, kernel_names
from powertui.data.asked import Compat
from powertui.data.category import Category
from powertui.data.model import (
    Bools,
    Names,
)
from powertui.data.name_shapes import name_shapes
from powertui.data.run.marks import STEP_MARKS
from powertui.patterns import late_pattern


class EventType(enum.IntEnum):
    """The types, by priority: TensorBoard's, and below them two of ours.

    Only `corrected` has the two. A thread that runs Python or the runtime computes nothing, and
    is no idle thread either.
    """

    UNKNOWN = 0
    PYTHON = 1
    RUNTIME = 2
    HOST_COMPUTE = 3
    HOST_COMPILE = 4
    HOST_TO_HOST = 5
    HOST_TO_DEVICE = 6
    HOST_PREPARE = 7
    COLLECTIVES = 8
    WAIT_INPUT = 9
    DEVICE_TO_DEVICE = 10
    DEVICE_TO_HOST = 11
    COMPUTE_32 = 12
    COMPUTE_16 = 13
    WAIT_DEVICE = 14
    WAIT_HOST = 15


_READ_CHARACTERS = 64  # of a name: what it stands for is said at its beginning
KINDS = len(EventType)
MARK = 254  # marks a step: no work itself
NOTHING = 255  # counts nowhere

_DROPPED = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
# While XLA's executor on a CPU waits here, its program runs: partly in threads that record nothing.
_COMPLETION = "ThunkExecutor::Execute (wait for completion)"
_POOLS = "ThreadpoolListener::"  # marks of no length, of which there are very many
_SPEAKING = (
    *STEP_MARKS,
    "ProfilerStep#",
    *_DROPPED,
    _POOLS,
    "InfeedEnqueue",
    "memcpy",
    "ExecutorState::Process",
    "iteratorgetnext",
    "gloo:",
    "mpi:",
    "ucc:",
    "xccl:",
    "c10d::",
    "record_param_comms",
)
_LOW_SPEAKING = tuple(prefix.lower() for prefix in _SPEAKING)
_SPEAKING_PARTS = ("dataloader", "ompil", "autotun")
_COPY_AS_PARSED = late_pattern(r"(?i)^memcpy(htod|dtoh|dtod|htoh)")
_COPY = late_pattern(
    r"(?i)(?:^|hip|cuda)(?:memcpy|copy)[ _]?"
    r"(host ?to ?device|device ?to ?host|device ?to ?device|[hd](?:to|2)[hd]|p(?:to|2)p)"
)
_WAYS = {
    "htod": EventType.HOST_TO_DEVICE,
    "h2d": EventType.HOST_TO_DEVICE,
    "hosttodevice": EventType.HOST_TO_DEVICE,
    "dtoh": EventType.DEVICE_TO_HOST,
    "d2h": EventType.DEVICE_TO_HOST,
    "devicetohost": EventType.DEVICE_TO_HOST,
    "dtod": EventType.DEVICE_TO_DEVICE,
    "d2d": EventType.DEVICE_TO_DEVICE,
    "devicetodevice": EventType.DEVICE_TO_DEVICE,
    "ptop": EventType.DEVICE_TO_DEVICE,
    "p2p": EventType.DEVICE_TO_DEVICE,
    "htoh": EventType.HOST_TO_HOST,
    "h2h": EventType.HOST_TO_HOST,
}
_HOST_COLLECTIVE = late_pattern(
    r"^(?:gloo|mpi|ucc|xccl):|^c10d::|^record_param_comms$"
)  # without a device nothing else runs them
_HALF = late_pattern(
    r"(?i)half|fp16|bf16|bfloat16|[_.](?:h|s)16816|h884|h1688|hgemm|_f16|_hhs_|_bbs_"
)
_INPUT = late_pattern(
    r"^(?:iteratorgetnext|enumerate\(dataloader\)|.*dataloader.*__next__|.*dataloader.*_next_data)"
)
_COMPILING = late_pattern(
    r"(?i)^(?:xlacompile|compile|.*::compile\b|backend_compile|pjrtcompile|.*\bautotun)"
)
# What an op of a TPU does, by the name of its HLO instruction.
_TPU_WAIT_HOST = late_pattern(r"(?i)^%?(?:infeed|recv-?from-?host|host-?recv)")
_TPU_TO_HOST = late_pattern(r"(?i)^%?(?:outfeed|send-?to-?host|host-?send)")
_TPU_COLLECTIVE = late_pattern(
    r"(?i)^%?(?:all-reduce|all-gather|all-to-all|reduce-scatter|collective|cross-replica)"
)
_TPU_BETWEEN = late_pattern(r"(?i)^%?(?:send|recv)\b")
_TPU_IDLE = late_pattern(r"(?i)^%?(?:idle|wait|.*barrier)")


# ── devices ──────────────────────────────────────────────────────────────────────────────────────


@lru_cache(kernel_names.KEPT_NAMES)
def device_kind(name: str, compat: Compat) -> EventType:
    """The type of an event of a GPU's stream."""
    if compat == "corrected":
        copied = _COPY.search(name)
        is_exchange = kernel_names.is_collective(name)
        is_half = _HALF.search(name) is not None
    else:  # as the converters know them: NCCL alone, and copies as no collector writes them
        copied = _COPY_AS_PARSED.search(name)
        is_exchange = name.lower().startswith("nccl")
        is_half = _HALF_AS_PARSED.search(name) is not None
    if copied is not None:
        return _WAYS[copied[1].lower().replace(" ", "")]
    if is_exchange:
        return EventType.COLLECTIVES
    if is_half:
        return EventType.COMPUTE_16
    return EventType.COMPUTE_32


_HALF_AS_PARSED = late_pattern(r"(?i)half|fp16")


def tpu_kind(name: str) -> int:
    for pattern, kind in (
        (_TPU_IDLE, NOTHING),
        (_TPU_WAIT_HOST, EventType.WAIT_HOST),
        (_TPU_TO_HOST, EventType.DEVICE_TO_HOST),
        (_TPU_COLLECTIVE, EventType.COLLECTIVES),
        (_TPU_BETWEEN, EventType.WAIT_DEVICE),
    ):
        if pattern.search(name):
            return int(kind)
    return int(EventType.COMPUTE_16 if "bf16" in name else EventType.COMPUTE_32)


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────


def speaking_names(names: Names, used: Bools) -> Bools:
    """The used names that can stand for more than the host's computing: of hundreds of thousands a
    few.
    """
    return used & name_shapes(names).where(_may_speak)


def _may_speak(name: str) -> bool:
    low = name.lower()
    return low.startswith(_LOW_SPEAKING) or any(part in low for part in _SPEAKING_PARTS)


def host_kind(name: str, *, has_device: bool, compat: Compat) -> int:
    """The type of an event of a host's thread that marks no step."""
    is_corrected = compat == "corrected"
    if name.startswith(_DROPPED) or (is_corrected and name.startswith(_POOLS)):
        return NOTHING
    front = name[:_READ_CHARACTERS]
    low = front.lower()
    if name.startswith("InfeedEnqueue") or low.startswith("memcpyhtod"):
        return int(EventType.HOST_TO_DEVICE)
    if low.startswith("memcpyhtoh"):
        return int(EventType.HOST_TO_HOST)
    # With a device the executor only prepares what runs there.
    if has_device and name.startswith("ExecutorState::Process"):
        return int(EventType.HOST_PREPARE)
    # Asking for the next element is the wait for it, whoever prepares it.
    if low.startswith("iteratorgetnext") or (is_corrected and _INPUT.match(low)):
        return int(EventType.WAIT_INPUT)
    if is_corrected:
        return _corrected_host_kind(front, has_device=has_device)
    return int(EventType.HOST_COMPUTE)


def _corrected_host_kind(front: str, *, has_device: bool) -> int:
    """Types that the converters do not know of a host's events."""
    low = front.lower()
    if not has_device and _HOST_COLLECTIVE.match(low):
        return int(EventType.COLLECTIVES)
    # The test of the words is quicker than the expression, which few names get to.
    if ("ompil" in low or "autotun" in low) and _COMPILING.search(front):
        return int(EventType.HOST_COMPILE)
    return int(EventType.HOST_COMPUTE)


def waits(name: str) -> bool:
    """Whether a name is of Python or of a thread that waits: nothing is computed there."""
    return category.work_category(name) in (Category.PYTHON, Category.IDLE)


def type_by_time(name: str) -> int | None:
    """What the events of a host's name stand for where they count for the time at which they ran;
    None where that is no other than elsewhere.

    A thread that waits does nothing then: what it waits for runs on another one.
    """
    if name.startswith(_COMPLETION):
        return int(EventType.RUNTIME)
    if name in category.HAND_OVER:
        return NOTHING
    kind = category.work_category(name)
    if kind is Category.IDLE:
        return NOTHING
    if kind is Category.RUNTIME:
        return int(EventType.RUNTIME)
    return None
