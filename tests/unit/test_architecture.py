"""The folders and files that the documents name are those of the program; and each file is short
enough to be read at once.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAX_LINES = 450  # of a file: what a person reads in one sitting (chosen)
# Files that may be longer, each with the reason.
LONGER = {}


def test_the_tables_of_folders_and_files_are_those_of_the_program() -> None:
    from scripts.doc_tables import TABLES

    made = [table for table in TABLES if table.name in ("folders", "files")]
    assert len(made) == 2
    for table in made:
        text = table.page.read_text(encoding="utf-8")
        assert table.written_into(text) == text, "run scripts/doc_tables.py"


def test_every_file_says_what_is_in_it() -> None:
    from scripts.doc_tables import beginning

    silent = []
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        if not ast.get_docstring(ast.parse(beginning(path.read_text(encoding="utf-8")))):
            silent.append(path.relative_to(ROOT).as_posix())
    assert silent == []


def test_what_a_file_begins_with() -> None:
    from scripts.doc_tables import beginning

    says = '"""Says.\n"""'
    assert beginning(f"# Why\n{says}  # so\nx = 1\n") == f"# Why\n{says}  # so\n"
    assert beginning("x = (\n    1\n)\ny = 2\n") == "x = (\n    1\n)\n"
    assert beginning("") == ""


def test_what_to_begin_with_is_there() -> None:
    table = ARCHITECTURE.partition("| in | for | begin with |")[2].partition("\n\n")[0]
    folder = ""
    count = 0
    for row in table.splitlines()[2:]:
        within, _, first = (cell.strip() for cell in row.strip("|").split("|"))
        folder = within.strip("`") or folder
        for name in re.findall(r"`([\w/]+)`", first):
            base = ROOT / "powertui" if name.startswith("terminal/") else ROOT / "powertui" / folder
            assert (base / f"{name}.py").is_file(), (folder, name)
            count += 1
    assert count > 50


def test_a_file_holds_one_idea_in_450_lines() -> None:
    longer = {}
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            longer[path.relative_to(ROOT).as_posix()] = lines
    unexpected = {name: lines for name, lines in longer.items() if name not in LONGER}
    assert unexpected == {}, "divide them by idea: see docs/architecture.md"
