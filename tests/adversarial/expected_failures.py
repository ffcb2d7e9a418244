"""Rows that are told wrongly so far, and how.

A row that is told rightly has to leave this list: its test says so.
"""

OPEN: dict[str, str] = {}
