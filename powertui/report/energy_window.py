"""One window that was asked for: of a training by time, epoch, batches or session, or of a profile
by its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powertui import __version__, units
from powertui.data.asked import Aligning
from powertui.data.energy import account as accounts
from powertui.data.energy.counted_energy import EnergyOfCounted
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S, Z95
from powertui.data.training import named_windows
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import training_energy
from powertui.errors import UnreadableFile, UsageError
from powertui.place_words import time_words
from powertui.plain import plain
from powertui.report import export, text, training_json, training_page
from powertui.report.energy_figures import CSV_COLUMNS, NO_POWER, csv_cells, json_energy
from powertui.report.energy_words import HEADINGS, EnergyWords, unit_for
from powertui.report.page_style import style_of
from powertui.value_types import dataclass

_COLUMNS = ("training", "window", "epoch", "start_s", "end_s", "half_s", *CSV_COLUMNS)
_MAX_CHANNELS = 16  # with a row each; chosen, not measured


@dataclass(frozen=True)
class AskedWindow:
    """A window and what it drew."""

    owner: str  # the training, or the run with its host
    name: str
    epoch: int | None
    lo: int  # ps
    hi: int
    half: int
    energy: Energy | None
    why: str  # why there is no energy
    shown: dict[str, Any]  # as JSON
    channels: tuple[tuple[str, Energy | None], ...] = ()  # what each of several drew of it


def training_windows(
    path: str,
    chosen: Sequence[Training],
    asked: named_windows.WindowRequest,
) -> list[AskedWindow]:
    """The window of each training that was named."""
    if not chosen:
        raise UnreadableFile(
            path, "holds no training", hint=f"See what is there: powertui doctor {path}"
        )
    windows = []
    for training in chosen:
        axis = training.seen_from()
        window = training_energy(axis).window(named_windows.find_window(axis, asked))
        windows.append(
            AskedWindow(
                owner=training.name,
                name=window.name,
                epoch=window.epoch,
                lo=window.start,
                hi=window.end,
                half=window.half,
                energy=window.energy,
                why=training_page.NO_POWER_HERE,
                shown=training_json.json_named_window(training, window),
                channels=_channels(
                    training_energy(axis).account, window.start, window.end, window.half
                ),
            )
        )
    return windows


def _channels(
    account: Account,
    lo: int,
    hi: int,
    half: int = 0,
) -> tuple[tuple[str, Energy | None], ...]:
    """The name and the joules of each channel that is added up; nothing of a single one."""
    counted = account.channels
    if not 1 < len(counted) <= _MAX_CHANNELS:
        return ()
    return tuple(
        (
            plain(power.series.sensor.label, 40),
            EnergyOfCounted((power,)).of_window(
                lo,
                hi,
                edge_ps=half / Z95,
                with_log=(False, False),
            ),
        )
        for power in counted
    )


def profile_windows(
    trainings: Trainings,
    name: str | None,
    aligning: Aligning,
    asked: named_windows.WindowRequest,
) -> list[AskedWindow]:
    """The steps or times that were named, of every profile that has them, as `powertui export`
    takes them.

    Raises `UsageError` with what there is where none has.
    """
    words = export.WindowWords(
        start=asked.start,
        end=asked.end,
        epoch=asked.epoch,
        steps=asked.steps,
    )
    if asked.batches is not None or asked.session is not None:
        raise UsageError(
            "The window is given twice.", hint="Give --steps, or --batches, or --session."
        )
    title = _profile_title(asked)
    windows = []
    problem: UsageError | None = None
    for entry in trainings.found.chosen(name):
        opened = trainings.opened(entry)
        for profile in opened.profiles:
            if asked.host not in (None, profile.host):
                continue
            try:
                lo, hi = export.profile_window(words, opened.run, profile.index, outside=True)
            except UsageError as error:
                problem = problem or error
                continue
            account = accounts.energy_account(profile, aligning)
            energy = account.of_window(lo, hi)
            if profile.host:
                owner = f"{opened.name} on {profile.host}"
            else:
                owner = opened.name
            shown = {
                "run": opened.name,
                "host": profile.host,
                "kind": "window",
                "name": title,
                "epoch": asked.epoch,
                "start_s": lo / PS_PER_S,
                "end_s": hi / PS_PER_S,
                "half_s": 0.0,
                **json_energy(energy),
            }
            windows.append(
                AskedWindow(
                    owner=owner,
                    name=title,
                    epoch=asked.epoch,
                    lo=lo,
                    hi=hi,
                    half=0,
                    energy=energy,
                    channels=_channels(account, lo, hi),
                    why=NO_POWER,
                    shown=shown,
                )
            )
    if not windows:
        raise problem or UsageError(
            "No profile here has steps.", hint="Name batches of the training with --batches."
        )
    return windows


def _profile_title(asked: named_windows.WindowRequest) -> str:
    if asked.steps is None:
        return f"{_seconds(asked.start)} to {_seconds(asked.end)}"
    if asked.epoch is None:
        return f"steps {asked.steps}"
    return f"epoch {asked.epoch}, steps {asked.steps}"


def _seconds(written: str | None) -> str:
    ps = units.parse_time(written or "") or 0
    return time_words(ps)


def print_windows(path: str, windows: Sequence[AskedWindow], form: str, unit: str | None) -> None:
    """Print them in one of the forms."""
    if form == "json":
        shown = [window.shown for window in windows]
        text.out(text.to_json({"powertui": __version__, "path": path, "windows": shown}))
    elif form == "csv":
        text.emit_csv(text.to_csv(_COLUMNS, map(_csv_cells, windows)))
    else:
        text.out("\n".join(_lines(windows, form, unit)))


def _csv_cells(window: AskedWindow) -> list[Any]:
    return [
        window.owner,
        window.name,
        window.epoch,
        window.lo / PS_PER_S,
        window.hi / PS_PER_S,
        window.half / PS_PER_S,
        *csv_cells(window.energy, window.why),
    ]


def _lines(windows: Sequence[AskedWindow], form: str, unit: str | None) -> list[str]:
    longest_ps = max(window.hi - window.lo for window in windows)
    words = EnergyWords(unit_for(unit, longest_ps))
    style = style_of(form)
    rows = []
    for window in windows:
        length = units.duration(window.hi - window.lo)
        rows.append([window.owner, window.name, length, *words.cells(window.energy)])
        for name, part in window.channels:
            rows.append([f"  {name}", "", "", *words.cells(part)])
    headers = ("of", "window", "time", *HEADINGS)
    lines = style.table(headers, rows, range(2, 8))
    for window in windows:
        reason = _why_unknown(window)
        if reason:
            lines.append(style.line(f"{window.name}: {reason}"))
    return lines


def _why_unknown(window: AskedWindow) -> str:
    """Why its joules are not known; "" where they are."""
    if window.energy is None:
        return window.why
    if window.energy.resolved:
        return ""
    return window.energy.reason
