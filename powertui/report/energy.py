"""`powertui energy`: joules per epoch and step, the sensors, the alignment with its evidence, and
what stands out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from powertui import __version__, units
from powertui.data import logdir
from powertui.data.asked import Aligning, LogColumns, ReadOptions
from powertui.data.energy import account, badges, host_energy, integrate, power_owners
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.integrate import Energy
from powertui.data.model import NS_PER_S, PS_PER_S, Run
from powertui.data.opened import Opened
from powertui.data.power import registry
from powertui.data.training import named_windows
from powertui.data.training.training import Training, Trainings
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.report import summary, text, training
from powertui.report.energy_json import (
    NO_POWER,
    TraceEnergy,
    as_json,
    json_energy,
    json_finding,
    totals,
)

_WINDOWS_SHOWN = 50
_SENSORS_SHOWN = 64  # a rack of GPUs; logs of whole clusters have thousands


def tell(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    form: str,
    asked: named_windows.WindowRequest | None = None,
) -> int:
    """Print the joules of the runs that were named, or of one window.

    Exit code 3 when nothing of them could be read.
    """
    trainings = Trainings(logdir.scan(path), reading, aligning)
    if asked is not None and asked.anything:
        return _window(
            path, trainings.chosen(trainings.found.chosen(name), name is None), asked, form
        )
    told = _gather(path, name, reading, aligning, trainings)
    chosen = trainings.chosen(trainings.found.chosen(name), name is None)
    if form == "json":
        shown = [training.energy_json(one, json_energy, json_finding) for one in chosen]
        text.out(text.to_json({**as_json(path, told), "trainings": shown}))
    elif form == "csv":
        text.emit_csv(text.to_csv(_COLUMNS, _csv_rows(told)))
    else:
        style = _Markdown() if form == "markdown" else _Plain()
        pages = [line for one in told for line in _page(one, style)]
        whole = [
            line
            for one in chosen
            if training.worth_a_page(one)
            for line in training.page(one, style, _HEAD, _cells, _symmetry)
        ]
        text.out(
            "\n".join(
                [
                    *pages,
                    *(line for name, found in totals(told) for line in _total(name, found, style)),
                    *whole,
                ]
            )
        )
    return 0


def _window(
    path: str, chosen: Sequence[Training], asked: named_windows.WindowRequest, form: str
) -> int:
    """One window of each training that was named."""
    found = [
        (one, (seen := one.seen_from()).whole.window(named_windows.find_window(seen, asked)))
        for one in chosen
    ]
    if not found:
        raise UnreadableFile(
            path, "holds no training", hint=f"See what is there: powertui doctor {path}"
        )
    if form == "json":
        shown = [training.window_json(one, window, json_energy) for one, window in found]
        text.out(text.to_json({"powertui": __version__, "path": path, "windows": shown}))
    elif form == "csv":
        text.emit_csv(
            text.to_csv(
                training.WINDOW_CSV, [training.window_cells(one, window) for one, window in found]
            )
        )
    else:
        style = _Markdown() if form == "markdown" else _Plain()
        rows = [
            [
                one.name,
                window.name,
                f"{(window.end - window.start) / PS_PER_S:.2f} s",
                *_cells(window.energy),
            ]
            for one, window in found
        ]
        text.out(
            "\n".join(style.table(("training", "window", "time", *_HEAD), rows, (2, 3, 4, 5, 6)))
        )
    return 0


def _gather(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    trainings: Trainings | None = None,
) -> list[TraceEnergy]:
    """The accounts of every run that was asked for."""
    around = trainings if trainings is not None else Trainings(logdir.scan(path), reading, aligning)
    found_there = around.found
    told: list[TraceEnergy] = []
    problems: list[str] = []
    for entry in found_there.chosen(name):
        opened = around.opened(entry)
        found, problem = summary.load(opened)
        if found is None:
            problems.append(problem)
        elif found.traces or found.power:
            told += of_run(opened, aligning)
    power_owners.check([one.run for one in told if one.account is not None], reading.power_hosts)
    if not told:
        found_logs = [file.path for file in found_there.power if reading.find_power]
        unread: list[UnreadableFile] = []
        told = [*_logs_alone([*reading.power, *found_logs], reading, unread)]
        if not told and len(unread) == 1:
            raise unread[0]
        for error in unread:
            text.write(sys.stderr, f"powertui: {plain(error.message)}")
            if error.hint:
                text.write(sys.stderr, f"  {plain(error.hint)}")
        problems += [error.message for error in unread]
    if not told:
        why = next(
            (p for p in problems if p),
            f"{plain(path)}: holds neither a profile nor a power log that can be read",
        )
        raise UnreadableFile(
            path, why.removeprefix(f"{path}: "), hint=f"See what is there: powertui doctor {path}"
        )
    return told


def _logs_alone(
    paths: Sequence[str], options: ReadOptions, unread: list[UnreadableFile]
) -> Iterator[TraceEnergy]:
    """Power logs without any run: each is told on its own clock.

    One that was only found and cannot be read hides no other.
    """
    for path in dict.fromkeys(paths):
        try:
            log = registry.load(
                path, options.columns or LogColumns(tz=options.tz, limit=options.limit)
            )
        except UnreadableFile as error:
            if path in options.power:
                raise
            unread.append(error)
            continue
        run = Run(path, path, (), (), (), power=log.series, warnings=log.warnings)
        yield TraceEnergy(
            run, "", None, None, "there is no profile here: the power is shown on its own clock"
        )


def of_run(opened: Opened, aligning: Aligning) -> list[TraceEnergy]:
    """The accounts of all hosts of a run."""
    run = opened.run
    if not run.traces:
        return [
            TraceEnergy(
                run, "", None, None, "this run has no profile: its power is shown on its own clock"
            )
        ]
    told = []
    for profile in opened.profiles:
        found = account.energy_account(profile, aligning)
        problem = (
            _no_power(opened)
            if not run.power
            else found.apart
            if found.placed
            else f"No power belongs to {profile.host or 'this host'}."
        )
        told.append(
            TraceEnergy(run, profile.host, found, account.findings(profile, aligning), problem)
        )
    return told


def _no_power(opened: Opened) -> str:
    """That no log was found, and which ones above the logdir may be the run's."""
    above = [file.path for file in opened.entry.above]
    if not above:
        return NO_POWER
    if len(above) == 1:
        return f"{NO_POWER}. {above[0]} lies above it: if it is this run's, name it"
    more = f" and {len(above) - _SHOWN} more" if len(above) > _SHOWN else ""
    return (
        f"{NO_POWER}. {', '.join(above[:_SHOWN])}{more} lie above it: if one is this run's, name it"
    )


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

_COLUMNS = (
    "run",
    "host",
    "epoch",
    "step",
    "start_s",
    "duration_s",
    "end_s",
    "joules",
    "lo_joules",
    "hi_joules",
    "mean_watts",
    "badge",
    "reason",
)


def _csv_rows(told: Sequence[TraceEnergy]) -> Iterator[Sequence[Any]]:
    """One row per step. An empty cell is unknown, and the last column says why."""
    for one in told:
        found = one.account
        if found is None:
            continue
        energies = found.step_energies
        for step in found.steps:
            number = step.number if step.number >= 0 else None
            cells = _step_cells(energies[step.index] if energies else None)
            yield (
                one.run.name,
                one.host,
                found.epoch_number(step.epoch),
                number,
                step.start / PS_PER_S,
                step.duration / PS_PER_S,
                step.end / PS_PER_S,
                *cells,
            )


def _step_cells(energy: Energy | None) -> tuple[object, ...]:
    if energy is None:
        return (None, None, None, None, None, NO_POWER)
    return (
        energy.joules,
        energy.lo,
        energy.hi,
        energy.mean_w,
        energy.badge.value if energy.resolved else None,
        energy.reason,
    )


# ── text and Markdown ────────────────────────────────────────────────────────────────────────────


class _Plain:
    def head(self, level: int, words: str) -> list[str]:
        return [plain(words)] if level == 1 else ["", plain(words)]

    def line(self, words: str, deeper: bool = False) -> str:
        return ("      " if deeper else "  ") + plain(words)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]:
        return text.table(headers, rows, right=right, indent="  ")


class _Markdown:
    def head(self, level: int, words: str) -> list[str]:
        return ["", "#" * (level + 1) + " " + text.markdown_text(words), ""]

    def line(self, words: str, deeper: bool = False) -> str:
        return ("  - " if deeper else "- ") + text.markdown_text(words)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]:
        return [*text.markdown(headers, rows, right=right), ""]


def _page(one: TraceEnergy, style: training.Style) -> list[str]:
    lines = style.head(1, (one.run.name or "run") + (f" on {one.host}" if one.host else ""))
    lines += [style.line(words) for words in one.said]
    found = one.account
    if found is None:
        rows = [
            [
                series.sensor.host,
                series.sensor.name,
                sensors.sentence(series),
                *_cells(integrate.of_series(series)),
            ]
            for series in one.power[:_SENSORS_SHOWN]
        ]
        lines += style.table(("host", "sensor", "resolves", *_HEAD), rows, (3, 4, 5, 6))
        lines += _more_sensors(len(one.power), style)
    elif found.placed:
        lines += _alignment(found, style) + _sensors(found, style)
        if found.counted or not found.elsewhere:  # else there is nothing but the sentence above
            lines += _energies(found, style) + _devices(one, found, style)
    if one.windows:
        lines += _windows(one, style)
    if one.symmetry is not None:
        lines += _symmetry(one.symmetry, style)
    lost = [*one.run.warnings, *(w for s in one.run.power for w in s.warnings)]
    if lost:
        lines += style.head(2, "Notes on the files") + [
            style.line(w) for w in dict.fromkeys(str(w) for w in lost)
        ]
    return [*lines, ""]


def _total(name: str, found: RunEnergy, style: training.Style) -> list[str]:
    """What a run of several hosts drew: each of them, and all together."""
    if len(found.hosts) < 2 or not any(found.energies):
        return []
    lines = style.head(1, f"{name or 'run'} on all its hosts")
    return [*lines, *style.table(("", *_HEAD), host_energy.told(found, _cells), (1, 2, 3, 4)), ""]


def _alignment(found: Account, style: training.Style) -> list[str]:
    alignment = found.alignment
    lines = style.head(2, "Alignment")
    if alignment is not None and alignment.elsewhere:  # that stands above all else
        return lines + [style.line(words) for words in ("none", *alignment.evidence[1:])]
    if alignment is None:
        return [*lines, style.line("no channel has a reading")]
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        lines.append(style.line("none: the power log cannot be placed on this trace"))
    else:
        drift = f", drift {alignment.ppm:+.0f} ppm" if alignment.ppm else ""
        lines.append(
            style.line(
                f"{alignment.status}, {alignment.source}: the log's zero lies at "
                f"{alignment.offset_s:.3f} s of the trace"
                f" (95% interval {alignment.lo_s:.3f} … {alignment.hi_s:.3f} s){drift}"
            )
        )
    return lines + [style.line(words) for words in alignment.evidence]


def _more_sensors(count: int, style: training.Style) -> list[str]:
    """How many sensors a table left out."""
    if count <= _SENSORS_SHOWN:
        return []
    return [style.line(f"… and {count - _SENSORS_SHOWN:,} more (--json lists them)")]


def _sensors(found: Account, style: training.Style) -> list[str]:
    series = [(p.power.series, p.alignment) for p in found.placed]
    rows = [
        [
            s.sensor.host,
            s.sensor.name,
            s.sensor.scope.value,
            s.sensor.source,
            sensors.sentence(s),
            "not used" if a.elsewhere else a.status,
        ]
        for s, a in series[:_SENSORS_SHOWN]
    ]
    lines = style.head(2, "Sensors") + style.table(
        ("host", "sensor", "scope", "source", "resolves", "placed"), rows, ()
    )
    lines += _more_sensors(len(series), style)
    if found.text:
        lines.append(style.line(f"counted: {found.text}"))
    if found.idle is not None:
        where = f"{',' if found.idle_at_most else ''} {found.idle_text}" if found.idle_text else ""
        lines.append(
            style.line(f"idle power: {found.idle.value:.1f} W ({found.idle.badge.value}{where})")
        )
    elif found.idle_text:
        lines.append(style.line(f"idle power: {found.idle_text}"))
    return lines


_SHOWN = 3  # logs above the logdir that are named
_HEAD = ("energy", "95% interval", "mean", "max", "badge")


def _energies(found: Account, style: training.Style) -> list[str]:
    rows = []
    epochs = found.epoch_energies
    for one in epochs:
        rows.append(
            [f"epoch {one.number}", f"{(one.hi - one.lo) / PS_PER_S:.2f} s", *_cells(one.energy)]
        )
        mean, count = found.per_step(one.index), int((found.steps.epoch == one.index).sum())
        if mean is not None:
            rows.append([f"  mean step (of {count})", "", *_cells(mean)])
    lo, hi = found.trace.span
    whole = found.energy(lo, hi)
    rows.append(["the whole profile", f"{(hi - lo) / PS_PER_S:.2f} s", *_cells(whole)])
    lines = style.head(2, "Energy") + style.table(("", "time", *_HEAD), rows, (1, 2, 3, 4, 5))
    if whole is not None and whole.active_joules is not None and whole.idle_joules is not None:
        idle, active = _joules(whole.idle_joules), _joules(whole.active_joules)
        most, least = ("at most ", "at least ") if found.idle_at_most else ("", "")
        lines.append(
            style.line(
                f"an idle machine would have drawn {most}{idle} over the whole profile; "
                f"{least}{active} came on top"
            )
        )
    if whole is not None and whole.gain_j:
        lines.append(
            style.line(
                f"the sensor's own gain: ± {_joules(whole.gain_j)} on the whole profile, "
                "systematic, not in the intervals"
            )
        )
    steps = found.step_energies
    unresolved = [e for e in steps if not e.resolved]
    if unresolved:
        lines.append(
            style.line(f"single steps: {len(unresolved)} of {len(steps)} {unresolved[0].reason}")
        )
    shown = [whole, *unresolved[:1], *(one.energy for one in epochs)]
    return [*lines, style.line(badges.legend(shown))]


def _devices(one: TraceEnergy, found: Account, style: training.Style) -> list[str]:
    """Joules of each GPU of the trace; where it is not sure which channel is its own, that
    is said.
    """
    if not one.devices:
        return []
    rows: list[list[str]] = []
    doubts: dict[str, list[str]] = {}
    for device in one.devices:
        channel = device.channel.sensor.channel if device.channel is not None else ""
        whole = device.energy(*found.trace.span)
        rows.append(
            [
                device.pair.device,
                channel,
                *(
                    _cells(whole)
                    if device.account is not None
                    else ["–", "", "", "", device.pair.why]
                ),
            ]
        )
        mean = device.per_step(None)
        if mean is not None:
            rows.append([f"  mean step (of {len(found.steps)})", "", *_cells(mean)])
        if device.account is not None and not device.pair.sure:
            doubts.setdefault(device.pair.why, []).append(f"{channel} for {device.pair.device}")
    lines = style.head(2, "Devices") + style.table(("", "sensor", *_HEAD), rows, (2, 3, 4, 5))
    return lines + [
        style.line(f"taken: {', '.join(taken)}: {why}") for why, taken in doubts.items()
    ]


def _windows(one: TraceEnergy, style: training.Style) -> list[str]:
    rows = []
    for found in one.windows[:_WINDOWS_SHOWN]:
        mark = found.mark
        length = ((mark.end_ns or mark.start_ns) - mark.start_ns) / NS_PER_S
        rows.append([mark.name, f"{length:.2f} s", *_cells(found.energy)])
    lines = style.head(2, "Windows of the recording") + style.table(
        ("", "time", *_HEAD), rows, (1, 2, 3, 4, 5)
    )
    if len(one.windows) > len(rows):
        lines.append(style.line(f"… and {len(one.windows) - len(rows)} more (--json lists them)"))
    return lines


def _cells(energy: Energy | None) -> list[str]:
    if energy is None:
        return ["–", "", "", "", ""]
    if energy.joules is None or energy.lo is None or energy.hi is None:
        return ["–", "", "", "", energy.reason]
    share = f", {energy.coverage:.0%} sampled" if energy.extrapolated else ""
    if energy.other_joules is not None:
        share += f", {_joules(energy.other_joules)} if each reading held"
    mean = f"{energy.mean_w:.1f} W" if energy.mean_w is not None else ""
    most = f"{energy.max_w:.0f} W" if energy.max_w is not None else ""
    figures = units.figures_apart(energy.lo, energy.hi, 1)
    joules, lo, hi = (_joules(value, figures) for value in (energy.joules, energy.lo, energy.hi))
    return [joules, f"{lo} … {hi}", mean, most, energy.badge.value + share]


def _joules(value: float, figures: int = 1) -> str:
    """With so many figures at least."""
    shown, unit = (value / 1e3, "kJ") if abs(value) >= 1e6 else (value, "J")
    decimals = 0 if abs(shown) >= 1000 else 1 if abs(shown) >= 10 else 2
    return f"{shown:.{max(decimals, figures - len(str(int(abs(shown)))))}f} {unit}"


def _symmetry(found: Findings, style: training.Style) -> list[str]:
    lines = style.head(2, "What stands out")
    if not found.findings:
        lines.append(style.line("nothing that matters"))
    for one in found.findings:
        spread = ""
        if one.lo_watts is not None and one.hi_watts is not None:
            spread = f", 95% {one.lo_watts:+.0f} … {one.hi_watts:+.0f} W"
        lines.append(style.line(one.text))
        where = f"at {one.start_ps / PS_PER_S:.2f} … {one.end_ps / PS_PER_S:.2f} s of the trace"
        by = f"evidence: {', '.join(one.witnesses)}"
        sure = f"p ≤ {one.p:.2g}{spread}; " if one.p else ""  # 0: nothing was guessed from noise
        lines.append(style.line(f"{where} ({sure}{one.badge.value}; {by})", deeper=True))
    if found.smaller:
        lines.append(
            style.line(
                f"{finding_texts.folded(len(found.smaller))} (--json lists "
                f"{'it' if len(found.smaller) == 1 else 'them'})"
            )
        )
    if found.could:
        lines.append(style.line(found.could))
    if found.reason:
        lines.append(style.line(f"epochs were not compared: {found.reason}"))
    return lines + [style.line(note) for note in found.notes]
