"""What to conclude from a run: one ranked list, from which every surface takes its sentences."""
