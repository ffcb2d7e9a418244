"""The energy and the findings of the training, which come after the picture: worked out in a
thread, and again where a person moved the power meanwhile or later.

They say at which moments watts were drawn, so they are true of one place of the power alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.screens.loader import LoadedPart, further, training_model
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.asked import Aligning
    from powertui.data.opened import Opened
    from powertui.data.training.training_on_axis import TrainingOnAxis
    from powertui.screens.shell import Shell
    from powertui.view.surroundings import Surroundings


class LateTraining:
    """One piece of work at a time: what is asked for meanwhile is begun when it ends."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._session = shell.session
        self._request: object = None
        self._part: LoadedPart | None = None  # what is shown
        self._told_by: Aligning | None = None  # where the power lies in what was worked out of it

    @property
    def is_awaited(self) -> bool:
        """Whether it is still to come."""
        return self._request is not None

    @property
    def on_axis(self) -> TrainingOnAxis | None:
        """The training as it is shown."""
        return None if self._part is None else self._part.on_axis

    def begin(self, opened: Opened, part: LoadedPart) -> None:
        """For a run that has just been drawn: whatever was asked for before is given up."""
        self._request = None
        self._part = None
        self._told_by = None
        if part.on_axis is not None and part.model is not None:
            self._part = part
            self._work_out(opened, part, part.model, part.aligning)

    def follow_power(self) -> None:
        """The power lies elsewhere: what was said of it is worked out again."""
        session = self._session
        opened = session.opened
        part = self._part
        model = session.model
        if opened is None or part is None or model is None or part.run is not session.run:
            return
        if self._request is None and session.aligning != self._told_by:
            self._work_out(opened, part, model, session.aligning)

    def _work_out(
        self,
        opened: Opened,
        part: LoadedPart,
        drawn: TimelineModel,
        aligning: Aligning,
    ) -> None:
        """Where the power moved the training is put on the axis again, too."""
        shell = self._shell
        session = self._session
        request = self._request = object()

        def work() -> None:
            placed = part
            if aligning != part.aligning:
                profile = part.model if part.run.traces else None
                placed = training_model(opened, drawn.index, profile, aligning)
            shell.from_thread(done, placed, further(placed, opened, aligning))

        def done(placed: LoadedPart, surroundings: Surroundings | None) -> None:
            if self._request is not request:
                return
            self._request = None
            if session.model is not drawn:
                return
            if session.aligning != aligning:
                self.follow_power()
                return
            if placed.model is None or surroundings is None:
                return
            self._part = placed
            self._told_by = aligning
            session.model = placed.model.within(surroundings)
            if not placed.run.traces:  # nobody else places the power of a training alone
                session.power = placed.power
            if session.complete:
                opened.keep(("model", drawn.index), session.model)
            shell.tell()

        # After the picture is drawn: both would share the processor, and the picture would be late.
        shell.call_after_refresh(
            shell.run_worker, work, thread=True, exclusive=True, group="further"
        )
