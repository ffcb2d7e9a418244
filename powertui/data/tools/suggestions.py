"""The smart suggestions of today's converter (xprof), rule by rule, in our own words.

Each rule looks at a few signals and fires beyond a threshold. It is silent where a signal is not
known.
"""

from __future__ import annotations

from collections.abc import Callable

from powertui.data.tools import framework_advice
from powertui.data.tools.advice import Advice, percent
from powertui.data.tools.framework import Framework
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


@dataclass(frozen=True)
class _Thresholds:
    """Shares from which a rule fires.

    All are the converter's, except the two that say so: they were chosen, not measured.
    docs/tools.md lists them beside their suggestions.
    """

    input: float = 0.10  # of the steps' time
    transfer: float = 0.30  # of the time that input takes
    processing: float = 0.50  # of the time that input takes
    collectives: float = 0.30  # of a step
    shuffles: float = 0.30  # of the devices' time
    core_idle: float = 0.10  # of a TPU's step
    sparse: float = 0.10  # of a TPU's step
    barrier: float = 0.10  # of a TPU's step
    infeed: float = 0.05  # of a TPU's step
    enqueue: float = 0.10  # of the steps' time; ours: the converter does not publish its own
    printing: float = 0.05  # of the steps' time
    async_done: float = 0.10  # of the devices' busy time
    max_memory_used: float = 0.50  # of the devices' memory
    special_op: float = 0.10  # of the devices' time; ours, as the rule is


_FROM = _Thresholds()
# Shares of the peak of memory and of arithmetic: above the first one of them limits the devices,
# if the other one is below the second.
HIGH_UTILIZATION = 0.70
LOW_UTILIZATION = 0.50


class Signals(NamedTuple):
    """Shares from 0 to 1; None where one is not known."""

    input: float | None = None  # of the steps' time
    transfer: float | None = None  # of the time for input: copies to the device
    collectives: float | None = None  # of the steps' time
    shuffles: float | None = None  # of the devices' time: gathering, scattering, transposing
    memory: float | None = None  # of the bandwidth of the devices' memory
    arithmetic: float | None = None  # of the matrix units, or of the FLOP/s
    special: tuple[str, float] | None = None  # the op that takes most of the devices' time
    # Of a TPU's step: neither computing nor waiting for anything that is known.
    core_idle: float | None = None
    sparse: float | None = None  # of a TPU's step, waiting for the sparse cores
    barrier: float | None = None  # of a TPU's step, in barrier-cores
    infeed: float | None = None  # of a TPU's step
    enqueue: float | None = None  # of the steps' time, in EnqueueDevice on the host
    printing: float | None = None  # of the steps' time, in debug_print
    # Of the devices' busy time: all-reduce and all-gather that end asynchronously.
    async_done: float | None = None
    memory_used: float | None = None  # at the most, of the devices' memory


def matching_advice(signals: Signals, framework: Framework = Framework.TENSORFLOW) -> list[Advice]:
    """Return the advice of every rule that fires, in the order of the rules.

    What is said of the input is said in the words of the framework.
    """
    matches = []
    for rule in RULES:
        advice = rule(signals)
        if advice is not None:
            matches.append(advice)
    if framework is Framework.TENSORFLOW:
        return matches
    do = framework_advice.READ_AHEAD[framework]
    return [
        advice._replace(do=do, page="input_pipeline_analyzer")
        if advice.page == "tf_data_bottleneck_analysis"
        else advice
        for advice in matches
    ]


def _input_bound(s: Signals) -> Advice | None:
    if s.input is None or s.input <= _FROM.input:
        return None
    if s.transfer is not None:  # the two rules below say more
        return None
    return Advice(
        id="input_bound",
        weight="high",
        what=f"{percent(s.input)} of a step waits for input.",
        do="See which part of the input takes it.",
        page="input_pipeline_analyzer",
    )


def _data_transfer(s: Signals) -> Advice | None:
    if s.input is None or s.input <= _FROM.input:
        return None
    if s.transfer is None or s.transfer < _FROM.transfer:
        return None
    what = (
        f"{percent(s.input)} of a step waits for input, {percent(s.transfer)} of that for "
        "copies to the device."
    )
    return Advice(
        id="data_transfer",
        weight="high",
        what=what,
        do="Copy fewer and larger pieces, and prefetch to the device.",
        page="input_pipeline_analyzer",
    )


def _host_processing(s: Signals) -> Advice | None:
    if s.input is None or s.input <= _FROM.input:
        return None
    if s.transfer is None or 1 - s.transfer < _FROM.processing:
        return None
    what = (
        f"{percent(s.input)} of a step waits for input, {percent(1 - s.transfer)} of that for "
        "reading and preparing it on the host."
    )
    return Advice(
        id="host_processing",
        weight="high",
        what=what,
        do="Prepare in parallel, or once before training.",
        page="tf_data_bottleneck_analysis",
    )


def _memory_bound(s: Signals) -> Advice | None:
    if (
        s.memory is None
        or s.arithmetic is None
        or s.memory <= HIGH_UTILIZATION
        or s.arithmetic >= LOW_UTILIZATION
    ):
        return None
    what = f"Memory runs at {percent(s.memory)} of its peak, arithmetic at {percent(s.arithmetic)}."
    return Advice(
        id="memory_bound",
        weight="high",
        what=what,
        do="Fuse element-wise ops, use smaller types, or do more with what was read.",
        page="op_profile",
    )


def _compute_bound(s: Signals) -> Advice | None:
    if (
        s.memory is None
        or s.arithmetic is None
        or s.arithmetic <= HIGH_UTILIZATION
        or s.memory >= LOW_UTILIZATION
    ):
        return None
    what = f"Arithmetic runs at {percent(s.arithmetic)} of its peak, memory at {percent(s.memory)}."
    return Advice(
        id="compute_bound",
        weight="hint",
        what=what,
        do=(
            "The device is used well: only less work (smaller types, sparsity) or more devices "
            "make it faster."
        ),
        page="op_profile",
    )


def _sparse_core_offload(s: Signals) -> Advice | None:
    if s.async_done is None or s.async_done <= _FROM.async_done:
        return None
    if s.memory_used is None or s.memory_used >= _FROM.max_memory_used:
        return None
    what = (
        f"{percent(s.async_done)} of the devices' time ends asynchronous collectives, "
        f"and at most {percent(s.memory_used)} of the memory is used."
    )
    return Advice(
        id="sparse_core_offload",
        weight="hint",
        what=what,
        do="Let collectives begin earlier, or run on the sparse cores.",
        page="op_profile",
    )


def _host_cpu_bound(s: Signals) -> Advice | None:
    if s.infeed is None or s.infeed < _FROM.infeed:
        return None
    if s.enqueue is None or s.enqueue < _FROM.enqueue:
        return None
    return Advice(
        id="host_cpu_bound",
        weight="high",
        what=f"EnqueueDevice takes {percent(s.enqueue)} of the steps' time on the host while the "
        f"TPU's cores wait for infeed in {percent(s.infeed)}.",
        do="Give the host more CPU time, or let the sparse cores format the data.",
        page="op_stats",
    )


def _special_op(s: Signals) -> Advice | None:
    if s.special is None or s.special[1] < _FROM.special_op:
        return None
    return Advice(
        id="special_op",
        weight="hint",
        what=f"{s.special[0]} alone takes {percent(s.special[1])} of the devices' time.",
        do="See its kernels, shapes and use of tensor cores.",
        page="kernel_stats",
    )


@dataclass(frozen=True)
class _ShareRule:
    """A rule for one signal alone: it fires from a threshold on."""

    signal: str  # of `Signals`; its threshold has the same name
    id: str
    weight: str
    what: str  # {} is the share
    do: str
    page: str

    def __call__(self, signals: Signals) -> Advice | None:
        share: float | None = getattr(signals, self.signal)
        if share is None or share < getattr(_FROM, self.signal):
            return None
        return Advice(
            id=self.id,
            weight=self.weight,
            what=self.what.format(percent(share)),
            do=self.do,
            page=self.page,
        )


RULES: tuple[Callable[[Signals], Advice | None], ...] = (
    _input_bound,
    _data_transfer,
    _host_processing,
    _ShareRule(
        signal="collectives",
        id="collective_bound",
        weight="high",
        what="Collectives take {} of a step.",
        do=(
            "Overlap them with computing, or send less: gradients in 16 bit, larger buckets, "
            "accumulation."
        ),
        page="op_stats",
    ),
    _ShareRule(
        signal="shuffles",
        id="data_shuffle",
        weight="high",
        what="Gathering, scattering, sorting and transposing take {} of the devices' time.",
        do="Keep layouts as the ops want them, and gathered sizes at multiples of 128.",
        page="op_stats",
    ),
    _memory_bound,
    _compute_bound,
    _ShareRule(
        signal="core_idle",
        id="tensor_core_idle",
        weight="high",
        what="The TPU's cores do nothing in {} of a step.",
        do="See what the host does before each launch, and whether programs are dispatched ahead.",
        page="timeline",
    ),
    _ShareRule(
        signal="sparse",
        id="sparse_core_bound",
        weight="high",
        what="The TPU's cores wait for the sparse cores in {} of a step.",
        do="Overlap embedding look-ups with the dense layers, or shard the tables more evenly.",
        page="op_profile",
    ),
    _sparse_core_offload,
    _ShareRule(
        signal="barrier",
        id="barrier_cores",
        weight="high",
        what="The TPU's cores wait for each other in {} of a step (barrier-cores).",
        do="Look for a host or a core that is slower than the others.",
        page="overview_page",
    ),
    _ShareRule(
        signal="infeed",
        id="infeed",
        weight="moderate",
        what="The TPU's cores wait for infeed in {} of a step.",
        do="Prepare and enqueue batches ahead.",
        page="input_pipeline_analyzer",
    ),
    _host_cpu_bound,
    _ShareRule(
        signal="printing",
        id="debug_print",
        weight="moderate",
        what="debug_print takes {} of the steps' time.",
        do="Take jax.debug.print out of the step.",
        page="op_stats",
    ),
    _special_op,
)
