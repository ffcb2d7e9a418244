"""A cut or damaged profile: what is not there may be what took the time, and nothing is blamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Cost, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.patterns import late_pattern
from powertui.plain import plain

_LOST_NAME = late_pattern(r"\bevent \d+\b")  # how the reader calls an event without a name


def incomplete_profile(inquiry: Inquiry) -> Conclusion | None:
    """That a part of the profile is missing; None where the profile of one host is whole: it tells
    of the program.
    """
    traces = [profile.trace for profile in inquiry.profiles]
    if not all(trace.missing for trace in traces):
        return None
    if any(len(trace.lost_names) > len(trace.names) / 2 for trace in traces):
        what = "The names of its events were"
    else:
        what = "What took the time may be"
    return Conclusion(
        kind=Kind.UNKNOWN_TIME,
        sentence=f"The profile is incomplete: {traces[0].missing}. {what} in the part that is "
        "missing, so nothing is concluded from the rest: copy the file again, or record again.",
        short="incomplete profile",
        confidence=Confidence.SURE,
        evidence=Evidence("timeline"),
        cost=Cost(),
        next="Compare the size of the file with that of its original.",
    )


def incomplete_hosts(inquiry: Inquiry) -> Iterator[Conclusion]:
    """That the profiles of some hosts are incomplete, where those of others are whole."""
    cut = [profile for profile in inquiry.profiles if profile.trace.missing]
    if not cut or len(cut) == len(inquiry.profiles):
        return
    if len(cut) == 1:
        whose = f"The profile of {plain(cut[0].host, 80)} is incomplete"
    else:
        whose = f"The profiles of {len(cut)} of {len(inquiry.profiles)} hosts are incomplete"
    yield Conclusion(
        kind=Kind.UNKNOWN_TIME,
        sentence=f"{whose} ({cut[0].trace.missing}): what is missing is not judged.",
        short="incomplete profile",
        confidence=Confidence.SURE,
        evidence=Evidence("hosts"),
        cost=Cost(),
        next="Compare the size of the file with that of its original.",
    )


def without_nameless(inquiry: Inquiry, conclusions: Iterable[Conclusion]) -> list[Conclusion]:
    """Those that blame no event whose name is lost."""
    if not any(profile.trace.lost_names for profile in inquiry.profiles):
        return list(conclusions)
    return [each for each in conclusions if not _LOST_NAME.search(each.sentence)]
