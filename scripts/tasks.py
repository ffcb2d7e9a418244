"""Make the table of docs/tasks.md from tests/tasks.py; with --check only say whether it is up to
date. Its pictures are drawn by `make screenshots`.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui.terminal import keymap  # noqa: E402
from tests.tasks import SIZES, TASKS, Task  # noqa: E402

PAGE = ROOT / "docs" / "tasks.md"
BEGIN, END = "<!-- tasks: made by scripts/tasks.py -->", "<!-- end of tasks -->"


def keys_of(task: Task) -> str:
    """The keys as a person reads them."""
    words: list[tuple[str, int]] = []
    for key in task.keys:
        if words and words[-1][0] == key:
            words[-1] = (key, words[-1][1] + 1)
        else:
            words.append((key, 1))
    shown = [
        (f"`{key[5:]}`" if key.startswith("type ") else f"`{keymap.shown(key)}`")
        + (f" ×{n}" if n > 1 else "")
        for key, n in words
    ]
    return " ".join(shown) or "none"


def table() -> str:
    """The table of docs/tasks.md."""
    lines = [
        "| task | keys | keystrokes | the answer | screens |",
        "| --- | --- | --- | --- | --- |",
    ]
    for task in TASKS:
        pictures = " · ".join(
            f"[{size.replace('x', '×')}](pictures/tasks/{task.id}-{size}.svg)" for size in SIZES
        )
        lines.append(
            f"| {task.title} | {keys_of(task)} | {task.count} | {task.told} | {pictures} |"
        )
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The same page with the table between its marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> int:
    """Exit code 1 when --check finds another table."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = with_table(text)
    if "--check" in sys.argv[1:]:
        if text != wanted:
            print("docs/tasks.md: the table differs from tests/tasks.py; run scripts/tasks.py")
        return int(text != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
