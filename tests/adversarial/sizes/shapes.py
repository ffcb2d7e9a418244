"""A file or folder that is large in one respect, written at any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Pieces = Iterator[bytes]
PIECE_ITEMS = 1 << 12  # texts joined into one piece: a write for each would dominate


@dataclass(frozen=True)
class Shape:
    """A file or folder of `count` of something.

    `full` is the size at which it did harm, or should do none.
    """

    name: str
    file_name: str
    pieces: Callable[[int], Pieces]
    full: int
    small: int = 2_000  # a size that a test reads within a second

    def write(self, folder: Path, count: int) -> Path:
        """The file with so many of them."""
        path = folder / self.file_name
        with path.open("wb") as file:
            file.writelines(self.pieces(count))
        return path


def joined(texts: Iterator[str], between: str = ",") -> Pieces:
    """Texts with a separator, some thousand of them in a piece."""
    batch: list[str] = []
    begun = False
    for text in texts:
        batch.append(text)
        if len(batch) == PIECE_ITEMS:
            yield ((between if begun else "") + between.join(batch)).encode()
            batch, begun = [], True
    if batch:
        yield ((between if begun else "") + between.join(batch)).encode()


@dataclass(frozen=True)
class FolderShape(Shape):
    """A folder. `pieces` is not used: `make` fills it."""

    make: Callable[[Path, int], None] = lambda folder, count: None

    def write(self, folder: Path, count: int) -> Path:
        root = folder / self.file_name
        root.mkdir()
        self.make(root, count)
        return root
