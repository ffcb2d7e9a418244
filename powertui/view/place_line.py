"""The words that lead back to what a timeline shows: `powertui.place_words` reads them again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.errors import UsageError
from powertui.place_words import host_word, name_words, time_words, times_words
from powertui.view.places import destination
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.viewport import Viewport


def place_line(model: TimelineModel, state: State) -> str:
    """The marked window; without one what is in sight, and the cursor."""
    if state.window is not None:
        lo, hi = state.window
        parts = [_window_words(model, lo, hi)]
    else:
        view_words = _view_words(state.viewport)
        cursor_words = time_words(state.cursor_ps)
        parts = [f"view {view_words}", f"cursor {cursor_words}"]
    hosts = [trace.host for trace in model.run.traces]
    if len(hosts) > 1:
        host = name_words(host_word(hosts, model.index))
        parts.append(f"host {host}")
    return ", ".join(parts)


def _window_words(model: TimelineModel, lo: int, hi: int) -> str:
    """A window by its steps or epoch where it is exactly that, else by its times."""
    for words in _candidates(model, lo, hi):
        try:
            place = destination(model, words, None)
        except UsageError:
            continue
        # A note says that the words could mean something else, too.
        if (place.lo, place.hi, place.note) == (lo, hi, ""):
            return words
    return times_words(lo, hi)


def _candidates(model: TimelineModel, lo: int, hi: int) -> Iterator[str]:
    for index, epoch in enumerate(model.epochs):
        if model.epoch_bounds(index) == (lo, hi):
            yield f"epoch {epoch.number}"
    steps = model.steps
    is_numbered = steps.number >= 0
    starts_here = is_numbered & (steps.start == lo)
    ends_here = is_numbered & (steps.ends() == hi)
    if not starts_here.any() or not ends_here.any():
        return
    first = np.flatnonzero(starts_here)[0]
    last = np.flatnonzero(ends_here)[-1]
    first_number = int(steps.number[first])
    last_number = int(steps.number[last])
    numbers = f"step {first_number}"
    if last_number != first_number:
        numbers += f"-{last_number}"
    epoch_index = int(steps.epoch[first])
    if epoch_index >= 0:
        epoch = model.epochs[epoch_index]
        yield f"epoch {epoch.number} {numbers}"
    yield numbers


def _view_words(view: Viewport) -> str:
    """What is in sight, one column less: a stretch is shown with room for that wherever it
    begins, and so exactly this view comes back.
    """
    end_ps = max(view.t1 - view.cell_ps, view.t0 + 1)
    return times_words(view.t0, end_ps)
