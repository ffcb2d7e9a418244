"""Kernels of one operator that are one op on one side and several on the other.

Libraries choose kernels by device and shape: what one kernel does on an H100 two do on an MI300.
None of them has a counterpart, but together they do the same: what the operator asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from powertui.data.compare.figure import Family
from powertui.data.compare.measured import Measured
from powertui.data.compare.op_figures import ON_DEVICE
from powertui.data.compare.values import ComparedValue, OpIdentity, ValueKey

# Of more operators together nobody can say what they do. Chosen: so many fit into a name.
_MAX_OPERATORS = 3


def with_joint_kernels(
    a: Sequence[Measured],
    b: Sequence[Measured],
) -> tuple[list[Measured], list[Measured]]:
    """The same runs, with one op for kernels that stand for the same operators on both sides."""
    names_a = {key for run in a for key in run.values}
    names_b = {key for run in b for key in run.values}
    kernels_of_a = _without(_kernels(a), names_b)
    kernels_of_b = _without(_kernels(b), names_a)
    joint = _joint_names(kernels_of_a, kernels_of_b)
    if not joint:
        return list(a), list(b)
    joined_a = [_joined_run(run, joint) for run in a]
    joined_b = [_joined_run(run, joint) for run in b]
    return joined_a, joined_b


def _kernels(runs: Iterable[Measured]) -> dict[ValueKey, frozenset[str]]:
    """The operators of each kernel of a library."""
    kernels = {}
    for run in runs:
        for key, value in run.values.items():
            if key.family is Family.OP and key.within == ON_DEVICE and value.identity is not None:
                operators = _operators(value.identity)
                if operators:
                    kernels[key] = operators
    return kernels


def _without(
    kernels: Mapping[ValueKey, frozenset[str]],
    other: set[ValueKey],
) -> dict[ValueKey, frozenset[str]]:
    """Those that the other side lacks."""
    return {key: operators for key, operators in kernels.items() if key not in other}


def _operators(identity: OpIdentity) -> frozenset[str]:
    """What launched a kernel; nothing for what a compiler made, which is an op of its own."""
    if identity.is_numbered or not identity.path:
        return frozenset()
    paths = identity.path.split(" | ")
    return frozenset(path.rpartition("/")[2] for path in paths)


def _joint_names(
    a: Mapping[ValueKey, frozenset[str]],
    b: Mapping[ValueKey, frozenset[str]],
) -> dict[ValueKey, ValueKey]:
    """For each kernel of a group that both sides have the op that stands for all of it."""
    groups: list[tuple[set[str], set[ValueKey]]] = []
    for key, operators in (*a.items(), *b.items()):
        names = set(operators)
        members = {key}
        apart = []
        for group in groups:
            names_of_group, members_of_group = group
            if names_of_group & names:
                names |= names_of_group
                members |= members_of_group
            else:
                apart.append(group)
        groups = [*apart, (names, members)]
    joint = {}
    for names, members in groups:
        if len(names) > _MAX_OPERATORS:
            continue
        if members & a.keys() and members & b.keys():
            listed = ", ".join(sorted(names))
            key = ValueKey(
                family=Family.OP,
                name=f"kernels of {listed}",
                unit="s",
                within=ON_DEVICE,
            )
            joint.update(dict.fromkeys(members, key))
    return joint


def _joined_run(run: Measured, joint: Mapping[ValueKey, ValueKey]) -> Measured:
    values = {}
    for key, value in run.values.items():
        group = joint.get(key)
        if group is None:
            values[key] = value
        else:
            before = values.get(group, ComparedValue(0.0))
            values[group] = ComparedValue(before.value + value.value)
    return replace(run, values=values)
