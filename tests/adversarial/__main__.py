"""What is told wrongly of the programs in this folder.

python -m tests.adversarial            every row that is told wrongly, with what ran and what was
                                       told
python -m tests.adversarial --write    the same, and keep the list in expected_failures.py: look at
                                       its diff
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.adversarial import judged
from tests.adversarial.expected_failures import OPEN

_WORD = re.compile(
    r"\b(steps ran|number|epochs? ran|epoch|\w+_s|asynchronous|marked|phase|nobody can "
    r"tell|broke)\b"
)
_LIST = Path(__file__).with_name("expected_failures.py")


def main() -> int:
    wrong = {name: found for name, row in judged.ROWS.items() if (found := told_wrongly(row))}
    for name, found in wrong.items():
        row = judged.ROWS[name]
        print(f"{name}{'' if name in OPEN else ' (not listed)'}  [{row.subject}] {row.story}")
        print(*(f"    {one}" for one in found), sep="\n")
    for name in OPEN:
        if name not in wrong:
            print(f"{name} is right now, and still listed")
    print(
        f"{len(wrong)} of {len(judged.ROWS)} rows are told wrongly, {len(OPEN)} are listed as such"
    )
    if "--write" in sys.argv[1:]:
        write(wrong)
    return wrong.keys() != OPEN.keys()


def told_wrongly(row: judged.Row) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return judged.wrong(row, Path(folder))
        except (
            Exception
        ) as error:  # a row that breaks the reader is a finding, and the others count as well
            return [f"broke: {type(error).__name__}: {error}"]


def write(wrong: dict[str, list[str]]) -> None:
    lines = [f'    "{name}": "{kinds(found)}",' for name, found in wrong.items()]
    body = "{\n" + "\n".join(lines) + "\n}" if lines else "{}"
    _LIST.write_text(f"{_LIST.read_text().partition('OPEN:')[0]}OPEN: dict[str, str] = {body}\n")


def kinds(found: list[str]) -> str:
    """What is wrong, in a few words: "steps, device_s, phases"."""
    words = (_WORD.search(one) for one in found)
    return "wrongly told: " + ", ".join(
        dict.fromkeys(word[0].removesuffix(" ran") for word in words if word)
    )


if __name__ == "__main__":
    sys.exit(main())
