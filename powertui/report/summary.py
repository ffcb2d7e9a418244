"""`powertui report PATH`: what is known of each run, as text, JSON, CSV or Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from powertui import __version__, units
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import PS_PER_S, Run, Warn
from powertui.data.opened import Opened
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.report import chart, facts, many, step_facts, text, training
from powertui.report.facts import Facts

_EPOCHS_SHOWN = 12
_WARNINGS_SHOWN = 10
_WINDOWS_SHOWN = 12
_CHANNELS_SHOWN = 64  # a rack of GPUs; logs of whole clusters have thousands
_FOUND_SHOWN = 8
_MAX_SEARCHED_RUNS = (
    20  # so many runs are also searched for what stands out: that takes longer than reading them
)
# what a zero must differ from the first event to be told apart: wall times are shown to a
# millisecond
_SEEN_S = 0.001

_CSV = (
    "run",
    "host",
    "epoch",
    "step",
    "name",
    "start_s",
    "duration_s",
    "start_to_start_s",
    "unix_start_s",
    "clock_half_width_s",
    "host_s",
    "device_s",
    "step_s",
)


def tell(path: str, name: str | None, reading: ReadOptions, form: str) -> int:
    """Print what is known of the runs that were named.

    Exit code 3 when nothing of them could be read.
    """
    found = logdir.scan(path)
    entries = found.chosen(name)
    if form == "csv":
        return _csv(entries, reading)
    trainings = Trainings(found, reading)
    known = list(_read(entries, trainings))
    around = trainings.chosen(entries, name is None)
    # Scalars and power without a profile are a training; scalars alone are one whose profile is
    # missing.
    whole_alone = any(not one.entry.sessions and one.logs.power for one in around)
    if form == "json":
        told = training.several_json(around)
        text.out(
            text.to_json(
                {
                    "powertui": __version__,
                    **facts.of_logdir(found),
                    "runs": [one for one, _ in known],
                    "trainings": told,
                }
            )
        )
    elif form == "markdown":
        whole = [text.markdown_text(line.strip()) for line in training.several(around)]
        text.out(
            "\n".join(
                [
                    *_markdown(found, [one for one, _ in known]),
                    *([""] if whole else []),
                    *(f"- {line}" for line in whole),
                ]
            )
        )
    else:
        alone = not known and whole_alone
        pages = [] if alone else _text(found, [one for one, _ in known])
        text.out("\n".join([*pages, *training.several(around)]))
    return 0 if any(readable for _, readable in known) or whole_alone else 3


def _read(entries: Sequence[RunEntry], trainings: Trainings) -> Iterator[tuple[Facts, bool]]:
    """(facts, whether anything of it could be read) of each run: traces are let go of before the
    next.
    """

    few = len(entries) <= _MAX_SEARCHED_RUNS

    def read(entry: RunEntry) -> tuple[Facts, bool]:
        for opened in trainings.each([entry]):
            run, problem = load(opened)
            beside = not (
                entry.profiles and Path(entry.path).is_file()
            )  # else power makes no answer of a file that was named
            readable = run is not None and bool(run.traces or run.scalars or (run.power and beside))
            told = {
                **facts.of_run(entry, run, problem, opened.profiles if run is not None else ()),
                "findings": _found(opened) if readable and few else None,
            }
        return told, readable

    return many.each(read, entries, max((entry.size for entry in entries), default=0))


def _found(opened: Opened) -> list[Facts] | None:
    """What stands out in each profile that has power; None where there is none."""
    if not opened.run.power:
        return None
    from powertui.data.energy import account

    return [
        {
            "host": profile.host,
            "text": one.text,
            "epoch": one.epoch,
            "step_lo": one.step_lo,
            "step_hi": one.step_hi,
            "start_s": one.start_ps / PS_PER_S,
            "end_s": one.end_ps / PS_PER_S,
            "watts": one.delta_watts,
            "joules": one.delta_joules,
            "badge": one.badge.value,
        }
        for profile in opened.profiles
        for one in account.findings(profile).findings
    ]


def load(opened: Opened) -> tuple[Run | None, str]:
    """A run, or why nothing of it could be read.

    A power log that was named and cannot be read is an error all the same.
    """
    entry = opened.entry
    if not (entry.profiles or entry.tfevents or entry.power or opened.options.power):
        return None, ""
    try:
        return opened.run, ""
    except UnreadableFile as error:
        if error.path in opened.options.power:
            raise
        return None, str(Warn(error.path, "", error.cause))


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def _text(found: Logdir, runs: Sequence[Facts]) -> list[str]:
    lines: list[str] = []
    columns = chart.room()
    if not runs:
        from powertui.report import checks  # what doctor says, which else nobody asks for

        lines.append(
            f"No run of a profiler was found in {plain(found.path)}. To see why: powertui "
            f"doctor {plain(found.path)}"
        )
        for check in checks.of_logdir(found):
            if check.topic == "profile":
                lines += [f"  {plain(check.what)}", f"  → {plain(check.do)}"]
    elif len(runs) > 1:
        lines += [f"{len(runs)} runs in {plain(found.path)}", ""]
    for index, one in enumerate(runs):
        lines += [""] * bool(index)
        lines += describe(one, columns)
    for file in found.unread:
        lines.append(f"not read: {plain(facts.shown(file.path))} ({facts.why_unread(file)})")
    for problem in found.problems:
        lines.append(f"note: {plain(str(problem))}")
    return lines


def describe(one: Facts, columns: int = 0) -> list[str]:
    """One run for a person: time, steps, epochs, then where it all comes from.

    With `columns` also a chart of its steps.
    """
    rows: list[tuple[str, str]] = [("time", line) for line in _times_of(one)]
    profiles: list[Facts] = one["profiles"]
    several = len(profiles) > 1
    for profile in profiles:
        prefix = f"{plain(profile['host'])}: " if several else ""
        rows += [
            ("steps", (prefix if index == 0 else "") + line)
            for index, line in enumerate(step_facts.lines(profile["steps"]))
        ]
    lines = [plain(one["name"]), *text.labelled(rows)]
    if len(profiles) == 1:
        lines += chart.of_steps(_times(profiles[0]["steps"]), columns, indent=" " * 9)
    shown: list[Facts] = []
    for profile in profiles:
        if profile["epochs"]["count"] and profile["epochs"]["rows"] not in shown:
            shown.append(profile["epochs"]["rows"])
            lines += _epochs(profile)
    rest: list[tuple[str, str]] = []
    for profile in profiles:
        rest += [
            ("phases", _phase(phase)) for phase in profile["phases"] if phase["name"] != "training"
        ]
    for profile in profiles:
        rest.append(("host" if not several else "hosts", _host(profile)))
    rest.append(("devices", _devices(one)))
    rest += _rows("power", [_power(series) for series in one["power"]], _CHANNELS_SHOWN)
    not_used = (one["energy"] or {}).get("not_used", ())
    rest += _rows("power", [plain(sentence) for sentence in not_used], _CHANNELS_SHOWN)
    rest += [("energy", line) for line in _energy(one["energy"])]
    rest += [
        ("found", plain(found["text"])) for found in (one.get("findings") or ())[:_FOUND_SHOWN]
    ]
    rest += _rows("windows", [_window(window) for window in one["windows"]], _WINDOWS_SHOWN)
    rest += [("files", line) for line in _files(one)]
    rest += _rows("warnings", [plain(line) for line in one["warnings"]], _WARNINGS_SHOWN)
    return lines + text.labelled(rest)


def _rows(label: str, lines: Sequence[str], most: int) -> list[tuple[str, str]]:
    return [(label, line) for line in text.first_of(lines, most)]


def _times_of(one: Facts) -> list[str]:
    """How long was recorded, and from when: of each host, as hosts begin and end when they like."""
    profiles = [profile for profile in one["profiles"] if profile["events"]]
    several = len(profiles) > 1
    lines = []
    for profile in profiles:
        prefix = f"{plain(profile['host'])}: " if several else ""
        lines.append(prefix + _time(profile))
        early = _s(abs(profile["start_s"]))
        if abs(profile["start_s"]) >= _SEEN_S:
            which = "before" if profile["start_s"] > 0 else "after"
            lines.append(
                f"{prefix}times below count from the profile's zero, {early} {which} its first "
                "event"
            )
    begun = [profile["from"] for profile in profiles if profile["from"]["lo_ns"] is not None]
    if len(begun) > 1:
        first, last = (pick(begun, key=lambda at: at["lo_ns"] + at["hi_ns"]) for pick in (min, max))
        apart = (last["lo_ns"] + last["hi_ns"] - first["lo_ns"] - first["hi_ns"]) // 2
        half = (last["hi_ns"] - last["lo_ns"] + first["hi_ns"] - first["lo_ns"]) // 2
        if apart > half:
            lines.append(
                f"their first events are {units.duration(apart * 1000)} ± "
                f"{units.duration(half * 1000, 2)} apart"
            )
    return lines


def _time(profile: Facts) -> str:
    clock, begun = profile["clock"], profile["from"]
    length = units.duration(round((profile["end_s"] - profile["start_s"]) * PS_PER_S), 5)
    if clock["lo_ns"] is None:
        return f"{length}, at an unknown time ({plain(clock['detail'] or 'no evidence')})"
    middle = (begun["lo_ns"] + begun["hi_ns"]) // 2
    half = (begun["hi_ns"] - begun["lo_ns"]) // 2
    when = f"{text.wall(middle, clock['utc_offset_s'])} ± {units.duration(half * 1000, 2)}"
    return f"{length}, from {when} ({plain(clock['source'])}: {plain(clock['detail'])})"


def _times(steps: Facts) -> list[float]:
    """What a chart of steps shows: how long each took, or the time to the next where markers do not
    cover the work.
    """
    key = "start_to_start_s" if steps["asynchronous"] and steps["device_s"] is None else "step_s"
    return [row[key] for row in steps["rows"] if row[key] is not None]


def _s(seconds: float) -> str:
    return units.duration(round(seconds * PS_PER_S))


def _epochs(profile: Facts) -> list[str]:
    epochs = profile["epochs"]
    rows = epochs["rows"]
    inside = [row for row in rows if row["steps"]]
    # Trainings of hundreds of epochs: those that the profile saw, and as many around them as fit.
    first = max(0, rows.index(inside[0]) - 2) if inside else 0
    shown = rows[first : first + _EPOCHS_SHOWN]
    tags = dict.fromkeys(name for row in shown for name in row["scalars"])
    names = [name for name in tags if "loss" in name or "acc" in name][:4]
    headers = ["epoch", "start", "end", "length", "steps", *names]
    body = [
        [
            str(row["number"]),
            _instant(row["start_s"]),
            _instant(row["end_s"]),
            _length(row),
            str(row["steps"]) if row["steps"] else "",
            *(_number(row["scalars"].get(name)) for name in names),
        ]
        for row in shown
    ]
    lines = text.labelled([("epochs", f"{epochs['count']}: {plain(epochs['source'])}")])
    slack = max((row["slack_s"] for row in shown), default=0.0)
    lines += text.table(headers, body, right=range(len(headers)), indent="    ")
    if len(rows) > len(shown):
        lines.append(f"    … {epochs['count'] - len(shown)} more (--json lists them)")
    if slack >= 0.002:
        lines.append(
            f"    start and end ± {_s(slack)} (the clock); negative: before the profile began"
        )
    return lines


def _instant(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3f} s"


def _length(row: Facts) -> str:
    if row["start_s"] is None or row["end_s"] is None:
        return "–"
    return _s(row["end_s"] - row["start_s"])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _phase(phase: Facts) -> str:
    epoch = "" if phase["epoch"] is None else f" in epoch {phase['epoch']}"
    length = _s(phase["end_s"] - phase["start_s"])
    return (
        f"{phase['name']}{epoch}: {_s(phase['start_s'])} to {_s(phase['end_s'])}, {length} "
        f"({plain(phase['source'])})"
    )


def _host(profile: Facts) -> str:
    partly = "" if profile["complete"] else ", incomplete"
    where = (
        f"{profile['format']}, {units.size(profile['size'])}{partly}"
        if profile["size"]
        else profile["format"]
    )
    counted = text.plural(profile["events"], "event")
    return (
        f"{plain(profile['host']) or '(no name)'}: {counted} on "
        f"{text.plural(profile['lines'], 'line')} ({where})"
    )


def _devices(one: Facts) -> str:
    names = one["devices"]
    if not names:
        return "none: the profile has host threads only" if one["profiles"] else ""
    idle = sum(profile["devices_without_events"] for profile in one["profiles"])
    shown = ", ".join(plain(name) for name in names[:8]) + (
        f" and {len(names) - 8} more" if len(names) > 8 else ""
    )
    return shown + (f" ({idle} of them recorded nothing)" if idle else "")


def _power(series: Facts) -> str:
    watts = "no watts"
    if series["mean_watts"] is not None:
        watts = (
            f"{series['min_watts']:g} to {series['max_watts']:g} W, mean "
            f"{series['mean_watts']:.1f} W"
        )
        watts += (
            f", limit {series['limit_watts']:g} W" if series.get("limit_watts") is not None else ""
        )
    over = (
        f"{text.plural(series['readings'], 'reading')} over "
        f"{units.duration(round(series['span_s'] * PS_PER_S), 3)}"
    )
    stranger = "; of no host of this run" if series["belongs_to"] is None and series["host"] else ""
    name, source = plain(series["label"]), plain(series["source"])
    return (
        f"{name}: {watts}; {over} ({source}, {plain(facts.short_path(series['path']))}){stranger}"
    )


def _energy(found: Facts | None) -> list[str]:
    """Joules over the whole profile; with several hosts each of them, and all together."""
    if found is None or all(one["joules"] is None for one in found["hosts"]):
        return []
    several = len(found["hosts"]) > 1
    lines = [(f"{plain(one['host'])}: " if several else "") + _drew(one) for one in found["hosts"]]
    return [*lines, f"all hosts: {_drew(found)}"] if several else lines


def _drew(one: Facts) -> str:
    if one["joules"] is None:
        return str(one["reason"])
    return f"{_interval(one)}, {one['badge']}"


def _interval(one: Facts) -> str:
    """Joules with the ends of their interval, in figures that tell them apart."""
    figures = units.figures_apart(one["lo_joules"], one["hi_joules"])
    joules, lo, hi = (
        units.quantity(one[key], "J", figures) for key in ("joules", "lo_joules", "hi_joules")
    )
    return f"{joules} (95 % {lo} to {hi})"


def _window(window: Facts) -> str:
    start, end = window["start_s"], window["end_s"]
    name = plain(window["name"]) or "(no name)"
    if end is None:
        return f"{name}: at {_s(start)} of the recording"
    drew = window["reason"] or "energy not known"
    if window["joules"] is not None:
        drew = _interval(window)
    return f"{name}: {_s(end - start)} from {_s(start)} of the recording, {drew}"


def _files(one: Facts) -> list[str]:
    files = one["files"]
    lines = []
    if files["alternates"]:
        names = ", ".join(plain(facts.short_path(path)) for path in files["alternates"][:3])
        lines.append(f"the same capture again, not needed: {names}")
    if files["results"] and one["profiles"]:
        lines.append(
            f"{text.plural(len(files['results']), 'result file')} of the profiler's own tools, "
            "not needed"
        )
    for file in files["unread"]:
        lines.append(f"not read yet: {plain(facts.short_path(file['path']))} ({file['what']})")
    return lines


# ── Markdown and CSV ─────────────────────────────────────────────────────────────────────────────


def _markdown(found: Logdir, runs: Sequence[Facts]) -> list[str]:
    lines: list[str] = []
    if not runs:
        lines.append(f"No run of a profiler was found in {text.markdown_text(found.path)}.")
    headers = [
        "run",
        "hosts",
        "devices",
        "events",
        "steps",
        "median step",
        "epochs",
        "duration",
        "start",
        "clock",
    ]
    rows = []
    for one in runs:
        spread = next((p["steps"]["step_s"] for p in one["profiles"] if p["steps"]["step_s"]), None)
        clock, begun = one["clock"], one["from"]
        known = begun["lo_ns"] is not None
        rows.append(
            [
                one["name"],
                str(len(one["hosts"])),
                str(len(one["devices"])),
                f"{one['events']:,}",
                str(one["steps"]),
                _s(spread["median_s"]) if spread else "",
                str(one["epochs"]),
                "" if one["duration_s"] is None else _s(one["duration_s"]),
                text.wall((begun["lo_ns"] + begun["hi_ns"]) // 2, clock["utc_offset_s"])
                if known
                else "unknown",
                clock["source"],
            ]
        )
    if rows:
        lines += text.markdown(headers, rows, right=(1, 2, 3, 4, 5, 6, 7))
    for one in runs:
        lines += ["", f"## {text.markdown_text(one['name'])}", ""]
        for profile in one["profiles"]:
            if len(one["profiles"]) > 1:
                lines += [f"### {text.markdown_text(profile['host'])}", ""]
            lines += [
                f"- {text.markdown_text(line)}" for line in step_facts.lines(profile["steps"])
            ]
            lines += _markdown_epochs(profile["epochs"])
        lines += [f"- warning: {text.markdown_text(line)}" for line in one["warnings"]]
    return lines


def _markdown_epochs(epochs: Facts) -> list[str]:
    if not epochs["count"]:
        return []
    rows = [
        [
            str(r["number"]),
            _instant(r["start_s"]),
            _instant(r["end_s"]),
            _length(r),
            str(r["steps"]),
            r["source"],
        ]
        for r in epochs["rows"][:200]
    ]
    return [
        "",
        *text.markdown(
            ["epoch", "start", "end", "length", "steps", "source"], rows, right=range(5)
        ),
        "",
    ]


def _csv(entries: Sequence[RunEntry], options: ReadOptions) -> int:
    """One row per step. Warnings would break the table: they go to standard error."""
    readable = False
    parts: list[Sequence[Any]] = []
    for entry in entries:
        run, problem = load(Opened(entry, options))
        if run is None:
            text.write(
                sys.stderr,
                f"powertui: {plain(problem or f'{entry.name}: {facts.why_no_timeline(entry)}')}",
            )
            continue
        readable = readable or bool(run.traces)
        parts += _step_rows(run)
    text.emit_csv(text.to_csv(_CSV, parts))
    return 0 if readable else 3


def _step_rows(run: Run) -> Iterator[Sequence[Any]]:
    for trace, steps, epochs in zip(run.traces, run.steps, run.epochs, strict=True):
        half = units.fixed(trace.clock.half_ns, 10**9, 6) if trace.clock.known else None
        for step in steps:
            unix = facts.unix_ns(trace.clock, step.start)
            yield (
                run.name,
                trace.host,
                _Number(epochs[step.epoch].number) if step.epoch is not None else None,
                _Number(step.number) if step.number >= 0 else None,
                step.name,
                _exact(step.start),
                _exact(step.duration),
                _exact(step.start_to_start),
                _Number(units.fixed(unix, 10**9, 9)) if unix is not None else None,
                _Number(half) if half is not None else None,
                _exact(step.host),
                _exact(step.device),
                _exact(step.step),
            )


class _Number:
    """A number that is already text: it may begin with a minus, which text from a file may not."""

    def __init__(self, value: int | str) -> None:
        self.value = value

    def __str__(self) -> str:
        return str(self.value)


def _exact(ps: int | None) -> _Number | None:
    """Seconds with all twelve decimals: picoseconds lose nothing."""
    return None if ps is None else _Number(units.fixed(ps, PS_PER_S, 12))
