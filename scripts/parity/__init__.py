"""`make parity`: powertui's answers against those of TensorBoard's profiler, cell by cell.

    python -m scripts.parity                       every profile, and the page
    python -m scripts.parity --only FOLDER --list  some profiles; every cell that differs; no page

It runs in an environment of its own, which has the profiler's converter, TensorFlow and JAX.
"""
