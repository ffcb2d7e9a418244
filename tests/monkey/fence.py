"""Keeps the monkey in its folder: whatever it types into a form, no file outside is opened for
writing.

python -m tests.monkey.fence FOLDER open PATH …     the program, with the fence around it
"""

from __future__ import annotations

import faulthandler
import os
import runpy
import signal
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Where tmux and screen have their sockets. A socket's path may have 107 characters, and the folder of
# a test has nearly as many.
SOCKETS = "/tmp/mk-sockets-"
FREE = ("/dev/", "/proc/self/", SOCKETS)


def install(folder: Path) -> None:
    """From now on, and for good: audit hooks cannot be taken back."""
    inside = str(folder.resolve()) + os.sep

    def check(event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = (isinstance(flags, int) and flags & WRITING) or (
                isinstance(mode, str) and set(mode) & set("wax+")
            )
            if writes and isinstance(path, str | bytes):
                _refuse(os.fsdecode(path))
        elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"):
            for path in args[:2]:
                if isinstance(path, str | bytes):
                    _refuse(os.fsdecode(path))

    def _refuse(path: str) -> None:
        whole = os.path.abspath(path)
        if (
            not whole.startswith((inside, *FREE))
            and not whole.endswith((".pyc", "__pycache__"))
            and ".pyc." not in whole
        ):
            raise PermissionError(1, "the monkey stays in its folder", path)

    sys.addaudithook(check)


def keep_traces(path: Path) -> None:
    """Exceptions that nobody caught, in threads and destructors too, also go to a file: a screen
    may have no room for them.
    """

    def write(where: str, error: BaseException | None) -> None:
        with path.open("a", encoding="utf-8", errors="replace") as out:
            out.write(
                f"{where}\n{''.join(traceback.format_exception(error)) if error is not None else ''}\n"
            )

    raised, in_thread, unraisable = sys.excepthook, threading.excepthook, sys.unraisablehook

    def from_thread(args: threading.ExceptHookArgs) -> None:
        write(f"in thread {args.thread.name if args.thread else '?'}", args.exc_value)
        in_thread(args)

    def from_destructor(args: Any) -> None:
        write(f"unraisable: {args.err_msg} {args.object!r}", args.exc_value)
        unraisable(args)

    def from_main(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        write("raised", error)
        raised(kind, error, trace)

    sys.excepthook, threading.excepthook, sys.unraisablehook = (
        from_main,
        from_thread,
        from_destructor,
    )


def main() -> None:
    """The program itself."""
    from powertui.terminal import signals

    signals.at_once()  # as the program's own first line does
    began = os.environ.get("MONKEY_BEGAN")
    if began:
        Path(began).touch()
    folder, sys.argv = sys.argv[1], ["powertui", *sys.argv[2:]]
    install(Path(folder))
    traces = os.environ.get("MONKEY_TRACES")
    if traces:
        keep_traces(Path(traces))
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    runpy.run_module("powertui", run_name="__main__")


if __name__ == "__main__":
    main()
