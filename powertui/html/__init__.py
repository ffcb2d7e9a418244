"""A run, a training or a comparison as one HTML file: no script, and nothing from anywhere else.

Every text of such a file comes from the lists that all surfaces share (conclusions, facts, tables,
notes); these modules only lay them out.
"""
