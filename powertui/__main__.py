"""`python -m powertui` is the same program as `powertui`."""

from powertui.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
