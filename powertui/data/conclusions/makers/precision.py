"""Devices that compute in 32 bit where 16 may do, and ops that run one by one."""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.tools import framework_advice, top_ops
from powertui.data.tools.framework import Framework

_MAX_HALF_SHARE = 0.10  # of the devices' compute in 16 bit: TensorBoard's threshold
_MIN_COMPUTE_SHARE = 0.30  # of a step: below, faster ops gain little. Chosen, not measured.
_MIN_EAGER_SHARE = 0.10  # of the ops' own time: TensorBoard's threshold


def single_precision(inquiry: Inquiry) -> Iterator[Conclusion]:
    """Computing that leaves the tensor cores unused."""
    shares = inquiry.shares
    if shares is None or shares.half is None:
        return
    if shares.half >= _MAX_HALF_SHARE or shares.compute < _MIN_COMPUTE_SHARE:
        return
    yield Conclusion(
        kind=Kind.PRECISION,
        sentence=f"{percent(1 - shares.half)} of the devices' computing is in 32 bit.",
        short="32 bit",
        confidence=Confidence.UNSURE,
        evidence=Evidence("kernel_stats"),
        next=framework_advice.MIXED_PRECISION[inquiry.framework],
        doubt="The profile does not show whether less precision is enough.",
    )


def eager_ops(inquiry: Inquiry) -> Iterator[Conclusion]:
    """TensorFlow's ops that ran one by one instead of in a function."""
    if inquiry.framework is not Framework.TENSORFLOW:
        return
    sides = top_ops.sides(inquiry.question.parts, inquiry.question.compat)
    for where, share in (("host", sides.host_eager), ("device", sides.device_eager)):
        if share is not None and share > _MIN_EAGER_SHARE:
            yield Conclusion(
                kind=Kind.EAGER,
                sentence=f"{percent(share)} of the ops' time on the {where} runs eagerly, op by "
                "op.",
                short=f"eager {whole_percent(share)}",
                confidence=Confidence.LIKELY,
                evidence=Evidence("framework_op_stats"),
                next=framework_advice.COMPILE_STEP[inquiry.framework],
            )
