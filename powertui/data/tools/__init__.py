"""The place of TensorBoard's analysis tools, under TensorBoard's names.

Op tables are the first of them.
"""
