"""The facts of one run as text: its conclusions, time, steps, epochs, then what was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from powertui import units
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.report import chart, run_sources, step_facts, text
from powertui.report.facts import Facts
from powertui.report.text import duration

# Rows of one part of the page. Chosen so that a run takes about a screen, not measured; JSON lists
# everything.
_MAX_EPOCHS = 12
_MAX_WARNINGS = 10
_MAX_WINDOWS = 12
_MAX_CHANNELS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_CONCLUSIONS = 5
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
    rows = _conclusions(run) + _rows("time", times(run))
    is_one_of_several = len(profiles) > 1
    for profile in profiles:
        steps = step_lines(profile, several=is_one_of_several)
        rows += _rows("steps", steps)
    lines = [plain(run["name"]), *text.labelled(rows)]
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
    return lines + text.labelled(rows_below_epochs(run))


_Row: TypeAlias = tuple[str, str]  # a label and its line


def _conclusions(run: Facts) -> list[_Row]:
    """What to conclude from the run, the most important first; what to do about the first one."""
    conclusions = run.get("conclusions")
    if conclusions is None:
        return []
    if not conclusions:
        return _rows("findings", [plain(run["looked_at"])])
    lines = []
    for conclusion in conclusions[:_MAX_CONCLUSIONS]:
        lines.append(plain(conclusion["sentence"]))
    next_step = conclusions[0]["next"]
    if next_step:
        lines.insert(1, plain(f"To do: {next_step}"))
    further = len(conclusions) - _MAX_CONCLUSIONS
    if further > 0:
        lines.append(f"… and {further} more (--json lists them)")
    return _rows("findings", lines)


def rows_below_epochs(run: Facts) -> list[_Row]:
    """Each label with its line: what the run was recorded on and with, and what was wrong."""
    profiles: list[Facts] = run["profiles"]
    rows: list[_Row] = []
    for profile in profiles:
        rows += _rows("phases", _phases(profile))
    host_label = "hosts" if len(profiles) > 1 else "host"
    rows += _rows(host_label, map(run_sources.host_line, profiles))
    rows += _rows("devices", [run_sources.device_line(run)])
    rows += _power_rows(run)
    windows = map(run_sources.window_line, run["windows"])
    rows += _first_rows("windows", windows, _MAX_WINDOWS)
    rows += _rows("files", run_sources.file_lines(run))
    rows += _first_rows("warnings", map(plain, run["warnings"]), _MAX_WARNINGS)
    return rows


def _power_rows(run: Facts) -> list[_Row]:
    energy = run["energy"] or {}
    not_used = [plain(sentence) for sentence in energy.get("not_used", ())]
    zones = [plain(sentence) for sentence in energy.get("zones", ())]
    rows: list[_Row] = []
    for lines in (*run_sources.power_lines(run["power"], not_used), zones):
        rows += _first_rows("power", lines, _MAX_CHANNELS)
    return rows + _rows("energy", run_sources.energy_lines(energy))


def _rows(label: str, lines: Iterable[str]) -> list[_Row]:
    return [(label, line) for line in lines]


def _first_rows(label: str, lines: Iterable[str], count: int) -> list[_Row]:
    """The first of many, and how many more there are."""
    return _rows(label, text.first_of(list(lines), count))


# ── time ─────────────────────────────────────────────────────────────────────────────────────────


def times(run: Facts) -> list[str]:
    """How long each host was recorded, and from when: they need not begin or end together."""
    profiles = [profile for profile in run["profiles"] if profile["events"]]
    lines = []
    first_events = []
    for profile in profiles:
        prefix = ""
        if len(profiles) > 1:
            prefix = f"{plain(profile['host'])}: "
        lines.append(prefix + _time(profile))
        start_s = profile["start_s"]
        if abs(start_s) >= _MIN_SHOWN_START_S:
            side = "before" if start_s > 0 else "after"
            zero = f"the profile's zero, {duration(abs(start_s))} {side} its first event"
            lines.append(f"{prefix}times below count from {zero}")
        first_event = _first_event(profile)
        if first_event is not None:
            first_events.append(first_event)
    return lines + _hosts_apart(first_events)


class _Moment(NamedTuple):
    """A moment as a clock knows it: an interval of Unix ns."""

    lo_ns: int
    hi_ns: int

    @property
    def length_ns(self) -> int:
        return self.hi_ns - self.lo_ns


def _double_middle_ns(moment: _Moment) -> int:
    """Twice the middle, which is a whole number where the middle is not."""
    return moment.lo_ns + moment.hi_ns


def _first_event(facts: Facts) -> _Moment | None:
    """When the first event of a profile or run was; None without a date."""
    interval = facts["from"]
    if interval["lo_ns"] is None:
        return None
    return _Moment(interval["lo_ns"], interval["hi_ns"])


def _hosts_apart(first_events: Sequence[_Moment]) -> list[str]:
    """How far apart the first events of hosts are, where their clocks show that."""
    if len(first_events) < 2:
        return []
    first = min(first_events, key=_double_middle_ns)
    last = max(first_events, key=_double_middle_ns)
    apart_ns = (_double_middle_ns(last) - _double_middle_ns(first)) // 2
    half_ns = (last.length_ns + first.length_ns) // 2
    if apart_ns <= half_ns:
        return []
    apart = units.duration(apart_ns * PS_PER_NS)
    half = units.duration(half_ns * PS_PER_NS, 2)
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
    half_ps = moment.length_ns // 2 * PS_PER_NS
    half = units.duration(half_ps, 2)
    source = plain(clock["source"])
    return f"{length}, from {start_time(profile)} ± {half} ({source}: {detail})"


def start_time(facts: Facts) -> str:
    """When the first event of a profile or run was, by its clock; "unknown" without a date."""
    moment = _first_event(facts)
    if moment is None:
        return "unknown"
    middle_ns = _double_middle_ns(moment) // 2
    return text.wall(middle_ns, facts["clock"]["utc_offset_s"])


# ── steps and epochs ─────────────────────────────────────────────────────────────────────────────


def step_lines(profile: Facts, *, several: bool) -> list[str]:
    lines = step_facts.lines(profile["steps"])
    if several:
        lines[0] = f"{plain(profile['host'])}: {lines[0]}"
    return lines


def _step_lengths(steps: Facts) -> list[float]:
    """What a chart of steps shows: how long each took.

    Where markers do not cover the work, it is the time to the next step.
    """
    key = "step_s"
    if steps["asynchronous"] and steps["device_s"] is None:
        key = "start_to_start_s"
    lengths = [row[key] for row in steps["rows"]]
    return [length for length in lengths if length is not None]


def _epochs(epochs: Facts) -> list[str]:
    shown = _shown_epochs(epochs["rows"])
    scalars = _shown_scalars(shown)
    rows = []
    for row in shown:
        values = [_scalar(row["scalars"].get(tag)) for tag in scalars]
        rows.append([*epoch_cells(row), recorded_steps(row), *values])
    headers = ["epoch", "start", "end", "length", "steps", *scalars]
    heading = f"{epochs['count']}: {plain(epochs['source'])}"
    lines = text.labelled([("epochs", heading)])
    lines += text.table(
        headers,
        rows,
        right=range(len(headers)),
        indent="    ",
    )
    if len(epochs["rows"]) > len(shown):
        not_shown = epochs["count"] - len(shown)
        lines.append(f"    … {not_shown} more (--json lists them)")
    slack_s = max((row["slack_s"] for row in shown), default=0.0)
    if slack_s >= _MIN_SHOWN_SLACK_S:
        slack = duration(slack_s)
        lines.append(f"    start and end ± {slack} (the clock); negative: before the profile began")
    return lines


def _shown_scalars(rows: Sequence[Facts]) -> list[str]:
    """Losses and accuracies, in the order in which the epochs name them."""
    tags: dict[str, None] = {}
    for row in rows:
        tags |= dict.fromkeys(row["scalars"])
    return [tag for tag in tags if "loss" in tag or "acc" in tag][:_MAX_SCALARS]


def recorded_steps(epoch: Facts) -> str:
    """How many of its steps the profile holds; "" for none: the epoch may have had many."""
    return str(epoch["steps"]) if epoch["steps"] else ""


def _shown_epochs(rows: list[Facts]) -> list[Facts]:
    """Of hundreds of epochs those that the profile saw, and as many after them as there is room."""
    first = 0
    profiled = [index for index, row in enumerate(rows) if row["steps"]]
    if profiled:
        first = max(0, profiled[0] - _EPOCHS_BEFORE_PROFILE)
    return rows[first : first + _MAX_EPOCHS]


def _scalar(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}"


def epoch_cells(row: Facts) -> list[str]:
    """Number, start, end and length of an epoch."""
    start_s = row["start_s"]
    end_s = row["end_s"]
    length = "–"
    if start_s is not None and end_s is not None:
        length = duration(end_s - start_s)
    return [str(row["number"]), _instant(start_s), _instant(end_s), length]


def _instant(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.3f} s"


def _phases(profile: Facts) -> list[str]:
    """What was no training: validation, pauses, starting."""
    lines = []
    for phase in profile["phases"]:
        if phase["name"] == "training":
            continue
        name = phase["name"]
        if phase["epoch"] is not None:
            name += f" in epoch {phase['epoch']}"
        start = duration(phase["start_s"])
        end = duration(phase["end_s"])
        length = duration(phase["end_s"] - phase["start_s"])
        lines.append(f"{name}: {start} to {end}, {length} ({plain(phase['source'])})")
    return lines
