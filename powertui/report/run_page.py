"""The facts of one run as text: its conclusions, time, steps, epochs, then what was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from powertui import units
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.plain import plain
from powertui.report import chart, facts, step_facts, text
from powertui.report.facts import Facts

# Rows of one part of the page. Chosen so that a run takes about a screen, not measured; JSON lists
# everything.
_MAX_EPOCHS = 12
_MAX_WARNINGS = 10
_MAX_WINDOWS = 12
_MAX_CHANNELS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_CONCLUSIONS = 5
_MAX_DEVICES = 8
_MAX_SCALARS = 4  # columns of the table of epochs
_EPOCHS_BEFORE_PROFILE = 2  # shown above the first epoch that was profiled

# The profile's zero and its first event differ visibly from here on: wall times are shown to a
# millisecond.
_MIN_SHOWN_START_S = 0.001
# From here on the ± of epochs is shown: their times have three decimals. Chosen, not measured.
_MIN_SHOWN_SLACK_S = 0.002


def describe(run: Facts, columns: int = 0) -> list[str]:
    """One run for a person; with `columns` also a chart of its steps."""
    profiles: list[Facts] = run["profiles"]
    times_and_steps = _rows("time", _times(run))
    for profile in profiles:
        times_and_steps += _rows("steps", _steps(profile, several=len(profiles) > 1))
    lines = [plain(run["name"]), *text.labelled([*_conclusions(run), *times_and_steps])]
    if len(profiles) == 1:
        lengths = _step_lengths(profiles[0]["steps"])
        lines += chart.of_steps(lengths, columns, indent=" " * 9)
    listed: list[list[Facts]] = []
    for profile in profiles:
        epochs = profile["epochs"]
        # Hosts of one training have the same epochs: they are listed once.
        if epochs["count"] and epochs["rows"] not in listed:
            listed.append(epochs["rows"])
            lines += _epochs(epochs)
    return lines + text.labelled(_other_rows(run))


_Row: TypeAlias = tuple[str, str]  # a label and its line


def _conclusions(run: Facts) -> list[_Row]:
    """What to conclude from the run, the costliest first; what to do about the first one."""
    conclusions = run.get("conclusions")
    if conclusions is None:
        return []
    if not conclusions:
        return _rows("findings", [plain(run["looked_at"])])
    lines = [conclusion["sentence"] for conclusion in conclusions[:_MAX_CONCLUSIONS]]
    if conclusions[0]["next"]:
        lines.insert(1, f"To do: {conclusions[0]['next']}")
    further = len(conclusions) - _MAX_CONCLUSIONS
    if further > 0:
        lines.append(f"… and {further} more (--json lists them)")
    return _rows("findings", map(plain, lines))


def _other_rows(run: Facts) -> list[_Row]:
    """What comes below the epochs."""
    profiles: list[Facts] = run["profiles"]
    energy = run["energy"] or {}
    rows: list[_Row] = []
    for profile in profiles:
        rows += _rows("phases", _phases(profile))
    rows += _rows("hosts" if len(profiles) > 1 else "host", map(_host, profiles))
    rows += _rows("devices", [_devices(run)])
    rows += _power_rows(run["power"], [plain(words) for words in energy.get("not_used", ())])
    rows += _rows("energy", _energy(energy))
    rows += _first_rows("windows", map(_window, run["windows"]), _MAX_WINDOWS)
    rows += _rows("files", _files(run))
    rows += _first_rows("warnings", map(plain, run["warnings"]), _MAX_WARNINGS)
    return rows


def _rows(label: str, lines: Iterable[str]) -> list[_Row]:
    return [(label, line) for line in lines]


def _first_rows(label: str, lines: Iterable[str], count: int) -> list[_Row]:
    """The first of many, and how many more there are."""
    return _rows(label, text.first_of(list(lines), count))


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
            zero = f"the profile's zero, {duration(abs(start_s))} {side} its first event"
            lines.append(f"{prefix}times below count from {zero}")
    first_events = [_first_event(profile) for profile in profiles]
    return lines + _hosts_apart([moment for moment in first_events if moment is not None])


class _Moment(NamedTuple):
    """A moment as a clock knows it: an interval of Unix ns."""

    lo_ns: int
    hi_ns: int

    @property
    def length_ns(self) -> int:
        return self.hi_ns - self.lo_ns


def _first_event(facts: Facts) -> _Moment | None:
    """When the first event of a profile or run was; None without a date."""
    interval = facts["from"]
    return None if interval["lo_ns"] is None else _Moment(interval["lo_ns"], interval["hi_ns"])


def _hosts_apart(first_events: Sequence[_Moment]) -> list[str]:
    """How far apart the first events of hosts are, where their clocks show that."""
    if len(first_events) < 2:
        return []
    # The sum of its bounds is twice the middle of an interval.
    first, last = min(first_events, key=sum), max(first_events, key=sum)
    apart_ns = (sum(last) - sum(first)) // 2
    half_ns = (last.length_ns + first.length_ns) // 2
    if apart_ns <= half_ns:
        return []
    apart, half = units.duration(apart_ns * PS_PER_NS), units.duration(half_ns * PS_PER_NS, 2)
    return [f"their first events are {apart} ± {half} apart"]


def _time(profile: Facts) -> str:
    """How long a host was recorded, and from when."""
    clock = profile["clock"]
    length_s = profile["end_s"] - profile["start_s"]
    length = units.duration(round(length_s * PS_PER_S), 5)
    detail = plain(clock["detail"])
    moment = _first_event(profile)
    if moment is None:
        return f"{length}, at an unknown time ({detail or 'no evidence'})"
    half = units.duration(moment.length_ns // 2 * PS_PER_NS, 2)
    return f"{length}, from {start_time(profile)} ± {half} ({plain(clock['source'])}: {detail})"


def start_time(facts: Facts) -> str:
    """When the first event of a profile or run was, by its clock; "unknown" without a date."""
    moment = _first_event(facts)
    if moment is None:
        return "unknown"
    return text.wall(sum(moment) // 2, facts["clock"]["utc_offset_s"])


def duration(seconds: float) -> str:
    """A length of time, as a person reads it."""
    return units.duration(round(seconds * PS_PER_S))


# ── steps and epochs ─────────────────────────────────────────────────────────────────────────────


def _steps(profile: Facts, *, several: bool) -> list[str]:
    lines = step_facts.lines(profile["steps"])
    if several:
        lines[0] = f"{plain(profile['host'])}: {lines[0]}"
    return lines


def _step_lengths(steps: Facts) -> list[float]:
    """What a chart of steps shows: how long each took.

    Where markers do not cover the work, it is the time to the next step.
    """
    key = "start_to_start_s" if steps["asynchronous"] and steps["device_s"] is None else "step_s"
    return [row[key] for row in steps["rows"] if row[key] is not None]


def _epochs(epochs: Facts) -> list[str]:
    shown = _shown_epochs(epochs["rows"])
    tags = dict.fromkeys(tag for row in shown for tag in row["scalars"])
    scalars = [tag for tag in tags if "loss" in tag or "acc" in tag][:_MAX_SCALARS]
    rows = []
    for row in shown:
        steps = str(row["steps"]) if row["steps"] else ""
        values = [_scalar(row["scalars"].get(tag)) for tag in scalars]
        rows.append([*epoch_cells(row), steps, *values])
    headers = ["epoch", "start", "end", "length", "steps", *scalars]
    lines = text.labelled([("epochs", f"{epochs['count']}: {plain(epochs['source'])}")])
    lines += text.table(headers, rows, right=range(len(headers)), indent="    ")
    if len(epochs["rows"]) > len(shown):
        lines.append(f"    … {epochs['count'] - len(shown)} more (--json lists them)")
    slack_s = max((row["slack_s"] for row in shown), default=0.0)
    if slack_s >= _MIN_SHOWN_SLACK_S:
        lines.append(
            f"    start and end ± {duration(slack_s)} (the clock); negative: before the profile "
            "began"
        )
    return lines


def _shown_epochs(rows: list[Facts]) -> list[Facts]:
    """Of hundreds of epochs those that the profile saw, and as many after them as there is room."""
    first = 0
    profiled = [index for index, row in enumerate(rows) if row["steps"]]
    if profiled:
        first = max(0, profiled[0] - _EPOCHS_BEFORE_PROFILE)
    return rows[first : first + _MAX_EPOCHS]


def _scalar(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


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
        name = phase["name"]
        if phase["epoch"] is not None:
            name += f" in epoch {phase['epoch']}"
        start_s, end_s = phase["start_s"], phase["end_s"]
        length, source = duration(end_s - start_s), plain(phase["source"])
        lines.append(f"{name}: {duration(start_s)} to {duration(end_s)}, {length} ({source})")
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


def _power_rows(channels: Sequence[Facts], not_used: Sequence[str]) -> list[_Row]:
    """The channels, each with the reason why its log is not used, and reasons that fit none."""
    files: dict[str, set[str]] = {}
    for channel in channels:
        files.setdefault(PurePath(channel["path"]).name, set()).add(channel["path"])
    reasons: dict[str, str] = {}
    for name, paths in files.items():
        sentence = next((words for words in not_used if words.startswith(f"{plain(name)} ")), "")
        if name and len(paths) == 1 and sentence:
            reasons[name] = sentence
    lines = []
    for channel in channels:
        reason = reasons.get(PurePath(channel["path"]).name)
        lines.append(f"{_power(channel)}. {reason}" if reason else _power(channel))
    rows = _first_rows("power", lines, _MAX_CHANNELS)
    others = [words for words in not_used if words not in reasons.values()]
    return rows + _first_rows("power", others, _MAX_CHANNELS)


def _power(channel: Facts) -> str:
    """The watts of a channel, how many readings it has, and where it is from."""
    readings = text.plural(channel["readings"], "reading")
    span = units.duration(round(channel["span_s"] * PS_PER_S), 3)
    source, path = plain(channel["source"]), plain(facts.short_path(channel["path"]))
    line = (
        f"{plain(channel['label'])}: {_watts(channel)}; {readings} over {span} ({source}, {path})"
    )
    if channel["belongs_to"] is None and channel["host"]:
        line += "; of no host of this run"
    return line


def _watts(channel: Facts) -> str:
    lowest, mean, highest = channel["min_watts"], channel["mean_watts"], channel["max_watts"]
    if mean is None:
        return "no watts"
    words = f"{lowest:g} to {highest:g} W, mean {mean:.1f} W"
    if channel["limit_watts"] is not None:
        words += f", limit {channel['limit_watts']:g} W"
    return words


def _energy(energy: Facts) -> list[str]:
    """Joules while it was profiled; with several hosts each of them, and all together."""
    hosts = energy.get("hosts", ())
    if all(host["joules"] is None for host in hosts):
        reasons = dict.fromkeys(plain(host["reason"] or "") for host in hosts)
        is_said = bool(energy.get("not_used")) or not any(reasons)
        return [] if is_said else [f"none: {'; '.join(filter(None, reasons))}"]
    if len(hosts) == 1:
        return [f"while profiled: {_joules(hosts[0])}"]
    lines = [f"{plain(host['host'])}: {_joules(host)}" for host in hosts]
    return [*lines, f"all hosts: {_joules(energy)}"]


def _joules(energy: Facts) -> str:
    if energy["joules"] is None:
        return str(energy["reason"])
    return f"{_interval(energy)}, {energy['badge']}"


def _interval(energy: Facts) -> str:
    """Joules with the ends of their interval, in as many figures as tell those apart."""
    lo, hi = energy["lo_joules"], energy["hi_joules"]
    figures = units.figures_apart(lo, hi)
    joules = units.quantity(energy["joules"], "J", figures)
    return (
        f"{joules} (95 % {units.quantity(lo, 'J', figures)} to {units.quantity(hi, 'J', figures)})"
    )


def _window(window: Facts) -> str:
    start_s, end_s = window["start_s"], window["end_s"]
    name = plain(window["name"]) or "(no name)"
    if end_s is None:
        return f"{name}: at {duration(start_s)} of the recording"
    if window["joules"] is not None:
        energy = _interval(window)
    else:
        energy = window["reason"] or "energy not known"
    length, start = duration(end_s - start_s), duration(start_s)
    return f"{name}: {length} from {start} of the recording, {energy}"


def _files(run: Facts) -> list[str]:
    files = run["files"]
    lines = []
    if files["alternates"]:
        names = [plain(facts.short_path(path)) for path in files["alternates"][:3]]
        lines.append(f"the same capture again, not needed: {', '.join(names)}")
    if files["results"] and run["profiles"]:
        count = text.plural(len(files["results"]), "result file")
        lines.append(f"{count} of the profiler's own tools, not needed")
    for file in files["unread"]:
        name = plain(facts.short_path(file["path"]))
        lines.append(f"not read yet: {name} ({file['what']})")
    return lines
