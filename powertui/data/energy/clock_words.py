"""What is known of a log's clock, or of its place, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui import units
from powertui.data.energy import settings
from powertui.data.model import PS_PER_S
from powertui.named_tuples import NamedTuple

if TYPE_CHECKING:  # reports that have no power know of these words, too
    from powertui.data.energy.alignment_places import Where
    from powertui.data.energy.log_alignment import Alignment


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
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        return ClockWords(file, "", "nothing aligns the log with this run")
    half_s = (alignment.hi_s - alignment.lo_s) / 2
    half = f"± {_seconds(half_s, 2)}"
    status = alignment.status
    places = _places_in_words(alignment.places)
    is_one_place = len(alignment.places) == 1
    if alignment.is_by_hand and status != "ambiguous":
        return ClockWords(file, "is", f"placed by hand, {half}")
    if not alignment.clock_owner:
        if status == "ambiguous" and is_one_place:
            return ClockWords(file, "is", f"placed by nothing but its readings, {half}")
        if status == "ambiguous":
            return ClockWords(file, "", f"fits {places} by nothing but its readings")
        return ClockWords(file, "is", f"aligned {_by(alignment.source)}, {half}")
    subject = f"the clock of {_owner_of_clock(alignment.clock_owner, file)}"
    if status == "clock corrected":
        # A clock that is ahead writes later times, so they are moved back.
        way = "ahead" if alignment.correction_s < 0 else "behind"
        off = _seconds(abs(alignment.correction_s), 3)
        return ClockWords(subject, "is", f"{off} {way} ({half}): its times are corrected")
    if status == "aligned" and alignment.confirmed:
        return ClockWords(subject, "", f"agrees with the edges of the training, {half}")
    if status == "aligned":
        return ClockWords(subject, "is", f"assumed to be right, {half}")
    if status == "ambiguous" and is_one_place:
        return ClockWords(subject, "is", f"known by the readings alone, {half}")
    if status == "ambiguous":
        return ClockWords(subject, "", f"does not decide between {places} that its readings fit")
    longer_s = max(
        alignment.offset_s - alignment.lo_s,
        alignment.hi_s - alignment.offset_s,
    )
    half = f"± {_seconds(longer_s, 2)}"
    elsewhere = _elsewhere(alignment)
    if elsewhere:
        return ClockWords(subject, "is", f"not known to better than {half}: {elsewhere}")
    return ClockWords(subject, "is", f"assumed to be right, {half}: nothing confirms it")


def _owner_of_clock(owner: str, file: str) -> str:
    """A log on another machine is named by its file alone, a BMC by both."""
    from powertui.data.energy import clock_kinds

    if owner == clock_kinds.FOREIGN.owner:
        return file
    if file in (owner, "the log"):
        return owner
    return f"{owner} ({file})"


def _elsewhere(alignment: Alignment) -> str:
    """Where the readings would rather have a log than its clock has it; "" where they do not say.

    Nobody may then read that the clock is assumed to be right: joules are those of all places.
    """
    if not alignment.places or alignment.offset_s is None:
        return ""
    likeliest = max(alignment.places, key=lambda place: place.weight)
    later_s = likeliest.offset_s - alignment.offset_s
    if likeliest.weight <= settings.MAJORITY_SHARE or abs(later_s) <= likeliest.half_s:
        return ""
    way = "later" if later_s > 0 else "earlier"
    by = _seconds(abs(later_s), 3)
    return f"its readings fit best with times {by} {way} ({units.percent(likeliest.weight)})"


def _by(source: str) -> str:
    """ "by wall clocks of both", "by signal"."""
    if "by " in source:
        return source
    return f"by {source}"


def _places_in_words(places: tuple[Where, ...]) -> str:
    """ "3 places, up to 4.1 s apart,"; one place stands for itself."""
    if len(places) < 2:
        return "several places"
    offsets = [place.offset_s for place in places]
    distance_s = max(offsets) - min(offsets)
    return f"{len(places)} places, up to {_seconds(distance_s, 3)} apart,"


def _seconds(time_s: float, digits: int) -> str:
    return units.duration(round(time_s * PS_PER_S), digits)
