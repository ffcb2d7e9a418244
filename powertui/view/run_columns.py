"""The columns of the list of runs, as the screen shows them.

`report.runs` makes the table that programs read. Here its rows get what a person looks for first:
how a run is, what bounds it, and how it went.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np

from powertui.data.columns import Column, Lazy, text_column
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.table import Table, plural
from powertui.plain import plain, width
from powertui.report.run_curve import BARS
from powertui.report.runs import HEALTH, LOCAL_TIME, KnownRun
from powertui.terminal.glyphs import Glyphs
from powertui.view import truncation

# The columns that a window too narrow for all gives up, the first one first: size, epochs, hosts,
# clock quality, length, steps, time of a step, framework, device, energy, course, time of day. At
# 80 columns health, run, when, bound by, course and finding are left: whether it is well and why
# counts more there than how much it took, and the course shows a burst that joules would hide.
# Health, run and what it is bound by always stay.
_WEIGHTS = {
    "run": 10,
    "when": 8,
    "device": 6,
    "step_s": 4,
    "joules": 7,
    "steps": 3,
    "took_s": 3,
    "power": 2,
    "hosts": 1,
    "epochs": 1,
    "size_bytes": 1,
}
_CELLS = {"step_s": 8, "joules": 8, "took_s": 9, "steps": 7}
_ORDER = (
    *("health", "run", "when", "device", "framework", "steps", "step_s", "bound", "bars"),
    *("joules", "unusual", "took_s", "power", "epochs", "hosts", "size_bytes"),
)
# Ends of names that say nothing of a run: folders that programs make for all of them, and the one
# that a profiler names after the time at which a session began, which is a column.
_USUAL_END = re.compile(
    r"/(logs?|fit|train|tensorboard|20\d\d[-_]?\d\d[-_]?\d\d([-_]\d\d[-_]?\d\d[-_]?\d\d)?)$"
)
_DATE = re.compile(r"20\d\d[-_]?[01]\d[-_]?[0-3]\d")
_SHARE = re.compile(r"(.*) (\d+ %)")
_SHORT_FRAMEWORKS = {"TensorFlow": "TF"}
_SHORT_WORDS = {
    "not recorded": "unrecorded",
    "between steps": "between",
    "incomplete profile": "incomplete",
}
_BOUND_CELLS = 18  # a square, "collectives", and a share
_UNIT_CELLS = 2  # behind the bars of a run
_MIN_FOUND_CELLS, _MAX_FOUND_CELLS = 9, 13  # "straggler", "+58 W outside"
# What a run is bound by, as the kind of work whose hue stands for that everywhere else.
_HUES = {
    "compute": "matmul",
    "input": "input",
    "collectives": "communication",
    "copies": "memory",
    "output": "memory",
    "checkpoint": "memory",
    "compilation": "compile",
    "launch": "python",
    "eager_ops": "python",
    "python": "python",
    "logging": "python",
    "between_steps": "python",
    "idle_device": "idle",
    "waiting": "idle",
    "unknown_time": "idle",
}


def screen_table(table: Table, facts: Mapping[str, KnownRun], glyphs: Glyphs) -> Table:
    """The same rows with the columns of the screen. `facts`: by the path of a run."""
    rows = [facts[path] for path in table["path"].values]
    columns = {}
    for column in table.columns:
        columns[column.id] = replace(
            column,
            weight=_WEIGHTS.get(column.id, 0),
            cells=_CELLS.get(column.id, 0),
        )
    for column in _added_columns(table, rows, glyphs):
        columns[column.id] = column
    ordered = [columns.pop(id) for id in _ORDER]
    return replace(table, columns=(*ordered, *columns.values()))


def _added_columns(
    table: Table,
    rows: Sequence[KnownRun],
    glyphs: Glyphs,
) -> list[Column]:
    """The columns that only the screen has, or has in other words."""
    count = len(rows)
    run_names = _short_names(list(table["run"].values))
    models = [run.model for run in rows]
    model_cells = max(8, max(map(width, models), default=0))
    frameworks = [_SHORT_FRAMEWORKS.get(run.framework, run.framework) for run in rows]
    findings = [_found_words(run) for run in rows]
    found_cells = max(_MIN_FOUND_CELLS, max(map(width, findings), default=0))
    is_faint = [run.unseen or not run.bound for run in rows]
    return [
        Column(
            id="health",
            label="",
            kind="text",
            values=Lazy(count, lambda row: _health_mark(rows[row].health, glyphs)),
            weight=9,
            ranks=_health_ranks(rows),
            cells=1,
        ),
        Column("run", "run", "text", run_names, weight=_WEIGHTS["run"]),
        replace(_moments(table["when"], rows), weight=_WEIGHTS["when"]),
        replace(text_column("device", "device", models, weight=6), cells=model_cells),
        replace(text_column("framework", "library", frameworks, weight=6), cells=7),
        Column(
            id="bound",
            label="bound by",
            kind="text",
            values=Lazy(count, lambda row: _bound_words(rows[row])),
            weight=9,
            faint=np.array(is_faint, np.bool_),
            cells=_BOUND_CELLS,
        ),
        Column(
            id="bars",
            label="watts/steps",
            kind="text",
            values=Lazy(count, lambda row: _bar_text(rows[row], glyphs)),
            weight=7,
            ranks=np.array([_bar_range(run) for run in rows]),
            cells=BARS + _UNIT_CELLS,
        ),
        replace(
            text_column("unusual", "found", findings, weight=8),
            cells=min(_MAX_FOUND_CELLS, found_cells),
        ),
    ]


def _bar_range(run: KnownRun) -> float:
    """How much a run's course goes up and down; NaN where nothing was read."""
    if not run.bars:
        return math.nan
    return max(run.bars) - min(run.bars)


def _health_mark(health: str, glyphs: Glyphs) -> str:
    """A sign whose shape says as much as its color."""
    marks = "▲◆●" if glyphs.name == "unicode" else "!?."
    if health:
        return marks[HEALTH.index(health)]
    return " "


def health_counts(facts: Sequence[KnownRun], glyphs: Glyphs) -> str:
    """What the marks mean, with how many runs have each; "" where no run has one."""
    counts = Counter(run.health for run in facts)
    parts = []
    for health, words in zip(HEALTH, ("unusual", "worth a look", "nothing unusual"), strict=True):
        if counts[health]:
            parts.append(f"{_health_mark(health, glyphs)} {counts[health]:,} {words}")
    return "  ".join(parts)


def _bound_words(run: KnownRun) -> str:
    """What a run is bound by, and the share at one place in all rows."""
    if run.unseen and not run.bound:
        return "  open to see"
    match = _SHARE.fullmatch(run.bound)
    if match is not None:
        words, share = match.groups()
        words = _SHORT_WORDS.get(words, words)
        room = _BOUND_CELLS - 2 - len(share)
        return f"  {words:<{room}}{share}"
    words = run.bound
    if not words:
        words = "–" if run.health else _what_it_is(run)
    return f"  {words}" if words else ""


def bound_hue(run: KnownRun) -> str:
    """The category in whose color the square before the words stands; "" for none."""
    if run.bound:
        return _HUES.get(run.bound_kind, "other")
    return ""


def _bar_text(run: KnownRun, glyphs: Glyphs) -> str:
    """The course of a run, a cell each, blank where nothing was read, and the unit that it has:
    watts, else the seconds of steps.
    """
    if not run.bars:
        return "one step" if run.steps == 1 else ""
    levels = glyphs.bars
    text = ""
    for eighths in run.bars:
        level = math.ceil(eighths * len(levels) / 8)
        text += levels[level - 1] if level else " "
    return text + (" W" if run.has_power_bars else " s")


def _health_ranks(rows: Sequence[KnownRun]) -> np.ndarray:
    worst_first = {health: float(rank) for rank, health in enumerate(HEALTH)}
    return np.array([worst_first.get(run.health, np.nan) for run in rows], np.float64)


def _without_usual_end(name: str) -> str:
    short = _USUAL_END.sub("", name)
    while short != name:
        name = short
        short = _USUAL_END.sub("", name)
    return name


def name_parts(names: Iterable[str]) -> Counter[str]:
    """How many names have each folder of a path."""
    counts: Counter[str] = Counter()
    for name in names:
        counts.update(set(name.split("/")))
    return counts


def fitting_name(
    name: str,
    parts: Mapping[str, int],
    room: int,
    ellipsis: str,
) -> str:
    """A name in at most so many cells: the longest folder that no other run has, without dates."""
    if width(name) <= room:
        return name
    folders = name.split("/")
    unique = []
    for part in folders:
        if parts.get(part) == 1 and not _DATE.search(part):
            unique.append(part)
    if not unique:
        return truncation.middle(name, room, ellipsis)
    longest = max(unique, key=width)
    before = "" if longest == folders[0] else f"{ellipsis}/"
    after = "" if longest == folders[-1] else "/"
    return truncation.middle(f"{before}{longest}{after}", room, ellipsis)


def _found_words(run: KnownRun) -> str:
    """What was found in two words: steps are slow, watts have their number; of a run that is worth
    a look what it waits for instead of computing.
    """
    if run.unusual.startswith("slow"):
        return "slow"
    words = run.unusual
    if not words and run.health == "look":
        words = run.conclusion.removeprefix("! ")
    match = _SHARE.fullmatch(words)
    if match is not None:
        words = match.group(1)
    return _SHORT_WORDS.get(words, words)


def _what_it_is(run: KnownRun) -> str:
    """What a row is that is no profile: "2 sessions", "power log", "cannot be read"."""
    if run.model:
        return ""
    return run.device.removeprefix("training of ")


def _short_names(names: Sequence[str]) -> list[str]:
    """Names without the folder of a session, where no two of them become the same."""
    short = [_without_usual_end(name) for name in names]
    counts = Counter(short)
    return [part if counts[part] == 1 else name for part, name in zip(short, names, strict=True)]


def _moments(column: Column, rows: Sequence[KnownRun]) -> Column:
    """When runs began, all in this machine's zone: with the time of day in the newest year."""
    moments = [run.placed if run.began is None else run.began for run in rows]
    dated = [moment for moment in moments if moment is not None]
    newest_year = _local(max(dated)).year if dated else 0

    def text(row: int) -> str:
        run = rows[row]
        moment = moments[row]
        has_no_time = not run.when and run.by_file
        if moment is None or has_no_time or "date" in run.when:
            return run.when
        local = _as_written(moment) if _has_no_zone(run) else _local(moment)
        is_newest_year = local.year == newest_year
        if run.began is None and run.by_file:
            if is_newest_year:
                return f"by {local:%b %d}"
            return f"by {local:%b %d %Y}"
        if is_newest_year:
            return f"{local:%b %d %H:%M}"
        return f"{local:%b %d  %Y}"

    return replace(column, values=Lazy(len(rows), text), cells=12)


def _local(unix_s: float) -> datetime:
    try:
        return datetime.fromtimestamp(unix_s)
    except (OverflowError, OSError, ValueError):
        return datetime(1970, 1, 1)


def _as_written(unix_s: float) -> datetime:
    """The time on a clock whose zone nobody knows: it is kept as if it were UTC."""
    try:
        return datetime.fromtimestamp(unix_s, timezone.utc).replace(tzinfo=None)
    except (OverflowError, OSError, ValueError):
        return datetime(1970, 1, 1)


def _has_no_zone(run: KnownRun) -> bool:
    """Whether its logs show local times of a zone that they do not name."""
    return run.when.endswith(LOCAL_TIME)


def zone_words(now_s: float, runs: Iterable[KnownRun] = ()) -> str:
    """The zone of all times in the list: "times in UTC"; logs without one have their own."""
    without_zone = [_has_no_zone(run) for run in runs]
    if without_zone and all(without_zone):
        return "times as in the logs, which name no zone"
    name = datetime.fromtimestamp(now_s).astimezone().tzname() or "local time"
    words = f"times in {plain(name, 40)}"
    if any(without_zone):
        words += ", or as in logs without a zone"
    return words


def count_words(
    runs: Sequence[RunEntry],
    row_of_session: Mapping[str, str],
    folder: Logdir | None,
) -> str:
    """How many runs are listed, in how many trainings, and what is still to come.

    `row_of_session`: by the path of a run that is a session, that of its training's row.
    """
    sessions = [run.path for run in runs if run.path in row_of_session]
    training_count = len({row_of_session[path] for path in sessions})
    run_count = len(runs) - training_count
    count = f"{run_count:,} {plural('run', run_count)}"
    if sessions:
        trainings_text = f"{training_count:,} {plural('training', training_count)}"
        count += f", {len(sessions):,} of them in {trainings_text}"
    if folder is not None and not folder.complete:
        count += " so far; searching folders …"
    if folder is not None and folder.moves:
        count += "; grouping changed by hand"
    return count
