"""The table of what a person can do.

Key bindings, the help screen, the palette and docs/keys.md are all made from it, so that none of
them can differ. `screens` names the screens on which an action exists; "*" means everywhere. An
action that is one call carries it in `do`; what takes more is the screen's own `action_<id>`
(dashes become underscores). Keys have the names that Textual gives them; `shown` is what a person
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import methodcaller
from typing import Any

from powertui.value_types import dataclass


@dataclass(frozen=True)
class Action:
    """One thing to do."""

    id: str
    keys: tuple[str, ...]
    title: str  # what the palette says
    help: str = ""  # what help adds to the title
    group: str = ""
    screens: tuple[str, ...] = ()
    priority: bool = False  # wins over the focused widget (an input box) too
    # What it does to its page, or to the application for "*"; None: `action_<id>` does it.
    do: Callable[[Any], object] | None = None

    @property
    def method(self) -> str:
        """The name of the method on screen or application, without its prefix."""
        return self.id.replace("-", "_")

    @property
    def keys_shown(self) -> str:
        """The keys as a person reads them: "W ↑"."""
        return " ".join(dict.fromkeys(shown(key) for key in self.keys))


_EVERYWHERE = ("*",)
_TIMELINE = ("timeline",)
_TIMELINES = ("timeline", "pair")  # one, or two above each other
_COMPARE = ("compare",)
_OPS = ("ops_pane",)  # the op table below the timeline, while it has the focus
_LIST = ("open",)
_LIVE = ("live",)
_SYMMETRY = ("symmetry",)
_ALIGNMENT = ("alignment",)
_TOOL = ("tool",)
_TABLE = ("tool", "compare")  # pages of tables
_TOOLS = ("tools",)


def _section(group: str, screens: tuple[str, ...], *actions: Action) -> Iterator[Action]:
    """These actions, in one group of the help screen and on the same screens."""
    return (replace(action, group=group, screens=screens) for action in actions)


def _move(name: str, *amount: int) -> Callable[[Any], object]:
    """A method of the timeline's navigator (`view/navigation.py`)."""
    return lambda page: page.timeline.move(methodcaller(name, *amount))


# fmt: off
ACTIONS: tuple[Action, ...] = (
    *_section("Move", _TIMELINES,
        Action("zoom-in", ("w", "W", "plus"), "Zoom in", "at the cursor",
               do=lambda page: page.timeline.zoom_key(1)),
        Action("zoom-out", ("s", "S", "minus"), "Zoom out", "at the cursor",
               do=lambda page: page.timeline.zoom_key(-1)),
        Action("pan-left", ("a", "A"), "Pan left", "hold to go faster",
               do=lambda page: page.timeline.pan_held(-1)),
        Action("pan-right", ("d", "D"), "Pan right", "hold to go faster",
               do=lambda page: page.timeline.pan_held(1)),
        Action("fit", ("f",), "Fit the selection", "the selected event, else the marked window",
               do=_move("fit")),
        Action("whole", ("0",), "Whole run", "with everything around the profile",
               do=_move("whole")),
        Action("profile-next", ("P",), "Next profile of the training"),
        Action("profile-out", ("O",), "Back out of the profile", "to what was in sight before",
               do=_move("leave_profile")),
        Action("go-start", ("g", "home"), "Go to the start", do=_move("start")),
        Action("go-end", ("G", "end"), "Go to the end", do=_move("end")),
    ),
    *_section("Cursor", _TIMELINES,
        Action("event-left", ("left", "h"), "Event to the left", "in the row under the cursor",
               do=_move("move_event", -1)),
        Action("event-right", ("right", "l"), "Event to the right", "in the row under the cursor",
               do=_move("move_event", 1)),
        Action("row-up", ("up", "k"), "Row above", do=_move("move_track", -1)),
        Action("row-down", ("down", "j"), "Row below", do=_move("move_track", 1)),
        Action("page-up", ("pageup",), "Page up", do=lambda page: page.timeline.move_page(-1)),
        Action("page-down", ("pagedown",), "Page down", do=lambda page: page.timeline.move_page(1)),
        Action("time-left", ("shift+left", "H"), "Cursor one cell left", do=_move("move_time", -1)),
        Action("time-right", ("shift+right", "L"), "Cursor one cell right",
               do=_move("move_time", 1)),
        Action("fold", ("enter", "space"), "Fold or unfold",
               "a process or track; on an event, its details"),
        Action("fold-all", ("z",), "Fold or unfold all",
               do=lambda page: page.timeline.fold_or_unfold_all()),
    ),
    *_section("Steps and events", _TIMELINES,
        Action("step-previous", ("left_square_bracket",), "Previous step",
               do=lambda page: page.step(-1)),
        Action("step-next", ("right_square_bracket",), "Next step", do=lambda page: page.step(1)),
    ),
    *_section("Steps and events", _TIMELINE,
        Action("step-marker", ("M",), "Choose what marks the steps", "of all that could"),
        Action("jump", ("J",), "Jump between launch and kernel",
               "from a call to its work on the device, and back",
               do=lambda page: page.seeking.jump()),
        Action("op-graph", ("X",), "Operands and users", "of the XLA op under the cursor",
               do=lambda page: page.seeking.op_graph()),
        Action("found-previous", ("left_parenthesis",), "Previous finding",
               "its stretch is the window", do=lambda page: page.seeking.finding(-1)),
        Action("found-next", ("right_parenthesis",), "Next finding", "its stretch is the window",
               do=lambda page: page.seeking.finding(1)),
        Action("epoch-previous", ("left_curly_bracket",), "Previous epoch",
               "it is the window, or the batches of it that are marked here",
               do=lambda page: page.epoch(-1)),
        Action("epoch-next", ("right_curly_bracket",), "Next epoch",
               "it is the window, or the batches of it that are marked here",
               do=lambda page: page.epoch(1)),
        Action("epoch-same", ("E",), "Same window in the other epoch",
               "the same batches; of several epochs in the next one, else in the next open run",
               do=lambda page: page.same_in_other_epoch()),
        Action("event-next", ("full_stop",), "Next event of the track", "in any of its lanes",
               do=_move("next_event", 1)),
        Action("event-previous", ("comma",), "Previous event of the track", "in any of its lanes",
               do=_move("next_event", -1)),
    ),
    *_section("Search", _TIMELINE,
        Action("search", ("slash",), "Search all names",
               "text, or a regex between slashes: /conv.*grad/"),
        Action("hit-next", ("n",), "Next hit", do=lambda page: page.seeking.hit(1)),
        Action("hit-previous", ("N",), "Previous hit", do=lambda page: page.seeking.hit(-1)),
        Action("hits", ("b",), "Hits by name", "count and total time of each name",
               do=lambda page: page.below.toggle_hits()),
    ),
    *_section("Windows", _TIMELINES,
        Action("mark", ("m",), "Mark a window", "again to end it; or drag with the mouse"),
    ),
    *_section("Windows", _TIMELINE,
        Action("details", ("i",), "Details of the event", "all its stats",
               do=lambda page: page.below.toggle_details()),
        Action("expand", ("x",), "Show long texts in full", "in the details",
               do=lambda page: page.details.toggle()),
        Action("overlap", ("I",), "What runs at the same time", "as the selected event"),
        Action("ops", ("t",), "Op table", "of the marked window, else the visible one",
               do=lambda page: page.below.toggle_ops()),
        Action("sort", ("o",), "Sort by the next column", "of the op table"),
        Action("filter", ("F",), "Filter the op table"),
        Action("context", ("c",), "Context pane", "show or hide it"),
        Action("strips", ("T",), "Choose the strips", "losses and other scalars, the step rate"),
        Action("host", ("v",), "Choose a host or device",
               "a list with search, when the run has several; of two hosts the other one"),
        Action("export", ("e",), "Export window or page",
               "as CSV, Parquet, Perfetto JSON or SVG"),
        Action("power-left", ("less_than_sign",), "Shift the power left",
               "by a tenth of its refresh", do=lambda page: page.shift_power(-0.1)),
        Action("power-right", ("greater_than_sign",), "Shift the power right",
               "by a tenth of its refresh", do=lambda page: page.shift_power(0.1)),
        Action("power-pin", ("p",), "Pin the power", "its nearest edge to the cursor"),
        Action("note", ("C",), "Write a note",
               "on the marked window, else on the moment under the cursor; again: change it, and "
               "empty: delete it"),
        Action("copy", ("y",), "Copy the facts",
               "of the selection, and the command that opens it again; to your own "
               "clipboard (OSC 52)"),
        Action("reread", ("r",), "Read the run again", "when its file has changed",
               do=lambda page: page.shell.runs.read_again()),
    ),
    *_section("Op table", _OPS,
        Action("pane-group", ("g",), "Put ops together",
               "by type, device, layer; Enter unfolds a group",
               do=lambda table: table.group_rows()),
        Action("pane-part", ("d",), "Devices, host, or all", "where a profile has both",
               do=lambda table: table.turn_part()),
        Action("pane-wrappers", ("x",), "Show or hide wrappers",
               "ops that only hold or wait for others", do=lambda table: table.turn_wrappers()),
    ),
    *_section("Runs", _LIST,
        Action("run-open", ("enter",), "Open the run", do=lambda page: page.table.action_choose()),
        Action("run-mark", ("space",), "Mark the run", "Enter then opens all that are marked"),
        Action("run-belongs", ("b",), "Change what it belongs to",
               "moves a session, scalars or power out of a training, or into another"),
        Action("run-fold", ("z",), "Fold or unfold a training", "the sessions below it",
               do=lambda page: page.table.fold()),
        Action("run-inside", ("right", "l"), "Into a training", "unfolds it",
               do=lambda page: page.table.inwards()),
        Action("run-outside", ("left", "h"), "Out of a training", "folds it",
               do=lambda page: page.table.outwards()),
        Action("first-demo", ("D",), "Open the demo", "a recorded run that ships with powertui",
               do=lambda page: page.first_steps.demo()),
        Action("first-record", ("T",), "Record this machine", "its power for ten seconds",
               do=lambda page: page.first_steps.record()),
        Action("first-capture", ("P",), "Capture a program",
               "from its profiler's server, then open the profile",
               do=lambda page: page.first_steps.capture()),
        Action("filter-runs", ("slash",), "Filter the runs", "by any words in a row"),
        Action("runs-sort", ("s", "o"), "Sort by the next column",
               "newest first to begin with; or click its title",
               do=lambda page: page.table.sort_next()),
        Action("runs-start", ("g",), "First run", do=lambda page: page.table.action_to_end(-1)),
        Action("runs-end", ("G",), "Last run", do=lambda page: page.table.action_to_end(1)),
        Action("reload", ("r",), "Rescan", "the logdir, and read its runs again"),
    ),
    *_section("Live", _LIVE,
        Action("live-zoom-in", ("w", "W", "plus"), "Shorter history", do=lambda page: page.zoom(1)),
        Action("live-zoom-out", ("s", "S", "minus"), "Longer history",
               do=lambda page: page.zoom(-1)),
        Action("live-back", ("a", "A"), "Scroll back", do=lambda page: page.pan(-0.25)),
        Action("live-forward", ("d", "D"), "Scroll forward",
               "to now, where it follows again", do=lambda page: page.pan(0.25)),
        Action("live-left", ("left", "h"), "Host to the left",
               "on the map of hosts; else scrolls back", do=lambda page: page.sideways(-1)),
        Action("live-right", ("right", "l"), "Host to the right",
               "on the map of hosts; else scrolls forward", do=lambda page: page.sideways(1)),
        Action("live-map", ("v",), "Hosts as a map or as rows", "from nine hosts on",
               do=lambda page: page.map.turn()),
        Action("live-pause", ("space",), "Pause or follow", "the chart only; sampling goes on"),
        Action("live-now", ("G", "end"), "Jump to now"),
        Action("live-whole", ("0",), "Everything so far"),
        Action("live-up", ("up", "k"), "Channel above", "the sum is above them all",
               do=lambda page: page.select(-1)),
        Action("live-down", ("down", "j"), "Channel below", do=lambda page: page.select(1)),
        Action("live-page-up", ("pageup",), "Ten channels up", do=lambda page: page.select(-10)),
        Action("live-page-down", ("pagedown",), "Ten channels down",
               do=lambda page: page.select(10)),
        Action("live-mark", ("m",), "Mark this moment", "in the recording"),
        Action("live-capture", ("P",), "Capture a profile of the program",
               "with this power beside it; again ends it early"),
        Action("live-open", ("enter",), "Open the profile that appeared",
               "with this power beside it; on the map of hosts the chosen host"),
    ),
    *_section("Findings", _SYMMETRY,
        Action("finding-up", ("up", "k"), "Finding above", do=lambda page: page.move(-1)),
        Action("finding-down", ("down", "j"), "Finding below", do=lambda page: page.move(1)),
        Action("finding-show", ("enter",), "Show the finding in the timeline"),
        Action("other-epoch", ("right", "l", "d"), "Compare the next epoch",
               do=lambda page: page.turn(1)),
        Action("other-epoch-back", ("left", "h", "a"), "Compare the previous epoch",
               do=lambda page: page.turn(-1)),
        Action("power-or-time", ("t",), "Show power or time"),
    ),
    *_section("Alignment", _ALIGNMENT,
        Action("choice-up", ("up", "k"), "Previous method", do=lambda page: page.choose(-1)),
        Action("choice-down", ("down", "j"), "Next method", do=lambda page: page.choose(1)),
        Action("choice-take", ("enter",), "Use this alignment",
               "in the timeline and everywhere else"),
        Action("nudge-left", ("less_than_sign", "left", "h"), "Shift the power to the left",
               "by a tenth of its refresh", do=lambda page: page.nudge(-0.1)),
        Action("nudge-right", ("greater_than_sign", "right", "l"), "Shift the power to the right",
               "by a tenth of its refresh", do=lambda page: page.nudge(0.1)),
        Action("nudge-far-left", ("shift+left", "H"), "Shift far left", "by a whole refresh",
               do=lambda page: page.nudge(-1.0)),
        Action("nudge-far-right", ("shift+right", "L"), "Shift far right", "by a whole refresh",
               do=lambda page: page.nudge(1.0)),
        Action("pin", ("p",), "Pin a power edge",
               "the edge nearest to the timeline's cursor to that cursor"),
        Action("unshift", ("0",), "Undo all shifts"),
        Action("owner", ("o",), "Take power for this host",
               "power that names no host of the run: the next name each time"),
    ),
    *_section("List of tools", _TOOLS,
        Action("tool-open", ("enter",), "Open the tool", do=lambda page: page.open_tool()),
        Action("tools-up", ("up", "k"), "Tool above", do=lambda page: page.move(-1)),
        Action("tools-down", ("down", "j"), "Tool below", do=lambda page: page.move(1)),
        Action("tools-search", ("slash",), "Search the tools",
               "by any letters of a name, in order"),
    ),
    *_section("Tools", _TABLE,
        Action("row-show", ("enter",), "Show the row",
               "its card or page, else its place in the timeline",
               do=lambda page: page.table.action_choose()),
    ),
    *_section("Tools", _TOOL,
        Action("tool-next", ("right_square_bracket",), "Next tool", do=lambda page: page.turn(1)),
        Action("tool-previous", ("left_square_bracket",), "Previous tool",
               do=lambda page: page.turn(-1)),
        Action("tool-results", ("r",), "As the profiler stored it", "then the differences to ours"),
    ),
    *_section("Tools", _TABLE,
        Action("table-next", ("right", "l"), "Next table of this tool"),
        Action("table-sort", ("o",), "Sort by the next column", "or click its title",
               do=lambda page: page.table.sort_next()),
        Action("table-filter", ("slash", "F"), "Filter the rows", "by any part of a name"),
        Action("table-longest", ("s",), "Longest first", "slowest steps at the top",
               do=lambda page: page.table.longest_first()),
        Action("table-group", ("g",), "Put rows together",
               "by type, device, layer; Enter unfolds a group"),
        Action("table-part", ("d",), "Devices, host, or all", "where a table has both",
               do=lambda page: page.table.next_part()),
        Action("table-wrappers", ("x",), "Show or hide wrappers", "rows that only hold others",
               do=lambda page: page.table.turn_wrappers()),
    ),
    *_section("Tools", _TOOL,
        Action("row-why", ("i",), "What took longer",
               "in the step under the cursor, against the median step; "
               "on the overview: by which rules the numbers are counted"),
    ),
    *_section("Tools", _TOOL,
        Action("row-card", ("c",), "All about the row", "of a buffer or an op of XLA",
               do=lambda page: page.leads.card_of_row()),
        Action("row-timeline", ("t",), "Show the row in the timeline",
               "where Enter leads elsewhere",
               do=lambda page: page.leads.go_to_place()),
    ),
    *_section("Tools", _TABLE,
        Action("table-copy", ("y",), "Copy the rows", "as CSV, to your own clipboard (OSC 52)"),
    ),
    *_section("Tools", _COMPARE,
        Action("pair", ("t",), "Two timelines", "A above B, step on step: one moves the other"),
    ),
    *_section("Everywhere", ("open", "live", "symmetry", "alignment", "tool", "tools",
                            "compare", "pair", "help"),
        Action("export-page", ("e",), "Export the page", "as a picture, SVG",
               do=lambda page: page.export_page()),
    ),
    *_section("Everywhere", _EVERYWHERE,
        Action("pane-next", ("tab",), "Next pane", do=lambda page: page.next_pane(1)),
        Action("pane-previous", ("shift+tab",), "Previous pane",
               do=lambda page: page.next_pane(-1)),
        Action("back", ("escape",), "Back", "closes what is open; never quits"),
        Action("undo", ("u",), "Undo the last change",
               "of the alignment: a pin, a shift, another method; "
               "in the list of runs: what belongs together"),
        Action("help", ("question_mark", "f1"), "Help"),
        Action("palette", ("colon", "ctrl+p"), "Commands, times and ranges",
               "27.31s, 27.31s-28.78s, epoch 1 step 185-258"),
        Action("messages", ("exclamation_mark",), "Messages so far", "in full"),
        Action("runs", ("backspace",), "List of runs", do=lambda page: page.show("open")),
        Action("run-next", ("R",), "Next open run", "the page stays",
               do=lambda shell: shell.runs.open_next()),
        Action("compare", ("equals_sign",), "Compare runs or epochs",
               "what changed, how sure, where from"),
        Action("redraw", ("ctrl+l",), "Redraw the screen", priority=True,
               do=lambda page: page.redraw()),
        Action("suspend", ("ctrl+z",), "Suspend", "`fg` brings it back", priority=True,
               do=lambda page: page.action_suspend_process()),
        Action("quit", ("q",), "Quit"),
        Action("quit-now", ("ctrl+c",), "Quit, from anywhere", priority=True,
               do=lambda page: page.exit(return_code=130)),
    ),
)
# fmt: on

_GROUPS = (
    "Move",
    "Cursor",
    "Steps and events",
    "Search",
    "Windows",
    "Op table",
    "Runs",
    "Findings",
    "Alignment",
    "List of tools",
    "Tools",
    "Live",
    "Everywhere",
)

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


# What nine of ten things take, in the order of README's table; help begins with them.
MOST_USED = (
    *("zoom-in", "zoom-out", "pan-left", "pan-right", "step-previous", "step-next"),
    *("found-next", "mark", "ops", "search", "export", "palette"),
)

PANES = {"timeline": _OPS}  # parts of a page that have keys of their own while they have the focus


def on_screen(screen: str) -> Iterator[Action]:
    """The actions that exist on a screen: its own first, then those of everywhere."""
    yield from (action for action in ACTIONS if screen in action.screens)
    yield from (action for action in ACTIONS if "*" in action.screens)


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
