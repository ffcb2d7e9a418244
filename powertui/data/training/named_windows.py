"""A window of a training in a person's words: by time, epoch, batches or session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

from powertui import units
from powertui.data.energy import settings
from powertui.data.model import NS_PER_S, PS_PER_NS
from powertui.data.run import zones
from powertui.data.training.training_on_axis import SessionOnAxis, TrainingOnAxis
from powertui.data.training.training_parts import Moment, TrainedEpoch
from powertui.errors import UsageError
from powertui.patterns import late_pattern
from powertui.plain import plain
from powertui.value_types import dataclass

_CLOCK = late_pattern(
    r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}):(\d\d):(\d\d(?:\.\d+)?)\s*(Z|UTC|[+-]\d\d:?\d\d)?"
)
_RANGE = late_pattern(r"\s*(\d+)\s*(?:(?:-|\.\.|:)\s*(\d+))?\s*")
_DAY_S = 86_400
# A time of day may be as far outside the training as the larger of these. Chosen, not measured.
_MIN_SPARE_NS = settings.WRONG_CLOCK_S * NS_PER_S
_SPARE_SHARE = settings.NOTABLE_SHARE  # of the training's length
# Only sessions placed better than this tell which zone their folders are named in.
_MAX_SESSION_HALF_NS = settings.WRONG_CLOCK_S * NS_PER_S
# A folder is named after its capture ended: at most this much before it or after it, s.
_MAX_NAME_EARLY_S, _MAX_NAME_LATE_S = 20, settings.MAX_CAPTURE_S


@dataclass(frozen=True)
class WindowRequest:
    """Which window a person asks for. With nothing set: the whole training."""

    # "19:52:50", "2021-03-20 19:52:50", or a time of the axis like "27.31s"
    start: str | None = None
    end: str | None = None
    epoch: int | None = None
    # "183-260": counted within the epoch from 0; without an epoch as the program counts its steps
    batches: str | None = None
    session: str | None = None
    steps: str | None = None  # "45-71", as a profile numbers them
    tz: str | None = None  # of wall times that name no zone
    host: str | None = None  # of a profile; None: every host
    of_profile: bool = False  # times count from the profile's zero, not from the training's

    @property
    def anything(self) -> bool:
        """Whether a window was asked for at all."""
        limits = (self.start, self.end, self.epoch, self.batches, self.session, self.steps)
        return any(limit is not None for limit in limits)


@dataclass(frozen=True)
class AxisWindow:
    """The window on the axis (ps), the ± of its ends, and its name."""

    lo: int
    hi: int
    half: int
    words: str
    epoch: int | None = None


def find_window(axis: TrainingOnAxis, request: WindowRequest) -> AxisWindow:
    """The window that was asked for. Raises `UsageError` with what there is."""
    by_time = request.start is not None or request.end is not None
    by_epoch = request.epoch is not None or request.batches is not None
    if by_time + by_epoch + (request.session is not None) > 1:
        raise UsageError(
            "The window is given twice.",
            hint="Give --from/--to, or --epoch/--batches, or --session.",
        )
    if request.session is not None:
        return _session(axis, request.session)
    if request.batches is not None:
        return _batches(axis, request.epoch, request.batches)
    if request.epoch is not None:
        return _epoch(axis, request.epoch)
    lo = axis.start
    hi = axis.end
    if request.start is not None:
        lo = _moment(axis, request.start, request.tz)
    if request.end is not None:
        hi = _moment(axis, request.end, request.tz)
    if hi <= lo:
        raise UsageError(
            f"The window ends before it starts ({units.duration(lo - hi)}).",
            hint="Give --from and then a later --to.",
        )
    words = "everything"
    if by_time:
        words = f"{request.start or 'the start'} to {request.end or 'the end'}"
    return AxisWindow(
        lo=lo,
        hi=hi,
        half=0,
        words=words,
    )


def is_wall(words: str) -> bool:
    """Whether this may be wall time: 19:52:50, perhaps with a date or a zone."""
    return _CLOCK.fullmatch(words.strip()) is not None


# ── by time ──────────────────────────────────────────────────────────────────────────────────────


def _moment(axis: TrainingOnAxis, words: str, tz: str | None = None) -> int:
    """A moment of the axis: a time of the axis, or a wall time within the training."""
    match = _CLOCK.fullmatch(words.strip())
    if match is not None:
        moment = _written_time(axis, match, tz)
        if moment is not None:
            return moment
    # 19:52:50 may also be a time of the axis; with a date it cannot.
    moment = None
    if match is None or match[1] is None:
        moment = units.parse_time(words)
    if moment is None:
        raise UsageError(
            f"{plain(words, 40)!r} is not a time in this training.",
            hint="Write it like 27.31s, 1:02.5 or 19:52:50 (with --tz ZONE).",
        )
    if match is not None and moment > axis.end:
        raise UsageError(
            f"{plain(words, 40)!r} is not within this training: {_extent_words(axis)}.",
            hint="Name the zone of that time with --tz, or count from the start, like 27.31s.",
        )
    return moment


def _extent_words(axis: TrainingOnAxis) -> str:
    """When the training was, as its own clock tells it."""
    zero_ns = axis.zero_ns if axis.wall else axis.local_zero_ns
    if zero_ns is None:
        return f"it is {units.duration(axis.end - axis.start)} long and has no date"
    first, last = (
        datetime.fromtimestamp((zero_ns + end // PS_PER_NS) // NS_PER_S, timezone.utc)
        for end in (axis.start, axis.end)
    )
    zone = "UTC" if axis.wall else "local time"
    return f"it is from {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} {zone}"


def _written_time(axis: TrainingOnAxis, match: re.Match[str], tz: str | None) -> int | None:
    """The moment of the axis that a wall time means; None where it is not within the training."""
    zone = (match[5] or "").replace("Z", "UTC") or tz
    if axis.wall:
        bounds = axis.unix_ns(axis.start), axis.unix_ns(axis.end)
        unix_ns = next(_wall_times(match, bounds, _offsets(axis, zone)), None)
        return None if unix_ns is None else axis.at(unix_ns)
    zero_ns = axis.local_zero_ns
    if zero_ns is None:
        return None
    if zone:
        written = plain(match[0].strip(), 40)
        raise UsageError(
            f"The power log names no time zone, so the time {written!r} has no place in it.",
            hint="Write the time as the log has it, or name the log's zone with --tz.",
        )
    bounds = zero_ns + axis.start // PS_PER_NS, zero_ns + axis.end // PS_PER_NS
    local_ns = next(_wall_times(match, bounds, (0,)), None)
    return None if local_ns is None else (local_ns - zero_ns) * PS_PER_NS


def _wall_times(
    match: re.Match[str],
    bounds: tuple[int, int],
    offsets: Iterable[int],
) -> Iterator[int]:
    """Unix times (ns) near a training's bounds that a written time may mean, likeliest zone first.

    `offsets` are the seconds east of UTC that it may be written in.
    """
    date, hours, minutes, seconds, _ = match.groups()
    second_of_day = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    first, last = bounds
    spare = max(round(_SPARE_SHARE * (last - first)), _MIN_SPARE_NS)
    for offset_s in offsets:
        if date is not None:
            days = [datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=timezone.utc)]
        else:
            days = _local_days(first, last, offset_s)
        for day in days:
            unix_ns = round((day.timestamp() + second_of_day - offset_s) * NS_PER_S)
            # Whoever writes a date means that moment, wherever it is.
            if date is not None or first - spare <= unix_ns <= last + spare:
                yield unix_ns


def _local_days(first_ns: int, last_ns: int, offset_s: int) -> list[datetime]:
    """The midnights of all days that a training touches in one zone."""
    local = datetime.fromtimestamp(first_ns // NS_PER_S + offset_s, timezone.utc)
    midnight = local.replace(
        hour=0,
        minute=0,
        second=0,
        microsecond=0,
    )
    count = (last_ns - first_ns) // (_DAY_S * NS_PER_S) + 2
    return [midnight + timedelta(days=number) for number in range(count)]


def _offsets(axis: TrainingOnAxis, zone: str | None) -> Iterator[int]:
    """Seconds east of UTC that a time may be written in, likeliest first.

    That is the zone written or given; without one the profiled machine's, that of the folders'
    names, this machine's, and UTC.
    """
    start_ns = axis.unix_ns(axis.start)
    if zone:
        yield zones.offset_of(zone, start_ns)
        return
    for opened in axis.training.read_sessions():
        for trace in opened.run.traces:
            if trace.clock.utc_offset_s is not None:
                yield trace.clock.utc_offset_s
    folder_offset_s = _zone_of_folders(axis)
    if folder_offset_s is not None:
        yield folder_offset_s
    here = datetime.fromtimestamp(start_ns / NS_PER_S).astimezone().utcoffset()
    yield round(here.total_seconds()) if here is not None else 0
    yield 0


def _zone_of_folders(axis: TrainingOnAxis) -> int | None:
    """Seconds east of UTC in the names of session folders: local times of moments we know."""
    from pathlib import Path

    from powertui.data.run.captures import local_time

    for session in axis.training.islands:
        local = local_time(Path(session.entry.path).name)
        if local is None or session.end is None:
            continue
        if session.end.half_ns >= _MAX_SESSION_HALF_NS:
            continue
        difference = round(local.timestamp()) - session.end.ns // NS_PER_S
        zone = zones.fit_zone(difference, _MAX_NAME_EARLY_S, _MAX_NAME_LATE_S)
        if zone is not None:
            return zone[-1]
    return None


# ── by epoch, batch, session ─────────────────────────────────────────────────────────────────────


def _bounded_epoch(axis: TrainingOnAxis, number: int) -> tuple[TrainedEpoch, Moment, Moment]:
    """The epoch of this number with its start and its end, both known."""
    for epoch in axis.training.epochs:
        if epoch.number == number and epoch.start is not None and epoch.end is not None:
            return epoch, epoch.start, epoch.end
    numbers = ", ".join(str(epoch.number) for epoch in axis.training.epochs) or "none"
    raise UsageError(
        f"There is no epoch {number} with known bounds.", hint=f"Epochs of this training: {numbers}"
    )


def _epoch(axis: TrainingOnAxis, number: int) -> AxisWindow:
    _, start, end = _bounded_epoch(axis, number)
    half_ns = max(start.half_ns, end.half_ns) + axis.half_ns
    return AxisWindow(
        lo=axis.at(start.ns),
        hi=axis.at(end.ns),
        half=half_ns * PS_PER_NS,
        words=f"epoch {number}",
        epoch=number,
    )


def _batches(axis: TrainingOnAxis, number: int | None, written: str) -> AxisWindow:
    """From when so many batches were done to when the last of them was.

    Between two records steps are interpolated.
    """
    first, last = _written_range(written)
    rate = axis.training.rate
    if not len(rate):
        raise UsageError(
            "No record shows when the batches of this training ran.",
            hint="Log scalars every few batches (update_freq).",
        )
    if number is None:
        first_step = 0
        lo = int(rate.at_ns[0])
        hi = int(rate.at_ns[-1])
        words = f"steps {first}-{last}"
    else:
        first_step, lo, hi = _epoch_in_steps(axis, number)
        words = f"epoch {number}, batches {first}-{last}"
    begin = rate.ns_at(first_step + first, lo, hi)
    end = rate.ns_at(first_step + last + 1, lo, hi)
    # The first batches of an epoch begin with it, the last ones end with it.
    if number is not None and not rate.within:
        if begin is None and first == 0:
            begin = lo
        if end is None:
            last_record = int(rate.step[rate.at_ns <= hi][-1])
            if first_step + last + 1 >= last_record:
                end = hi
    if begin is None or end is None:
        logged = f"{int(rate.step[0])} to {int(rate.step[-1])}"
        raise UsageError(
            "No record covers these batches.",
            hint=f"Steps that are logged: {logged}, {rate.source}",
        )
    logged_ns = int(rate.at_ns[-1]) - int(rate.at_ns[0])
    usual_gap_ns = logged_ns // max(len(rate) - 1, 1)
    half_ns = usual_gap_ns // 2 + axis.half_ns
    return AxisWindow(
        lo=axis.at(begin),
        hi=axis.at(end),
        half=half_ns * PS_PER_NS,
        words=words,
        epoch=number,
    )


def _written_range(written: str) -> tuple[int, int]:
    """(the smaller number, the larger one) of a range like 183-260, or of one number."""
    match = _RANGE.fullmatch(written)
    if match is None:
        raise UsageError(
            f"{plain(written, 40)!r} is not a range of batches.", hint="Write them like 183-260."
        )
    first = int(match[1])
    last = int(match[2] or match[1])
    return min(first, last), max(first, last)


def _epoch_in_steps(axis: TrainingOnAxis, number: int) -> tuple[int, int, int]:
    """(steps done when an epoch began, when that was, when it ended; Unix ns)."""
    epoch, start, end = _bounded_epoch(axis, number)
    if epoch.steps is not None:
        return epoch.steps[0], start.ns, end.ns
    rate = axis.training.rate
    if rate.within and rate.goes_on[1:].all():
        raise UsageError(
            "No record shows at which step this epoch began.",
            hint="Ask for the steps without --epoch.",
        )
    return 0, start.ns, end.ns


def _session(axis: TrainingOnAxis, name: str) -> AxisWindow:
    """The session of this name; else the only one whose name contains it."""
    placed = []
    for session in axis.islands:
        if session.start is not None and session.end is not None:
            placed.append(session)
    matching = [session for session in placed if name in _session_names(session)]
    if not matching:
        matching = [session for session in placed if name in session.island.entry.name]
    # One session has several profiles where it has several hosts.
    if len({session.island.entry.name for session in matching}) != 1:
        placed_names = [plain(session.island.entry.name, 80) for session in placed]
        names = ", ".join(dict.fromkeys(placed_names))
        raise UsageError(
            f"No session, or more than one, is named {plain(name, 80)!r}.",
            hint=f"There are: {names or 'none that is placed'}",
        )
    lo = min(session.start for session in matching if session.start is not None)
    hi = max(session.end for session in matching if session.end is not None)
    half = max(session.half for session in matching)
    return AxisWindow(
        lo=lo,
        hi=hi,
        half=half,
        words=f"session {matching[0].island.entry.name}",
    )


def _session_names(session: SessionOnAxis) -> tuple[str, str]:
    """Its full name, and the last part of it."""
    name = session.island.entry.name
    return name, name.rsplit("/", 1)[-1]
