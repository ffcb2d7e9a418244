"""The pure half of what is drawn: viewport, rows, labels, scene, paint, curves.

Nothing here knows textual.
"""
