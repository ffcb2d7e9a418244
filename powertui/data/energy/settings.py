"""The numbers that energy answers are made with, each chosen once.

A module that asks whether most of a window was read, or how many readings show a level, names its
question and takes the value from here, so that one idea has one value. "Half and twice" is what
happened to the places and findings of 15 logs at those values (docs/energy-evidence.md); "chosen"
means that nothing was measured. Numbers of one place alone stay where they are used.
`scripts/tuned_numbers.py` counts all of them, and a test holds the count.
"""

from __future__ import annotations

# ── how many values show something ──
# One value may be chance, another one confirms it: edges at a place, runs that show a refresh, and
# readings of a load or a level. By one edge a log of 8 s was sure and 11.4 s off; else chosen.
CONFIRMING_VALUES = 2
# So many of a kind show what is usual: of two, neither says which one is. Chosen.
MIN_REPEATS = 3
# Values that have a spread at all: the deviation of three is off by half of itself. Chosen.
MIN_SPREAD_VALUES = 4
# Readings that show a level: fewer may all be late or rounded the same way. Stretches that are
# noise because they are like one another: for these half and twice changed nothing; else chosen.
MIN_ALIKE_VALUES = 5
# Readings whose middle one, or whose scatter, says something of noise. Chosen: with fewer than
# kinds of work every fit is exact.
MIN_NOISE_READINGS = 6
# Values from which a deviation, or one figure beside it, is learned: with 4 stretches of a 10 s
# sensor joules were off by ten standard deviations in one of 29 windows (`make_whole(0)`).
MIN_SAMPLE_VALUES = 8
# Independent readings that a place or an owner needs: fewer fit many a place by accident. From one
# cut log. Half: no change. Twice: 4 sure places lost.
MIN_INDEPENDENT_READINGS = 12
# Values of one kind whose middle one is theirs: few enough to be of the same work. Chosen.
MEDIAN_VALUES = 15
# Values whose scatter counts as known: its error is then an eighth of it. Chosen.
GOOD_SAMPLE_VALUES = 30
# Steps, or records, that show what is usual; as many at the beginning may still trace or compile.
# Chosen.
USUAL_STEPS = 20

# ── shares of a whole: of time, readings, energy or places ──
# With more than half, a thing is mostly so: covered, explained, paused, open, repeated. Half and
# twice of `kind_fit`'s and `clock_check`'s: no change; else chosen.
MAJORITY_SHARE = 0.5
# Nearly all of it: what is missing changes no figure by more than sensors are off. The weight, too,
# with which a finding is told, its epoch named, and a clock confirmed by its readings. Chosen; for
# clocks by docs/energy-evidence.md.
NEARLY_ALL_SHARE = 0.9
# All but what edges and rounding leave out. Chosen.
WHOLE_SHARE = 0.98
# A large part, but for moments in which something else happens. Chosen.
LARGE_SHARE = 0.8
# A minor part: less is edges, or what may be missing. Half and twice of `kind_fit`'s: no change;
# else chosen.
MINOR_SHARE = 0.1
# A part that is told apart from the rest: a smaller one is hidden by it. Chosen.
VISIBLE_SHARE = 0.25
# The lesser part of readings, time or a length: an exception, or what two stretches of one thing
# may differ by. Two are of one another with more of the shorter one in common. At 0.5 a burst whose
# log was 0.7 s off (own/two_epochs_with_burst) was listed a second time as slower steps.
LESSER_SHARE = 0.3
# A reading or a part may be off by this share of a height and still be of it. Chosen.
MAX_DOUBT_SHARE = 1 / 3
# Less of a stretch, a step or a load is what these differ by anyway, and kinds of work that filled
# less of a profile have no watts of their own. Chosen: of half a minute it is 0.6 s, less than the
# refresh of most BMCs.
SLIGHT_SHARE = 0.02
# What is left of variation, power or an error budget below this is nothing. Chosen.
NEGLIGIBLE_SHARE = 0.01
# The steadiest readings, this share of all, show the noise. Chosen.
STEADY_SHARE = 0.4
# A stretch that is a longer part of what is looked at is what is usual there. Chosen.
MAX_BURST_SHARE = 0.4
# Of a whole run: less energy or time gets no row and no finding. Half and twice: no change.
MIN_RUN_SHARE = 0.005
# Power drifts by this share of itself whatever runs, and less noise, as a share of its swing, only
# means that a sensor rounds. Chosen.
LEAST_NOISE_SHARE = 0.004
# Of its own stretch, of steps or of a duration: from here on a difference is told. Half and twice:
# no change.
NOTABLE_SHARE = 0.05
# Two levels, distances or heights that differ by no more are one: sensors repeat themselves to
# about this. So much of the power's swing a handful of kinds of work leaves open anyway, as noise.
# Half: 3 logs won a sure place, 1 lost it. Twice: 4 lost, 1 won.
SAME_LEVEL_SHARE = 0.03
# Two heights have one cause where neither is less than this share of the other. Half and twice: no
# change.
ALIKE_SHARE = 0.6

# ── how well something is known ──
# The weight with which an answer is sure: that of the 95 % intervals. Half and twice: no change.
SURE_WEIGHT = 0.95
# What costs more by less than this, as a logarithm of likelihood, may be it as well: 7 to 1. Half
# and twice of `reading_windows`: no change.
DECISIVE_COST = 2.0
# Of a place, a start or a length, against all others: with less it counts for nothing. Chosen.
NEGLIGIBLE_WEIGHT = 0.001
# One sigma of what only others of its kind show, as a share of it. Chosen.
BORROWED_ERROR_SHARE = 0.1
# One sigma of a power or a length of which nothing is known, as a share of the usual one. A figure
# that is known no better than to this share of itself is not named, and settles nothing. Chosen.
UNKNOWN_SHARE = 0.25
# The same of one kind of work of which another is known. From compiling in recordings. Half: no
# change; twice: one simulated burst is not found.
UNLIKE_POWER_SHARE = 0.5
# Correlation of neighboring readings at most: at 1 all together would count for nothing. Chosen.
MAX_NEIGHBOR_CORRELATION = 0.95

# ── how far is far, in standard deviations ──
# Values within this are ordinary: 1 in 400 of a normal distribution is as far by chance.
ORDINARY_SIGMAS = 3.0
# Values beyond this say little of a middle, and nothing is so far off by chance in a recording: 1
# in 16,000. Half and twice of `stretch_search`'s: no change.
FAR_SIGMAS = 4.0
# Values beyond this are no noise: 1 in 1.7 million. Half and twice of `edges`': no change.
OUTLIER_SIGMAS = 5.0
# The largest of many readings, or none of 20,000 differences, is so far off by chance.
LARGEST_CHANCE_SIGMAS = 6.0

# ── of a sensor ──
# Clearly more than one of what comes whole, and not yet two, half way between: steps of rounding by
# which a value that toggles has moved, polls for each refresh, refreshes within a window.
MORE_THAN_ONE = 1.5
# Refreshes (or polls): across a longer pause nothing is known, and in a shorter one the first
# readings still hold what was before it. Chosen.
HOLE_REFRESHES = 3.0

# ── times ──
# Two programs on one machine read one clock, but not at the same moment, s. Chosen.
SAME_CLOCK_S = 0.010
# A clock that somebody set, or a time server over the network, s either way. Chosen, not measured.
FOREIGN_CLOCK_S = 2.0
# Between the first and the last place of a log whose clock is believed so: ±2 s, and what both
# clocks are off by themselves, s. Chosen.
FOREIGN_OPEN_S = 4.5
# A moment within the work, s: shorter lulls and limits are none of their own. Chosen.
MOMENT_S = 1.0
# Nothing is placed to less than this part of a second, s: readings of faster sensors are gathered,
# and what is stiller for longer may sleep. Chosen.
INSTANT_S = 0.1
# Sensors and loggers are late by so much anyway, s. Chosen.
LATE_S = 0.2
# A pause or a stall: so many times as long as usual. Chosen.
LONG_TIMES_USUAL = 2.0
# A capture that nobody has read, or that was named after it ended, took at most so long, s. Chosen.
MAX_CAPTURE_S = 120
# So long that what drifts shows, s: warmth and fans move a level, and 50 ppm of a clock are 30 ms.
# Chosen.
DRIFT_S = 600.0
# How far off a clock is that was set wrongly, on average, and how well a session has to be placed
# to name a time zone, s. Chosen.
WRONG_CLOCK_S = 60
