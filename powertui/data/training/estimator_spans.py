"""What a TPUEstimator's job did from its begin to its end: the ten spans of its profile logger.

The logger writes the moments of one job into `events.out.tfevents.*.profile_logger`: the tag says
what, the record's wall time when. The spans are those of TensorBoard's end-to-end breakdown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from powertui.data import wire
from powertui.data.formats.source import open_file
from powertui.data.limits import MemoryLimit
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S
from powertui.data.wire import schemas
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

_FILE_ENDING = ".profile_logger"
_PREFIX = "profile/"
_MAX_BYTES = 4 << 20  # of a logger's file: a job writes some forty records
_MAX_RECORDS = 100_000
_SESSIONS = ("train", "eval", "predict")
_WITHIN = ("init_system", "model_fn", "setup_infeed")  # of whichever session holds them


@dataclass(frozen=True)
class EstimatorSpan:
    """One of the ten spans. Its ends are None where it is not known or has no length of its own."""

    name: str
    length_ns: int
    start_ns: int | None = None
    end_ns: int | None = None
    without: tuple[int, int] | None = None  # what lies in it and is another span


@dataclass(frozen=True)
class _Session:
    """Training, evaluation or prediction, with the moments inside it (Unix ns)."""

    begin: int | None
    end: int | None
    moments: Mapping[str, int]

    @property
    def has_length(self) -> bool:
        """Whether it took any time."""
        return self.begin is not None and self.end is not None and self.end > self.begin

    def between(self, first: int | None, last: int | None, name: str) -> EstimatorSpan:
        """From one moment to another; of no length where one is missing or they are turned."""
        if not self.has_length or first is None or last is None or last <= first:
            return EstimatorSpan(name, 0)
        return EstimatorSpan(
            name=name,
            length_ns=last - first,
            start_ns=first,
            end_ns=last,
        )


def estimator_spans(entry: RunEntry, limit: MemoryLimit) -> list[EstimatorSpan]:
    """The ten spans in their order; none where no profile logger wrote into the run."""
    moments: list[tuple[str, int]] = []
    for file in entry.tfevents:
        if file.path.endswith(_FILE_ENDING) and file.size <= _MAX_BYTES:
            moments += _moments(file.path, limit)
    return list(_spans(moments)) if moments else []


def _moments(path: str, limit: MemoryLimit) -> Iterator[tuple[str, int]]:
    """(attribute, Unix ns) of every record of a logger."""
    try:
        stored = open_file(path, limit).stored()
        data = stored.read(0, stored.size)
    except UnreadableFile:
        return
    frames = wire.records(data, 0, _MAX_RECORDS)
    for lo, hi in zip(frames.begin.tolist(), frames.end.tolist(), strict=True):
        try:
            event = schemas.parsed("Event", data[lo:hi].tobytes())
        except schemas.Undecodable:
            continue
        if not event.summary.value:
            continue
        tag = event.summary.value[0].tag
        if tag.startswith(_PREFIX):
            yield tag.removeprefix(_PREFIX), _exact_ns(event.wall_time)


def _exact_ns(wall_s: float) -> int:
    """Unix ns of a record. Seconds times 1e9 as a double would be off by up to 128 ns."""
    if not math.isfinite(wall_s):
        return 0
    second = math.floor(wall_s)
    if not second:
        return 0
    return second * NS_PER_S + round((wall_s - second) * NS_PER_S)


def _spans(moments: list[tuple[str, int]]) -> Iterator[EstimatorSpan]:
    train, evaluation, prediction = _sessions(moments)
    inside = train.moments
    init_end = inside.get("init_system_end")
    model_begin = inside.get("model_fn_begin")
    yield train.between(
        train.begin, inside.get("init_system_begin"), "beginning to init-system's start"
    )
    yield train.between(inside.get("init_system_begin"), init_end, "init-system")
    yield train.between(init_end, model_begin, "init-system's end to model-fn's start")
    infeed = train.between(
        inside.get("setup_infeed_begin"), inside.get("setup_infeed_end"), "setup-infeed"
    )
    yield _model_fn(train.between(model_begin, inside.get("model_fn_end"), "model-fn"), infeed)
    yield infeed
    yield train.between(train.begin, train.end, "training")
    yield from _after(train, evaluation, ("training's end to eval's start", "eval"))
    last = evaluation if evaluation.has_length else train
    yield from _after(last, prediction, ("eval's end to predict's start", "predict"))


def _model_fn(all_of_it: EstimatorSpan, infeed: EstimatorSpan) -> EstimatorSpan:
    """The model function without the setup of the infeed, which it calls."""
    without = None
    if infeed.start_ns is not None and infeed.end_ns is not None:
        without = (infeed.start_ns, infeed.end_ns)
    length = max(0, all_of_it.length_ns - infeed.length_ns)
    return EstimatorSpan(
        name=all_of_it.name,
        length_ns=length,
        start_ns=all_of_it.start_ns,
        end_ns=all_of_it.end_ns,
        without=without,
    )


def _after(before: _Session, session: _Session, names: tuple[str, str]) -> Iterator[EstimatorSpan]:
    """The gap before a session, and the part of it that the one before does not cover."""
    gap_name, name = names
    if not before.has_length:
        yield EstimatorSpan(gap_name, 0)
        yield session.between(session.begin, session.end, name)
        return
    yield session.between(before.end, session.begin, gap_name)
    begin = session.begin
    if begin is not None and before.end is not None:
        begin = max(begin, before.end)
    yield session.between(begin, session.end, name)


def _sessions(moments: list[tuple[str, int]]) -> list[_Session]:
    """The three sessions; a moment inside belongs to the first that holds it, the last one of its
    name counts.
    """
    at = dict(moments)
    inside: list[dict[str, int]] = []
    sessions: list[_Session] = []
    for name in _SESSIONS:
        inside.append({})
        sessions.append(
            _Session(
                begin=at.get(f"{name}_begin"),
                end=at.get(f"{name}_end"),
                moments=inside[-1],
            )
        )
    for attribute, ns in moments:
        what, _, _ = attribute.rpartition("_")
        if what not in _WITHIN:
            continue
        for session, moments_inside in zip(sessions, inside, strict=True):
            if session.begin is None or session.end is None:
                continue
            if session.begin <= ns <= session.end:
                moments_inside[attribute] = ns
                break
    return sessions
