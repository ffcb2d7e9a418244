"""What the time of each step went to: the categories of TensorBoard, and what it computed by kinds
of work.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import category
from powertui.data.category import Category
from powertui.data.model import Floats
from powertui.data.names_in_words import type_in_words
from powertui.data.opened import Profile
from powertui.data.tools import step_kinds
from powertui.data.tools.breakdown import CATEGORIES, Breakdown
from powertui.data.tools.step_kinds import StepKinds
from powertui.named_tuples import NamedTuple

# The category that work is counted as, without and with a device.
_COMPUTED = ("host_compute", "device_compute")
# What kinds of work are called where they are parts of a step: "input" is what it waits for there.
OTHER_OPS = "other ops"
_LABELS = category.SHORT_NAMES | {
    Category.INPUT: "input ops",
    Category.OTHER: OTHER_OPS,
}
# Shares of all self time, chosen by eye: a kind with less is among the other ops; one with more is
# told by its op types; of these one with less is not told.
_MIN_KIND_SHARE, _MIN_SPLIT_SHARE, _MIN_TYPE_SHARE = 0.05, 0.4, 0.08
# A kind that has so much of any one step is told although it has little of all: tracing in the
# first step.
_MIN_SHARE_OF_A_STEP = 0.3
# Of the four shades of a kind: light, middle and dark lie side by side.
_SHADES_OF_TYPES, _SHADE_OF_REST = (1, 0, 2), 3


class StepPart(NamedTuple):
    """A part of the time of steps."""

    label: str
    times: Floats  # ps, of each step
    kind: str = ""  # the kind of work; "" of a category that is none
    shade: int = 0  # which of several of one kind


def step_time_parts(profile: Profile, steps: Breakdown) -> list[StepPart] | None:
    """The categories of each step's time; in place of what it computes the kinds of work, in
    proportion to their self time while the step ran. None where kinds are not known.
    """
    if steps.compat != "corrected" or not len(steps):
        return None
    computed = _COMPUTED[steps.has_device]
    computed_ps = steps.category(computed).astype(np.float64)
    work = step_kinds.step_kinds(
        profile,
        steps.start,
        steps.length,
        devices=steps.has_device,
    )
    if work is None or not computed_ps.any() or not work.self_ps.any():
        return None
    parts: list[StepPart] = []
    for id, label, _, _ in CATEGORIES:
        times = steps.category(id).astype(np.float64)
        if id == computed:
            computed_parts = _computed_parts(label, computed_ps, work)
            parts = [*computed_parts, *parts]
        elif times.any():
            parts.append(StepPart(label, times))
    return parts


def _computed_parts(label: str, computed_ps: Floats, work: StepKinds) -> Iterator[StepPart]:
    """What is computed, by kinds; whole where nothing is known to have run during a step."""
    sums = work.self_ps.sum(axis=1)
    divisors = np.maximum(sums, 1)
    for part in _work_parts(work):
        times = computed_ps * part.times / divisors
        yield part._replace(times=times)
    without_kinds = np.where(sums > 0, 0.0, computed_ps)
    if without_kinds.any():
        yield StepPart(label, without_kinds)


def _work_parts(work: StepKinds) -> Iterator[StepPart]:
    """The kinds of work with most self time first; of the kind that has much of it the op types
    apart. What is small is one part at the end.
    """
    all_ps = float(work.self_ps.sum())
    step_ps = np.maximum(work.self_ps.sum(axis=1), 1)
    columns_of_kind: dict[Category, list[int]] = {}
    for column, op_kind in enumerate(work.kinds):
        columns_of_kind.setdefault(op_kind.category, []).append(column)
    by_kind = {}
    for kind, columns in columns_of_kind.items():
        by_kind[kind] = work.self_ps[:, columns].sum(axis=1)
    rest = np.zeros(len(work.self_ps))
    for kind in sorted(by_kind, key=lambda kind: -float(by_kind[kind].sum())):
        times = by_kind[kind]
        share = float(times.sum()) / all_ps
        is_small = share < _MIN_KIND_SHARE
        if is_small:
            shares_of_steps = times / step_ps
            is_small = float(shares_of_steps.max()) < _MIN_SHARE_OF_A_STEP
        if is_small or kind is Category.OTHER:
            rest = rest + times
            continue
        large = _large_types(work, columns_of_kind[kind], all_ps)
        shade = 0
        if share >= _MIN_SPLIT_SHARE and len(large) > 1:
            shade = _SHADE_OF_REST
            for type_shade, column in zip(_SHADES_OF_TYPES, large, strict=False):
                type_times = work.self_ps[:, column]
                times = times - type_times
                type_label = type_in_words(work.kinds[column].op_type)
                part = StepPart(type_label, type_times, kind.value, type_shade)
                yield part
        if times.any():
            yield StepPart(_LABELS[kind], times, kind.value, shade)
    if rest.any():
        label = _LABELS[Category.OTHER]
        yield StepPart(label, rest, Category.OTHER.value)


def _large_types(work: StepKinds, columns: list[int], all_ps: float) -> list[int]:
    """The columns of the op types that have much of all self time, the largest first."""
    large = []
    for column in columns:
        has_type = bool(work.kinds[column].op_type)
        type_ps = float(work.self_ps[:, column].sum())
        if has_type and type_ps >= _MIN_TYPE_SHARE * all_ps:
            large.append((-type_ps, column))
    large.sort()
    most = len(_SHADES_OF_TYPES)
    return [column for _, column in large[:most]]
