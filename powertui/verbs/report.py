"""`powertui report PATH`: what is known of each run; with --tool, one tool's answer."""

from __future__ import annotations

import argparse

from powertui.errors import UsageError
from powertui.verbs import common, window_arguments

HELP = "print the facts of each run, or one tool's table"
USAGE = "[OPTIONS] PATH [POWER_LOG ...]"
ABOUT = """\
What is in these runs: length, steps, epochs, power, findings. With --tool NAME, one table
as TensorBoard's Profile plugin has it, for the whole run or a window. `--tool list` names
all tools."""
EXAMPLES = (
    ("powertui report ~/logs --json", "the same facts, for a script"),
    ("powertui report ~/logs --brief", "what matters, in 4 kB of JSON"),
    ("powertui report ~/logs --html run.html", "a page to send: charts, findings, tables"),
    ("powertui report ~/logs --tool kernel_stats", "one tool's table"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    common.path(parser)
    common.more_power_logs(parser)
    tool = common.group(parser, "one tool")
    tool.add_argument(
        "--tool",
        metavar="NAME",
        help="print this tool's table, e.g. kernel_stats; `list` names all tools",
    )
    tool.add_argument(
        "--compat",
        choices=("corrected", "tf2", "xprof"),
        default="corrected",
        help=(
            "by whose rules: TensorFlow's with copies counted as copies (default), "
            "TensorFlow's as they were, today's converter's"
        ),
    )
    tool.add_argument(
        "--results",
        choices=("ours", "recorded", "differences"),
        default="ours",
        help=(
            "whose: computed from the profile (default), stored by the profiler beside it, or "
            "the cells in which both differ"
        ),
    )
    common.group(parser, "output").add_argument(
        "--brief",
        action="store_true",
        help=(
            "at most 4 kB of JSON: energy, findings, top ops, how sure each is, and the next "
            "command"
        ),
    )
    tool.add_argument(
        "--from",
        dest="from_",
        metavar="TIME",
        help="start of the window in trace time, e.g. 27.31s",
    )
    tool.add_argument("--to", metavar="TIME", help="end of the window")
    window_arguments.at(tool)
    tool.add_argument(
        "--host",
        metavar="NAME",
        help="this host of the run; all: all of them as one answer",
    )
    tool.add_argument(
        "--match",
        metavar="REGEX",
        default="",
        help="with event_sets: only events with such names",
    )
    tool.add_argument(
        "--choice",
        metavar="NAME",
        default="",
        help=(
            "with memory_viewer: this program, e.g. jit_step or jit_step:1 for memory space 1; "
            "with graph_viewer: a program or an op of it, e.g. jit_step/fusion.3"
        ),
    )
    tool.add_argument(
        "--dot",
        action="store_true",
        help="with graph_viewer: the program, or what is around the op, for Graphviz",
    )
    common.reading(parser)
    common.output(parser, csv="one row per step, or the table of --tool", html=True)


def run(args: argparse.Namespace) -> int:
    """Exit code 3 when nothing of what was named could be read."""
    from powertui.report import summary, tool

    form = common.form_of(args)
    if args.tool == "list":
        return tool.names(form)
    common.one_path(args)
    # What is wrong with the options is reported before anything is read.
    reading = common.reading_of(args)
    aligning = common.aligning_of(args)
    if args.html is not None:
        from powertui.html import report_file
        from powertui.html.html_file import HtmlFile
        from powertui.html.note_list import shown_notes

        common.without(args, "--html", "--tool", "--brief", "--from", "--to", "--at", "--host")
        output = HtmlFile(args.html, args.force)
        return report_file.write_report(
            path=args.path,
            name=args.run,
            reading=reading,
            aligning=aligning,
            output=output,
            notes_of=shown_notes,
        )
    if args.brief:
        from powertui.report import brief

        return brief.tell(args.path, args.run, reading, aligning)
    window = window_arguments.at_of(args, "from_", "to")
    if window is not None and args.tool is None:
        raise UsageError(
            "--at is for one tool.",
            hint="Name it with --tool: `powertui report --tool list` has them all.",
        )
    if args.dot:
        from powertui.data.tools.registry import named_tool
        from powertui.report import dot

        named = named_tool(args.tool or "")
        if named is None or named.name != "graph_viewer":
            raise UsageError(
                "--dot is for graph_viewer.", hint="Name it: --tool graph_viewer --dot"
            )
        return dot.tell(args.path, args.run, reading, args.choice, args.host)
    if args.tool is not None:
        from dataclasses import replace

        request = tool.ToolRequest(
            args.tool,
            aligning=aligning,
            compat=args.compat,
            match=args.match,
            choice=args.choice,
            start=window_arguments.time_of(args.from_),
            end=window_arguments.time_of(args.to),
            host=args.host or (window.host if window is not None else None),
            window=window,
            results=args.results,
        )
        # So that hosts are broken down by its rules where they are read, many at once.
        reading = replace(reading, compat=args.compat)
        return tool.tell(args.path, args.run, reading, request, form)
    charts = None
    if form == "markdown":
        from powertui.view import document_charts

        charts = document_charts.run_charts
    return summary.tell(
        path=args.path,
        name=args.run,
        reading=reading,
        aligning=aligning,
        form=form,
        charts=charts,
    )
