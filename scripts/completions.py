"""Write the completions and the man page that the package installs, and what stands in
`powertui --help`; with --check only say whether they are up to date.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from pprint import pformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui import completion  # noqa: E402
from powertui.cli import build_parser  # noqa: E402

FILES = {"bash": "powertui", "zsh": "_powertui", "fish": "powertui.fish", "man": "powertui.1"}


# So wide that argparse breaks no line.
WIDE = "10000"
HEAD = '''"""The words of `powertui --help`, written by scripts/completions.py from the parser."""

# fmt: off
'''


def help_words() -> str:
    """The module that `powertui.help_page` breaks into lines."""
    os.environ["COLUMNS"] = WIDE
    text = build_parser(with_arguments=False).format_help().rstrip("\n")
    del os.environ["COLUMNS"]
    usage, description, *groups, epilog = text.split("\n\n", 4)
    start, options, verb = re.fullmatch(r"(usage: \S+) (\[.+\]) (.+)", usage).groups()
    parts = (start, tuple(re.findall(r"\[.+?\]", options)), verb)
    named = []
    for group in groups:
        title, *rows = group.split("\n")
        split = [re.fullmatch(r"( +.+? {2,})(\S.+)|( .+)", row).groups("") for row in rows]
        named.append(
            (title.rstrip(":"), tuple((name + alone, text) for name, text, alone in split))
        )
    values = {"USAGE": parts, "DESCRIPTION": description, "GROUPS": tuple(named), "EPILOG": epilog}
    return HEAD + "".join(
        f"{name} = {pformat(value, width=96)}\n" for name, value in values.items()
    )


def main() -> int:
    """Exit code 1 when --check finds others."""
    stale = []
    written = {
        f"share/{name}": completion.tell(kind, build_parser()) for kind, name in FILES.items()
    }
    written["powertui/help_words.py"] = help_words()
    for name, wanted in written.items():
        path = ROOT / name
        if "--check" in sys.argv[1:]:
            stale += [name] * (not path.exists() or path.read_text(encoding="utf-8") != wanted)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
    if stale:
        print(
            (f"{', '.join(stale)}: the arguments have changed; run scripts/completions.py"),
            file=sys.stderr,
        )
    return int(bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
