"""Rows that were left out of a log: counted by reason, the first ones named."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.model import Warn

_MAX_NAMED_ROWS = 5


class Notes:
    """Collects `(row, reason)` while a file is read, and gives one `Warn` per reason."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._rows: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        self._said: list[Warn] = []
        self._once: set[tuple[int, str]] = set()

    def drop(self, row: int, reason: str) -> None:
        """This line of the file (from 1) is left out."""
        dropped = (row, reason)
        if dropped not in self._once:  # a row that fits none of several columns is one row
            self._once.add(dropped)
            self.drop_all((row,), reason)

    def drop_all(self, rows: Iterable[int], reason: str) -> None:
        """These lines of the file are left out."""
        named = self._rows.setdefault(reason, [])
        count = self._counts.get(reason, 0)
        for row in rows:
            count += 1
            if len(named) < _MAX_NAMED_ROWS:
                named.append(int(row))
        self._counts[reason] = count

    def say(self, cause: str, where: str = "") -> None:
        """Something about the whole file; once, however many channels it is true of."""
        warning = Warn(self.path, where, cause)
        if warning not in self._said:
            self._said.append(warning)

    @property
    def dropped(self) -> int:
        """How many rows were left out."""
        return sum(self._counts.values())

    def first_reason(self) -> str:
        """The most frequent reason, for a message when nothing is left."""
        return max(
            self._counts,
            key=lambda reason: self._counts[reason],
            default="",
        )

    def warnings(self) -> tuple[Warn, ...]:
        """All of it, most frequent reason first."""
        warnings = []
        by_count = sorted(self._counts.items(), key=lambda item: -item[1])
        for reason, count in by_count:
            if not count:
                continue
            named = self._rows[reason]
            where = "rows " if count > 1 else "row "
            where += ", ".join(map(str, named))
            if count > len(named):
                where += " …"
            warnings.append(Warn(self.path, where, reason, count))
        return (*warnings, *self._said)
