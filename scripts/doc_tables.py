"""Write the tables of docs/ that are made from the program: keys, terms, folders and files; with
--check only report whether they are up to date.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui.screens import SCREENS  # noqa: E402
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


def _packages() -> Iterator[Path]:
    """The folders of the program, from above to below."""
    for opening in sorted((ROOT / "powertui").rglob("__init__.py")):
        yield opening.parent


def _modules(package: Path) -> list[Path]:
    """The files of a folder but its opening."""
    return [path for path in sorted(package.glob("*.py")) if path.name != "__init__.py"]


def beginning(source: str) -> str:
    """A file up to the end of its first statement, where it says what it is: to parse all of every
    file takes a hundred times as long.
    """
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            return "".join(source.splitlines(keepends=True)[: token.end[0]])
    return source


def _first_sentence(file: Path) -> str:
    """What a file says that it is, as a cell of a table."""
    described = ast.get_docstring(ast.parse(beginning(file.read_text(encoding="utf-8")))) or ""
    paragraph = " ".join(described.partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0]
    return sentence.removesuffix(".").removesuffix(":").replace("|", r"\|")


def _name(package: Path) -> str:
    return package.relative_to(ROOT).as_posix() + "/"


def _folders() -> str:
    """A row for each folder of the program."""
    rows = ["| folder | what it is for | files |", "| --- | --- | --- |"]
    for package in _packages():
        purpose = _first_sentence(package / "__init__.py")
        rows.append(f"| `{_name(package)}` | {purpose} | {len(_modules(package))} |")
    return "\n".join(rows)


def _files() -> str:
    """A table for each folder of the program: a row for each file."""
    parts: list[str] = []
    for package in _packages():
        modules = _modules(package)
        if not modules:
            continue
        parts += [f"## {_name(package)}", "", "| file | what is in it |", "| --- | --- |"]
        parts += [f"| `{path.stem}` | {_first_sentence(path)} |" for path in modules]
        parts.append("")
    return "\n".join(parts).rstrip()


def _keys() -> str:
    """The keys that do something on a page, and below them those that lead to one."""
    lines = [keymap.markdown(), "| **Pages** | |"]
    for screen in sorted(SCREENS, key=lambda screen: screen.key):
        if screen.key:
            lines.append(f"| `{screen.key}` | {screen.title} |")
    return "\n".join(lines)


TABLES = (
    GeneratedTable(ROOT / "docs" / "architecture.md", "folders", _folders),
    GeneratedTable(ROOT / "docs" / "files.md", "files", _files),
    GeneratedTable(ROOT / "docs" / "keys.md", "keys", _keys),
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
