"""Record every program and say how many first sentences name the cause that is built in."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.causes import judge, record, truth

# Causes that may be missed: 38 of 40 is what the sentences have to reach.
_MAX_WRONG_SHARE = 0.05


def main() -> int:
    """Exit code 1 when more than one in twenty first sentences is wrong."""
    arguments = _parser().parse_args()
    names = [name for name in record.PROGRAMS if arguments.only in name]
    with tempfile.TemporaryDirectory(prefix="powertui-causes-") as temporary:
        root = arguments.keep or Path(temporary)
        verdicts = [verdict for name in names if (verdict := _verdict(root, name)) is not None]
    right = sum(verdict.is_right for verdict in verdicts)
    print(f"{right} of {len(verdicts)} first sentences name the cause.")
    return int(right < (1 - _MAX_WRONG_SHARE) * len(verdicts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.causes", description=__doc__)
    parser.add_argument("--only", default="", metavar="PART", help="programs named like this")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the profiles there, and use those there"
    )
    return parser


def _verdict(root: Path, name: str) -> judge.Verdict | None:
    """Record one program, unless it is there already, and judge it."""
    folder = root / name
    if not (folder / truth.FILE).exists():
        command = [sys.executable, "-m", "scripts.causes.record", name, str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["it failed"]
            print(f"{name}: {lines[-1]}", file=sys.stderr, flush=True)
            return None
    verdict = judge.judged(folder)
    mark = "right" if verdict.is_right else "WRONG"
    print(f"{mark}  {name} ({verdict.cause} {verdict.share:.2f}): {verdict.sentence}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
