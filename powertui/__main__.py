"""The program: `powertui`, and `python -m powertui`.

Each step imports what it needs, no more: it all is time until an answer.
"""

import sys

from powertui import __version__
from powertui.import_path import too_old

_OBJECTS_BEFORE_COLLECTING = 100_000  # chosen: no collection in `demo --report`, not 122


def main() -> int:
    """The version, the help page, or whatever else the command line asks for."""
    message = too_old()  # this file, __init__.py and import_path.py are readable for older Pythons
    if message:
        print(message, file=sys.stderr)
        return 1
    from powertui import standard_streams

    standard_streams.guard()  # before anything is opened
    return standard_streams.run(_answer)


def _answer() -> int:
    if sys.argv[1:] == ["--version"]:
        print(f"powertui {__version__}")
        return 0
    if sys.argv[1:] in (["--help"], ["-h"]):
        from powertui import help_page

        page = help_page.tell()
        if page:
            print(page, end="")
            return 0
    import gc

    # Nearly all that a start makes stays: looking for garbage after every 700 objects found none,
    # and took one part in 25 of a small report; after every 20,000 it still took one in 35. Later
    # it is collected.
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING)
    from powertui.terminal import signals

    signals.at_once()  # before the imports of the rest, which take long enough to be interrupted
    from powertui import cli

    return cli.main()


def run() -> None:
    """The program as it is started: `main`, and the end of the process.

    The process ends without taking its objects apart one by one, which took a tenth of the
    processor time of a report. Nor is what still computes in a thread (findings that nobody waits
    for any more) waited for: the interpreter's own end stops threads in the middle of compiled
    code, which then aborts the process.
    """
    code = main()
    if sys.getprofile() or sys.gettrace():
        raise SystemExit(code)  # whoever measures or debugs this still has something to write
    import atexit
    import contextlib
    import os

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # it has been said
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
