"""The screen of a terminal as xterm's description promises it (`bce`): pyte keeps cells that were
never written in the terminal's own color, whatever color they were cleared in.
"""

from __future__ import annotations

from typing import Any

import pyte

_WHOLE_SCREEN = (2, 3)


class EmulatedScreen(pyte.Screen):
    """Cleared cells have the color that was set."""

    def erase_in_display(self, how: int = 0, *args: Any, **options: Any) -> None:
        """Clear from the cursor on, up to it, or the whole screen."""
        super().erase_in_display(how, *args, **options)
        if how in _WHOLE_SCREEN:
            for y in range(self.lines):
                for x in range(self.columns):
                    self.buffer[y][x] = self.cursor.attrs
