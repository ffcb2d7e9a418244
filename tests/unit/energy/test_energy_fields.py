"""Every field of an energy has a rule wherever energies are put together.

A field that is new fails here until each table below has a line for it: otherwise `replace` would
pass on the value of one part as that of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from powertui.data.energy import counted_energy, energy_rows, integrate, mixture
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.measured_energy import (
    JOULE_FIELDS,
    VALUE_COLUMNS,
    Energies,
    Energy,
    unresolved,
    without_answer,
)
from powertui.data.model import PS_PER_S, Badge
from tests.unit.energy.test_integrate import placed

Rule = Callable[[Sequence[Energy]], Any]
FIELDS = {field.name for field in fields(Energy)}


def energy(number: int, **changes: Any) -> Energy:
    """One whose figures all have a value, each another one."""
    lo_ps = 20 * number * PS_PER_S
    full = Energy(
        lo_ps=lo_ps,
        hi_ps=lo_ps + 10 * PS_PER_S,
        joules=1000.0 * number,
        lo=900.0 * number,
        hi=1100.0 * number,
        gain_j=3.0 * number,
        mean_w=100.0 * number,
        max_w=120.0 * number,
        covered_joules=990.0 * number,
        coverage=1.0 - 0.1 * number,
        is_filled=number > 1,
        badge=Badge.ESTIMATED if number > 1 else Badge.MEASURED,
        resolved=True,
        reason="",
        method="trapezoid",
        other_joules=1005.0 * number,
        sigma_quantum=1.0 * number,
        sigma_sampling=2.0 * number,
        sigma_edges=3.0 * number,
        sigma_timing=4.0 * number,
        idle_joules=400.0 * number,
        active_joules=600.0 * number,
    )
    return replace(full, **changes)


def first(name: str) -> Rule:
    return lambda parts: getattr(parts[0], name)


def total(name: str) -> Rule:
    return lambda parts: sum(getattr(part, name) for part in parts)


def root(name: str) -> Rule:
    return lambda parts: math.hypot(*(getattr(part, name) for part in parts))


def less(name: str) -> Rule:
    """That of the first without that of the others."""
    return lambda parts: 2 * getattr(parts[0], name) - sum(getattr(part, name) for part in parts)


def nothing(_parts: Sequence[Energy]) -> None:
    return None


def anything(_parts: Sequence[Energy]) -> Any:
    """Worked out of the others: tests of the figure itself say how."""
    return ...


def assert_follows(made: Energy | None, rules: Mapping[str, Rule], parts: Sequence[Energy]) -> None:
    assert set(rules) == FIELDS, "a field of Energy without a rule: see CONTRIBUTING.md"
    assert made is not None
    for name, rule in rules.items():
        expected = rule(parts)
        if expected is ...:
            continue
        value = getattr(made, name)
        if isinstance(expected, float):
            expected = pytest.approx(expected)
        assert value == expected, name


IN_ANY_SUM: dict[str, Rule] = {
    "joules": total("joules"),
    "lo": anything,
    "hi": anything,
    "gain_j": anything,
    "covered_joules": total("covered_joules"),
    "resolved": first("resolved"),
    "reason": first("reason"),
    "method": first("method"),
    "other_joules": nothing,
    "sigma_quantum": root("sigma_quantum"),
    "sigma_sampling": root("sigma_sampling"),
    "sigma_edges": root("sigma_edges"),
    "sigma_timing": total("sigma_timing"),
}


def test_channels_that_are_added_up() -> None:
    parts = [replace(energy(number), idle_joules=None, active_joules=None) for number in (1, 2)]
    rules = IN_ANY_SUM | {
        "lo_ps": first("lo_ps"),
        "hi_ps": first("hi_ps"),
        "mean_w": total("mean_w"),
        "max_w": nothing,  # they need not have drawn most at the same time
        "coverage": lambda parts: min(part.coverage for part in parts),
        "is_filled": lambda _parts: True,
        "badge": lambda _parts: Badge.ESTIMATED,
        "idle_joules": nothing,  # split after the sum (`above_idle`)
        "active_joules": nothing,
    }
    assert_follows(counted_energy.combined(parts), rules, parts)


def test_stretches_of_one_channel_and_the_share_of_each() -> None:
    watts = np.repeat([200.0, 300.0, 400.0], 100)
    power = placed(np.arange(300) * 0.1, watts)
    windows = [(1, 6), (12, 18)]
    los = [lo * PS_PER_S for lo, _ in windows]
    his = [hi * PS_PER_S for _, hi in windows]
    parts = list(integrate.energies(power, los, his))
    assert all(part.resolved for part in parts)

    def share(rule: Rule) -> Rule:
        return lambda parts: rule(parts) / len(parts)

    rules = IN_ANY_SUM | {
        "lo_ps": first("lo_ps"),
        "hi_ps": lambda parts: parts[0].lo_ps + 11 * PS_PER_S,
        "mean_w": lambda parts: sum(part.joules or 0.0 for part in parts) / 11,
        "max_w": lambda parts: max(part.max_w or 0.0 for part in parts),
        "coverage": lambda parts: (5 * parts[0].coverage + 6 * parts[1].coverage) / 11,
        "is_filled": first("is_filled"),
        "badge": first("badge"),
        "idle_joules": nothing,
        "active_joules": nothing,
    }
    for name in JOULE_FIELDS:
        if rules[name] not in (anything, nothing):
            rules[name] = share(rules[name])
    assert_follows(integrate.mean_energy(power, los, his), rules, parts)


def test_a_log_with_several_possible_places() -> None:
    weights = (0.25, 0.75)
    parts = [energy(1), energy(2)]

    def mean(name: str) -> Rule:
        return lambda parts: sum(
            weight * getattr(part, name) for weight, part in zip(weights, parts, strict=True)
        )

    def root_of_mean(name: str) -> Rule:
        return lambda parts: math.sqrt(
            sum(
                weight * getattr(part, name) ** 2
                for weight, part in zip(weights, parts, strict=True)
            )
        )

    rules = {
        "lo_ps": first("lo_ps"),
        "hi_ps": first("hi_ps"),
        "joules": mean("joules"),
        "lo": anything,
        "hi": anything,
        "gain_j": mean("gain_j"),
        "mean_w": mean("mean_w"),
        "max_w": lambda parts: max(part.max_w for part in parts),
        "covered_joules": mean("covered_joules"),
        "coverage": mean("coverage"),
        "is_filled": lambda _parts: True,
        "badge": lambda _parts: Badge.ESTIMATED,
        "resolved": first("resolved"),
        "reason": first("reason"),
        "method": first("method"),
        "other_joules": mean("other_joules"),
        "sigma_quantum": root_of_mean("sigma_quantum"),
        "sigma_sampling": root_of_mean("sigma_sampling"),
        "sigma_edges": root_of_mean("sigma_edges"),
        "sigma_timing": anything,
        "idle_joules": anything,  # split after the mixture (`above_idle`): there is none yet
        "active_joules": anything,
    }
    assert_follows(mixture.mixed(weights, parts), rules, parts)


def test_what_is_left_of_a_window_without_its_parts() -> None:
    parts = [energy(10), energy(1), energy(2)]
    rows = [
        EnergyRow(
            kind="epoch",
            name="",
            epoch=None,
            length=part.hi_ps - part.lo_ps,
            energy=part,
        )
        for part in parts
    ]
    rows[0] = replace(rows[0], length=60 * PS_PER_S)
    whole = replace(parts[0], hi_ps=parts[0].lo_ps + 60 * PS_PER_S)
    rows[0] = replace(rows[0], energy=whole)
    parts[0] = whole
    rules = IN_ANY_SUM | {
        "joules": less("joules"),
        "covered_joules": less("covered_joules"),
        "lo_ps": first("lo_ps"),
        "hi_ps": lambda parts: parts[0].lo_ps + 40 * PS_PER_S,
        "mean_w": lambda _parts: 7000.0 / 40,
        "max_w": nothing,
        "coverage": first("coverage"),
        "is_filled": first("is_filled"),
        "badge": first("badge"),
        "sigma_timing": root("sigma_timing"),
        "idle_joules": nothing,
        "active_joules": nothing,
    }
    rest = energy_rows.remainder_row(rows[0], rows[1:], "rest")
    assert rest is not None
    assert_follows(rest.energy, rules, parts)


@pytest.mark.parametrize("without", [lambda whole: without_answer(whole, "why"), mixture.withheld])
def test_a_window_without_an_answer(without: Callable[[Energy], Energy]) -> None:
    open_figures = ("joules", "lo", "hi", "gain_j", "mean_w", "other_joules")
    split = ("idle_joules", "active_joules")
    rules: dict[str, Rule] = {name: first(name) for name in FIELDS}
    rules |= dict.fromkeys((*open_figures, *split), nothing)
    rules |= {"resolved": lambda _parts: False, "reason": anything}
    whole = energy(1)
    assert_follows(without(whole), rules, [whole])
    assert without(whole).reason


def test_every_column_is_a_field_and_every_figure_has_a_column() -> None:
    of_a_row = {"lo_ps", "hi_ps"}
    worked_out = {"gain_j", "is_filled", "badge", "reason", "method"}
    split_later = {"idle_joules", "active_joules"}
    columns = {field.name for field in fields(Energies)} - {"power", "curve"}
    assert columns == set(VALUE_COLUMNS) | of_a_row
    assert columns | worked_out | split_later == FIELDS
    assert set(JOULE_FIELDS) == {
        name for name in FIELDS if "joules" in name or name.startswith("sigma")
    } | {"lo", "hi", "gain_j"}
    assert unresolved(0, 1, "why").joules is None
