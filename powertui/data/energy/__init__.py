"""Energy: what a sensor can resolve, where its log lies on a trace, and joules with their error
budget.
"""
