"""Readers of power logs: one file per dialect, chosen by content. `registry.load` is the way in."""
