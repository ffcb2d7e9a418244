"""The first page of a run."""

GLANCE_KEPT_AS = "at a glance"  # what is worked out is kept under this name with the opened run
