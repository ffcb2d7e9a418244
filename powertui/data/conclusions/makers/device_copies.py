"""Copies of devices in a step: those that a breakdown counts as launching, or as idle time."""

from __future__ import annotations

import numpy as np

from powertui.data.tools import wall_time
from powertui.data.tools.activity import ActivityKind
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.named_tuples import NamedTuple

# What a breakdown counts as copies, or as waiting for input.
_COUNTED = (
    EventType.HOST_TO_DEVICE,
    EventType.DEVICE_TO_HOST,
    EventType.DEVICE_TO_DEVICE,
    EventType.WAIT_DEVICE,
)


class SharesWithCopies(NamedTuple):
    """The parts of the steps' time, with copies to devices told from launching and idling."""

    shares: Shares
    to_devices: float  # copies that `shares.input` does not hold


def with_copies(question: Question, steps: Breakdown, shares: Shares) -> SharesWithCopies:
    """The same shares, where a device that copies does not idle.

    By TensorBoard's rules it does; whoever asks by those gets the shares as they are.
    """
    if question.compat != "corrected" or not steps.has_device:
        return SharesWithCopies(shares, 0.0)
    to_devices = _hidden_share(question, steps.usual())
    return SharesWithCopies(
        shares._replace(
            launch=max(0.0, shares.launch - to_devices),
            idle=max(0.0, shares.idle - shares.between - to_devices),
        ),
        to_devices,
    )


def _hidden_share(question: Question, steps: Breakdown) -> float:
    """Share of the steps in which a device copies and computes nothing, while a launch hides that:
    the call that copies pageable memory lasts as long as the copy.
    """
    all_ps = float(steps.length.sum(dtype=np.float64))
    if len(question.parts) > 1 or not all_ps:
        return 0.0
    copying = wall_time.wall_time(question.profile).timeline[ActivityKind.DEVICE_COPYING]
    copying_ps = float(copying.inside(steps.start, steps.start + steps.length).sum())
    counted_ps = float(steps.time_by_type(_COUNTED).sum(dtype=np.float64))
    launch_ps = float(steps.time_by_type((EventType.HOST_PREPARE,)).sum(dtype=np.float64))
    return max(0.0, min(copying_ps - counted_ps, launch_ps)) / all_ps
