"""Where the facts of a run are from, as lines of text: its hosts, devices, power logs and files,
and the joules that the logs give.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.report import facts, text
from powertui.report.facts import Facts
from powertui.report.text import duration

_MAX_DEVICES = 8  # in one line, of which a page has one; chosen, not measured
_MAX_ALTERNATES = 3


def host_line(profile: Facts) -> str:
    """The host of a profile, how much was recorded there, and in what format."""
    source = profile["format"]
    if profile["size"]:
        source += f", {units.size(profile['size'])}"
        if not profile["complete"]:
            source += ", incomplete"
    host = plain(profile["host"]) or "(no name)"
    events = text.plural(profile["events"], "event")
    lines = text.plural(profile["lines"], "line")
    return f"{host}: {events} on {lines} ({source})"


def device_line(run: Facts) -> str:
    """The devices of a run, and how many of them recorded nothing."""
    names = run["devices"]
    if not names:
        if not run["profiles"]:
            return ""
        if all(profile["complete"] for profile in run["profiles"]):
            return "none: the profile has host threads only"
        return "none in the part of the profile that could be read"
    words = ", ".join(plain(name) for name in names[:_MAX_DEVICES])
    if len(names) > _MAX_DEVICES:
        words += f" and {len(names) - _MAX_DEVICES} more"
    idle = sum(profile["devices_without_events"] for profile in run["profiles"])
    if idle:
        words += f" ({idle} of them recorded nothing)"
    return words


# ── power and energy ─────────────────────────────────────────────────────────────────────────────


def power_lines(channels: Sequence[Facts], not_used: Sequence[str]) -> tuple[list[str], list[str]]:
    """The channels, each with the reason why its log is not used, and reasons that fit none."""
    reasons = _reasons_by_file(channels, not_used)
    lines = []
    for channel in channels:
        line = _channel_line(channel)
        reason = reasons.get(_file_name(channel))
        if reason:
            line += f". {reason}"
        lines.append(line)
    further = [sentence for sentence in not_used if sentence not in reasons.values()]
    return lines, further


def _file_name(channel: Facts) -> str:
    return PurePath(channel["path"]).name


def _reasons_by_file(channels: Sequence[Facts], not_used: Sequence[str]) -> dict[str, str]:
    """Why a log is not used, by its name: the sentence that begins with the name."""
    paths_by_name: dict[str, set[str]] = {}
    for channel in channels:
        paths_by_name.setdefault(_file_name(channel), set()).add(channel["path"])
    reasons = {}
    for name, paths in paths_by_name.items():
        # A sentence names its file without the folder: of two files of one name it fits neither.
        if not name or len(paths) > 1:
            continue
        beginning = f"{plain(name)} "
        for sentence in not_used:
            if sentence.startswith(beginning):
                reasons[name] = sentence
                break
    return reasons


def _channel_line(channel: Facts) -> str:
    """The watts of a channel, how many readings it has, and where it is from.

    The mean of its readings is left out: over time the mean is another one, and energies tell it.
    """
    label = plain(channel["label"])
    readings = text.plural(channel["readings"], "reading")
    span_ps = round(channel["span_s"] * PS_PER_S)
    span = units.duration(span_ps, 3)
    source = plain(channel["source"])
    path = plain(facts.short_path(channel["path"]))
    line = f"{label}: {_watts(channel)}; {readings} over {span} ({source}, {path})"
    if channel["belongs_to"] is None and channel["host"]:
        line += "; of no host of this run"
    return line


def _watts(channel: Facts) -> str:
    lowest = channel["min_watts"]
    highest = channel["max_watts"]
    if lowest is None:
        return "no watts"
    lowest_words = units.watts(lowest)
    highest_words = units.watts(highest)
    if lowest_words == highest_words:
        words = f"{highest_words} W"
    else:
        words = f"{lowest_words} to {highest_words} W"
    if channel["limit_watts"] is not None:
        words += f", limit {units.watts(channel['limit_watts'])} W"
    return words


def energy_lines(energy: Facts) -> list[str]:
    """Joules while it was profiled; with several hosts each of them, and all together."""
    hosts = energy.get("hosts", ())
    if all(host["joules"] is None for host in hosts):
        return _no_energy(energy, hosts)
    if len(hosts) == 1:
        return [f"while profiled: {_joules(hosts[0])}"]
    lines = []
    for host in hosts:
        lines.append(f"{plain(host['host'])}: {_joules(host)}")
    lines.append(f"all hosts: {_joules(energy)}")
    return lines


def _no_energy(energy: Facts, hosts: Sequence[Facts]) -> list[str]:
    """Why no host has joules, unless the lines of its logs say so already."""
    reasons = dict.fromkeys(plain(host["reason"] or "") for host in hosts)
    given = list(filter(None, reasons))
    if energy.get("not_used") or not given:
        return []
    return [f"none: {'; '.join(given)}"]


def _joules(energy: Facts) -> str:
    if energy["joules"] is None:
        return str(energy["reason"])
    return f"{_interval(energy)}, {energy['badge']}"


def _interval(energy: Facts) -> str:
    """Joules with their interval."""
    interval = units.energy_interval(energy["joules"], energy["lo_joules"], energy["hi_joules"])
    return f"{interval} (95 %)"


def window_line(window: Facts) -> str:
    """A window of a recording: when it was, and its joules."""
    name = plain(window["name"]) or "(no name)"
    start = duration(window["start_s"])
    if window["end_s"] is None:
        return f"{name}: at {start} of the recording"
    if window["joules"] is not None:
        energy = _interval(window)
    else:
        energy = window["reason"] or "energy not known"
    length = duration(window["end_s"] - window["start_s"])
    return f"{name}: {length} from {start} of the recording, {energy}"


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def file_lines(run: Facts) -> list[str]:
    """The files beside the profile, and why they are not needed."""
    files = run["files"]
    lines = []
    if files["alternates"]:
        paths = files["alternates"][:_MAX_ALTERNATES]
        names = [plain(facts.short_path(path)) for path in paths]
        lines.append(f"the same capture again, not needed: {', '.join(names)}")
    if files["results"] and run["profiles"]:
        count = text.plural(len(files["results"]), "result file")
        lines.append(f"{count} of the profiler's own tools, not needed")
    for file in files["unread"]:
        name = plain(facts.short_path(file["path"]))
        lines.append(f"not read yet: {name} ({file['what']})")
    return lines
