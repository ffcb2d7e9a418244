"""A window of a run as a file."""

from powertui.data.export.writing import FORMATS, WHAT, write

__all__ = ["FORMATS", "WHAT", "write"]
