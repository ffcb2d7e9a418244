"""A window of a training in a person's words: by wall time, by seconds of the axis, by epoch, by
batches of it, by session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from powertui import units
from powertui.data.model import NS_PER_S, PS_PER_NS
from powertui.data.run import zones
from powertui.errors import UsageError
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.training.training_on_axis import TrainingOnAxis
    from powertui.data.training.training_parts import TrainedEpoch

_CLOCK = re.compile(
    r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}):(\d\d):(\d\d(?:\.\d+)?)\s*(Z|UTC|[+-]\d\d:?\d\d)?"
)
_RANGE = re.compile(r"\s*(\d+)\s*(?:(?:-|\.\.|:)\s*(\d+))?\s*")


@dataclass(frozen=True)
class WindowRequest:
    """Which window. Nothing said: all of the training."""

    start: str | None = (
        None  # "19:52:50", "2021-03-20 19:52:50", or a time of the axis like "27.31s"
    )
    end: str | None = None
    epoch: int | None = None
    batches: str | None = (
        None  # "183-260": of the epoch, from 0; without one as the program counts its steps
    )
    session: str | None = None
    tz: str | None = None  # of wall times that name no zone

    @property
    def anything(self) -> bool:
        """Whether a window was asked for at all."""
        return any(
            one is not None
            for one in (self.start, self.end, self.epoch, self.batches, self.session)
        )


@dataclass(frozen=True)
class AxisWindow:
    """The window on the axis (ps), the ± of its ends, and its name."""

    lo: int
    hi: int
    half: int
    words: str
    epoch: int | None = None


def find_window(seen: TrainingOnAxis, asked: WindowRequest) -> AxisWindow:
    """The window that was asked for. Raises `UsageError` with what there is."""
    by_time = asked.start is not None or asked.end is not None
    by_epoch = asked.epoch is not None or asked.batches is not None
    if by_time + by_epoch + (asked.session is not None) > 1:
        raise UsageError(
            "The window is given twice.",
            hint="Give --from/--to, or --epoch/--batches, or --session.",
        )
    if asked.session is not None:
        return _session(seen, asked.session)
    if asked.batches is not None:
        return _batches(seen, asked.epoch, asked.batches)
    if asked.epoch is not None:
        return _epoch(seen, asked.epoch)
    lo = _moment(seen, asked.start, asked.tz) if asked.start is not None else seen.start
    hi = _moment(seen, asked.end, asked.tz) if asked.end is not None else seen.end
    if hi <= lo:
        raise UsageError(
            f"The window ends before it starts ({units.duration(lo - hi)}).",
            hint="Give --from and then a later --to.",
        )
    words = f"{asked.start or 'the start'} to {asked.end or 'the end'}" if by_time else "everything"
    return AxisWindow(lo, hi, 0, words)


def is_wall(words: str) -> bool:
    """Whether this may be wall time: 19:52:50, perhaps with a date or a zone."""
    return _CLOCK.fullmatch(words.strip()) is not None


# ── by time ──────────────────────────────────────────────────────────────────────────────────────


def _moment(seen: TrainingOnAxis, words: str, tz: str | None = None) -> int:
    """A moment of the axis: a time of the axis, or wall time where that lies in the training."""
    match = _CLOCK.fullmatch(words.strip())
    if match is not None and seen.wall:
        for unix_ns in _wall(seen, match, tz):
            return seen.at(unix_ns)
    found = units.parse_time(words) if match is None or match[1] is None else None
    if found is None:
        raise UsageError(
            f"{plain(words, 40)!r} is not a time in this training.",
            hint="Write it like 27.31s, 1:02.5 or 19:52:50 (with --tz ZONE).",
        )
    return found


def _wall(seen: TrainingOnAxis, match: re.Match[str], tz: str | None) -> Iterator[int]:
    """The Unix times that a written one may stand for and that lie in the training, the likeliest
    zone first.
    """
    seconds = int(match[2]) * 3600 + int(match[3]) * 60 + float(match[4])
    first, last = seen.unix_ns(seen.start), seen.unix_ns(seen.end)
    spare = max((last - first) // 20, 60 * NS_PER_S)
    for offset in _offsets(seen, match[5], tz):
        local = datetime.fromtimestamp(first // NS_PER_S + offset, timezone.utc).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        days = [
            local + timedelta(days=number)
            for number in range((last - first) // (86_400 * NS_PER_S) + 2)
        ]
        if match[1] is not None:
            days = [datetime.strptime(match[1], "%Y-%m-%d").replace(tzinfo=timezone.utc)]
        for day in days:
            unix = round((day.timestamp() + seconds - offset) * NS_PER_S)
            if match[1] is not None or first - spare <= unix <= last + spare:
                yield unix


def _offsets(seen: TrainingOnAxis, written: str | None, tz: str | None) -> Iterator[int]:
    """Seconds east of UTC: as written, as a person said, as the profiled machine's, as this one's,
    UTC.
    """
    named = (written or "").replace("Z", "UTC") or tz
    at = seen.unix_ns(seen.start)
    if named:
        yield zones.offset_of(named, at)
        return
    for opened in seen.training.read_sessions():
        for trace in opened.run.traces:
            if trace.clock.utc_offset_s is not None:
                yield trace.clock.utc_offset_s
    told = _zones_of_folders(seen)
    if told is not None:
        yield told
    here = datetime.fromtimestamp(at / NS_PER_S).astimezone().utcoffset()
    yield round(here.total_seconds()) if here is not None else 0
    yield 0


def _zones_of_folders(seen: TrainingOnAxis) -> int | None:
    """The zone that the folders of its sessions are named in: local times of moments that are
    known.
    """
    from pathlib import Path

    from powertui.data.run.captures import local_time

    for one in seen.training.islands:
        local = local_time(Path(one.entry.path).name)
        if local is not None and one.end is not None and one.end.half_ns < 60 * NS_PER_S:
            found = zones.fit(round(local.timestamp()) - one.end.ns // NS_PER_S, 20, 120)
            if found is not None:
                return found[-1]
    return None


# ── by epoch, batch, session ─────────────────────────────────────────────────────────────────────


def _of_number(seen: TrainingOnAxis, number: int) -> TrainedEpoch:
    for epoch in seen.training.epochs:
        if epoch.number == number and epoch.start is not None and epoch.end is not None:
            return epoch
    known = ", ".join(str(epoch.number) for epoch in seen.training.epochs) or "none"
    raise UsageError(
        f"There is no epoch {number} with known bounds.", hint=f"Epochs of this training: {known}"
    )


def _epoch(seen: TrainingOnAxis, number: int) -> AxisWindow:
    epoch = _of_number(seen, number)
    assert epoch.start is not None
    assert epoch.end is not None
    half = max(epoch.start.half_ns, epoch.end.half_ns) + seen.half_ns
    return AxisWindow(
        seen.at(epoch.start.ns), seen.at(epoch.end.ns), half * PS_PER_NS, f"epoch {number}", number
    )


def _batches(seen: TrainingOnAxis, number: int | None, wanted: str) -> AxisWindow:
    """From when so many batches were done to when the last of them was: by interpolation between
    records.
    """
    match = _RANGE.fullmatch(wanted)
    if match is None:
        raise UsageError(
            f"{plain(wanted, 40)!r} is not a range of batches.", hint="Write them like 183-260."
        )
    rate = seen.training.rate
    if not len(rate):
        raise UsageError(
            "No record shows when the batches of this training ran.",
            hint="Log scalars every few batches (update_freq).",
        )
    first, last = sorted((int(match[1]), int(match[2] or match[1])))
    lo, hi, zero = int(rate.at_ns[0]), int(rate.at_ns[-1]), 0
    words = f"steps {first}-{last}"
    if number is not None:
        epoch = _of_number(seen, number)
        assert epoch.start is not None
        assert epoch.end is not None
        lo, hi, words = epoch.start.ns, epoch.end.ns, f"epoch {number}, batches {first}-{last}"
        zero = epoch.steps[0] if epoch.steps is not None else 0
        if rate.within and epoch.steps is None and rate.goes_on[1:].all():
            raise UsageError(
                "No record tells at which step this epoch began.",
                hint="Ask for the steps without --epoch.",
            )
    at = [rate.ns_at(zero + done, lo, hi) for done in (first, last + 1)]
    ends_known = number is not None and not rate.within
    if at[0] is None and first == 0 and ends_known:
        at[0] = lo
    if at[1] is None and ends_known and zero + last + 1 >= int(rate.step[rate.at_ns <= hi][-1]):
        at[1] = hi
    if at[0] is None or at[1] is None:
        known = f"{int(rate.step[0])} to {int(rate.step[-1])}"
        raise UsageError(
            "No record covers these batches.", hint=f"Steps that are logged: {known}, {rate.source}"
        )
    usual = (int(rate.at_ns[-1]) - int(rate.at_ns[0])) // max(len(rate) - 1, 1)
    return AxisWindow(
        seen.at(at[0]), seen.at(at[1]), (usual // 2 + seen.half_ns) * PS_PER_NS, words, number
    )


def _session(seen: TrainingOnAxis, name: str) -> AxisWindow:
    placed = [one for one in seen.islands if one.start is not None and one.end is not None]
    found = [
        one
        for one in placed
        if name in (one.island.entry.name, one.island.entry.name.rsplit("/", 1)[-1])
    ]
    found = found or [one for one in placed if name in one.island.entry.name]
    if len({one.island.entry.name for one in found}) != 1:
        names = (
            ", ".join(dict.fromkeys(plain(one.island.entry.name, 80) for one in placed))
            or "none that is placed"
        )
        raise UsageError(
            f"No session, or more than one, is named {plain(name, 80)!r}.",
            hint=f"There are: {names}",
        )
    lo, hi = (
        min(one.start for one in found if one.start is not None),
        max(one.end for one in found if one.end is not None),
    )
    return AxisWindow(
        lo, hi, max(one.half for one in found), f"session {found[0].island.entry.name}"
    )
