"""The facts of one run as text: time, steps, epochs, then what was read and the findings."""

from __future__ import annotations

from collections.abc import Sequence

from powertui import units
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.report import chart, facts, step_facts, text
from powertui.report.facts import Facts

_MAX_EPOCHS = 12
_MAX_WARNINGS = 10
_MAX_WINDOWS = 12
_MAX_CHANNELS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_FINDINGS = 8
_MAX_DEVICES = 8

# The profile's zero and its first event differ visibly from here on: wall times are shown to a
# millisecond.
_MIN_SHOWN_START_S = 0.001
# From here on the ± of epochs is shown: their times have three decimals. Chosen, not measured.
_MIN_SHOWN_SLACK_S = 0.002


def describe(run: Facts, columns: int = 0) -> list[str]:
    """One run for a person; with `columns` also a chart of its steps."""
    profiles: list[Facts] = run["profiles"]
    above = [("time", line) for line in _times(run)]
    for profile in profiles:
        above += _steps(profile, several=len(profiles) > 1)
    lines = [plain(run["name"]), *text.labelled(above)]
    if len(profiles) == 1:
        lines += chart.of_steps(_step_lengths(profiles[0]["steps"]), columns, indent=" " * 9)
    shown: list[Facts] = []
    for profile in profiles:
        epochs = profile["epochs"]
        # Hosts of one training have the same epochs: they are listed once.
        if epochs["count"] and epochs["rows"] not in shown:
            shown.append(epochs["rows"])
            lines += _epochs(epochs)
    return lines + text.labelled(_parts(run))


def _parts(run: Facts) -> list[tuple[str, str]]:
    """What comes below the epochs: (label, line)."""
    profiles: list[Facts] = run["profiles"]
    host_label = "hosts" if len(profiles) > 1 else "host"
    energy = run["energy"] or {}
    rows = [("phases", line) for profile in profiles for line in _phases(profile)]
    rows += [(host_label, _host(profile)) for profile in profiles]
    rows.append(("devices", _devices(run)))
    rows += _bounded("power", [_power(channel) for channel in run["power"]], _MAX_CHANNELS)
    not_used = [plain(sentence) for sentence in energy.get("not_used", ())]
    rows += _bounded("power", not_used, _MAX_CHANNELS)
    rows += [("energy", line) for line in _energy(energy)]
    findings = (run.get("findings") or ())[:_MAX_FINDINGS]
    rows += [("found", plain(finding["text"])) for finding in findings]
    rows += _bounded("windows", [_window(window) for window in run["windows"]], _MAX_WINDOWS)
    rows += [("files", line) for line in _files(run)]
    rows += _bounded("warnings", [plain(line) for line in run["warnings"]], _MAX_WARNINGS)
    return rows


def _bounded(label: str, lines: Sequence[str], most: int) -> list[tuple[str, str]]:
    return [(label, line) for line in text.first_of(lines, most)]


# ── time ─────────────────────────────────────────────────────────────────────────────────────────


def _times(run: Facts) -> list[str]:
    """How long each host was recorded, and from when: they need not begin or end together."""
    profiles = [profile for profile in run["profiles"] if profile["events"]]
    lines = []
    for profile in profiles:
        prefix = f"{plain(profile['host'])}: " if len(profiles) > 1 else ""
        lines.append(prefix + _time(profile))
        start_s = profile["start_s"]
        if abs(start_s) >= _MIN_SHOWN_START_S:
            side = "before" if start_s > 0 else "after"
            lines.append(
                f"{prefix}times below count from the profile's zero, {duration(abs(start_s))} "
                f"{side} its first event"
            )
    return lines + _hosts_apart([profile["from"] for profile in profiles])


def _hosts_apart(first_events: Sequence[Facts]) -> list[str]:
    """How far apart the first events of hosts are, where their clocks show that."""
    dated = [event for event in first_events if event["lo_ns"] is not None]
    if len(dated) < 2:
        return []
    middles = [event["lo_ns"] + event["hi_ns"] for event in dated]  # twice the middle
    first, last = dated[middles.index(min(middles))], dated[middles.index(max(middles))]
    apart_ns = (last["lo_ns"] + last["hi_ns"] - first["lo_ns"] - first["hi_ns"]) // 2
    half_ns = (last["hi_ns"] - last["lo_ns"] + first["hi_ns"] - first["lo_ns"]) // 2
    if apart_ns <= half_ns:
        return []
    apart, half = units.duration(apart_ns * 1000), units.duration(half_ns * 1000, 2)
    return [f"their first events are {apart} ± {half} apart"]


def _time(profile: Facts) -> str:
    clock, begun = profile["clock"], profile["from"]
    length = units.duration(round((profile["end_s"] - profile["start_s"]) * PS_PER_S), 5)
    detail = plain(clock["detail"])
    if clock["lo_ns"] is None:
        return f"{length}, at an unknown time ({detail or 'no evidence'})"
    half = units.duration((begun["hi_ns"] - begun["lo_ns"]) // 2 * 1000, 2)
    return f"{length}, from {start_time(profile)} ± {half} ({plain(clock['source'])}: {detail})"


def start_time(facts: Facts) -> str:
    """When the first event of a profile or run was, by its clock."""
    begun = facts["from"]
    return text.wall((begun["lo_ns"] + begun["hi_ns"]) // 2, facts["clock"]["utc_offset_s"])


def duration(seconds: float) -> str:
    """A length of time, as a person reads it."""
    return units.duration(round(seconds * PS_PER_S))


# ── steps and epochs ─────────────────────────────────────────────────────────────────────────────


def _steps(profile: Facts, *, several: bool) -> list[tuple[str, str]]:
    lines = step_facts.lines(profile["steps"])
    if several:
        lines[0] = f"{plain(profile['host'])}: {lines[0]}"
    return [("steps", line) for line in lines]


def _step_lengths(steps: Facts) -> list[float]:
    """What a chart of steps shows: how long each took.

    Where markers do not cover the work, it is the time to the next step.
    """
    key = "start_to_start_s" if steps["asynchronous"] and steps["device_s"] is None else "step_s"
    return [row[key] for row in steps["rows"] if row[key] is not None]


def _epochs(epochs: Facts) -> list[str]:
    rows = epochs["rows"]
    # Of trainings of hundreds of epochs those are shown that the profile saw, and as many after
    # them as there is room for.
    profiled = [index for index, row in enumerate(rows) if row["steps"]]
    first = max(0, profiled[0] - 2) if profiled else 0
    shown = rows[first : first + _MAX_EPOCHS]
    tags = dict.fromkeys(tag for row in shown for tag in row["scalars"])
    names = [tag for tag in tags if "loss" in tag or "acc" in tag][:4]
    body = []
    for row in shown:
        scalars = [row["scalars"].get(name) for name in names]
        body.append(
            [
                *epoch_cells(row),
                str(row["steps"]) if row["steps"] else "",
                *("" if value is None else f"{value:.4g}" for value in scalars),
            ]
        )
    headers = ["epoch", "start", "end", "length", "steps", *names]
    lines = text.labelled([("epochs", f"{epochs['count']}: {plain(epochs['source'])}")])
    lines += text.table(headers, body, right=range(len(headers)), indent="    ")
    if len(rows) > len(shown):
        lines.append(f"    … {epochs['count'] - len(shown)} more (--json lists them)")
    slack_s = max((row["slack_s"] for row in shown), default=0.0)
    if slack_s >= _MIN_SHOWN_SLACK_S:
        lines.append(
            f"    start and end ± {duration(slack_s)} (the clock); negative: before the profile "
            "began"
        )
    return lines


def epoch_cells(row: Facts) -> list[str]:
    """Number, start, end and length of an epoch."""
    start_s, end_s = row["start_s"], row["end_s"]
    length = "–" if start_s is None or end_s is None else duration(end_s - start_s)
    return [str(row["number"]), _instant(start_s), _instant(end_s), length]


def _instant(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3f} s"


def _phases(profile: Facts) -> list[str]:
    """What was no training: validation, pauses, starting."""
    lines = []
    for phase in profile["phases"]:
        if phase["name"] == "training":
            continue
        epoch = "" if phase["epoch"] is None else f" in epoch {phase['epoch']}"
        start_s, end_s = phase["start_s"], phase["end_s"]
        lines.append(
            f"{phase['name']}{epoch}: {duration(start_s)} to {duration(end_s)}, "
            f"{duration(end_s - start_s)} ({plain(phase['source'])})"
        )
    return lines


# ── where it all is from ─────────────────────────────────────────────────────────────────────────


def _host(profile: Facts) -> str:
    source = profile["format"]
    if profile["size"]:
        source += f", {units.size(profile['size'])}"
        if not profile["complete"]:
            source += ", incomplete"
    events = text.plural(profile["events"], "event")
    lines = text.plural(profile["lines"], "line")
    return f"{plain(profile['host']) or '(no name)'}: {events} on {lines} ({source})"


def _devices(run: Facts) -> str:
    names = run["devices"]
    if not names:
        return "none: the profile has host threads only" if run["profiles"] else ""
    words = ", ".join(plain(name) for name in names[:_MAX_DEVICES])
    if len(names) > _MAX_DEVICES:
        words += f" and {len(names) - _MAX_DEVICES} more"
    idle = sum(profile["devices_without_events"] for profile in run["profiles"])
    if idle:
        words += f" ({idle} of them recorded nothing)"
    return words


def _power(channel: Facts) -> str:
    watts = "no watts"
    if channel["mean_watts"] is not None:
        lowest, highest = channel["min_watts"], channel["max_watts"]
        watts = f"{lowest:g} to {highest:g} W, mean {channel['mean_watts']:.1f} W"
        if channel.get("limit_watts") is not None:
            watts += f", limit {channel['limit_watts']:g} W"
    readings = text.plural(channel["readings"], "reading")
    span = units.duration(round(channel["span_s"] * PS_PER_S), 3)
    source = f"{plain(channel['source'])}, {plain(facts.short_path(channel['path']))}"
    line = f"{plain(channel['label'])}: {watts}; {readings} over {span} ({source})"
    if channel["belongs_to"] is None and channel["host"]:
        line += "; of no host of this run"
    return line


def _energy(energy: Facts) -> list[str]:
    """Joules over the whole profile; with several hosts each of them, and all together."""
    hosts = energy.get("hosts", ())
    if all(host["joules"] is None for host in hosts):
        return []
    if len(hosts) == 1:
        return [_joules(hosts[0])]
    lines = [f"{plain(host['host'])}: {_joules(host)}" for host in hosts]
    return [*lines, f"all hosts: {_joules(energy)}"]


def _joules(energy: Facts) -> str:
    if energy["joules"] is None:
        return str(energy["reason"])
    return f"{_interval(energy)}, {energy['badge']}"


def _interval(energy: Facts) -> str:
    """Joules with the ends of their interval, in as many figures as tell those apart."""
    figures = units.figures_apart(energy["lo_joules"], energy["hi_joules"])
    joules, lo, hi = (
        units.quantity(energy[key], "J", figures) for key in ("joules", "lo_joules", "hi_joules")
    )
    return f"{joules} (95 % {lo} to {hi})"


def _window(window: Facts) -> str:
    start_s, end_s = window["start_s"], window["end_s"]
    name = plain(window["name"]) or "(no name)"
    if end_s is None:
        return f"{name}: at {duration(start_s)} of the recording"
    energy = window["reason"] or "energy not known"
    if window["joules"] is not None:
        energy = _interval(window)
    return (
        f"{name}: {duration(end_s - start_s)} from {duration(start_s)} of the recording, {energy}"
    )


def _files(run: Facts) -> list[str]:
    files = run["files"]
    lines = []
    if files["alternates"]:
        names = ", ".join(plain(facts.short_path(path)) for path in files["alternates"][:3])
        lines.append(f"the same capture again, not needed: {names}")
    if files["results"] and run["profiles"]:
        count = text.plural(len(files["results"]), "result file")
        lines.append(f"{count} of the profiler's own tools, not needed")
    for file in files["unread"]:
        lines.append(f"not read yet: {plain(facts.short_path(file['path']))} ({file['what']})")
    return lines
