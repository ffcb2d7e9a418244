"""What some keys of the timeline do: imported by the key, since no first picture needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui import units

if TYPE_CHECKING:
    from powertui.screens.timeline import TimelineScreen


def choose_host(page: TimelineScreen) -> None:
    """The profile of the other host; of many hosts or devices a list to choose from."""
    from powertui.screens.run_parts import RunPartsDialog, run_parts

    shell = page.shell
    parts = run_parts(page.session)
    run = page.session.run
    if run is None or not parts:
        page.say("This run has only one host.")
    elif len(parts) == len(run.traces) == 2:
        shell.runs.show_trace(1 - page.session.trace_index)
    else:
        shell.ask(RunPartsDialog(page), shell.run_command)


def choose_step_marker(page: TimelineScreen) -> None:
    """Choose among all that could mark the steps, and read the run again by it."""
    from powertui.screens.markers import MarkerDialog

    session = page.session
    if not session.complete or len(session.steps.markers) < 2:
        page.say(
            "Nothing else could mark the steps. Name a marker: powertui open … --step-marker REGEX"
        )
        return

    def mark_steps(pattern: str | None) -> None:
        if pattern is not None:
            session.mark_steps(pattern)
            page.shell.runs.read_again()

    page.shell.ask(MarkerDialog(session.steps), mark_steps)


def show_overlap(page: TimelineScreen) -> None:
    """What runs at the same time as the selected event: its stretch becomes the window."""
    model = page.session.model
    selected = page.timeline.selection
    if model is None or selected is None:
        page.say("Select an event first: Enter, or a click.")
        return
    lo, hi = model.extent(selected)
    page.session.window = (lo, max(hi, lo + 1))
    page.shell.show_tool("overlap", how="into")


def copy_facts(page: TimelineScreen) -> None:
    """The facts of what is selected, to the clipboard."""
    from powertui.screens import copied_facts
    from powertui.screens.place_command import place_command
    from powertui.view.place_line import place_line

    model = page.timeline.model
    state = page.timeline.state
    if model is None or state is None:
        return
    text = copied_facts.facts_text(model, state, page.view.power)
    text += f"\n{place_command(page.session, place_line(model, state))}"
    if page.shell.copy_text(text):
        line_count = len(text.splitlines())
        page.say(f"Copied {line_count} lines to your terminal's clipboard, if it supports OSC 52.")
    else:
        page.say("That is too long for a terminal's clipboard.", warn=True)


def _store_window(path: str, window: tuple[int, int] | None) -> None:
    from powertui.terminal import marked

    if window is None:
        marked.forget(path)
    else:
        marked.save(path, *window)


def take_window(page: TimelineScreen, window: tuple[int, int] | None) -> None:
    """A window was marked, or given up. `powertui export --marked` finds it later."""
    session = page.session
    before = session.window
    session.window = window
    trace = session.trace
    if trace is not None and (window is not None or before is not None):
        _store_window(trace.path, window)
    page.context_changed()
    page.below.show_ops_soon()
    page.footer()
    if window is None or window == page.seeking.shown_finding:
        return
    from powertui.screens import copied_facts

    lo, hi = window
    drew = copied_facts.selection_facts(
        session.model,
        page.view.power,
        lo,
        hi,
    )
    separator = ": " if drew else ""
    page.say(f"Window of {units.duration(hi - lo)}{separator}{drew}. Esc clears it.")
