"""What one program did, on one axis: its sessions as islands, its scalars, epochs and steps, its
power, its marks.
"""
