"""Hostile input by the million: the scanner under libFuzzer, both decoders against each other,
every reader on mutated files.

`make fuzz` runs all of it, by count and not by time, so that the same seed does the same anywhere;
`test_fuzz.py` runs less of it with the other tests. `python -m tests.fuzz --help` says how to run
more, and how to keep what was found.
"""
