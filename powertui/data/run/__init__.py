"""What a stretch of time is: steps, epochs and phases, the clock, and which step an event belongs
to.
"""
