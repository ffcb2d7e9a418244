"""Write the completions and the man page that the package installs; with --check only say whether
they are up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui import completion  # noqa: E402
from powertui.cli import build_parser  # noqa: E402

FILES = {"bash": "powertui", "zsh": "_powertui", "fish": "powertui.fish", "man": "powertui.1"}


def main() -> int:
    """Exit code 1 when --check finds others."""
    stale = []
    for kind, name in FILES.items():
        path = ROOT / "share" / name
        wanted = completion.tell(kind, build_parser())
        if "--check" in sys.argv[1:]:
            stale += [name] * (not path.exists() or path.read_text(encoding="utf-8") != wanted)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
    if stale:
        print(
            (
                f"share/{', share/'.join(stale)}: the arguments have changed; run "
                "scripts/completions.py"
            ),
            file=sys.stderr,
        )
    return int(bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
