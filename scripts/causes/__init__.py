"""Programs whose limiting cause is built in, and the judge of what powertui says about them.

python -m scripts.causes records each program in a process of its own, with the profiler of its
framework, and compares the first conclusion with the cause that the program measured itself.
"""
