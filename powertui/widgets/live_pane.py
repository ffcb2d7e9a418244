"""A pane of the live screen: as high as what it has to say, in roles of the theme, never
focused.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from powertui.view.live_texts import RoleLine
from powertui.widgets.lines import LinesPane


class LivePane(LinesPane, can_focus=False):
    """Lines of (text, role)."""

    DEFAULT_CSS = "LivePane { height: auto; width: 1fr; }"

    def show(self, rows: Sequence[RoleLine]) -> None:
        """Replace what it says; lines that stay the same are not drawn again."""
        taller = len(rows) != len(self.lines)
        look = self.theme_colors
        self.set_lines([tuple((text, look.style(role)) for text, role in row) for row in rows])
        if taller:
            self.refresh(layout=True)

    def get_content_height(
        self,
        container: Size,
        viewport: Size,
        width: int,
    ) -> int:
        return len(self.lines)
