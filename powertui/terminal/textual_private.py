"""What powertui uses of Textual that Textual does not promise to keep: the one list of it.

Everything else in the tree may use these names, and no other private one. The test of this file
runs on the oldest and on the newest Textual of the range in pyproject.toml (`make ranges`): it
fails when a release renames one of them, or changes what it is called with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._xterm_parser import XTermParser

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.strip import Strip

__all__ = ["METHODS", "STATE", "ChopsUpdate", "LayoutUpdate", "XTermParser", "rendered_rows"]

#: Methods that are called or overridden: where they are defined, and their parameters.
METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "textual.app:App": {
        "_begin_update": (),
        "_check_bindings": ("key", "priority"),
        "_close_all": (),
        "_display": ("screen", "renderable"),
        "_end_update": (),
        "_fatal_error": (),
        "_handle_exception": ("error",),
    },
    "textual.screen:Screen": {"_compositor_refresh": (), "_on_timer_update": ()},
    "textual.message_pump:MessagePump": {
        "_close_messages_no_wait": (),
        "_context": (),
    },
    "textual._compositor:Compositor": {"render_strips": ("size",)},
    "textual._xterm_parser:XTermParser": {"feed": ("data",), "tick": ()},
    "textual.drivers.linux_driver:LinuxDriver": {
        "_disable_mouse_support": (),
        "_enable_mouse_support": (),
        "_get_terminal_size": (),
        "_sigcont_application": ("_",),
        "_sigtstp_application": ("_",),
    },
}

#: What is read or set on an object, which exists only once there is one.
STATE: dict[str, tuple[str, ...]] = {
    "textual.app:App": (
        "_batch_count",
        "_clipboard",
        "_driver",
        "_exception",
        "_exit",
        "_loop",
    ),
    "textual.message_pump:MessagePump": ("_closed", "_closing", "_running"),
    "textual.dom:DOMNode": ("_bindings",),
    "textual.screen:Screen": ("_compositor", "_dirty_widgets", "_update_timer"),
    "textual.driver:Driver": ("_debug",),
    "textual.drivers.linux_driver:LinuxDriver": (
        "_file",
        "_key_thread",
        "_mouse",
        "_must_signal_resume",
        "_writer_thread",
    ),
}


def rendered_rows(screen: Screen[Any]) -> list[Strip]:
    """What a screen shows, row by row; also of one that another one is in front of."""
    return screen._compositor.render_strips()
