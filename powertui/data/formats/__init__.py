"""Readers of profiles: one file per format, and the table of them in `registry`."""
