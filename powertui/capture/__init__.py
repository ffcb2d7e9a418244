"""Taking a profile from a program that runs: the client of TensorFlow's and JAX's profiler server,
and power around it.
"""
