"""Other profiles of a training in sight beside the one that is open: their tracks stand in the same
rows, each in its own place.

What has the same process and thread there goes into that row. A profile that ran at the same time
as the one that is open, or has none of its tracks, stands below it under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from powertui.data.model import PS_PER_NS
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass
from powertui.view.paint import Inks, Painted, paint
from powertui.view.scene import Scene
from powertui.view.time_navigation import State
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import NO_FOLDS, Row, RowKind, TrackInfo
from powertui.view.viewport import Viewport

_STACKED_ROWS = 5  # rows of a profile that stands below another, with its name


@dataclass(frozen=True, eq=False)
class NeighborProfile:
    """A profile that was read beside the one that is open."""

    name: str
    model: TimelineModel
    zero_ns: int  # of its axis
    scenes: dict[int, Scene] = field(default_factory=dict)  # by how many levels are drawn

    def later(self, model: TimelineModel) -> int:
        """How much later its zero lies than that of the one that is open, ps."""
        assert model.surroundings is not None
        return (self.zero_ns - model.surroundings.zero_ns) * PS_PER_NS

    def stretch(self, model: TimelineModel) -> tuple[int, int]:
        """Where it lies on the axis of the one that is open."""
        by = self.later(model)
        lo, hi = self.model.profiled
        return lo + by, hi + by

    def view(self, model: TimelineModel, view: Viewport) -> Viewport:
        """The same cells on its own axis, to half a cell."""
        cell_ps = view.cell_ps
        later_cells = (self.later(model) + cell_ps // 2) // cell_ps
        return Viewport(
            span=self.model.span,
            width=view.width,
            rung=view.rung,
            cell0=view.cell0 - later_cells,
            row0=0,
            height=view.height,
        )

    def painted(
        self,
        model: TimelineModel,
        view: Viewport,
        rows: Sequence[Row],
        look: Inks,
        budget: int,
    ) -> Painted:
        """These rows of it."""
        neighbor_view = self.view(model, view)
        scene = self.scenes.setdefault(look.full, Scene(self.model, look.full))
        cursor_out_of_sight = neighbor_view.t1 + neighbor_view.cell_ps
        cells = scene.cells(State(neighbor_view, cursor_out_of_sight, -1), tuple(rows))
        return paint(
            cells,
            self.model.labels,
            look,
            cell0=neighbor_view.cell0,
            budget=budget,
        )

    def rows_like(self, rows: Sequence[Row], model: TimelineModel) -> list[Row]:
        """For each row its own of the same process and thread; one without lanes where it
        has none.
        """
        return [self._like(row, model) for row in rows]

    def _like(self, row: Row, model: TimelineModel) -> Row:
        like = None
        if row.kind is RowKind.PROCESS and row.lanes:
            like = self._process_like(row, model)
        elif row.kind is RowKind.LANE:
            like = self._lane_like(row, model)
        return like or Row(RowKind.MORE, 0, "")

    def _process_like(self, row: Row, model: TimelineModel) -> Row | None:
        """The row of a folded process of the same name."""
        name = model.trace.processes[row.process].name
        infos = []
        for info in self.model.tracks:
            if info.process.name == name and len(info.track.events):
                infos.append(info)
        if not infos:
            return None
        lanes = self.model.row_model.summary(infos)
        return Row(
            kind=row.kind,
            process=infos[0].process_number,
            label=row.label,
            lanes=lanes,
        )

    def _lane_like(self, row: Row, model: TimelineModel) -> Row | None:
        """The row of the same depth in the track of the same name."""
        info = self._track_like(model.tracks[row.track])
        if info is None:
            return None
        is_folded_track = row.folded is True
        depth = row.depth
        if is_folded_track:
            depth = self.model.row_model.telling_depth(info.track)
        if not 0 <= depth < info.track.lane_count:
            return None
        return Row(
            kind=row.kind,
            process=info.process_number,
            label=row.label,
            track=info.number,
            depth=depth,
            lanes=(self.model.forest.lane_number(info.number, depth),),
            folded=row.folded,
        )

    def _track_like(self, info: TrackInfo) -> TrackInfo | None:
        """The track of the same id; else the only one of the same name."""
        names = _track_names(info)
        namesakes = []
        for track in self.model.tracks:
            if _track_names(track) == names:
                namesakes.append(track)
        for namesake in namesakes:
            if namesake.id == info.id:
                return namesake
        if len(namesakes) == 1:
            return namesakes[0]
        return None


class RowBelow(NamedTuple):
    """A row of a profile that stands below the one that is open; without a row its name."""

    neighbor: NeighborProfile
    row: Row | None

    @property
    def label(self) -> str:
        if self.row is None:
            return self.neighbor.name
        return self.row.label


def ran_at_same_time(
    neighbor: NeighborProfile,
    model: TimelineModel,
    view: Viewport,
) -> bool:
    """Whether it and the one that is open lie in the same cells."""
    columns = view.covered(*neighbor.stretch(model))
    open_columns = view.covered(*model.profiled)
    return not set(columns).isdisjoint(open_columns)


def _track_names(info: TrackInfo) -> tuple[str, str]:
    return info.process.name, info.track.name


def _in_rows(neighbor: NeighborProfile, model: TimelineModel, view: Viewport) -> bool:
    """Whether it goes into the rows of the one that is open: it ran at another time, and has some
    of the same tracks.
    """
    if ran_at_same_time(neighbor, model, view):
        return False
    names = {_track_names(info) for info in model.tracks}
    return any(_track_names(info) in names for info in neighbor.model.tracks)


def rows_below(
    neighbors: Sequence[NeighborProfile],
    model: TimelineModel,
    view: Viewport,
    free: int,
) -> list[RowBelow]:
    """What stands below the rows of the one that is open, in so many free rows."""
    below: list[RowBelow] = []
    for neighbor in neighbors:
        is_in_sight = len(view.covered(*neighbor.stretch(model))) > 0
        if not is_in_sight or _in_rows(neighbor, model, view):
            continue
        rows = [RowBelow(neighbor, None)]
        for row in neighbor.model.rows(NO_FOLDS):
            if row.kind is RowKind.LANE and len(rows) < _STACKED_ROWS:
                rows.append(RowBelow(neighbor, row))
        below += rows[: max(0, free - len(below))]
    has_more_than_a_name = len(below) > 1
    return below if has_more_than_a_name else []


def rows_needed(
    neighbors: Sequence[NeighborProfile],
    model: TimelineModel,
    view: Viewport,
) -> int:
    """How many rows all of them would take below."""
    return len(rows_below(neighbors, model, view, _STACKED_ROWS * len(neighbors)))


def draw(
    painted: Painted,
    neighbors: Sequence[NeighborProfile],
    model: TimelineModel,
    view: Viewport,
    rows: Sequence[Row],
    look: Inks,
    budget: int,
) -> None:
    """Paint those that go into the rows of the one that is open, in the columns that nobody else
    has.
    """
    drawn = set(view.covered(*model.profiled))
    for neighbor in neighbors:
        if not _in_rows(neighbor, model, view):
            continue
        stretch = view.covered(*neighbor.stretch(model))
        columns = [column for column in stretch if column not in drawn]
        if not columns:
            continue
        drawn.update(columns)
        source = neighbor.painted(
            model,
            view,
            neighbor.rows_like(rows, model),
            look,
            budget,
        )
        for y, row in enumerate(rows):
            if row.lanes:
                painted.chars[y, columns] = source.chars[y, columns]
                painted.key[y, columns] = source.key[y, columns]


def gaps_between(stretches: Sequence[range], width: int) -> Iterator[range]:
    """The columns of a view that no stretch covers, from left to right; stretches may overlap."""
    in_sight = [columns for columns in stretches if len(columns)]
    in_sight.sort(key=lambda columns: columns.start)
    covered_to = 0
    for columns in in_sight:
        yield range(covered_to, columns.start)
        covered_to = max(covered_to, columns.stop)
    yield range(covered_to, width)
