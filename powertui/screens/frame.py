"""What stands around every page: what the top line says of the run and of the pages, and why a page
has nothing to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui import units
from powertui.plain import plain
from powertui.screens import SCREENS
from powertui.view.top_line import Head, Tab

if TYPE_CHECKING:
    from powertui.data.energy.findings.finding import Finding
    from powertui.screens.session import Session

_MAX_NAME_CELLS = 60
TELLS_NEWS = ("symmetry", "overview")  # pages on which findings stand anyway
_AGAINST = " against what ran"
_BY = {  # what placed the power, in a word
    "wall clocks of both": "clock",
    "wall clocks, refined by signal": "clock",
    "powerboard marker": "marker",
    "local time, zone found": "clock",
    "by signal": "signal",
    "set by hand": "hand",
    "pinned by hand": "hand",
}


def head(session: Session) -> Head:
    """The run, its host, how long it took, and how far its power's clock can be trusted."""
    if session.opened is None:
        if session.feed is not None:
            return Head("live power")
        folder = session.logdir
        return Head(plain(folder.path, _MAX_NAME_CELLS) if folder is not None else "powertui")
    name = plain(session.opened.name, _MAX_NAME_CELLS)
    trace = session.trace
    if trace is None:
        return Head(name, "", "", () if session.complete else ("reading …",))
    took = units.duration(trace.span[1] - trace.span[0])
    return Head(
        name, plain(trace.host, 30), took, _power(session) if session.complete else ("reading …",)
    )


def _power(session: Session) -> tuple[str, ...]:
    run = session.run
    if run is None or not run.power:
        return ("no power log", "no power")
    placed = next((one for one in session.power if one.status != "none"), None)
    if placed is None:
        return ("power not aligned",)
    half = units.duration((placed.offset_hi_ps - placed.offset_lo_ps) // 2, 2)
    unsure = ", ambiguous" if placed.status == "ambiguous" else ""
    by = _BY.get(placed.source, plain(placed.source, 16))
    return (f"power ±{half} by {by}{unsure}", f"power ±{half}{unsure}", f"±{half}{unsure}")


def tabs(session: Session, present: str) -> tuple[Tab, ...]:
    """The pages that have a key, in the order of their keys."""
    return tuple(
        Tab(
            entry.name,
            entry.key,
            entry.title,
            entry.name == present,
            _news(session, entry.name),
            bool(why_empty(session, entry.name)),
        )
        for entry in sorted((entry for entry in SCREENS if entry.key), key=lambda entry: entry.key)
    )


def why_empty(session: Session, name: str) -> str:
    """Why this page can have no content; "" when it can."""
    entry = next(entry for entry in SCREENS if entry.name == name)
    if entry.needs_run and session.entry is None:
        return "No run is open."
    if not session.complete and entry.needs_run:
        return ""  # not known yet
    return entry.lacks(session) if entry.lacks is not None else ""


def _news(session: Session, name: str) -> int:
    """How much a page has to say that a person should know: what stands out, once it has been
    looked for.
    """
    return len(_findings(session)) if name == "symmetry" else 0


def news(session: Session) -> list[str]:
    """What stands out most, in a sentence, and the key of the page that shows it; then in ever
    fewer words: figures that have no room are left to that page, the last first. Nothing found:
    nothing.
    """
    found = _findings(session)
    if not found:
        return []
    key = next(entry.key for entry in SCREENS if entry.name == "symmetry")
    what = plain(found[0].text.partition("; ")[0], 200).removesuffix(_AGAINST)
    count = f"{len(found):,} findings, the largest: " if len(found) > 1 else "Found: "
    parts = what.split(", ")
    first = next(
        (at for at, part in enumerate(parts) if ": " in part), 0
    )  # before it stands where it was found
    return [
        f"{count}{', '.join(parts[:end])}. {key} shows more."
        for end in range(len(parts), first, -1)
    ]


def _findings(session: Session) -> tuple[Finding, ...]:
    profile = session.profile
    if profile is None or not session.complete:
        return ()
    from powertui.data.energy import account

    found = account.known_findings(profile, session.aligning)
    return found.findings if found is not None else ()
