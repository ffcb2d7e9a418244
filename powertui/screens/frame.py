"""What is around every page: the content of the top line, and why a page has nothing to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui import units
from powertui.data.conclusions import GLANCE_KEPT_AS, KEPT_AS
from powertui.plain import plain
from powertui.screens import SCREENS
from powertui.view.aligned_by import aligned_by
from powertui.view.top_line import Head, Tab

if TYPE_CHECKING:
    from powertui.data.conclusions.conclusion import Conclusions
    from powertui.data.overview.at_a_glance import Glance
    from powertui.screens.session import Session

_MAX_NAME_CELLS = 60
# Events from which a run is concluded from when a page asks for it: of 10 M that takes as long as
# reading them twice, and nobody may want it. Chosen: below it is over within a second.
_MANY_EVENTS = 2_000_000


def head(session: Session) -> Head:
    """The run, its host, how long it took, and how far its power's clock can be trusted."""
    if session.opened is None:
        if session.feed is not None:
            return Head("live power")
        folder = session.logdir
        return Head(plain(folder.path, _MAX_NAME_CELLS) if folder is not None else "powertui")
    name = plain(session.opened.name, _MAX_NAME_CELLS)
    trace = session.trace
    power: tuple[str, ...] = ("reading …",)
    if trace is None:
        return Head(name, power=() if session.complete else power)
    if session.complete:
        power = _power(session)
    took = units.duration(trace.span[1] - trace.span[0])
    return Head(
        name=name,
        host=plain(trace.host, 30),
        took=took,
        power=power,
    )


def _power(session: Session) -> tuple[str, ...]:
    run = session.run
    if run is None or not run.power:
        return ("no power log", "no power")
    aligned = [channel for channel in session.power if channel.status != "none"]
    if not aligned:
        return ("power not aligned",)
    first = aligned[0]
    half_ps = (first.offset_hi_ps - first.offset_lo_ps) // 2
    if not half_ps:  # the profile itself holds it
        return ("power on the profile's clock", "power recorded")
    half = units.duration(half_ps, 2)
    doubt = ", ambiguous" if first.status == "ambiguous" else ""
    method = aligned_by(first.source)
    # "power ±278 ms" was read as an error of the watts.
    timed = f"power timed to ±{half}"
    return (f"{timed} by {method}{doubt}", f"{timed}{doubt}", f"time ±{half}{doubt}")


def tabs(session: Session, present: str) -> tuple[Tab, ...]:
    """The pages that have a key, in the order of their keys."""
    shown = "tools" if present == "tool" else present  # each tool is one of that list
    entries = sorted((entry for entry in SCREENS if entry.key), key=lambda entry: entry.key)
    return tuple(
        Tab(
            name=entry.name,
            key=entry.key,
            title=entry.title,
            present=entry.name == shown,
            news=_news(session, entry.name),
            dim=bool(why_empty(session, entry.name)),
        )
        for entry in entries
    )


def why_empty(session: Session, name: str) -> str:
    """Why this page can have no content; "" when it can."""
    entry = next(entry for entry in SCREENS if entry.name == name)
    if entry.needs_run and session.entry is None:
        return "No run is open."
    if not session.complete and entry.needs_run:
        return ""  # not known yet
    if entry.lacks is not None:
        return entry.lacks(session)
    return ""


def _news(session: Session, name: str) -> int:
    """How many conclusions a page has, once they were drawn."""
    conclusions = known_conclusions(session) if name == "symmetry" else None
    if conclusions is not None:
        return len(conclusions)
    return 0


def known_conclusions(session: Session) -> Conclusions | None:
    """What to conclude from the run in front, where somebody has asked already."""
    if session.opened is None or not session.complete:
        return None
    known: Conclusions | None = session.opened.known((KEPT_AS, session.aligning))
    return known


def is_large(session: Session) -> bool:
    """Whether what to conclude from the run in front is worked out only when a page asks."""
    run = session.run
    return run is not None and run.event_count > _MANY_EVENTS


def concludes_unasked(session: Session) -> bool:
    """Whether it is time to conclude from the run in front: it is small, or somebody has asked."""
    if session.run is None:
        return False
    return not is_large(session) or known_conclusions(session) is not None


def known_glance(session: Session) -> Glance | None:
    """What everybody asks of the run in front, where that was worked out already."""
    if session.opened is None or not session.complete:
        return None
    known: Glance | None = session.opened.known((GLANCE_KEPT_AS, session.aligning))
    return known
