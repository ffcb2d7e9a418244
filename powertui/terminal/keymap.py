"""ONE table of what a person can do: key bindings, help screen, palette and docs/keys.md are all made from it.

`screens` names the screens on which an action exists; "*" means everywhere. An action that is one call carries it (`do`); what
takes more is the screen's own `action_<id>` (dashes become underscores). Keys are written as Textual names them; `shown` is what a
person reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Action:
    """One thing to do."""

    id: str
    keys: tuple[str, ...]
    title: str  # what the palette says
    group: str
    help: str = ""  # what help adds to the title
    screens: tuple[str, ...] = ("*",)
    priority: bool = False  # wins over the focused widget (an input box) too
    do: Callable[[Any], object] | None = (
        None  # what it does to its page (the application for "*"); None: `action_<id>` does it
    )

    @property
    def method(self) -> str:
        """The name of the method on screen or application, without its prefix."""
        return self.id.replace("-", "_")

    @property
    def keys_shown(self) -> str:
        """The keys as a person reads them: "W ↑"."""
        return " ".join(dict.fromkeys(shown(key) for key in self.keys))


_TIMELINE = ("timeline",)
_OPS = ("ops_pane",)  # the op table below the timeline, while it has the focus
_LIST = ("open",)
_LIVE = ("live",)
_SYMMETRY = ("symmetry",)
_ALIGNMENT = ("alignment",)
_TOOL = ("tool",)

# fmt: off
ACTIONS: tuple[Action, ...] = (
    # moving in time
    Action("zoom-in", ("w", "W", "plus"), "Zoom in", "Move", "at the cursor", _TIMELINE,
           do=lambda page: page.timeline.zoom_key(1)),
    Action("zoom-out", ("s", "S", "minus"), "Zoom out", "Move", "at the cursor", _TIMELINE,
           do=lambda page: page.timeline.zoom_key(-1)),
    Action("pan-left", ("a", "A"), "Pan left", "Move", "hold to go faster", _TIMELINE, do=lambda page: page.timeline.pan_held(-1)),
    Action("pan-right", ("d", "D"), "Pan right", "Move", "hold to go faster", _TIMELINE, do=lambda page: page.timeline.pan_held(1)),
    Action("fit", ("f",), "Fit the selection", "Move", "the selected event, else the marked window", _TIMELINE,
           do=lambda page: page.timeline.fit()),
    Action("whole", ("0",), "Whole run", "Move", "with all that lies around the profile", _TIMELINE,
           do=lambda page: page.timeline.whole()),
    Action("profile-next", ("P",), "Next profile of the training", "Move", "", _TIMELINE),
    Action("profile-out", ("O",), "Back out of the profile", "Move", "to what was in sight before", _TIMELINE,
           do=lambda page: page.timeline.out()),
    Action("go-start", ("g", "home"), "Go to the start", "Move", "", _TIMELINE, do=lambda page: page.timeline.start()),
    Action("go-end", ("G", "end"), "Go to the end", "Move", "", _TIMELINE, do=lambda page: page.timeline.end()),
    # cursor
    Action("event-left", ("left", "h"), "Event to the left", "Cursor", "in the row under the cursor", _TIMELINE,
           do=lambda page: page.timeline.move_event(-1)),
    Action("event-right", ("right", "l"), "Event to the right", "Cursor", "in the row under the cursor", _TIMELINE,
           do=lambda page: page.timeline.move_event(1)),
    Action("row-up", ("up", "k"), "Row above", "Cursor", "", _TIMELINE, do=lambda page: page.timeline.move_track(-1)),
    Action("row-down", ("down", "j"), "Row below", "Cursor", "", _TIMELINE, do=lambda page: page.timeline.move_track(1)),
    Action("page-up", ("pageup",), "Page up", "Cursor", "", _TIMELINE, do=lambda page: page.timeline.move_page(-1)),
    Action("page-down", ("pagedown",), "Page down", "Cursor", "", _TIMELINE, do=lambda page: page.timeline.move_page(1)),
    Action("time-left", ("shift+left", "H"), "Cursor one cell left", "Cursor", "", _TIMELINE,
           do=lambda page: page.timeline.move_time(-1)),
    Action("time-right", ("shift+right", "L"), "Cursor one cell right", "Cursor", "", _TIMELINE,
           do=lambda page: page.timeline.move_time(1)),
    Action("fold", ("enter", "space"), "Fold or unfold", "Cursor", "a process or track; on an event, its details", _TIMELINE),
    Action("fold-all", ("z",), "Fold or unfold all", "Cursor", "", _TIMELINE, do=lambda page: page.timeline.fold_or_unfold_all()),
    # steps and events
    Action("step-previous", ("left_square_bracket",), "Previous step", "Steps and events", "", _TIMELINE,
           do=lambda page: page.step(-1)),
    Action("step-next", ("right_square_bracket",), "Next step", "Steps and events", "", _TIMELINE, do=lambda page: page.step(1)),
    Action("step-marker", ("M",), "Choose what marks the steps", "Steps and events", "of all that could", _TIMELINE),
    Action("jump", ("J",), "Jump between launch and kernel", "Steps and events", "from a call to its work on the device, and back",
           _TIMELINE, do=lambda page: page.seeking.jump()),
    Action("found-previous", ("left_parenthesis",), "Previous finding", "Steps and events", "its stretch is the window", _TIMELINE,
           do=lambda page: page.seeking.finding(-1)),
    Action("found-next", ("right_parenthesis",), "Next finding", "Steps and events", "its stretch is the window", _TIMELINE,
           do=lambda page: page.seeking.finding(1)),
    Action("epoch-previous", ("left_curly_bracket",), "Previous epoch", "Steps and events", "", _TIMELINE,
           do=lambda page: page.epoch(-1)),
    Action("epoch-next", ("right_curly_bracket",), "Next epoch", "Steps and events", "", _TIMELINE, do=lambda page: page.epoch(1)),
    Action("event-next", ("full_stop",), "Next event of the track", "Steps and events", "in any of its lanes", _TIMELINE,
           do=lambda page: page.timeline.next_event(1)),
    Action("event-previous", ("comma",), "Previous event of the track", "Steps and events", "in any of its lanes", _TIMELINE,
           do=lambda page: page.timeline.next_event(-1)),
    # search
    Action("search", ("slash",), "Search all names", "Search", "text, or a regex between slashes: /conv.*grad/", _TIMELINE),
    Action("hit-next", ("n",), "Next hit", "Search", "", _TIMELINE, do=lambda page: page.seeking.hit(1)),
    Action("hit-previous", ("N",), "Previous hit", "Search", "", _TIMELINE, do=lambda page: page.seeking.hit(-1)),
    Action("hits", ("b",), "Hits by name", "Search", "count and total time of each name", _TIMELINE,
           do=lambda page: page.below.toggle_hits()),
    # windows and answers
    Action("mark", ("m",), "Mark a window", "Windows", "again to end it; or drag with the mouse", _TIMELINE),
    Action("details", ("i",), "Details of the event", "Windows", "all its stats", _TIMELINE,
           do=lambda page: page.below.toggle_details()),
    Action("expand", ("x",), "Show long texts in full", "Windows", "in the details", _TIMELINE,
           do=lambda page: page.details.toggle()),
    Action("ops", ("t",), "Op table", "Windows", "of the marked window, else the visible one", _TIMELINE,
           do=lambda page: page.below.toggle_ops()),
    Action("sort", ("o",), "Sort by the next column", "Windows", "of the op table", _TIMELINE),
    Action("filter", ("F",), "Filter the op table", "Windows", "", _TIMELINE),
    Action("context", ("c",), "Context pane", "Windows", "show or hide it", _TIMELINE),
    Action("strips", ("T",), "Choose the strips", "Windows", "losses and other scalars, the step rate", _TIMELINE),
    Action("host", ("v",), "Next host", "Windows", "when the run has several", _TIMELINE),
    Action("export", ("e",), "Export the window", "Windows", "as CSV, Parquet or Perfetto JSON", _TIMELINE),
    Action("power-left", ("less_than_sign",), "Shift the power left", "Windows", "by a tenth of its refresh", _TIMELINE,
           do=lambda page: page.shift_power(-0.1)),
    Action("power-right", ("greater_than_sign",), "Shift the power right", "Windows", "by a tenth of its refresh", _TIMELINE,
           do=lambda page: page.shift_power(0.1)),
    Action("power-pin", ("p",), "Pin the power", "Windows", "its nearest edge to the cursor", _TIMELINE),
    Action("copy", ("y",), "Copy the facts", "Windows", "of the selection, to your own clipboard (OSC 52)", _TIMELINE),
    Action("reread", ("r",), "Read the run again", "Windows", "when its file has changed", _TIMELINE,
           do=lambda page: page.shell.runs.read_again()),
    Action("pane-group", ("g",), "Put ops together", "Op table", "by type, device, layer; Enter unfolds a group", _OPS,
           do=lambda table: table.group_rows()),
    Action("pane-part", ("d",), "Devices, host, or all", "Op table", "where a profile has both", _OPS,
           do=lambda table: table.turn_part()),
    Action("pane-wrappers", ("x",), "Show or hide wrappers", "Op table", "ops that only hold or wait for others", _OPS,
           do=lambda table: table.turn_wrappers()),
    # open
    Action("run-open", ("enter",), "Open the run", "Runs", "", _LIST, do=lambda page: page.table.action_choose()),
    Action("run-mark", ("space",), "Mark the run", "Runs", "Enter then opens all that are marked", _LIST),
    Action("run-belongs", ("b",), "Change what it belongs to", "Runs",
           "moves a session, scalars or power out of a training, or into another", _LIST),
    Action("run-fold", ("z",), "Fold or unfold a training", "Runs", "the sessions below it", _LIST,
           do=lambda page: page.table.fold()),
    Action("run-inside", ("right", "l"), "Into a training", "Runs", "unfolds it", _LIST, do=lambda page: page.table.inwards()),
    Action("run-outside", ("left", "h"), "Out of a training", "Runs", "folds it", _LIST, do=lambda page: page.table.outwards()),
    Action("filter-runs", ("slash",), "Filter the runs", "Runs", "by any words in a row", _LIST),
    Action("runs-sort", ("s", "o"), "Sort by the next column", "Runs", "newest first to begin with; or click its title", _LIST,
           do=lambda page: page.table.sort_next()),
    Action("runs-start", ("g",), "First run", "Runs", "", _LIST, do=lambda page: page.table.action_to_end(-1)),
    Action("runs-end", ("G",), "Last run", "Runs", "", _LIST, do=lambda page: page.table.action_to_end(1)),
    Action("reload", ("r",), "Rescan", "Runs", "the logdir, and read its runs again", _LIST),
    # live
    Action("live-zoom-in", ("w", "W", "plus"), "Shorter history", "Live", "", _LIVE, do=lambda page: page.zoom(1)),
    Action("live-zoom-out", ("s", "S", "minus"), "Longer history", "Live", "", _LIVE, do=lambda page: page.zoom(-1)),
    Action("live-back", ("a", "A", "left", "h"), "Scroll back", "Live", "", _LIVE, do=lambda page: page.pan(-0.25)),
    Action("live-forward", ("d", "D", "right", "l"), "Scroll forward", "Live", "to now, where it follows again", _LIVE,
           do=lambda page: page.pan(0.25)),
    Action("live-pause", ("space",), "Pause or follow", "Live", "the chart only; sampling goes on", _LIVE),
    Action("live-now", ("G", "end"), "Jump to now", "Live", "", _LIVE),
    Action("live-whole", ("0",), "Everything so far", "Live", "", _LIVE),
    Action("live-up", ("up", "k"), "Channel above", "Live", "the sum is above them all", _LIVE, do=lambda page: page.select(-1)),
    Action("live-down", ("down", "j"), "Channel below", "Live", "", _LIVE, do=lambda page: page.select(1)),
    Action("live-page-up", ("pageup",), "Ten channels up", "Live", "", _LIVE, do=lambda page: page.select(-10)),
    Action("live-page-down", ("pagedown",), "Ten channels down", "Live", "", _LIVE, do=lambda page: page.select(10)),
    Action("live-mark", ("m",), "Mark this moment", "Live", "in the recording", _LIVE),
    Action("live-capture", ("P",), "Capture a profile of the program", "Live", "with this power beside it; again ends it early",
           _LIVE),
    Action("live-open", ("enter",), "Open the profile that appeared", "Live", "with this power beside it", _LIVE),
    # symmetry
    Action("finding-up", ("up", "k"), "Finding above", "Findings", "", _SYMMETRY, do=lambda page: page.move(-1)),
    Action("finding-down", ("down", "j"), "Finding below", "Findings", "", _SYMMETRY, do=lambda page: page.move(1)),
    Action("finding-show", ("enter",), "Show the finding in the timeline", "Findings", "", _SYMMETRY),
    Action("other-epoch", ("right", "l", "d"), "Compare the next epoch", "Findings", "", _SYMMETRY,
           do=lambda page: page.turn(1)),
    Action("other-epoch-back", ("left", "h", "a"), "Compare the previous epoch", "Findings", "", _SYMMETRY,
           do=lambda page: page.turn(-1)),
    Action("power-or-time", ("t",), "Show power or time", "Findings", "", _SYMMETRY),
    # alignment
    Action("choice-up", ("up", "k"), "Previous method", "Alignment", "", _ALIGNMENT, do=lambda page: page.choose(-1)),
    Action("choice-down", ("down", "j"), "Next method", "Alignment", "", _ALIGNMENT, do=lambda page: page.choose(1)),
    Action("choice-take", ("enter",), "Use this alignment", "Alignment", "in the timeline and everywhere else", _ALIGNMENT),
    Action("nudge-left", ("less_than_sign", "left", "h"), "Shift the power to the left", "Alignment", "by a tenth of its refresh",
           _ALIGNMENT, do=lambda page: page.nudge(-0.1)),
    Action("nudge-right", ("greater_than_sign", "right", "l"), "Shift the power to the right", "Alignment",
           "by a tenth of its refresh", _ALIGNMENT, do=lambda page: page.nudge(0.1)),
    Action("nudge-far-left", ("shift+left", "H"), "Shift far left", "Alignment", "by a whole refresh", _ALIGNMENT,
           do=lambda page: page.nudge(-1.0)),
    Action("nudge-far-right", ("shift+right", "L"), "Shift far right", "Alignment", "by a whole refresh", _ALIGNMENT,
           do=lambda page: page.nudge(1.0)),
    Action("pin", ("p",), "Pin a power edge", "Alignment", "the edge nearest to the timeline's cursor to that cursor", _ALIGNMENT),
    Action("unshift", ("0",), "Undo all shifts", "Alignment", "", _ALIGNMENT),
    Action("owner", ("o",), "Take power for this host", "Alignment", "power that names no host of the run: the next name each time",
           _ALIGNMENT),
    # tools
    Action("row-show", ("enter",), "Show the row in the timeline", "Tools", "where it has a place there", _TOOL,
           do=lambda page: page.table.action_choose()),
    Action("tool-next", ("right_square_bracket",), "Next tool", "Tools", "", _TOOL, do=lambda page: page.turn(1)),
    Action("tool-previous", ("left_square_bracket",), "Previous tool", "Tools", "", _TOOL, do=lambda page: page.turn(-1)),
    Action("table-next", ("right", "l"), "Next table of this tool", "Tools", "", _TOOL),
    Action("table-sort", ("o",), "Sort by the next column", "Tools", "or click its title", _TOOL,
           do=lambda page: page.table.sort_next()),
    Action("table-filter", ("slash", "F"), "Filter the rows", "Tools", "by any part of a name", _TOOL),
    Action("table-longest", ("s",), "Longest first", "Tools", "slowest steps at the top", _TOOL,
           do=lambda page: page.table.longest_first()),
    Action("table-group", ("g",), "Put rows together", "Tools", "by type, device, layer; Enter unfolds a group", _TOOL),
    Action("table-part", ("d",), "Devices, host, or all", "Tools", "where a table has both", _TOOL,
           do=lambda page: page.table.next_part()),
    Action("table-wrappers", ("x",), "Show or hide wrappers", "Tools", "rows that only hold others", _TOOL,
           do=lambda page: page.table.turn_wrappers()),
    Action("row-why", ("i",), "What took longer", "Tools", "in the step under the cursor, against a usual one", _TOOL),
    Action("table-copy", ("y",), "Copy the rows", "Tools", "as CSV, to your own clipboard (OSC 52)", _TOOL),
    # everywhere
    Action("pane-next", ("tab",), "Next pane", "Everywhere", do=lambda page: page.next_pane(1)),
    Action("pane-previous", ("shift+tab",), "Previous pane", "Everywhere", do=lambda page: page.next_pane(-1)),
    Action("back", ("escape",), "Back", "Everywhere", "closes what is open; never quits", ("*",)),
    Action("undo", ("u",), "Undo the last change", "Everywhere",
           "where the power lies: a pin, a shift, another method; in the list of runs: what belongs together"),
    Action("help", ("question_mark", "f1"), "Help", "Everywhere"),
    Action("palette", ("colon", "ctrl+p"), "Commands, times and ranges", "Everywhere",
           "27.31s, 27.31s-28.78s, epoch 1 step 185-258"),
    Action("messages", ("exclamation_mark",), "Messages so far", "Everywhere", "in full"),
    Action("runs", ("backspace",), "List of runs", "Everywhere", do=lambda page: page.show("open")),
    Action("run-next", ("R",), "Next open run", "Everywhere", "the page stays",
           do=lambda shell: shell.runs.open_next()),
    Action("redraw", ("ctrl+l",), "Redraw the screen", "Everywhere", priority=True, do=lambda page: page.redraw()),
    Action("suspend", ("ctrl+z",), "Suspend", "Everywhere", "`fg` brings it back", priority=True,
           do=lambda page: page.action_suspend_process()),
    Action("quit", ("q",), "Quit", "Everywhere"),
    Action("quit-now", ("ctrl+c",), "Quit, from anywhere", "Everywhere", priority=True, do=lambda page: page.exit(return_code=130)),
)
# fmt: on

_GROUPS = (
    "Move", "Cursor", "Steps and events", "Search", "Windows", "Op table", "Runs", "Findings", "Alignment", "Tools", "Live",
    "Everywhere",
)  # fmt: skip

_SHOWN = {
    "plus": "+",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "equals_sign": "=",
    "minus": "-",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "full_stop": ".",
    "comma": ",",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "slash": "/",
    "question_mark": "?",
    "colon": ":",
    "exclamation_mark": "!",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "shift+left": "Shift+←",
    "shift+right": "Shift+→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "space": "Space",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "backspace": "Backspace",
    "f1": "F1",
}


def shown(key: str) -> str:
    """A key as a person reads it."""
    if key in _SHOWN:
        return _SHOWN[key]
    if key.startswith("ctrl+"):
        return "Ctrl+" + key[5:].upper()
    return key


def get(id: str) -> Action:
    """The action of this id."""
    return next(action for action in ACTIONS if action.id == id)


PANES = {"timeline": _OPS}  # parts of a page that have keys of their own while they have the focus


def on_screen(screen: str) -> Iterator[Action]:
    """The actions that exist on a screen, in table order: its own first, then those of everywhere."""
    yield from (action for action in ACTIONS if screen in action.screens)
    yield from (action for action in ACTIONS if "*" in action.screens)


def clashes() -> list[str]:
    """Keys that mean two things on one screen. There must be none."""
    out: list[str] = []
    screens = {name for action in ACTIONS for name in action.screens if name != "*"}
    for screen in sorted(screens):
        seen: dict[str, str] = {}
        for action in on_screen(screen):
            for key in action.keys:
                if key in seen:
                    out.append(f"{screen}: {key} is {seen[key]} and {action.id}")
                seen[key] = action.id
    return out


def markdown() -> str:
    """The key table of docs/keys.md."""
    lines = ["| key | what it does |", "| --- | --- |"]
    for group in (*_GROUPS, *sorted({a.group for a in ACTIONS} - set(_GROUPS))):
        rows = [action for action in ACTIONS if action.group == group]
        if rows:
            lines.append(f"| **{group}** | |")
        for action in rows:
            keys = " ".join(
                f"`{shown(key)}`" if shown(key) != "|" else "`\\|`"
                for key in dict.fromkeys(action.keys)
            )
            text = f"{action.title}: {action.help}" if action.help else action.title
            lines.append(f"| {keys} | {text} |")
    return "\n".join(lines)
