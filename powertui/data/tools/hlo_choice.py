"""Which program of XLA, and which of its ops, a tool is asked about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from powertui.data import hlo
from powertui.data.hlo import Module
from powertui.data.opened import Profile
from powertui.data.row_card import Lead
from powertui.data.table import Place
from powertui.data.tools import xla_ops
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.plain import plain

_STATS = ("hlo_op", "hlo_module", "program_id")
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
    if same_name:
        what = "names several programs"
        choices = same_name
    else:
        what = "is not a program of this profile"
        choices = listed
    labels = [plain(module.label, 60) for module in choices[:_MAX_NAMED]]
    if len(choices) > _MAX_NAMED:
        labels.append("…")
    hint = f"--choice takes: {', '.join(labels)}"
    raise UsageError(f"{plain(name, 60)} {what}.", hint=hint)


def _ops_that_ran(profile: Profile) -> dict[str, dict[str, DeviceOp]]:
    """The HLO ops of the whole profile that have events, by program and name.

    A program is found by its label and by its number.
    """

    def work() -> dict[str, dict[str, DeviceOp]]:
        lo, hi = profile.trace.span
        ran: dict[str, dict[str, DeviceOp]] = defaultdict(dict)
        for op in xla_ops.xla_ops(profile, lo, hi + 1, "corrected").ops:
            name = op.hlo_op or op.name
            for program in (op.program, op.program_id):
                if program:
                    ran[program].setdefault(name, op)
        return dict(ran)

    return profile.cached("hlo ops that ran", work)


def ops_of(question: Question, module: Module) -> dict[str, DeviceOp]:
    """The ops of a program that have events, by name."""
    ran = _ops_that_ran(question.profile)
    return ran.get(module.label) or ran.get(module.id) or {}


def graph_lead(module: Module, name: str) -> Lead:
    """To an op of a program in its graph."""
    return Lead("its operands and users", "graph_viewer", f"{module.label}/{name}")


def op_lead(question: Question, op: DeviceOp) -> tuple[Lead, ...]:
    """The same of an op that ran; nothing where the profile does not hold its program."""
    programs = hlo.modules(question.profile)
    program_name = op.program.rpartition("(")[0]
    module = hlo.find(programs, op.program_id, program_name)
    name = op.hlo_op or op.name
    if module is None or name not in module.instructions:
        return ()
    return (graph_lead(module, name),)


def op_place(question: Question, module: Module, name: str) -> Place | None:
    """Where the longest event of an op is on the timeline."""
    op = ops_of(question, module).get(name)
    if op is None or not op.events:
        return None
    return question.event_place(*op.events[0])


def event_lead(profile: Profile, track: int, event: int) -> Lead | None:
    """To the op of a program that an event of the timeline stands for."""
    tracks = list(profile.trace.tracks())
    if not 0 <= track < len(tracks):
        return None
    process, line = tracks[track]
    at = line.events.positions(slice(event, event + 1))
    columns = process.source.columns(at, _STATS)
    texts = {}
    for stat in _STATS:
        texts[stat] = columns[stat].text(0) or ""
    name = texts["hlo_op"].rpartition("::")[2]
    programs = hlo.modules(profile)
    module = hlo.find(programs, texts["program_id"], texts["hlo_module"])
    if module is None or name not in module.instructions:
        return None
    return graph_lead(module, name)
