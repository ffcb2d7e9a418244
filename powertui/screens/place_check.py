"""Whether a place that was named in words can be in the run in front."""

from __future__ import annotations

from powertui.errors import UsageError
from powertui.place_words import PlaceWords, host_named, host_word
from powertui.plain import plain
from powertui.screens import page_named
from powertui.screens.session import Session
from powertui.view.places import place_in_sight

_MAX_NAMED_HOSTS = 8  # in an error


def check_place(session: Session, words: PlaceWords) -> None:
    """Raises `UsageError` where a place cannot be in this run, as far as that is known without
    looking at another host of it.
    """
    if words.page is not None:
        page_named(words.page)
    index = host_of_place(session, words)
    model = session.model
    if model is not None and index == session.trace_index:
        place_in_sight(model, words, session.cursor_ps)


def host_of_place(session: Session, words: PlaceWords) -> int:
    """Which host a place means: the one that is looked at where it names none."""
    run = session.run
    if words.host is None or run is None:
        return session.trace_index
    hosts = [trace.host for trace in run.traces]
    index = host_named(hosts, words.host)
    if index is None:
        count = len(session.entry.profiles) if session.entry is not None else 0
        if not session.complete and len(hosts) < count:
            missing = count - len(hosts)
            read = "host that is" if len(hosts) == 1 else "hosts that are"
            raise UsageError(
                f"{plain(words.host, 80)!r} is not among the {len(hosts)} {read} read so far.",
                hint=f"{missing} more {'is' if missing == 1 else 'are'} being read.",
            )
        names = [plain(host_word(hosts, number), 60) for number in range(len(hosts))]
        more = " …" if len(names) > _MAX_NAMED_HOSTS else ""
        raise UsageError(
            f"There is no host {plain(words.host, 80)!r}.",
            hint=f"The hosts are: {', '.join(names[:_MAX_NAMED_HOSTS])}{more}",
        )
    return index
