"""Whether runs keep what was asked of them: fixed limits, and no worse than a saved baseline.

`gate.held_against` takes runs, limits and a baseline and answers with a `Gate`: a row for each
limit with its interval and one of "within", "above", "below" and "cannot say".
"""
