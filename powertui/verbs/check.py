"""`powertui check RUN…`: whether runs keep limits, for a CI: the exit code is the answer."""

from __future__ import annotations

import argparse

from powertui.verbs import common, sampling_arguments, window_arguments

HELP = "hold runs against limits or a saved baseline, for a CI"
USAGE = "[OPTIONS] RUN ... --max QUANTITY=NUMBER | RUN ... --against BASELINE"
ABOUT = """\
Is the training still as fast and as frugal as it has to be? Exit code 0: within, 1: above,
3: cannot say, because the interval holds the limit; then it names the recording that would
decide. From three runs on the scatter of the runs decides, of fewer the drift within each.

Quantities: step_s, step_median_s, step_p25_s (lower quartile), steps/s, device_s,
input_share, J/step, W, J, memory_B, op:NAME, kernel:NAME, category:NAME (s per step).
docs/gate.md has how each is measured, and workflows for GitHub, GitLab and Slurm."""
EXAMPLES = (
    ("powertui check run/* --max J/step=24 --max step_s=50ms", "fixed limits"),
    ("powertui check run/* --against main --tolerance 3%", "no worse than a saved baseline"),
    ("powertui check run/* --against main --md --junit check.xml", "for a pull request"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a run, a folder of runs, or several of them",
    )
    common.memory(parser)
    limits = common.group(parser, "what must hold")
    limits.add_argument(
        "--max",
        action="append",
        default=[],
        metavar="QUANTITY=NUMBER",
        help="upper limit, such as J/step=24, step_s=50ms, op:MatMul=0.01 (repeatable)",
    )
    limits.add_argument(
        "--min",
        action="append",
        default=[],
        metavar="QUANTITY=NUMBER",
        help="lower limit, such as steps/s=20 (repeatable)",
    )
    sampling_arguments.budget(limits)
    limits.add_argument(
        "--against",
        metavar="BASELINE",
        help="a saved baseline, or a file of one (*.json): powertui baseline save",
    )
    limits.add_argument(
        "--tolerance",
        action="append",
        default=[],
        metavar="PERCENT",
        help="how much worse than the baseline: 3%%, or J/step=3%% (repeatable; default: 5%%)",
    )
    limits.add_argument(
        "--allow-unresolved",
        action="store_true",
        help="exit code 0 instead of 3 where the answer is: cannot say",
    )
    common.baselines(limits)
    window_arguments.one_part(parser)
    common.how_to_read(parser)
    common.output(parser, csv="one row per limit")
    common.group(parser, "output").add_argument(
        "--junit",
        metavar="FILE",
        help="also write JUnit XML, a test case for each limit",
    )


def _budget(text: str | None) -> list[str]:
    """A budget as the limit that it is."""
    if text is None:
        return []
    from powertui.data import budget

    return [f"J={budget.parse(text).joules!r}"]


def run(args: argparse.Namespace) -> int:
    """The exit code is the answer: 0 within, 1 above, 3 cannot say or nothing readable."""
    from powertui.report import gate
    from powertui.report.compare_sides import SideReading
    from powertui.report.gate_runs import GateRequest

    request = GateRequest(
        most=[*args.max, *_budget(args.budget)],
        least=args.min,
        against=args.against,
        tolerance=args.tolerance,
        folder=args.dir,
        allow_unresolved=args.allow_unresolved,
        part=window_arguments.part_of(args),
    )
    reading = SideReading(common.reading_of(args), common.aligning_of(args))
    return gate.tell(args.paths, request, reading, common.form_of(args), args.junit)
