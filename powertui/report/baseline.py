"""`powertui baseline`: save, list and show."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from powertui.data.compare.run_scatter import MIN_RUNS
from powertui.data.gate import quantities
from powertui.data.gate.baseline_file import baseline_text, with_added
from powertui.data.gate.baseline_store import (
    baseline_path,
    check_name,
    find_baseline,
    save_baseline,
    saved_names,
)
from powertui.data.gate.run_values import BaselineRuns
from powertui.data.gate.samples import mean_interval, samples_of_runs
from powertui.data.model import NS_PER_S
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.report import text
from powertui.report.compare_sides import Asked, SideReading
from powertui.report.gate_runs import runs_to_save
from powertui.report.gate_words import in_quantity_unit, runs_in_words

_HEADERS = ("quantity", "mean", "95 % interval", "from run to run", "runs")
_SHOWN_NAMED = 10  # ops and kernels, the largest first; --json lists all
_NAME_CHARACTERS = 60
_MIN_SHOWN_MEAN = 0.5e-9  # s: below it a time is the rounding of the files


def save(
    name: str,
    paths: Sequence[str],
    part: Asked,
    reading: SideReading,
    folder: Path,
    *,
    replace: bool,
    add: bool,
) -> int:
    """Measure the runs, and write the file: with those that it has, where runs are added."""
    check_name(name)
    measured = runs_to_save(paths, part, reading)
    text.write_reader_warnings(reading.options.hosts)
    if add and baseline_path(folder, name).exists():
        measured = with_added(find_baseline(name, folder), measured.runs)
    runs = measured.runs
    content = baseline_text(name, runs, int(time.time()), left_out=measured.left_out)
    path = save_baseline(folder, name, content, replace=replace or add)
    counted = runs_in_words(len(runs), sum(run.sessions for run in runs))
    words = f"Saved {name}: {counted}, {len(content.encode()):,} bytes"
    text.out(plain(f"{words} in {path}."))
    if len(runs) < MIN_RUNS:
        text.out(
            f"Fewer than {MIN_RUNS} runs do not show how much runs vary, so a check against them "
            "can seldom decide. Save three, or better five."
        )
    return 0


def list_saved(folder: Path, form: str) -> int:
    """One row a baseline. A damaged one is a row that says so."""
    rows = [_listed(folder, name) for name in saved_names(folder)]
    if form == "json":
        text.out(text.to_json({"folder": str(folder), "baselines": rows}))
        return 0
    if not rows:
        text.out(plain(f"No baseline is saved in {folder}."))
        text.out("Save one: powertui baseline save main RUN...")
        return 0
    headers = ("name", "runs", "step", "energy of a step", "recorded", "problem")
    cells = []
    for row in rows:
        cells.append(
            [
                row["name"],
                str(row["runs"] or ""),
                in_quantity_unit(row[quantities.STEP], "s"),
                in_quantity_unit(row[quantities.STEP_JOULES], "J"),
                row["recorded"] or "",
                row["problem"],
            ]
        )
    if form == "markdown":
        text.out("\n".join(text.markdown(headers, cells, right=(1, 2, 3))))
    elif form == "csv":
        text.emit_csv(text.to_csv(headers, cells))
    else:
        text.out("\n".join(text.table(headers, cells, right=(1, 2, 3))))
    return 0


def _listed(folder: Path, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "runs": None, "recorded": None, "problem": ""}
    row |= {quantities.STEP: None, quantities.STEP_JOULES: None}
    try:
        baseline = find_baseline(str(baseline_path(folder, name)), folder)
    except UnreadableFile as error:
        return {**row, "problem": plain(error.problem, 200)}
    row["runs"] = len(baseline.runs)
    row["recorded"] = _recorded(baseline)
    for quantity in (quantities.STEP, quantities.STEP_JOULES):
        samples = samples_of_runs(baseline.runs, quantity)
        row[quantity] = samples.mean if samples.values else None
    return row


def _recorded(baseline: BaselineRuns) -> str | None:
    """From which day to which its runs are, in UTC."""
    starts = [run.start_ns for run in baseline.runs if run.start_ns is not None]
    if not starts:
        return None
    days = []
    for start in (min(starts), max(starts)):
        try:
            moment = datetime.fromtimestamp(start / NS_PER_S, timezone.utc)
        except (OverflowError, OSError, ValueError):
            return None
        days.append(f"{moment:%Y-%m-%d}")
    if days[0] == days[1]:
        return days[0]
    return f"{days[0]} to {days[1]}"


def show(words: str, folder: Path, form: str) -> int:
    """The figures of one baseline, and how they vary."""
    baseline = find_baseline(words, folder)
    document = baseline_as_json(baseline)
    if form == "json":
        text.out(text.to_json(document))
        return 0
    rows = document["quantities"]
    if form == "csv":
        columns = ("name", "unit", "mean", "lo", "hi", "sd", "runs")
        shown = [[row[column] for column in columns] for row in rows]
        text.emit_csv(text.to_csv(columns, shown))
        return 0
    text.out("\n".join(_page(baseline, document, form)))
    return 0


def _page(baseline: BaselineRuns, document: dict[str, Any], form: str) -> list[str]:
    from powertui.report.page_style import style_of

    style = style_of(form)
    title = f"Baseline {baseline.name}: {text.plural(len(baseline.runs), 'run')}"
    if document["recorded"]:
        title += f", recorded {document['recorded']}"
    rows, hidden_count = _shown_rows(document["quantities"])
    notes = []
    if hidden_count:
        notes.append(f"… and {hidden_count:,} more (--json lists them)")
    if baseline.left_out:
        left_out = f"{baseline.left_out:,} quantities are not kept"
        notes.append(f"{left_out}: they are small, or their names are long.")
    configuration = []
    for name, values in document["configuration"].items():
        configuration.append(f"{plain(name, 60)}: {plain(' / '.join(values), 120)}")
    return [
        *style.head(1, title),
        "",
        *style.table(_HEADERS, map(_cells, rows), (1, 2, 3, 4)),
        *map(style.line, notes),
        *style.head(2, "Configuration"),
        *map(style.line, configuration),
    ]


def _shown_rows(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """(the rows of a page, how many more there are): of quantities that are named after an op or
    a part of a step only the first, as there may be thousands.
    """
    fixed = [row for row in rows if not quantities.prefix_of(row["name"])]
    named = [row for row in rows if quantities.prefix_of(row["name"])]
    return [*fixed, *named[:_SHOWN_NAMED]], max(0, len(named) - _SHOWN_NAMED)


def _cells(row: dict[str, Any]) -> list[str]:
    name = plain(row["name"], _NAME_CHARACTERS)
    unit = row["unit"]
    mean = row["mean"]
    deviation = row["sd"]
    interval = ""
    if row["lo"] is not None:
        interval = f"{in_quantity_unit(row['lo'], unit)} to {in_quantity_unit(row['hi'], unit)}"
    varies = ""
    if deviation is not None and abs(mean) > _MIN_SHOWN_MEAN:
        varies = f"± {100 * deviation / abs(mean):.3g} %"
    return [name, in_quantity_unit(mean, unit), interval, varies, str(row["runs"])]


def baseline_as_json(baseline: BaselineRuns) -> dict[str, Any]:
    """Its figures as `check` uses them. `sd` is from run to run, with three runs and more."""
    names = dict.fromkeys(name for run in baseline.runs for name in run.values)
    rows = []
    fixed = {quantity.name: quantity for quantity in quantities.fixed_quantities()}
    for name in names:
        samples = samples_of_runs(baseline.runs, name)
        interval = mean_interval(samples)
        rows.append(
            {
                "name": name,
                "unit": fixed[name].unit if name in fixed else "s",
                "mean": samples.mean,
                "lo": interval.lo,
                "hi": interval.hi,
                "sd": samples.deviation if samples.decides_by_runs else None,
                "runs": len(samples.values),
                "basis": interval.basis.value,
            }
        )
    configuration: dict[str, list[str]] = {}
    for run in baseline.runs:
        for setting, value in run.settings.items():
            values = configuration.setdefault(setting, [])
            if value not in values:
                values.append(value)
    return {
        "name": baseline.name,
        "recorded": _recorded(baseline),
        "runs": [{"name": run.name, "steps": run.steps} for run in baseline.runs],
        "configuration": configuration,
        "quantities": rows,
        "left_out": baseline.left_out,
    }
