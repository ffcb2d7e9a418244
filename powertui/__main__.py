"""The program: `powertui`, and `python -m powertui`. Each step imports what it needs, no more: it all is time until an answer."""

import sys

from powertui import __version__


def main() -> int:
    """The version, or whatever else the command line asks for."""
    if sys.argv[1:] == ["--version"]:
        print(f"powertui {__version__}")
        return 0
    from powertui.terminal import signals

    signals.at_once()  # before the imports of the rest, which take long enough to be interrupted
    from powertui import cli

    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
