"""`python -m tests.adversarial`: every row that is told wrongly, with what ran and what was told."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.adversarial import judged
from tests.adversarial.expected_failures import OPEN


def main() -> int:
    wrong = 0
    for name, row in judged.ROWS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = judged.wrong(row, Path(folder))
            except Exception as error:  # noqa: BLE001 (a row that breaks the reader is a finding, and the others count as well)
                found = [f"broke: {type(error).__name__}: {error}"]
        if bool(found) != (name in OPEN) or "--all" in sys.argv[1:]:
            state = "expected" if name in OPEN else "NEW"
            print(f"{name}: {'wrong' if found else 'right'} ({state})" if found or name in OPEN else f"{name}: right")
        wrong += bool(found)
        if found:
            print(f"{name}  [{row.build.__module__.rpartition('.')[2]}.py] {' '.join((row.build.__doc__ or '').split())}")
            print(*(f"    {one}" for one in found), sep="\n")
    print(f"{wrong} of {len(judged.ROWS)} rows are told wrongly, {len(OPEN)} are listed as such")
    return wrong != len(OPEN)


if __name__ == "__main__":
    sys.exit(main())
