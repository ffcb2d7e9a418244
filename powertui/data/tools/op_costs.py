"""What ops of XLA cost where the profile itself does not say: by the text of their program.

One rule for every table that shows rates, bounds or use of a device. A cost of one run is counted
by `hlo_costs`; how often an op ran follows from its kernels (`DeviceOp.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui import units
from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.opened import Profile

if TYPE_CHECKING:
    from powertui.data.hlo_costs import OpCost, ProgramCosts
    from powertui.data.tools.device_facts import DeviceFacts
    from powertui.data.tools.device_ops import DeviceOp

# Of some ops' time: so much must be of ops whose costs are known, before their use of a device is
# reported. Chosen, not measured.
MIN_COSTED_SHARE = 0.99
_NO_PROGRAM = "the profile holds no text of this op"
_UNCOUNTED = "TensorBoard's converter counts nothing for a product that a library computes"
_FROM_PROFILE, _FROM_PROGRAM = "profile", "program"


def fill_costs(profile: Profile, ops: Iterable[DeviceOp], compat: Compat) -> None:
    """Give each op of XLA the costs that its program tells, where the profile tells none."""
    for op in ops:
        if op.flops is not None and op.bytes is not None:
            op.cost_basis = _FROM_PROFILE
        elif op.hlo_op:
            _fill(profile, op, compat)


def _fill(profile: Profile, op: DeviceOp, compat: Compat) -> None:
    cost = _program_cost(profile, op)
    if cost is not None and compat == "xprof":
        cost = _converter_cost(cost)
    if cost is None:
        op.why_no_cost = _NO_PROGRAM
        if op.flops is not None or op.bytes is not None:
            op.cost_basis = _FROM_PROFILE
        else:
            op.cost_basis = ""
        return
    op.why_no_cost = cost.why
    has_cost = op.flops is not None or op.bytes is not None
    if op.flops is None and cost.flops is not None:
        op.flops = cost.flops * op.runs
        if compat == "xprof" and op.model_flops is None:
            op.model_flops = op.flops
    if op.bytes is None and cost.bytes is not None:
        op.bytes = cost.bytes * op.runs
        if compat == "xprof" and cost.read_bytes is not None:
            op.hbm_bytes = cost.read_bytes * op.runs
    if cost.flops is not None or cost.bytes is not None:
        op.cost_basis = _FROM_PROGRAM
    elif has_cost:
        op.cost_basis = _FROM_PROFILE


def _converter_cost(cost: OpCost) -> OpCost:
    """As TensorBoard's converter counts it (xprof 2.24.2, on two profiles of an MI300)."""
    if cost.is_library_product:
        return replace(cost, flops=None, bytes=None, why=_UNCOUNTED)
    if cost.bytes is None:
        return cost
    # XLA adds an op's bytes up in 32 bit: 64 MiB and 4 bytes are 64 MiB.
    added_up = float(np.float32(cost.bytes))
    if cost.read_bytes is None and added_up != cost.bytes:
        # The converter adds those of the devices' memory up itself, in whole numbers.
        return replace(cost, bytes=added_up, read_bytes=cost.bytes)
    return replace(cost, bytes=added_up)


def _program_cost(profile: Profile, op: DeviceOp) -> OpCost | None:
    """Of one run, by the program's text; None where the profile has none."""
    module = hlo.find(
        hlo.modules(profile),
        op.program_id,
        op.program.rpartition("(")[0],
    )
    if module is None:
        return None
    from powertui.data import hlo_costs  # not for runs without a program of XLA

    costs: ProgramCosts = profile.cached(
        ("hlo costs", module.id), lambda: hlo_costs.program_costs(module)
    )
    return costs.cost(op.hlo_op)


def missing_costs(ops: Sequence[DeviceOp]) -> str:
    """Why too little is known of what ops cost to say how well they used a device, by the one that
    takes most time of those; "" where enough is known.
    """
    whole = max(1, sum(op.self_time for op in ops))
    unknown = [op for op in ops if op.flops is None or op.bytes is None]
    share = sum(op.self_time for op in unknown) / whole
    if share <= 1 - MIN_COSTED_SHARE:
        return ""
    longest = max(unknown, key=lambda op: op.self_time)
    return f"the costs of {units.percent(share)} of the ops' time are not known: {_reason(longest)}"


def _reason(op: DeviceOp) -> str:
    if op.why_no_cost:
        return op.why_no_cost
    return "XLA did not compile them, and their kernels report no FLOPs or bytes"


def missing_peaks(devices: Sequence[DeviceFacts]) -> str:
    """Why the peaks of the devices are not known: by what the profile does not report; "" where
    both are.
    """
    recorded = next((device for device in devices if device.recorded), None)
    if recorded is None:
        return "nothing ran on a device"
    lacks = []
    for word, value in (
        ("FLOP/s", recorded.peak_flops),
        ("memory bandwidth", recorded.bandwidth),
    ):
        if not value:
            lacks.append(word)
    if not lacks:
        return ""
    return f"the profile does not report the device's peak {' and '.join(lacks)}"
