"""A session that somebody else read draws the same joules as one that the training read itself."""

from __future__ import annotations

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
