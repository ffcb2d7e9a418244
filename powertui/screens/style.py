"""Our palette for Textual's own widgets: boxes, lists, scrollbars."""

from __future__ import annotations

from textual.theme import Theme as TextualTheme

from powertui.terminal import theme as themes


def textual_theme(look: themes.Theme) -> TextualTheme:
    """Our palette for Textual's own widgets."""
    dark = look.name == "dark"

    def pick(dark_index: int, light_index: int) -> str:
        return themes.hex_of(dark_index if dark else light_index)

    return TextualTheme(
        "powertui",
        primary=pick(74, 25),
        secondary=pick(109, 31),
        accent=pick(221, 130),
        foreground=pick(252, 236),
        background=pick(233, 231),
        surface=pick(234, 255),
        panel=pick(235, 254),
        warning=pick(221, 130),
        error=pick(210, 160),
        success=pick(114, 28),
        dark=dark,
        variables={
            "scrollbar": pick(240, 250),
            "scrollbar-hover": pick(244, 246),
            "scrollbar-active": pick(244, 246),
            "scrollbar-background": pick(234, 255),
            "scrollbar-background-hover": pick(234, 255),
            "scrollbar-background-active": pick(234, 255),
            "scrollbar-corner-color": pick(234, 255),
            "block-cursor-foreground": pick(232, 231),
            "block-cursor-background": pick(117, 25),
            "input-cursor-background": pick(252, 236),
            "input-cursor-foreground": pick(233, 231),
        },
    )
