"""What to conclude from a run: one ranked list, from which every surface takes its sentences."""

# What the conclusions are kept under with an opened run, beside how its power is aligned. Here, so
# that the first picture can ask for them without importing what draws them.
KEPT_AS = "conclusions"
GLANCE_KEPT_AS = "at a glance"  # and under this one what everybody asks of a run first
