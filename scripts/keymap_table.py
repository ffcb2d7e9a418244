"""Write the table of docs/keys.md from the keymap; with --check only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui.terminal import keymap  # noqa: E402

BEGIN, END = "<!-- keys: made by scripts/keymap_table.py -->", "<!-- end of keys -->"


def with_table(text: str) -> str:
    """The same text with the table between its marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"docs/keys.md has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{keymap.markdown()}\n{END}{tail}"


def main() -> int:
    """Exit code 1 when --check finds another table."""
    page = ROOT / "docs" / "keys.md"
    text = page.read_text(encoding="utf-8")
    wanted = with_table(text)
    if "--check" in sys.argv[1:]:
        if text != wanted:
            print("docs/keys.md: the key table differs from the keymap; run scripts/keymap_table.py", file=sys.stderr)
            return 1
        return 0
    page.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
