"""What differs between two runs, groups of runs or stretches of one run, and how sure that is.

`comparison.compare` takes two sides and answers with a `Comparison`: a sentence, the configuration
that differs, figures with their intervals and verdicts, and where the difference comes from.
"""
