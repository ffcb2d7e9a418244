"""docs/architecture.md names every file of the program, in its own folder, and none that is not
there; and each file is short enough to be read at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 450  # of a file: what a person reads in one sitting (chosen)
# Files that may be longer, each with the reason.
LONGER = {}
_WORD = re.compile(r"\b[a-z][a-z0-9_]*\b|\b__[a-z]+__\b")


def entries(page: str) -> dict[str, str]:
    """Each folder of the tree on the page, with the words that stand there; by how far a line is
    indented.
    """
    tree = page[page.index("```\npowertui/\n") + 4 :]
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    folder = ""
    for line in tree[: tree.index("\n```")].splitlines():
        indent = len(line) - len(line.lstrip())
        name = re.match(r"\s*([\w]+)/(?=\s|$)", line)
        if name is not None and indent < 20:
            while above and above[-1][0] >= indent:
                above.pop()
            folder = "/".join([*(one for _, one in above), name[1]])
            above.append((indent, name[1]))
            line = line[name.end() :]
        elif line.strip() and indent <= (above[-1][0] + 2 if above else 0) and indent < 20:
            while len(above) > 1 and above[-1][0] >= indent:
                above.pop()
            folder = "/".join(one for _, one in above)
        found[folder] = found.get(folder, "") + "\n" + line
    return found


def modules() -> Iterator[tuple[str, str]]:
    """(folder, name) of every file that is more than the opening of its folder."""
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        if path.name != "__init__.py":
            yield path.parent.relative_to(ROOT).as_posix(), path.stem


def test_every_file_stands_in_its_folder() -> None:
    told = entries((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    words = {folder: set(_WORD.findall(text)) for folder, text in told.items()}
    missing = []
    for folder, name in modules():
        near = (
            words[folder] if folder in words else words[folder.rpartition("/")[0]]
        )  # a small folder is told in one line
        if name not in near:
            missing.append(f"{folder}/{name}")
    assert missing == []


def test_no_folder_is_told_that_is_gone() -> None:
    told = entries((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    ours = [folder for folder in told if folder.startswith("powertui")]
    assert len(ours) > 25
    assert [folder for folder in ours if not (ROOT / folder).is_dir()] == []


def test_the_page_is_read_as_it_is_indented() -> None:
    page = """```
powertui/
  cli                 verbs
  data/
    opened            a run
    model/            ground · trace
  view/               rows
```
"""
    told = {folder: set(_WORD.findall(text)) for folder, text in entries(page).items()}
    assert {"cli", "verbs"} <= told["powertui"]
    assert "opened" in told["powertui/data"]
    assert {"ground", "trace"} <= told["powertui/data/model"]
    assert "rows" in told["powertui/view"]


def test_a_file_holds_one_idea_in_450_lines() -> None:
    longer = {}
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            longer[path.relative_to(ROOT).as_posix()] = lines
    unexpected = {name: lines for name, lines in longer.items() if name not in LONGER}
    assert unexpected == {}, "divide them by idea: see docs/architecture.md"
