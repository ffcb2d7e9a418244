"""What the terminal can do, and how it is driven: capabilities, pacing, theme, keymap."""
