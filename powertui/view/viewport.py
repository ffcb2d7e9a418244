"""Which part of a run a grid of cells shows. Integers only: no float ever decides where something
is.

Every edge is a multiple of the cell's length, and cell lengths come from one fixed ladder with
twenty rungs a decade. So a pan moves whole cells (what was computed stays right, and what was drawn
can be shifted), six rungs in and six rungs out is exactly where one was, and two people who look at
the same place see the same picture.

Zooming holds a moment still: the anchor stays in its column, whatever the rung, as long as the view
may go there. A view never leaves the run: it shows no more empty cells than the rung that fits the
run needs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import Int64s
from powertui.value_types import dataclass

# Twenty rungs a decade: the whole run never leaves more than an eighth of the window empty.
_MANTISSAS = (
    100,
    112,
    125,
    140,
    160,
    180,
    200,
    225,
    250,
    280,
    320,
    360,
    400,
    450,
    500,
    560,
    640,
    720,
    800,
    900,
)


def _ladder() -> tuple[int, ...]:
    rungs = {1, 2, 3, 4, 5, 6, 8}
    for mantissa in _MANTISSAS:
        if mantissa % 10 == 0:
            rungs.add(mantissa // 10)
        for exponent in range(16):
            rung = mantissa * 10**exponent
            if rung <= 10**17:
                rungs.add(rung)
    return tuple(sorted(rungs))


LADDER = _ladder()
FACTOR_TWO = 6  # rungs that double the cell
WHEEL = 4


def rung_for(span: int, width: int) -> int:
    """The finest rung at which `span` ps fit into `width` cells, wherever they begin on the
    grid.
    """
    for rung, cell_ps in enumerate(LADDER):
        always_fits = cell_ps * (width - 1)
        if span <= max(always_fits, cell_ps):
            return rung
    return len(LADDER) - 1


@dataclass(frozen=True)
class Viewport:
    """`width` cells of LADDER[rung] ps, beginning with cell number `cell0` counted from the
    profile's zero.
    """

    span: tuple[int, int]  # the run: what the view stays inside
    width: int
    rung: int = 0
    cell0: int = 0
    row0: int = 0
    height: int = 1

    @classmethod
    def whole_of(
        cls,
        span: tuple[int, int],
        width: int,
        height: int = 1,
    ) -> Viewport:
        """Everything."""
        return cls(
            span=span,
            width=max(1, width),
            rung=0,
            cell0=0,
            row0=0,
            height=max(1, height),
        ).whole()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    @property
    def cell_ps(self) -> int:
        return LADDER[self.rung]

    @property
    def t0(self) -> int:
        return self.cell0 * self.cell_ps

    @property
    def t1(self) -> int:
        return (self.cell0 + self.width) * self.cell_ps

    def column(self, ps: int) -> int:
        """The column that holds this moment; below 0 or beyond `width` when it is out of sight."""
        return ps // self.cell_ps - self.cell0

    def time(self, column: int) -> int:
        """The first moment of a column."""
        return (self.cell0 + column) * self.cell_ps

    def covered(self, lo: int, hi: int) -> range:
        """The columns in sight that [lo, hi) touches, that of `lo` at least.

        Empty when all of it is out of sight.
        """
        last_moment = max(lo, hi - 1)
        first = min(max(0, self.column(lo)), self.width)
        stop = min(self.column(last_moment) + 1, self.width)
        return range(first, max(first, stop))

    def shows(self, ps: int) -> bool:
        return 0 <= self.column(ps) < self.width

    def edges(self) -> Int64s:
        """width + 1 moments: the ends of all cells."""
        end = self.cell0 + self.width + 1
        cells = np.arange(self.cell0, end, dtype=np.int64)
        return cells * self.cell_ps

    @property
    def widest(self) -> int:
        """The rung that fits the whole run: nothing is gained by a coarser one."""
        return rung_for(self.span[1] - self.span[0], self.width)

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def pan(self, cells: int) -> Viewport:
        return replace(self, cell0=self.cell0 + cells)._inside()

    def at_end(self) -> Viewport:
        """The last cells of the run. `pan` stops there: to ask for a width too much is enough."""
        _, end_ps = self.span
        cells_after = (end_ps - self.t1) // self.cell_ps + 1
        return self.pan(self.width + cells_after)

    def zoom(
        self,
        rungs: int,
        anchor: int,
        column: int | None = None,
    ) -> Viewport:
        """`rungs` finer (coarser when negative).

        The moment `anchor` stays in its column, or comes to `column`.
        """
        # A view that is wider than the widest already may be made finer from where it is.
        coarsest = max(self.widest, self.rung) if rungs > 0 else self.widest
        rung = min(max(self.rung - rungs, 0), max(coarsest, 0))
        at = self.column(anchor) if column is None else column
        return replace(self, rung=rung, cell0=anchor // LADDER[rung] - at)._inside()

    def whole(self) -> Viewport:
        return self.fit(*self.span)

    def fit(
        self,
        lo: int,
        hi: int,
        *,
        margin: bool = False,
    ) -> Viewport:
        """Show [lo, hi) as large as a rung allows, in the middle; `margin` leaves a tenth free at
        each side.
        """
        length = max(1, hi - lo)
        rung = rung_for(length + (length // 4 if margin else 0), self.width)
        cell = LADDER[rung]
        spare = self.width - (-(-hi // cell) - lo // cell)
        return replace(self, rung=rung, cell0=lo // cell - max(0, spare // 2))._inside()

    def reveal(self, ps: int) -> Viewport:
        """The view moved (never zoomed) so that `ps` is in sight: unchanged when it is, centered
        when it was not.
        """
        if self.shows(ps):
            return self
        cell0 = ps // self.cell_ps - self.width // 2
        return replace(self, cell0=cell0)._inside()

    def resized(self, width: int, height: int) -> Viewport:
        """The same left end in a grid of another size."""
        width = max(1, width)
        height = max(1, height)
        was_whole = self.rung == self.widest
        grown = replace(self, width=width, height=height)
        if was_whole:
            return grown.whole()
        return grown._inside()

    def on(self, span: tuple[int, int]) -> Viewport:
        """The same view of a run that has grown while it loads."""
        was_whole = self.rung == self.widest
        moved = replace(self, span=span)
        if was_whole:
            return moved.whole()
        return moved._inside()

    def scrolled(self, row0: int, rows: int) -> Viewport:
        """The same time with another first row, of `rows` in all."""
        last_row0 = max(0, rows - self.height)
        first_row = min(max(0, row0), last_row0)
        return replace(self, row0=first_row)

    def _inside(self) -> Viewport:
        rung = min(self.rung, self.widest)
        if rung == self.rung:
            view = self
        else:
            view = replace(self, rung=rung, cell0=self.t0 // LADDER[rung])
        cell = view.cell_ps
        first, last = (
            view.span[0] // cell,
            -(-view.span[1] // cell),
        )  # the run lies in cells [first, last)
        cell0 = min(max(view.cell0, first), max(first, last - view.width))
        if cell0 == view.cell0:
            return view
        return replace(view, cell0=cell0)
