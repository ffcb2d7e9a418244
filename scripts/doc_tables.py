"""Write the tables of docs/keys.md and docs/glossary.md from the program; with --check only report
whether they are up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui.terminal import keymap  # noqa: E402
from powertui.view import glossary  # noqa: E402


@dataclass(frozen=True)
class GeneratedTable:
    """A table in a page of docs/, between two comments."""

    page: Path
    name: str
    markdown: Callable[[], str]

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: made by scripts/doc_tables.py -->"

    @property
    def end(self) -> str:
        return f"<!-- end of {self.name} -->"

    def written_into(self, text: str) -> str:
        """The same page with the current table."""
        head, begin, rest = text.partition(self.begin)
        _, end, tail = rest.partition(self.end)
        if not begin or not end:
            raise SystemExit(f"{self.page} has no {self.begin} … {self.end}")
        return f"{head}{self.begin}\n{self.markdown()}\n{self.end}{tail}"


TABLES = (
    GeneratedTable(ROOT / "docs" / "keys.md", "keys", keymap.markdown),
    GeneratedTable(ROOT / "docs" / "glossary.md", "glossary", glossary.markdown),
)


def main() -> int:
    """Exit code 1 when --check finds another table."""
    outdated = 0
    for table in TABLES:
        text = table.page.read_text(encoding="utf-8")
        current = table.written_into(text)
        if text == current:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{table.page.name} is out of date. Run scripts/doc_tables.py.", file=sys.stderr)
            outdated += 1
        else:
            table.page.write_text(current, encoding="utf-8")
    return int(outdated > 0)


if __name__ == "__main__":
    raise SystemExit(main())
