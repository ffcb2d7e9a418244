"""The program: `powertui`, and `python -m powertui`."""

from powertui.terminal import signals

signals.at_once()  # before the imports of the rest, which take long enough to be interrupted

from powertui.cli import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
