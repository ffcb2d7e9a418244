"""Watching a power sensor: sources, the recorder, and the verbs `record` and `sensors`.

Standard library alone.
"""
