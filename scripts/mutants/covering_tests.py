"""Which tests are run for a mutant of a file, those first that are likeliest to fail."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from scripts.mutants.listed import ROOT

# The tests of a file, by the beginning of its path. The longest beginning counts.
TESTS: dict[str, tuple[str, ...]] = {
    "powertui/data/energy/": ("tests/unit/energy", "tests/unit/report/test_energy_verb.py"),
    "powertui/data/overview/": (
        "tests/unit/tools/test_overview_page.py",
        "tests/unit/report/test_energy_verb.py",
    ),
    "powertui/data/power/": ("tests/unit/power", "tests/unit/energy/test_foreign_logs.py"),
    "powertui/data/power/source.py": (
        "tests/unit/power/test_damage.py",
        "tests/unit/test_limits.py",
    ),
    "powertui/data/formats/": (
        "tests/unit/formats",
        "tests/unit/test_builder.py",
        "tests/unit/test_filenames.py",
    ),
    "powertui/data/formats/own_export.py": (
        "tests/unit/test_export.py",
        "tests/unit/formats/test_counters.py",
    ),
    "powertui/data/formats/xplane": (
        "tests/unit/formats",
        "tests/unit/test_builder.py",
        "tests/unit/wire",
    ),
    "powertui/data/run/": (
        "tests/unit/test_steps.py",
        "tests/unit/test_epochs.py",
        "tests/unit/test_clocks.py",
        "tests/unit/run",
        "tests/unit/test_loading.py",
        "tests/unit/energy/test_align.py",
    ),
    "powertui/data/run/grouping.py": ("tests/unit/test_grouping.py",),
    "powertui/data/logdir/": (
        "tests/unit/test_logdir.py",
        "tests/unit/test_logdir_hostile.py",
        "tests/unit/test_logdir_power.py",
        "tests/unit/test_loading.py",
        "tests/unit/test_cli.py",
    ),
    "powertui/data/tools/": ("tests/unit/tools", "tests/unit/test_results.py"),
    "powertui/data/export/": (
        "tests/unit/test_export.py",
        "tests/unit/test_export_lines.py",
        "tests/unit/report/test_export_verb.py",
    ),
    "powertui/data/wire/": ("tests/unit/wire",),
    "powertui/data/category.py": ("tests/unit/test_category.py",),
    "powertui/data/limits.py": ("tests/unit/test_limits.py",),
    "powertui/data/live.py": (
        "tests/unit/test_live.py",
        "tests/unit/test_feed.py",
        "tests/unit/widgets/test_live_rows.py",
    ),
    "powertui/data/pyramid.py": ("tests/unit/test_live.py", "tests/unit/test_feed.py"),
    "powertui/data/loading.py": ("tests/unit/test_loading.py", "tests/unit/test_opened.py"),
    "powertui/data/lod.py": ("tests/unit/test_lod.py",),
    "powertui/data/model/": (
        "tests/unit/test_model.py",
        "tests/unit/test_builder.py",
        "tests/unit/test_steps.py",
        "tests/unit/test_epochs.py",
        "tests/unit/test_window.py",
        "tests/unit/test_lod.py",
        "tests/unit/test_loading.py",
        "tests/unit/test_export.py",
    ),
    "powertui/data/packed.py": ("tests/unit/test_packed.py",),
    "powertui/data/extremes.py": ("tests/unit/test_extremes.py",),
    "powertui/data/training/": ("tests/unit/training",),
    "powertui/data/elsewhere/": ("tests/unit/test_elsewhere.py",),
    "powertui/data/compare/": (
        "tests/unit/compare/test_amounts.py",
        "tests/unit/compare/test_compare_verb.py",
        "tests/unit/compare/test_drift.py",
        "tests/unit/compare/test_one_sided.py",
        "tests/unit/compare/test_op_counterparts.py",
        "tests/unit/compare/test_relabeling.py",
        "tests/unit/compare/test_run_scatter.py",
        "tests/unit/compare/test_sentence.py",
        "tests/unit/compare/test_turns.py",
        "tests/unit/gate/test_gate_verdicts.py",
        "tests/unit/gate/test_run_values.py",
    ),
    "powertui/data/conclusions/": (
        "tests/unit/conclusions/test_clock_conclusions.py",
        "tests/unit/conclusions/test_further_causes.py",
        "tests/unit/conclusions/test_inquiry.py",
        "tests/unit/conclusions/test_memory.py",
        "tests/unit/conclusions/test_ranking.py",
        "tests/unit/conclusions/test_time_causes.py",
        "tests/unit/conclusions/test_words_of_costs.py",
    ),
    "powertui/data/gate/": ("tests/unit/gate",),
    "powertui/html/": ("tests/unit/html",),
    "powertui/report/": ("tests/unit/report", "tests/unit/test_cli.py"),
    "powertui/capture/": ("tests/unit/capture",),
    "powertui/data/opened.py": (
        "tests/unit/test_opened.py",
        "tests/unit/test_loading.py",
        "tests/unit/api",
    ),
    "powertui/data/search.py": ("tests/unit/test_search.py",),
    "powertui/data/table.py": (
        "tests/unit/test_results.py",
        "tests/unit/tools",
        "tests/unit/test_units.py",
    ),
    "powertui/data/texts.py": ("tests/unit/test_texts.py", "tests/unit/test_search.py"),
    "powertui/data/watch.py": ("tests/unit/test_watch.py",),
    "powertui/data/window.py": ("tests/unit/test_window.py",),
    "powertui/data/": ("tests/unit/test_loading.py", "tests/unit/api", "tests/unit/test_opened.py"),
    "powertui/sampler/": ("tests/unit/sampler",),
    "powertui/sampler/health.py": (
        "tests/unit/sampler/test_health.py",
        "tests/unit/sampler/test_recorder.py",
    ),
    "powertui/sampler/ledger.py": (
        "tests/unit/sampler/test_health.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/sampler/ipmi": (
        "tests/unit/sampler/test_ipmi.py",
        "tests/unit/sampler/test_ipmi_line.py",
        "tests/unit/sampler/test_programs.py",
    ),
    "powertui/sampler/rapl.py": ("tests/unit/sampler/test_in_band.py",),
    "powertui/sampler/hwmon": (
        "tests/unit/sampler/test_in_band.py",
        "tests/unit/sampler/test_auto.py",
    ),
    "powertui/sampler/nvml.py": ("tests/unit/sampler/test_in_band.py",),
    "powertui/sampler/csv_tail.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/csv_columns.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/growing_file.py": ("tests/unit/sampler/test_csv_tail.py",),
    "powertui/sampler/plausible.py": ("tests/unit/sampler/test_plausible.py",),
    "powertui/sampler/recorder.py": (
        "tests/unit/sampler/test_recorder.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/sampler/recording_file.py": (
        "tests/unit/sampler/test_recording_file.py",
        "tests/unit/sampler/test_recorder.py",
    ),
    "powertui/sampler/csv_format.py": (
        "tests/unit/sampler/test_recording_file.py",
        "tests/unit/power/test_recording.py",
        "tests/unit/sampler/test_csv_tail.py",
    ),
    "powertui/sampler/own_file.py": ("tests/unit/sampler/test_recording_file.py",),
    "powertui/sampler/redfish.py": (
        "tests/unit/sampler/test_redfish.py",
        "tests/unit/sampler/test_hostile_http.py",
    ),
    "powertui/sampler/http.py": (
        "tests/unit/sampler/test_redfish.py",
        "tests/unit/sampler/test_hostile_http.py",
        "tests/unit/sampler/test_prometheus.py",
    ),
    "powertui/sampler/prometheus": (
        "tests/unit/sampler/test_prometheus.py",
        "tests/unit/sampler/test_hostile_http.py",
    ),
    "powertui/sampler/ipmitool.py": (
        "tests/unit/sampler/test_ipmitool.py",
        "tests/unit/sampler/test_crypto_probe.py",
    ),
    "powertui/sampler/channel_lines.py": ("tests/unit/sampler/test_summary.py",),
    "powertui/sampler/recording_run.py": ("tests/unit/sampler/test_summary.py",),
    "powertui/sampler/process.py": (
        "tests/unit/test_feed.py",
        "tests/unit/sampler/test_library.py",
    ),
    "powertui/view/": ("tests/unit/widgets",),
    "powertui/view/host_map.py": ("tests/screens/test_host_map.py",),
    "powertui/view/places.py": ("tests/unit/widgets", "tests/unit/test_places_in_words.py"),
    "powertui/view/run_columns.py": (
        "tests/unit/report/test_run_in_a_row.py",
        "tests/unit/widgets/test_small_words.py",
    ),
    "powertui/view/stacked_bars.py": ("tests/unit/test_stacked.py",),
    "powertui/view/table_rows.py": (
        "tests/unit/widgets",
        "tests/unit/test_results.py",
        "tests/unit/test_nested.py",
    ),
    "powertui/view/navigation.py": (
        "tests/unit/widgets/test_navigation.py",
        "tests/screens/test_widgets_timeline.py",
    ),
    "powertui/view/time_navigation.py": (
        "tests/unit/widgets/test_navigation.py",
        "tests/screens/test_widgets_timeline.py",
    ),
}


def tests_of(file: str) -> tuple[str, ...]:
    """The files and folders of tests that cover a file."""
    starts = [start for start in TESTS if file.startswith(start)]
    if not starts:
        raise LookupError(f"Add the tests of {file} to TESTS in scripts/mutants/covering_tests.py.")
    return TESTS[max(starts, key=len)]


def missing_places(root: Path = ROOT) -> list[str]:
    """A sentence for each file or folder of the table that is gone."""
    starts = [start for start in TESTS if not list(root.glob(start.rstrip("/") + "*"))]
    tests = {test for tests in TESTS.values() for test in tests if not (root / test).exists()}
    return [f"TESTS names a place that is gone: {place}" for place in [*starts, *sorted(tests)]]


def ordered_files(tests: Sequence[str], file: str, root: Path) -> list[str]:
    """The files of some tests: first those named like the file, then those that import it."""
    paths: list[Path] = []
    for test in tests:
        path = root / test
        paths += sorted(path.glob("test_*.py")) if path.is_dir() else [path]
    stem = Path(file).stem
    paths.sort(key=lambda path: (stem not in path.stem, not is_about(path, file)))
    return [str(path.relative_to(root)) for path in paths]


def is_about(test: Path, file: str) -> bool:
    """Whether a file of tests is named like a file, or imports it."""
    folder, _, name = file.removesuffix(".py").replace("/", ".").rpartition(".")
    folder = re.escape(folder)
    imports = rf"from {folder} import [^\n]*\b{name}\b|{folder}\.{name}\b"
    return name in test.stem or bool(re.search(imports, test.read_text("utf-8")))
