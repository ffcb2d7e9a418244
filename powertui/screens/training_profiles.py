"""The other profiles of a training: one that the view comes to is read and shown, those in sight
are drawn beside the one in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.screens.loader import LoadedPart, Loader, LoadingProgress
from powertui.view.neighbor_profiles import NeighborProfile
from powertui.view.timeline_model import TimelineModel

if TYPE_CHECKING:
    from powertui.data.elsewhere import TransferProgress
    from powertui.data.training.training import Training
    from powertui.screens.runs import OpenRuns

MAX_NEIGHBOR_EVENTS = 1_000_000  # of all profiles drawn beside the one in front: some 100 MB


class TrainingProfiles:
    """What is read of a training beside the profile in front, in threads."""

    def __init__(self, runs: OpenRuns) -> None:
        self.runs = runs
        self.shell = runs.shell
        self.session = runs.session
        self._reaching: Loader | None = None  # what reads another profile, to be shown in front
        self._unreachable: set[str] = set()
        # Profiles that cannot be drawn beside another: unreadable, or on no axis but their own.
        self._no_neighbors: set[str] = set()
        # Whether a profile is being read that will be drawn beside the one in front.
        self._is_reading_neighbor = False

    # ── the profile that the view came to ────────────────────────────────────────────────────────

    @property
    def is_reaching(self) -> bool:
        """Whether another profile of the training is being read, to be shown in front."""
        return self._reaching is not None and self._reaching.running

    def can_reach(self, path: str) -> bool:
        """Whether a profile was not found to be unreadable."""
        return path not in self._unreachable

    def stop(self) -> None:
        """Stop reading the profile that would be shown in front."""
        if self._reaching is not None:
            self._reaching.cancel()
            self._reaching = None

    def reach(self, path: str, name: str) -> None:
        """Read another profile of the training, to which the view came, and show it then."""
        session = self.session
        training = session.training
        if training is None or self.runs.is_loading:
            return
        entry = _session_of(training, path, name)
        if entry is None:
            return
        reaching = self._reaching
        if reaching is not None and reaching.running and reaching.entry is entry:
            return
        self.stop()
        opened = session.runs.get(path)
        is_known = opened is not None and opened.complete and opened.entry == entry
        if opened is not None and is_known and opened is not session.opened:
            self.runs.work_out(session.turn_to(opened), 0)
            return
        self._reaching = loader = Loader(
            entry,
            session.reading_of(entry.path),
            on_progress=lambda progress: self.shell.from_thread(self._progressed, loader, progress),
            on_part=lambda part: self.shell.from_thread(self._reached, loader, part),
            on_failed=lambda error: self.shell.from_thread(self._not_reached, loader, error),
            training=lambda: training,
            aligning=session.aligning,
            island=True,
        )
        loader.start()

    def _progressed(self, loader: Loader, progress: LoadingProgress | TransferProgress) -> None:
        if loader is self._reaching:
            self.runs.show_progress(str(progress))

    def _reached(self, loader: Loader, part: LoadedPart) -> None:
        if loader is not self._reaching:
            return
        self._reaching = None
        session = self.session
        self.runs.show_progress("")
        if not part.run.traces:
            self._unreachable.add(loader.entry.path)
            reason = f"{loader.entry.name} holds no profile."
            if part.run.warnings:
                reason = str(part.run.warnings[0])
            self.shell.say(plain(reason, 400), warn=True)
            return
        reading = session.reading_of(loader.entry.path)
        opened = session.turn_to(Opened(loader.entry, reading, around=part.training))
        self.runs.take(opened, part)
        self.shell.tell()

    def _not_reached(self, loader: Loader, error: Exception) -> None:
        if not isinstance(error, PowertuiError):
            raise error
        if loader is self._reaching:
            self._unreachable.add(loader.entry.path)
            self._reaching = None
            self.shell.say(str(error), warn=True)

    # ── the profiles beside the one in front ─────────────────────────────────────────────────────

    def accompany(self, keys: Sequence[tuple[str, str]]) -> list[NeighborProfile]:
        """The profiles of the training to be drawn beside the one in front, as far as read.

        The next one is read now, in a thread.
        """
        session = self.session
        training = session.training
        if training is None or not session.complete:
            return []
        neighbors = []
        chosen = self._affordable(training, keys)
        session.keep_neighbors([entry.path for entry in chosen])
        for entry in chosen:
            opened = session.runs.get(entry.path)
            if opened is not None and not opened.complete:
                opened = None
            if opened is not None and opened.entry == entry and opened.is_read:
                neighbor = opened.known(("guest", 0))
                if neighbor is not None:
                    neighbors.append(neighbor)
                    continue
            # One at a time: several would take the processor from what a person waits for.
            if self._is_reading_neighbor or self.runs.is_loading:
                continue
            if opened is None:
                opened = Opened(entry, session.reading_of(entry.path), around=training)
            self._read_neighbor(opened, training)
        return neighbors

    def _affordable(self, training: Training, keys: Sequence[tuple[str, str]]) -> list[RunEntry]:
        """As many of these profiles as memory bears, one at least.

        A profile that is not read yet counts by its size, with as many events a byte as in front.
        """
        session = self.session
        front = session.opened
        if front is None:
            return []
        sessions = {(entry.path, entry.name): entry for entry in training.entry.sessions}
        events_per_byte = _event_count(front) / max(1, front.entry.size)
        chosen: list[RunEntry] = []
        events = 0.0
        for key in keys:
            entry = sessions.get(key)
            if entry is None or entry.path == front.path:
                continue
            if not self.can_reach(entry.path) or entry.path in self._no_neighbors:
                continue
            opened = session.runs.get(entry.path)
            if opened is not None and opened.complete and opened.is_read:
                events += _event_count(opened)
            else:
                events += entry.size * events_per_byte
            if chosen and events > MAX_NEIGHBOR_EVENTS:
                break
            chosen.append(entry)
        return chosen

    def _read_neighbor(self, opened: Opened, training: Training) -> None:
        self._is_reading_neighbor = True

        def read() -> None:
            has_place = False
            problem = ""
            try:
                has_place = _index_neighbor(opened, training)
            except PowertuiError as error:
                problem = error.message
            self.shell.from_thread(self._neighbor_read, opened, has_place, problem)

        self.shell.run_worker(read, thread=True, group="beside")

    def _neighbor_read(self, opened: Opened, has_place: bool, problem: str) -> None:
        self._is_reading_neighbor = False
        session = self.session
        is_of_training = session.training is not None and opened.around is session.training
        if not has_place:
            self._no_neighbors.add(opened.path)
            if problem:
                self.shell.say(problem, warn=True)
        elif is_of_training and opened is not session.opened:  # the view did not come to it yet
            session.keep_neighbor(opened)
        self.shell.tell()


def _session_of(training: Training, path: str, name: str) -> RunEntry | None:
    for entry in training.entry.sessions:
        if (entry.path, entry.name) == (path, name):
            return entry
    return None


def _event_count(opened: Opened) -> int:
    return sum(trace.event_count for trace in opened.run.traces)


def _index_neighbor(opened: Opened, training: Training) -> bool:
    """Read a profile and index it; its power waits until it is in front. False where its clock
    gives it no place beside others.
    """
    from powertui.data.opened import Profile
    from powertui.data.training import session_places

    run = opened.run
    if not run.traces or not run.traces[0].clock.known:
        return False
    if not session_places.believed(Profile(opened, 0), training.scalar_span):
        return False
    model = opened.cached(("model", 0), lambda: TimelineModel.from_run(run, 0))
    clock = run.traces[0].clock
    opened.keep(("guest", 0), NeighborProfile(plain(opened.name, 200), model, clock.mid_ns))
    return True
