"""The table of tools. A tool answers one question about a run with a `Result`; the rest of the
program knows no more of it.

A further tool is one file beside this one with

    def answer(question: Question) -> Result

and one line in `TOOLS`. It then stands in `powertui report --tool NAME`, in
`powertui.open(…)[0].tool("NAME")`, in the palette and on a page of its own, as text, JSON, CSV,
Markdown and DataFrame.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import field, replace
from typing import cast

from powertui.data.asked import Aligning, Compat, ResultSource
from powertui.data.model import Trace
from powertui.data.opened import Opened, Profile
from powertui.data.table import Place, Result, nowhere
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass


@dataclass(frozen=True)
class Question:
    """What is asked of a tool: an opened run, one of its hosts, a window of time (ps; None: all of
    it), where power lies.
    """

    opened: Opened
    host: int = 0  # index of the profile
    lo: int | None = None
    hi: int | None = None
    aligning: Aligning = field(default_factory=Aligning)
    compat: Compat = "corrected"
    match: str = ""  # a regular expression: only events with such names, where a tool asks for it
    choice: str = ""  # what exactly, where a tool can be asked about several: a program, an op
    moment: int | None = None  # where the cursor is (ps), of tools that answer for a moment
    together: bool = (
        False  # of all hosts as one answer; only of tools that combine, and of whole profiles
    )
    results: ResultSource = "ours"  # those that the profiler stored itself, or both

    @property
    def profile(self) -> Profile:
        """The host's profile. Raises `UsageError` for a run without any."""
        profiles = self.opened.profiles
        if not profiles:
            hint = "See what is there: powertui doctor PATH"
            if self.opened.entry.results:
                hint = "What the profiler stored: powertui report PATH --tool recorded_results"
            raise UsageError(f"{plain(self.opened.name, 80)} has no profile.", hint=hint)
        return profiles[min(self.host, len(profiles) - 1)]

    @property
    def parts(self) -> tuple[tuple[Profile, int, int], ...]:
        """(profile, window) of each host that is asked: one, or all of them together."""
        if not self.together:
            return ((self.profile, *self.window),)
        return tuple(
            (profile, profile.trace.span[0], profile.trace.span[1] + 1)
            for profile in self.opened.profiles
        )

    @property
    def is_of_all_time(self) -> bool:
        """Whether no window was named: all of the profile is asked about."""
        return self.lo is None and self.hi is None

    @property
    def window(self) -> tuple[int, int]:
        """The window, with the profile's own ends where none were named: [lo, hi)."""
        lo, hi = self.profile.trace.span
        first, last = lo, hi + 1
        if self.lo is not None:
            first = self.lo
        if self.hi is not None:
            last = self.hi
        return first, last

    def event_place(self, line: int, event: int) -> Place:
        """Where an event of the host is: its line over `Trace.tracks()`, and its row there."""
        trace = self.profile.trace
        return event_place(trace, line, event, run=self.opened.name, host=self.host)


def event_place(trace: Trace, line: int, event: int, *, run: str, host: int) -> Place:
    """Where an event of a trace is in its run."""
    events = trace.track(line).events
    lo = int(events.start[event])
    hi = lo + int(events.duration[event])
    return Place(
        run=run,
        host=host,
        lo=lo,
        hi=hi,
        track=line,
        event=event,
    )


@dataclass(frozen=True)
class Tool:
    """One tool: its name (TensorBoard's, where TensorBoard has it), its title, one sentence, and
    where its code is.
    """

    name: str
    title: str
    about: str
    target: str  # "module:function", imported when it is asked
    combines: bool = False  # whether it can tell of all hosts together
    of_moment: bool = False  # whether it also tells of the moment at which the cursor is
    of_run: bool = False  # whether it has one answer for a run, whichever of its hosts is asked

    def answer(self, question: Question) -> Result:
        """Ask it. The answer is kept with the run, so that asking again costs nothing; of windows
        and choices, the last one's.

        Whoever asks about every step of a run does not want to hold all the answers. Raises
        `UsageError` where all hosts together are asked of a tool that answers for one at a time.
        """
        if self._is_recorded(question):
            return self._recorded(question)
        if question.together:
            self._can_combine(question)
        module, _, function = self.target.partition(":")
        ask = cast(
            "Callable[[Question], Result]", getattr(importlib.import_module(module), function)
        )
        moment = question.moment if self.of_moment else None
        is_everything = question.is_of_all_time and moment is None
        kind = (
            "tool",
            self.name,
            "all" if question.together else question.host,
            "whole" if is_everything and not question.choice else "part",
        )
        key = (
            *kind,
            question.lo,
            question.hi,
            question.aligning,
            question.compat,
            question.match,
            question.choice,
            moment,
        )
        answer = question.opened.cached(
            key, lambda: _placeless(ask(question)) if question.together else ask(question)
        )
        if kind[-1] == "part":
            question.opened.forget(*kind, but=key)
        return answer

    def _is_recorded(self, question: Question) -> bool:
        """Whether the profiler's own result is meant: asked for, or all that is there."""
        entry = question.opened.entry
        if question.results != "ours":
            return True
        if entry.profiles or not entry.results:
            return False
        from powertui.data.tools.recorded.answers import recorded_tools

        return self.name in recorded_tools(entry)

    def _recorded(self, question: Question) -> Result:
        """What the profiler stored for this tool, or how it differs from what is computed here."""
        from powertui.data.tools.recorded.answers import recorded_answer
        from powertui.data.tools.recorded.differences import differences

        opened = question.opened
        recorded = recorded_answer(opened, question.host, self.name, self.title)
        if question.results != "differences" or not opened.entry.profiles:
            return recorded
        key = ("recorded differences", self.name, question.host, question.compat)
        whole = replace(question, results="ours", lo=None, hi=None)
        return opened.cached(key, lambda: differences(recorded, self.answer(whole)))

    def _can_combine(self, question: Question) -> None:
        if not self.combines:
            able = ", ".join(tool.name for tool in TOOLS if tool.combines)
            raise UsageError(
                f"{self.name} answers for one host at a time.", hint=f"All hosts together: {able}."
            )
        if question.lo is not None or question.hi is not None:
            raise UsageError(
                "A window is on the clock of one host.",
                hint="Name the host, or ask for all hosts without --from and --to.",
            )


def _placeless(result: Result) -> Result:
    """Rows that stand for several hosts lie in none of them."""
    tables = [replace(table, place=nowhere) for table in result.tables]
    return replace(result, tables=tuple(tables))


_HERE = "powertui.data.tools"
_ENERGY = (
    "powertui.data.energy.results"  # stands above the tools: named here, imported when it is asked
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "overview_page",
        "Overview",
        "What limits the run, by how much, what to do; its steps by category, its ops, its joules.",
        "powertui.data.overview.overview_page:answer",
        combines=True,
    ),
    Tool(
        "input_pipeline_analyzer",
        "Input pipeline",
        "Whether steps wait for their input, and what the host does for it.",
        "powertui.data.overview.input_page:answer",
        combines=True,
    ),
    Tool(
        "tf_data_bottleneck_analysis",
        "tf.data",
        "The iterators of each tf.data pipeline, and which of them is too slow.",
        f"{_HERE}.tf_data:answer",
    ),
    Tool(
        "op_stats",
        "Ops",
        "What ran, by name: count, total and self time.",
        "powertui.data.energy.op_energy:answer",
    ),
    Tool(
        "framework_op_stats",
        "Framework ops",
        "Framework ops on host and device: count, time, self time, with and without idle.",
        f"{_HERE}.framework_op_stats:answer",
        combines=True,
    ),
    Tool(
        "hlo_stats",
        "HLO ops",
        "XLA's ops one by one: count, time, self time, rates where costs are known.",
        f"{_HERE}.hlo_stats:answer",
    ),
    Tool(
        "op_profile",
        "Op profile",
        "Where the devices' time went, by category, program and scope, and how well it was used.",
        f"{_HERE}.op_profile:answer",
    ),
    Tool(
        "roofline_model",
        "Roofline",
        "FLOPs and bytes of each op, its rates, and whether compute or memory bounds it.",
        f"{_HERE}.roofline:answer",
    ),
    Tool(
        "memory_viewer",
        "Memory of a program",
        "The memory that XLA planned for a program: its peak, and the buffers that make it up.",
        f"{_HERE}.memory_viewer:answer",
    ),
    Tool(
        "graph_viewer",
        "Graph of a program",
        "An op of XLA with its operands, its users and what is fused in it: a graph to walk.",
        f"{_HERE}.graph_viewer:answer",
    ),
    Tool(
        "kernel_stats",
        "GPU kernels",
        "Kernels by name, shape and op: count, total, average, shortest, longest.",
        f"{_HERE}.kernel_stats:answer",
        combines=True,
    ),
    Tool(
        "neuron_ops",
        "Neuron operators",
        "AWS Neuron: framework and HLO ops by core, fused ops opened, and the operator timeline.",
        f"{_HERE}.neuron_ops:answer",
    ),
    Tool(
        "gpu_timeline",
        "GPU timeline",
        "PyTorch: how the devices spent their time; exposed communication and copies.",
        f"{_HERE}.torch_tables:gpu_timeline",
    ),
    Tool(
        "ops_summary",
        "PyTorch operators",
        "PyTorch: operators by the time of the kernels that they launched.",
        f"{_HERE}.torch_operators:ops_summary",
    ),
    Tool(
        "kernel_summary",
        "Kernels by operator",
        "PyTorch: kernels by operator and stream.",
        f"{_HERE}.torch_tables:kernel_summary",
    ),
    Tool(
        "collectives",
        "Collectives",
        "Collectives by kind and size: time, algorithm and bus bandwidth.",
        f"{_HERE}.collectives:answer",
    ),
    Tool(
        "event_sets",
        "Event sets",
        "Events by name: count, average, deviation, percentiles, first and last.",
        f"{_HERE}.event_sets:answer",
    ),
    Tool(
        "overlap",
        "Overlap",
        "What runs at the same time as an event or a window, on all lines, by name and time.",
        f"{_HERE}.overlap:answer",
    ),
    Tool(
        "steps",
        "Steps",
        "Every step: its times, its joules, its distance from the median, what its time went to.",
        "powertui.data.energy.step_table:answer",
    ),
    Tool(
        "step_ops",
        "What took longer",
        "A step against the median: each op in both, and its share of the difference.",
        f"{_HERE}.step_ops:answer",
    ),
    Tool(
        "hosts",
        "Hosts",
        "Every host side by side: a step by category, what the slowest one costs, who came late.",
        "powertui.data.energy.hosts_page:answer",
        of_run=True,
    ),
    Tool(
        "late_ranks",
        "Late ranks",
        "Collectives across ranks: who came last, what the others waited, in s and J; clocks.",
        "powertui.data.energy.late_ranks_page:answer",
        of_run=True,
    ),
    Tool(
        "epochs",
        "Epochs",
        "Every epoch: its start and end, its steps, its scalars.",
        f"{_HERE}.epochs:answer",
    ),
    Tool(
        "end_to_end",
        "End to end",
        "The whole training: start, tracing, steps, validation, checkpoints, gaps; joules of each.",
        "powertui.data.training.end_to_end:answer",
    ),
    Tool(
        "counters",
        "Counters",
        "Memory in use, clock rates and other quantities that the trace recorded.",
        f"{_HERE}.counters:answer",
    ),
    Tool(
        "memory_profile",
        "Memory",
        "What allocators held over time and at most, for which ops, and what is alive when.",
        f"{_HERE}.memory_profile:answer",
        of_moment=True,
    ),
    Tool(
        "energy",
        "Energy",
        "Joules of every epoch and step, with their intervals.",
        f"{_ENERGY}:energy",
    ),
    Tool(
        "findings",
        "Findings",
        "Stretches that drew power or took time beyond what the trace explains.",
        f"{_ENERGY}:findings",
    ),
    Tool(
        "sensors",
        "Sensors",
        "Channels of power found with the run, and what each resolves.",
        f"{_ENERGY}:sensors_found",
    ),
    Tool(
        "run_environment",
        "Run environment",
        "Where and how the program ran: command, versions, hosts, devices, all that files say.",
        f"{_HERE}.run_environment:answer",
    ),
    Tool(
        "recorded_results",
        "Recorded results",
        "The pages that the profiler itself stored beside the profile, or without one.",
        f"{_HERE}.recorded.answers:all_recorded",
    ),
)


# What older versions of TensorBoard's profiler call them.
_ONCE = {
    "tensorflow_stats": "framework_op_stats",
    "input_pipeline": "input_pipeline_analyzer",
    "hlo_op_profile": "op_profile",
    "pod_viewer": "hosts",
}


def named_tool(words: str) -> Tool | None:
    """The tool of this name or title, or the only one whose name begins so; None for no other."""
    wanted = _as_name(words)
    wanted = _ONCE.get(wanted, wanted)
    for tool in TOOLS:
        if wanted in (tool.name, _as_name(tool.title)):
            return tool
    begun = _begun_by(wanted)
    if len(begun) == 1:
        return begun[0]
    return None


def _as_name(words: str) -> str:
    return words.strip().lower().replace(" ", "_")


def _begun_by(wanted: str) -> list[Tool]:
    return [tool for tool in TOOLS if wanted and tool.name.startswith(wanted)]


def get(name: str) -> Tool:
    """The tool of this name (`named_tool`). Raises `UsageError` with the names that there are."""
    tool = named_tool(name)
    if tool is not None:
        return tool
    import difflib  # only for an unknown name

    wanted = _as_name(name)
    near = [tool.name for tool in _begun_by(wanted)]
    near = near or difflib.get_close_matches(wanted, [tool.name for tool in TOOLS], 1)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    else:
        hint = f"There are: {', '.join(tool.name for tool in TOOLS)}."
    raise UsageError(f"There is no tool {plain(name, 40)!r}.", hint=hint)
