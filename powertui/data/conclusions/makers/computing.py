"""The operations that computing consists of, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from powertui.data.category import Category
from powertui.data.conclusions.words import seconds
from powertui.data.model import PS_PER_S
from powertui.data.tools.name_classes import NameClass, name_class
from powertui.data.tools.top_ops import Top
from powertui.plain import plain

# Share of all ops' time from which on a sentence names an op, and a page draws the largest. Chosen,
# not measured.
MIN_NAMED_OP_SHARE = 0.05
_NO_COMPUTING = frozenset((Category.COMMUNICATION.value, Category.INPUT.value))
# Other sentences tell of these: a callback that is "87 % of all ops' time" is no computing.
_NAMED_ELSEWHERE = frozenset(
    (
        NameClass.COPY,
        NameClass.CALLED_PYTHON,
        NameClass.WAIT,
        NameClass.INPUT_AHEAD,
        NameClass.COMPILE,
    )
)


def notable_op(ops: Sequence[Top], computing_ps: float) -> Top | None:
    """The op that computed longest, where that is much of all ops' and of the computing time."""
    # Ops come by time: behind the first of too small a share there are smaller ones alone.
    notable = takewhile(lambda op: op.share >= MIN_NAMED_OP_SHARE, ops)
    first = next(filter(_is_computing, notable), None)
    if first is None or first.self_time < MIN_NAMED_OP_SHARE * computing_ps:
        return None
    return first


def _is_computing(op: Top) -> bool:
    if op.category in _NO_COMPUTING:
        return False
    return (
        name_class(op.name) not in _NAMED_ELSEWHERE and name_class(op.type) not in _NAMED_ELSEWHERE
    )


def notable_op_sentence(op: Top | None, ops: Sequence[Top]) -> str:
    """What computes longest, as a sentence without its full stop; "" for nothing notable.

    Beside a wait or input that takes longer it is not the largest op.
    """
    if op is None:
        return ""
    of_what = "The largest op" if op == ops[0] else "The largest op that computes"
    return f". {of_what} is {op_words(op)}"


def op_words(op: Top) -> str:
    """An op with its self time: "dense/MatMul (3.77 s in all)".

    A share would be of the framework's ops alone, beside one of everything in the op table.
    """
    where = ""
    if op.replicas > 1:
        where = f" on {op.replicas} replicas"
    return f"{_short_name(op.name)}{where} ({seconds(op.self_time / PS_PER_S)} in all)"


def _short_name(name: str) -> str:
    """The end of a path, which names the op: "…/convolution/Conv2DBackpropFilter"."""
    parts = plain(name, 200).split("/")
    if len(parts) < 4:
        return "/".join(parts)
    return "…/" + "/".join(parts[-2:])
