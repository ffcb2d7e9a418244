"""Logs whose clock is wrong, or cannot be checked: what that does to joules, and what would show
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from powertui import units
from powertui.data.conclusions import words
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.energy import account, placing
from powertui.data.energy.clock_advice import RECORD_ENDS
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_S
from powertui.plain import plain
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.training.training_energy import TrainingEnergy

# ± of the joules, as a share of them, from which on a doubtful clock has a sentence. Chosen, not
# measured: the share of the time from which on a cause has one.
_MIN_OPEN_SHARE = 0.05
_MAX_CLOCKS = 3  # logs that have a sentence of their own


@dataclass(frozen=True)
class _Log:
    """A log that joules are made of, with what is known of its clock."""

    placed: Placed
    what: str  # "the profile": whose joules `energy` are
    energy: Energy | None
    own_energy: Energy | None = None  # by its own times, where these were corrected

    @property
    def alignment(self) -> Alignment:
        return self.placed.alignment

    @property
    def file(self) -> str:
        """What to call the log."""
        series = self.placed.power.series
        return plain(PurePath(series.path).name if series.path else series.sensor.label, 60)

    @property
    def clock(self) -> str:
        """What is known of its clock."""
        return clock_words(self.alignment, self.file).sentence


def doubtful_clocks(inquiry: Inquiry) -> Iterator[Conclusion]:
    """Every log of a profile whose clock is wrong or may be."""
    if not inquiry.opened.run.power:
        return
    logs: dict[str, _Log] = {}
    has_findings = False
    for profile in inquiry.profiles:
        aligning = inquiry.question.aligning
        host_account = account.energy_account(profile, aligning)
        lo_ps, hi_ps = profile.trace.span
        if len(inquiry.profiles) == 1:
            what = "the profile"
        else:
            what = f"{plain(profile.host, 40)}"
        for placed in _in_doubt(host_account.placed[row] for row in host_account.counted):
            path = placed.power.series.path
            if path not in logs:
                by_own_times = _by_own_times(
                    host_account=host_account,
                    path=path,
                    lo_ps=lo_ps,
                    hi_ps=hi_ps,
                    alignment=placed.alignment,
                )
                logs[path] = _Log(
                    placed=placed,
                    what=what,
                    energy=host_account.energy(lo_ps, hi_ps),
                    own_energy=by_own_times,
                )
        if logs:
            findings = account.findings(profile, aligning).findings
            has_findings |= any(finding.delta_watts is not None for finding in findings)
    yield from _conclusions(logs.values(), has_findings=has_findings)


def doubtful_training_clocks(energy: TrainingEnergy) -> Iterator[Conclusion]:
    """The same for a training that was never profiled."""
    axis = energy.seen
    counted = {id(series) for series in energy.counted}
    channels = [
        placed for placed in axis.by_wall or axis.placements if id(placed.power.series) in counted
    ]
    drawn = energy.whole().energy if energy.whole() is not None else None
    logs = {
        placed.power.series.path: _Log(placed, "the training", drawn)
        for placed in _in_doubt(channels)
    }
    has_findings = bool(energy.findings.findings)
    yield from _conclusions(logs.values(), has_findings=has_findings)


def _in_doubt(channels: Iterable[Placed]) -> Iterator[Placed]:
    for placed in channels:
        if placed.alignment.status == "clock corrected" or placed.alignment.is_doubtful:
            yield placed


def _by_own_times(
    host_account: Account,
    path: str,
    lo_ps: int,
    hi_ps: int,
    alignment: Alignment,
) -> Energy | None:
    """What the log would show of a profile if its clock were believed."""
    if alignment.status != "clock corrected":
        return None
    by_ps = -round(alignment.correction_s * PS_PER_S)
    channels = []
    for placed in host_account.placed:
        if placed.power.series.path == path:
            placed = replace(placed, power=placing.shifted(placed.power, by_ps))
        channels.append(placed)
    return replace(host_account, placed=tuple(channels)).drew(lo_ps, hi_ps)


def _conclusions(logs: Iterable[_Log], *, has_findings: bool) -> Iterator[Conclusion]:
    worth_saying = [log for log in logs if has_findings or _matters(log)]
    for log in worth_saying[:_MAX_CLOCKS]:
        if log.alignment.status == "clock corrected":
            yield _corrected(log)
        else:
            yield _doubtful(log)


def _matters(log: _Log) -> bool:
    """Whether it is worth a sentence: a clock that readings contradict always is, and any other
    doubt where joules depend on it.
    """
    alignment = log.alignment
    energy = log.energy
    if alignment.status == "clock corrected":
        return True
    if alignment.status == "ambiguous" and alignment.clock_owner:
        return True
    if energy is not None and energy.is_too_short:
        return False  # wherever the log is, its joules are not known: the clock changes nothing
    if energy is None or energy.interval is None:
        return True
    half = energy.interval.half - (energy.gain_j or 0.0)
    return half >= _MIN_OPEN_SHARE * energy.interval.joules


def _corrected(log: _Log) -> Conclusion:
    off = words.seconds(abs(log.alignment.correction_s))
    return Conclusion(
        kind=Kind.CLOCK,
        sentence=f"{log.clock}{_joules_of_both(log)}",
        short=f"clock off {off}".replace(" ms", "ms"),
        confidence=Confidence.LIKELY,
        evidence=Evidence("energy", "where the log is, and why"),
        next="Set that clock by a time server (NTP) before the next run.",
        doubt="The readings show it: another load may look like the start or end of the training.",
    )


def _joules_of_both(log: _Log) -> str:
    if log.energy is None or log.energy.joules is None or log.own_energy is None:
        return ""
    corrected = f" The energy of {log.what} is {_joules(log.energy.joules)}"
    if log.own_energy.joules is None:
        return f"{corrected}; by its own times the log would not cover it."
    by_own_times = _joules(log.own_energy.joules)
    if by_own_times == _joules(log.energy.joules):
        return f"{corrected} either way."
    return f"{corrected}, and would be {by_own_times} by its own times."


def _doubtful(log: _Log) -> Conclusion:
    return Conclusion(
        kind=Kind.CLOCK,
        sentence=f"{log.clock}{_open_joules(log)}",
        short="clock unsure",
        confidence=Confidence.UNSURE,
        evidence=Evidence("energy", "where the log may be, and why"),
        next=log.alignment.advice or RECORD_ENDS,
    )


def _open_joules(log: _Log) -> str:
    if log.energy is not None and log.energy.is_too_short:
        why = log.energy.reason.removeprefix("not resolved: ")
        return f" The energy of {log.what} is not known for another reason: {why}."
    if log.energy is None or log.energy.interval is None:
        return f" The energy of {log.what} is not known."
    lo = _joules(max(0.0, log.energy.interval.lo))
    hi = _joules(log.energy.interval.hi)
    if lo == hi:
        return f" The energy of {log.what} is {lo} all the same."
    return f" The energy of {log.what} is between {lo} and {hi}."


def _joules(joules: float) -> str:
    return units.quantity(joules, "J", 3)
