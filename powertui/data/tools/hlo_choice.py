"""Which program of XLA, and which of its ops, a tool is asked about."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.hlo import Module
from powertui.data.opened import Profile
from powertui.data.table import Place
from powertui.data.tools import xla_ops
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.plain import plain

_MAX_NAMED = 6  # programs that an error names


def named_module(modules: Iterable[Module], name: str) -> Module:
    """The program with this label, number or name. Raises `UsageError` with those there are."""
    listed = list({module.id: module for module in modules}.values())
    for module in listed:
        if name in (module.label, module.id):
            return module
    same_name = [module for module in listed if module.name == name]
    if len(same_name) == 1:
        return same_name[0]
    labels = ", ".join(plain(module.label, 60) for module in (same_name or listed)[:_MAX_NAMED])
    more = ", …" if len(same_name or listed) > _MAX_NAMED else ""
    what = "names several programs" if same_name else "is no program of this profile"
    raise UsageError(f"{plain(name, 60)} {what}.", hint=f"--choice takes: {labels}{more}")


def _ops_that_ran(profile: Profile) -> dict[tuple[str, str], DeviceOp]:
    """The HLO ops of the whole profile that have events, by (program, name).

    A program is found by its label and by its number.
    """

    def work() -> dict[tuple[str, str], DeviceOp]:
        lo, hi = profile.trace.span
        found: dict[tuple[str, str], DeviceOp] = {}
        for op in xla_ops.xla_ops(profile, lo, hi + 1, "corrected").ops:
            for program in (op.program, op.program_id):
                if program:
                    found.setdefault((program, op.hlo_op or op.name), op)
        return found

    return profile.cached("hlo ops that ran", work)


def _op_that_ran(question: Question, module: Module, name: str) -> DeviceOp | None:
    """An op of a program as it ran; None where no event names it."""
    ran = _ops_that_ran(question.profile)
    return ran.get((module.label, name)) or ran.get((module.id, name))


def op_place(question: Question, module: Module, name: str) -> Place | None:
    """Where the longest event of an op is on the timeline."""
    op = _op_that_ran(question, module, name)
    if op is None or not op.events:
        return None
    return question.event_place(*op.events[0])
