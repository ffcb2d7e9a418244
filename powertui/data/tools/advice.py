"""What limits a run, by TensorBoard's thresholds, in our own words; and what else its shares and
ops suggest to look at.

Each piece of advice names the page that shows more.
"""

from __future__ import annotations

from powertui.data.tools import framework_advice
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.framework import Framework
from powertui.data.tools.shares import Shares
from powertui.data.tools.top_ops import Sides
from powertui.named_tuples import NamedTuple

_INPUT_HIGH, INPUT_SOME = 0.20, 0.05
_OUTPUT_HIGH, _OUTPUT_SOME = 0.20, 0.05
_OTHER_HIGH, _OTHER_SOME = 0.15, 0.03  # launching, collectives and all that is not known
_MIN_HALF_SHARE = 0.10  # of the devices' compute in 16 bit: less than this is worth a word
_MAX_EAGER_SHARE = 0.10  # of the ops' own time; more is worth a word
_MIN_COMPILE_SHARE = 0.05  # of the steps' time


class Advice(NamedTuple):
    """One thing to look at: how much it matters, what was seen, what to do, and on which page."""

    id: str
    weight: str  # "high", "moderate", "hint"
    what: str
    do: str
    page: str  # the tool that shows more


def percent(share: float) -> str:
    """A share as a person reads it."""
    return f"{100 * share:.1f} %"


def bound_by_input(shares: Shares | None) -> tuple[str, str]:
    """(TensorBoard's word, in ours): does the program wait for its input."""
    if shares is None:
        return (
            "unknown",
            "No step was measured, so it is not known whether the program waits for its input.",
        )
    if shares.input >= _INPUT_HIGH:
        return (
            "host",
            (
                f"The program waits for its input much of the time: {percent(shares.input)} of its "
                "steps. Fix this first."
            ),
        )
    if shares.input >= INPUT_SOME:
        return (
            "both",
            (
                f"The program waits for its input some of the time: {percent(shares.input)} of its "
                "steps."
            ),
        )
    if shares.other >= _OTHER_SOME:
        return "both", (
            f"{percent(shares.other)} of the steps' time falls into no known category: it may "
            "be input, Python, or both."
        )
    return (
        "device",
        (
            f"The program does not wait for its input ({percent(shares.input)} of its steps): "
            "reading faster gains nothing."
        ),
    )


def input_bound(share: float) -> str:
    """TensorBoard's word for a program that waits for its input in so much of its time."""
    return "host" if share >= _INPUT_HIGH else "both"


_NO_STEPS = "Name what marks a step with --step-marker REGEX."


def of_shares(
    steps: Breakdown,
    shares: Shares | None,
    *,
    framework: Framework,
    asynchronous: bool,
) -> list[Advice]:
    """By the thresholds of the overview page."""
    if shares is None:
        return [
            Advice(
                id="no_steps",
                weight="high",
                what="No step was measured.",
                do=_NO_STEPS,
                page="steps",
            )
        ]
    out = []
    _, words = bound_by_input(shares)
    is_tensorflow = framework is Framework.TENSORFLOW
    if shares.input >= INPUT_SOME:
        out.append(
            Advice(
                id="input",
                weight="high" if shares.input >= _INPUT_HIGH else "moderate",
                what=words,
                do=framework_advice.READ_AHEAD[framework],
                page="tf_data_bottleneck_analysis" if is_tensorflow else "input_pipeline_analyzer",
            )
        )
    launch = "The threads that launch kernels may be short of CPU time"
    launch += (
        ": TF_GPU_THREAD_MODE=gpu_private gives them threads of their own."
        if is_tensorflow and steps.has_device
        else "."
    )
    for id, share, high, some, what, do, page in (
        (
            "kernel_launch",
            shares.launch,
            _OTHER_HIGH,
            _OTHER_SOME,
            "launching kernels",
            launch,
            "op_stats",
        ),
        (
            "other",
            shares.other,
            _OTHER_HIGH,
            _OTHER_SOME,
            "what is no op, input or copy: Python, calls of the framework, or nothing recorded",
            "It may be Python between the ops: see the host's threads.",
            "timeline",
        ),
        (
            "collectives",
            shares.collectives,
            _OTHER_HIGH,
            _OTHER_SOME,
            "collectives",
            "See which, and whether they overlap with computing.",
            "op_stats",
        ),
        (
            "output",
            shares.output,
            _OUTPUT_HIGH,
            _OUTPUT_SOME,
            "copying results to the host",
            "Fetch fewer results, or less often.",
            "op_stats",
        ),
    ):
        if share >= some:
            weight = "high" if share >= high else "moderate"
            out.append(
                Advice(
                    id=id,
                    weight=weight,
                    what=f"{percent(share)} of the steps' time goes into {what}.",
                    do=do,
                    page=page,
                )
            )
    if shares.half is not None and shares.half < _MIN_HALF_SHARE:
        what = f"{percent(shares.half)} of the devices' compute is in 16 bit."
        out.append(
            Advice(
                id="precision",
                weight="hint",
                what=what,
                do="Mixed precision may be faster, if its accuracy is sufficient.",
                page="kernel_stats",
            )
        )
    if shares.compile >= _MIN_COMPILE_SHARE:
        what = f"{percent(shares.compile)} of the steps' time goes into compiling."
        out.append(
            Advice(
                id="compile",
                weight="moderate",
                what=what,
                do="Keep input shapes the same from step to step.",
                page="op_stats",
            )
        )
    if asynchronous:
        what = "Steps are dispatched ahead: a step's mark ends before its work does."
        out.append(
            Advice(
                id="asynchronous",
                weight="hint",
                what=what,
                do="Compare start-to-start times or device times instead.",
                page="steps",
            )
        )
    return out


def of_eager(sides: Sides, framework: Framework) -> list[Advice]:
    """Ops that ran one by one instead of in a function."""
    out = []
    for side, share in (("host", sides.host_eager), ("device", sides.device_eager)):
        if share is not None and share > _MAX_EAGER_SHARE:
            what = f"{percent(share)} of the ops' own time on the {side} ran eagerly."
            out.append(
                Advice(
                    id=f"eager_{side}",
                    weight="hint",
                    what=what,
                    do=framework_advice.COMPILE_STEP[framework],
                    page="framework_op_stats",
                )
            )
    return out
