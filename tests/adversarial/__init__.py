"""Profiles of programs whose course is known, made to mislead: what the steps are is written down
from how each program ran.
"""
