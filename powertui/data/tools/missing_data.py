"""Why a tool can have no answer for a profile, told without asking the tool.

A reason is given only where the answer is certain to be empty: a list of tools is gray where a look
is in vain, and asking all of them would take longer than the list is looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from powertui.data import name_shapes
from powertui.data.opened import Opened, Profile
from powertui.data.run import stat_carriers
from powertui.data.tools.framework import Framework, framework_of

_NO_DEVICE = "This profile describes no device."
_NOT_PYTORCH = "Only profiles of PyTorch have this."
_NOT_NEURON = "This run has no operators of AWS Neuron."
_NO_STEPS = "No steps were found. Name what marks them: --step-marker REGEX."


def missing_data(tool: str, opened: Opened, index: int) -> str:
    """Why this tool has nothing to say of the profile with this index; "" where it may have."""
    if tool == "recorded_results" or (opened.entry.results and not opened.entry.profiles):
        return _not_recorded(tool, opened)
    if tool in ("energy", "sensors"):
        return opened.why_no_power
    if not opened.profiles:
        return "This run has no profile."
    reason = _REASONS.get(tool)
    if reason is None or (tool == "neuron_ops" and _has_neuron_table(opened)):
        return ""
    last = len(opened.profiles) - 1
    profile = opened.profiles[min(index, last)]
    return profile.cached(("missing data", tool), lambda: reason(profile))


def _not_recorded(tool: str, opened: Opened) -> str:
    """Of what the profiler stored itself: all there is where the run has no profile."""
    from powertui.data.tools.recorded.answers import recorded_tools

    tools = recorded_tools(opened.entry)
    if tool == "recorded_results":
        return "" if tools else "The profiler stored no result beside this profile."
    return "" if tool in tools else "The profiler stored no result of this page."


def _has_neuron_table(opened: Opened) -> bool:
    """Whether a table of operators is stored beside the profile."""
    return any(file.tool.startswith("neuron_") for file in opened.entry.results)


def _device(profile: Profile) -> str:
    return "" if profile.trace.devices else _NO_DEVICE


def _pytorch(profile: Profile) -> str:
    if framework_of(profile.trace) is Framework.PYTORCH:
        return ""
    return _NOT_PYTORCH


def _pytorch_on_device(profile: Profile) -> str:
    return _pytorch(profile) or _device(profile)


def _tf_data(profile: Profile) -> str:
    has_iterators = name_shapes.beginning(profile.trace.names, "Iterator::").any()
    return "" if has_iterators else "No pipeline of tf.data was recorded."


def _hlo_ops(profile: Profile) -> str:
    trace = profile.trace
    for process in trace.processes:
        tracks = [track for track in process.tracks if len(track.events)]
        if tracks and stat_carriers.carried(trace, process, tracks, ("hlo_op",))["hlo_op"].any():
            return ""
    return "No event names an HLO op: XLA did not run this program, or it was not recorded."


def _programs(profile: Profile) -> str:
    has_programs = any(
        process.name.startswith("/host:metadata") for process in profile.trace.processes
    )
    return "" if has_programs else "This profile holds no program of XLA."


def _hlo_ops_or_device(profile: Profile) -> str:
    if not profile.trace.devices:
        return _hlo_ops(profile)
    return ""


def _ops_with_costs(profile: Profile) -> str:
    reason = _hlo_ops_or_device(profile)
    return reason if reason and _pytorch_on_device(profile) else ""


def _steps(profile: Profile) -> str:
    return "" if len(profile.steps) else _NO_STEPS


def _epochs(profile: Profile) -> str:
    return "" if len(profile.epochs) else "This profile has no epochs."


def _counters(profile: Profile) -> str:
    return "" if profile.trace.all_counters() else "The trace recorded no counters."


def _allocators(profile: Profile) -> str:
    if profile.trace.allocators:
        return ""
    return "This profile holds no events of an allocator."


def _neuron(profile: Profile) -> str:
    from powertui.data.tools.neuron_ops import has_operators

    return "" if has_operators(profile.trace) else _NOT_NEURON


_REASONS: dict[str, Callable[[Profile], str]] = {
    "collectives": _device,
    "counters": _counters,
    "epochs": _epochs,
    "gpu_timeline": _pytorch_on_device,
    "hlo_stats": _hlo_ops,
    "hosts": _steps,
    "input_pipeline_analyzer": _steps,
    "kernel_stats": _device,
    "kernel_summary": _pytorch_on_device,
    "graph_viewer": _programs,
    "memory_viewer": _programs,
    "memory_profile": _allocators,
    "neuron_ops": _neuron,
    "op_profile": _hlo_ops_or_device,
    "ops_summary": _pytorch,
    "roofline_model": _ops_with_costs,
    "step_ops": _steps,
    "steps": _steps,
    "tf_data_bottleneck_analysis": _tf_data,
}
