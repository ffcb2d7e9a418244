"""A session that somebody else read draws the same joules as one that the training read itself."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakValueDictionary

from powertui import demo
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.loading import load_run
from powertui.data.logdir.scanning import scan
from powertui.data.opened import Opened
from powertui.report import runs as listing
from powertui.screens.trainings import KeptTrainings


def test_the_list_of_runs_shows_the_joules_of_the_pages() -> None:
    folder = scan(demo.folder())
    (run,) = folder.runs
    options = ReadOptions()
    placing = Aligning()

    def joules(*, taken: bool) -> float | None:
        training = KeptTrainings(folder).training_for(run, options, placing)
        assert training is not None
        opened = Opened(run, options, load_run(run, options=options), around=training)
        if taken:
            training.take(opened)
        return listing.weighed(opened, listing.read(opened), placing).joules

    assert joules(taken=False) == joules(taken=True)


class _LetGoMeanwhile(WeakValueDictionary[str, Opened]):
    """Sessions of which another thread lets one go as soon as its key has been listed."""

    def __init__(self, kept: dict[str, Opened]) -> None:
        super().__init__(kept)
        self._kept = kept

    def keys(self) -> Iterator[str]:  # type: ignore[override]
        for key in tuple(super().keys()):
            self._kept.pop("goes", None)
            yield key


def test_a_session_may_be_let_go_while_those_that_were_read_are_listed() -> None:
    folder = scan(demo.folder())
    (run,) = folder.runs
    training = KeptTrainings(folder).training_for(run, ReadOptions(), Aligning())
    assert training is not None

    def read() -> Opened:
        return Opened(run, ReadOptions(), load_run(run), around=training)

    kept = {"goes": read(), "stays": read()}
    stays = kept["stays"]
    training._taken = _LetGoMeanwhile(kept)
    assert stays in training.read_sessions()
