"""A training as text: its sessions on one axis, its epochs, what they drew and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import PurePath
from typing import TYPE_CHECKING

from powertui import units
from powertui.data.logdir import TrainingEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, PowerOnTrace
from powertui.data.training.training import Training
from powertui.data.training.training_on_axis import SessionOnAxis, TrainingOnAxis
from powertui.plain import plain
from powertui.report import text

if TYPE_CHECKING:
    from powertui.data.training.training_energy import TrainingEnergy
    from powertui.data.training.training_window import TrainingWindow
    from powertui.report.page_style import Style

NO_POWER_HERE = "no power log covers this training"
MAX_DESCRIBED = 50  # trainings of a logdir that are described on their axis; chosen, not measured
_MAX_ROWS = 40  # of a table: about a screen
# Where a session covers more of the training than this, its own page says it all. Chosen, not
# measured.
_MIN_COVERED_SHARE = 0.8


def deserves_page(training: Training) -> bool:
    """Whether it says anything that the pages of its sessions do not.

    So it does where there are several sessions, or none, or where the only one covers little of
    it.
    """
    if len(training.entry.sessions) != 1:
        return bool(training.entry.sessions) or training.scalar_span is not None
    if training.scalar_span is None:
        return False
    first_ns, last_ns = training.scalar_span
    covered_ns = 0
    for session in training.islands:
        if not session.trusted:
            return True
        if session.start is not None and session.end is not None:
            covered_ns += session.end.ns - session.start.ns
    return covered_ns < _MIN_COVERED_SHARE * (last_ns - first_ns)


def without_power(training: Training, style: Style) -> list[str]:
    """Where the sessions of a training are in it, and why it has no joules."""
    from powertui.data.training.training_energy import training_energy

    axis = training.seen_from()
    energy = training_energy(axis)
    sentences = [
        *description(training, axis),
        *map(plain, energy.strangers),
        *unplaced_logs(axis),
    ]
    lines = style.head(1, f"The whole training {training.name}")
    lines += map(style.line, sentences)
    lines.append("")
    return lines


def windows(energy: TrainingEnergy) -> list[TrainingWindow]:
    """What is reported of it: epochs, what was no step, hours, and all of it."""
    windows = [*energy.epochs(), *energy.phases(), *energy.hours()]
    training = energy.training()
    if training is not None:
        windows.append(training)
    windows.append(energy.whole())
    return windows


# ── without energy ───────────────────────────────────────────────────────────────────────────────


def summaries(trainings: Sequence[Training], *, with_joules: bool = True) -> list[str]:
    """A few lines for each training; a power log that was named itself has its joules above."""
    lines: list[str] = []
    for training in trainings[:MAX_DESCRIBED]:
        lines += ["", *_summary(training, with_joules=with_joules)]
    return lines


def _summary(training: Training, *, with_joules: bool) -> list[str]:
    axis = training.seen_from()
    is_alone = training.entry.is_log_alone
    lines = [plain(sentence) for sentence in description(training, axis)]
    if is_alone and with_joules:
        from powertui.data.energy import logs_alone

        lines.insert(0, plain(logs_alone.headline(training.logs.power)))
    epochs = [_epoch_line(training, axis, index) for index in range(len(axis.epochs))]
    lines += text.first_of(list(filter(None, epochs)), _MAX_ROWS)
    if not is_alone:
        channels = [_channel_line(channel) for channel in axis.power]
        lines += text.first_of(channels, _MAX_ROWS)
    lines += text.first_of(list(unplaced_logs(axis)), _MAX_ROWS)
    return [_heading(training.entry), *(f"  {line}" for line in lines)]


def _channel_line(channel: PowerOnTrace) -> str:
    label = plain(channel.series.sensor.label)
    source = plain(channel.source)
    return f"power {label}: {channel.status}, {source}"


def _heading(entry: TrainingEntry) -> str:
    name = plain(entry.name)
    if not entry.is_log_alone:
        return f"The whole training {name}"
    if len(entry.power) > 1:
        return f"Power logs {name}"
    return f"Power log {name}"


def description(training: Training, axis: TrainingOnAxis) -> Iterator[str]:
    """Its length, its sessions, its steps, and why all this is one training."""
    length = units.duration(axis.end - axis.start)
    if training.entry.is_log_alone:
        yield f"{length}, {_power_begins(axis)}"
    else:
        begins = ""
        if axis.wall:
            begins = f", from {_wall_time(axis.unix_ns(axis.start))}"
        yield f"{length}{begins}; times count from the start of this axis"
    for session in axis.islands:
        yield _session(session)
    if len(training.rate):
        yield (
            f"steps: {training.rate.source}; between two records they are numbered by interpolation"
        )
    elif training.epochs:
        yield "no records within epochs: parts of an epoch are given as shares of it"
    if not training.entry.is_log_alone or len(training.entry.power) > 1:
        yield from training.entry.reasons


def _power_begins(axis: TrainingOnAxis) -> str:
    """When power without a profile begins."""
    counted = "; times count from the first reading"
    if axis.wall:
        return f"from {_wall_time(axis.unix_ns(axis.start))}{counted}"
    zero_ns = axis.local_zero_ns
    if zero_ns is not None:
        local = _wall_time(zero_ns + axis.start // PS_PER_NS).removesuffix(" UTC")
        return f"from {local} local time (the log names no zone: name it with --tz){counted}"
    return "no date: its times count from its own start"


def _session(session: SessionOnAxis) -> str:
    island = session.island
    name = island.entry.name
    if island.host:
        name += f" on {island.host}"
    if session.start is None or session.end is None:
        return f"session {name}: {island.status}"
    start = f"{session.start / PS_PER_S:.3f} s"
    if session.half:
        start += f" ± {units.duration(session.half, 2)}"
    length = units.duration(session.end - session.start)
    return f"session {name}: at {start}, {length} long ({island.evidence})"


def _epoch_line(training: Training, axis: TrainingOnAxis, index: int) -> str:
    """When an epoch was; "" where that is not known."""
    epoch = axis.epochs[index]
    if epoch.start is None or epoch.end is None:
        return ""
    start = f"{epoch.start / PS_PER_S:.2f} s"
    length = units.duration(epoch.end - epoch.start)
    line = f"epoch {epoch.number}: from {start}, {length}"
    steps = training.epochs[index].steps
    if steps is not None:
        first, end = steps
        line += f", {text.plural(end - first, 'step')}"
    return line


def unplaced_logs(axis: TrainingOnAxis) -> Iterator[str]:
    """The power logs that nothing places on the training: why, and what would."""
    alignments = {}  # by the path: the channels of a log are placed together
    for placement in axis.placements:
        if placement.power.status == "none":
            alignments[placement.power.series.path] = placement.alignment
    for path, alignment in alignments.items():
        if alignment.elsewhere:
            yield plain(alignment.elsewhere)
        else:
            name = plain(PurePath(path).name, 80)
            reasons = "; ".join(plain(reason, 200) for reason in alignment.evidence)
            yield f"power: {name} is not aligned: {reasons}"


def _wall_time(unix_ns: int) -> str:
    moment = datetime.fromtimestamp(unix_ns / NS_PER_S, timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
