"""The first page of a run."""
