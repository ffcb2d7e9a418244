"""Which op of one run is which of another: by name, then by module path and shape.

A name without a compiler's number is the op's own. A numbered one says little: where the program's
path and the shape are known they go first. What fits nothing keeps its name, and is listed on its
side.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from powertui.data.compare.figure import Family
from powertui.data.compare.measured import Measured
from powertui.data.compare.op_identity import without_number
from powertui.data.compare.values import OpIdentity, ValueKey, Values

_Ops = Mapping[ValueKey, "OpIdentity | None"]
_RUNTIME = re.compile(r"^(?:cuda|hip)(?=[A-Z])")
_Sign = Callable[[ValueKey, "OpIdentity | None"], "Hashable | None"]


def with_common_names(runs: Sequence[Measured]) -> list[Measured]:
    """The same runs, each op under the name that the first run with it has for it."""
    common: dict[ValueKey, OpIdentity | None] = {}
    renamed = []
    for run in runs:
        ops = _ops(run.values)
        keys = _new_keys(common, ops)
        for key, identity in ops.items():
            common.setdefault(keys.get(key, key), identity)
        if keys:
            renamed.append(replace(run, values=_renamed(run.values, keys)))
        else:
            renamed.append(run)
    return renamed


def _ops(values: Values) -> dict[ValueKey, OpIdentity | None]:
    ops = {}
    for key, value in values.items():
        if key.family is Family.OP:
            ops[key] = value.identity
    return ops


def _renamed(values: Values, keys: Mapping[ValueKey, ValueKey]) -> Values:
    renamed: Values = {}
    for key, value in values.items():
        new = keys.get(key, key)
        if new == key:
            renamed[new] = value
        else:
            renamed[new] = value._replace(own_name=key.name)
    return renamed


def _new_keys(common: _Ops, ops: _Ops) -> dict[ValueKey, ValueKey]:
    """What the ops of a run are called where that is not their own name."""
    pairs = counterparts(common, ops)
    keys = {}
    for key in ops:
        new = pairs.get(key)
        if new is None:
            # Its name may be that of another op by now.
            if key not in common:
                new = key
            else:
                new = _told_apart(key, ops[key], common)
        if new != key:
            keys[key] = new
    return keys


def _told_apart(key: ValueKey, identity: OpIdentity | None, common: _Ops) -> ValueKey:
    """A name that no op has yet."""
    if identity is not None and identity.path:
        where = identity.path
    else:
        where = "another"
    name = f"{key.name} ({where})"
    while key._replace(name=name) in common:
        name += "'"
    return key._replace(name=name)


def counterparts(common: _Ops, ops: _Ops) -> dict[ValueKey, ValueKey]:
    """For each op of a run which of another run it is; those without a counterpart are left out."""
    pairs: dict[ValueKey, ValueKey] = {}
    left = dict(common)
    right = dict(ops)
    for sign, only_ones in (
        (_same_in_all, True),
        (_named_by_people, True),
        (_number_changed, False),
        (_name_changed, True),
        (_shape_changed, True),
        (_by_name, True),
        (_same_call, True),
        (_number_of_unknown_place, True),
    ):
        for first, second in _pairs(left, right, sign, only_ones=only_ones):
            pairs[second] = first
            del left[first], right[second]
    return pairs


def _pairs(
    left: _Ops,
    right: _Ops,
    sign: _Sign,
    *,
    only_ones: bool,
) -> list[tuple[ValueKey, ValueKey]]:
    """Ops with one sign: where either side has one of them, else as many, in the order of their
    numbers.
    """
    left_by_sign = _by_sign(left, sign)
    right_by_sign = _by_sign(right, sign)
    pairs: list[tuple[ValueKey, ValueKey]] = []
    for mark, first in left_by_sign.items():
        second = right_by_sign.get(mark, [])
        is_clear = len(first) == 1 or not only_ones
        if len(first) == len(second) and is_clear:
            first.sort(key=_by_number)
            second.sort(key=_by_number)
            pairs += zip(first, second, strict=True)
    clear_pairs = []
    for left_key, right_key in pairs:
        if _may_be_one(left[left_key], right[right_key], sign):
            clear_pairs.append((left_key, right_key))
    return clear_pairs


def _by_sign(ops: _Ops, sign: _Sign) -> dict[Hashable, list[ValueKey]]:
    by_sign: dict[Hashable, list[ValueKey]] = defaultdict(list)
    for key, identity in ops.items():
        mark = sign(key, identity)
        if mark is not None:
            by_sign[mark].append(key)
    return by_sign


def _by_number(key: ValueKey) -> tuple[int, str]:
    return len(key.name), key.name


def _may_be_one(a: OpIdentity | None, b: OpIdentity | None, sign: _Sign) -> bool:
    """Whether two ops that a name brings together do the same, as far as both say."""
    if a is None or b is None:
        return True
    if sign is _by_name:
        are_numbered = a.is_numbered and b.is_numbered
        if not are_numbered:
            return True
    elif sign is not _number_of_unknown_place:
        return True
    if not a.path or not b.path:
        return True
    return a.end_of_path == b.end_of_path


# ── what two ops have in common, from the surest to the least ────────────────────────────────────


def _same_in_all(key: ValueKey, identity: OpIdentity | None) -> Hashable | None:
    return key, identity


def _named_by_people(key: ValueKey, identity: OpIdentity | None) -> Hashable | None:
    if identity is not None and identity.is_numbered:
        return None
    return key


def _number_changed(key: ValueKey, identity: OpIdentity | None) -> Hashable | None:
    if identity is None or not identity.path:
        return None
    return key.within, without_number(key.name), identity.path, identity.shape


def _name_changed(key: ValueKey, identity: OpIdentity | None) -> Hashable | None:
    if identity is None or not identity.path:
        return None
    return key.within, identity.path, identity.shape


def _shape_changed(key: ValueKey, identity: OpIdentity | None) -> Hashable | None:
    if identity is None or not identity.path:
        return None
    return key.within, without_number(key.name), identity.path


def _by_name(key: ValueKey, _: OpIdentity | None) -> Hashable | None:
    return key


def _same_call(key: ValueKey, _: OpIdentity | None) -> Hashable | None:
    """`cudaLaunchKernel` is `hipLaunchKernel` on AMD's devices."""
    if _RUNTIME.match(key.name) is None:
        return None
    return key.within, _RUNTIME.sub("", key.name)


def _number_of_unknown_place(key: ValueKey, _: OpIdentity | None) -> Hashable | None:
    return key.within, without_number(key.name)
