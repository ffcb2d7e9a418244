"""Where a page is written to: whole or not at all, and never in place of another file unasked."""

from __future__ import annotations

import sys

from powertui import units
from powertui.data.export import files
from powertui.plain import plain
from powertui.report import text
from powertui.value_types import dataclass


@dataclass(frozen=True)
class HtmlFile:
    """Where a page goes."""

    path: str  # "-": standard output
    force: bool = False  # also in place of a file that is there

    def check(self) -> None:
        """Raise before anything is read where the file could not be written."""
        files.refuse_existing(self.path, force=self.force)

    def write(self, page: str) -> None:
        """The page, whole or not at all. What was written is said on standard error."""
        size = self.save(page)
        name = "standard output" if self.path == files.STDOUT else plain(self.path)
        text.write(sys.stderr, f"Wrote {name}: {units.size(size)}.")

    def save(self, page: str) -> int:
        """The same without a word; how many bytes it has."""
        encoded = page.encode()
        with files.opened(self.path, force=self.force) as stream:
            stream.write(encoded)
        return len(encoded)
