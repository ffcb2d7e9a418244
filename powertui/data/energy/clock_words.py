"""What is known of a log's clock, in the words that every surface takes.

As a sentence: "the clock of the BMC is 14.9 s ahead (± 0.1 s): its times are corrected"; beside a
heading "clock" the same without its subject.
"""

from __future__ import annotations

from typing import NamedTuple

from powertui import units
from powertui.data.energy import clock_kinds
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.log_alignment import Alignment
from powertui.data.model import PS_PER_S

# What would show whether a clock is right.
RECORD_ENDS = (
    "Log power from before the training starts until after it ends: its start and end in the "
    "readings show where the log is. Or give --offset."
)


class ClockWords(NamedTuple):
    """What a clock is, or what takes its place, and what is known of it."""

    subject: str  # "the clock of the BMC"
    verb: str  # "is": not said beside a heading
    known: str

    @property
    def clause(self) -> str:
        """All of it, without a capital and a period."""
        return " ".join(filter(None, (self.subject, self.verb, self.known)))

    @property
    def sentence(self) -> str:
        """With both."""
        clause = self.clause
        if clause.startswith("the "):  # and not the name of a file
            clause = f"T{clause[1:]}"
        return f"{clause}."


def clock_words(alignment: Alignment, file: str = "the log") -> ClockWords:
    """What an alignment says of the clock of a log, or, where no clock was asked, of its place."""
    owner = alignment.clock_owner
    if alignment.lo_s is None or alignment.hi_s is None:
        return ClockWords(file, "", "nothing aligns the log with this run")
    half = f"± {_seconds((alignment.hi_s - alignment.lo_s) / 2, 2)}"
    places = _places_in_words(alignment.places)
    if not owner:
        if alignment.status == "ambiguous":
            return ClockWords(file, "", f"fits {places} by nothing but its readings")
        return ClockWords(file, "is", f"aligned {_by(alignment.source)}, {half}")
    # A log on another machine is named by its file alone, a BMC by both.
    if owner == clock_kinds.FOREIGN.owner:
        owner = file
    elif file != owner and file != "the log":
        owner = f"{owner} ({file})"
    subject = f"the clock of {owner}"
    if alignment.status == "clock corrected":
        # A clock that is ahead writes later times, so they are moved back.
        way = "ahead" if alignment.correction_s < 0 else "behind"
        off = _seconds(abs(alignment.correction_s), 3)
        return ClockWords(subject, "is", f"{off} {way} ({half}): its times are corrected")
    if alignment.status == "aligned" and alignment.confirmed:
        return ClockWords(subject, "", f"agrees with the edges of the training, {half}")
    if alignment.status == "aligned":
        return ClockWords(subject, "is", f"believed to {half}")
    if alignment.status == "ambiguous":
        return ClockWords(subject, "", f"does not decide between {places} that its readings fit")
    return ClockWords(subject, "is", f"believed to {half}: whether it is right cannot be told")


def _by(source: str) -> str:
    """ "by wall clocks of both", "set by hand"."""
    return source if "by " in source else f"by {source}"


def _places_in_words(places: tuple[Where, ...]) -> str:
    """ "3 places, up to 4.1 s apart,"; one place stands for itself."""
    if len(places) < 2:
        return "several places"
    offsets = [place.offset_s for place in places]
    return f"{len(places)} places, up to {_seconds(max(offsets) - min(offsets), 3)} apart,"


def _seconds(time_s: float, digits: int) -> str:
    return units.duration(round(time_s * PS_PER_S), digits)
