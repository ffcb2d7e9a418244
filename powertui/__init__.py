"""powertui: where a training run's time and energy went, in a terminal.

The public Python API. Nothing is imported until it is used, so that `import powertui` inside a
training script costs nothing:

    powertui.open(path)      the runs of a logdir, a run folder or a single profile (numpy, pandas)
    powertui.compare(a, b)   what differs between two runs or groups of runs (numpy, pandas)
    powertui.check(runs)     whether runs keep limits or a baseline (numpy, pandas)
    powertui.baseline(name)  a saved baseline; with runs, it is saved first (numpy, pandas)
    powertui.record(...)     record power beside a training loop (standard library alone)
    powertui.libipmi         PowerBoard's API: start(), stop(), dbToCSV(path)

`from powertui import *` brings `record` and `libipmi` alone: `open` would take the place of
Python's own, and the others would cost a training script numpy and pandas.
"""

from powertui.import_path import clean, too_old

clean()  # before anything else is imported

__version__ = "0.1.0"
__all__ = ["__version__", "libipmi", "record"]  # not all: see above

TYPE_CHECKING = (
    False  # as typing has it, whose import would come from wherever the path still pointed to
)
if TYPE_CHECKING:
    from typing import Any

    import powertui.libipmi as libipmi
    from powertui.api import open as open
    from powertui.comparison_view import compare as compare
    from powertui.report.gate_view import baseline as baseline
    from powertui.report.gate_view import check as check
    from powertui.sampler.session import record


def __getattr__(name: str) -> "Any":
    import importlib

    message = too_old()
    if message and name in __dir__():
        raise ImportError(message)
    if name == "open":
        return importlib.import_module("powertui.api").open
    if name == "compare":
        return importlib.import_module("powertui.comparison_view").compare
    if name in ("baseline", "check"):
        return getattr(importlib.import_module("powertui.report.gate_view"), name)
    if name == "record":
        return importlib.import_module("powertui.sampler.session").record
    if name == "libipmi":
        return importlib.import_module("powertui.libipmi")
    raise AttributeError(f"module 'powertui' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted([*__all__, "baseline", "check", "compare", "open"])
