"""A window of a run as a file."""

from powertui.data.export.writing import FORMATS, OF_POWER, WHAT, write

__all__ = ["FORMATS", "OF_POWER", "WHAT", "write"]
