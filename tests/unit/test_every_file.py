"""Every file that lies in ../shared opens by itself, with what it is known to hold
(tests/data/known_profiles.tsv), or is what known_files.tsv says: a power log, scalars, or refused
with one sentence and a way on that fits its maker. Folders list their runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data import loading, logdir
from powertui.data.formats import filenames, registry
from powertui.data.power import registry as power
from powertui.errors import PowertuiError, UnreadableFile

TABLE = Path(__file__).parents[1] / "data" / "known_profiles.tsv"
KNOWN = {
    path: told for path, *told in (line.split("\t") for line in TABLE.read_text().splitlines()[1:])
}
FILES = dict(
    line.split("\t")
    for line in (TABLE.parent / "known_files.tsv").read_text(encoding="utf-8").splitlines()[1:]
)
# Profiles that were recorded because their steps or first sentence are wrong today: a row here
# would hold the wrong answer.
ANSWERS_ARE_WRONG = "own/sentences/"
RUNS = {  # folder → how many runs it lists
    "public/e4040_hd2551": 1,
    "public/e4040_yg2820": 2,
    "public/ibm_aiu": 3,
    "public/kineto_hta_diff": 2,
    "public/kineto_hta_ranks": 1,
    "public/kineto_two_ranks": 1,
    "public/tf_gpu_multiworker": 1,
    "public/tb_profile_demo": 2,
    "public/tpu_v2_json_tools": 1,
    "public/power_misc": 0,
    "own/jax_cpu": 2,
    "own/long_training": 2,
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_profile_opens_with_what_it_holds(shared_data: Path, name: str) -> None:
    path = shared_data / name
    if not path.exists():
        pytest.skip("this recording does not lie there")
    run = loading.load_run(logdir.scan(path).runs[0])
    trace = run.traces[0]
    warnings = "; ".join(
        f"{warn.count} x {warn.cause}" if warn.count > 1 else warn.cause for warn in trace.warnings
    )
    told = (
        trace.format,
        len(trace.devices),
        trace.event_count,
        len(run.steps[0]),
        len(run.epochs[0]),
        trace.host,
        warnings,
    )
    assert list(map(str, told)) == KNOWN[name]


def told_of(path: Path) -> str:
    """What a file that is no profile is."""
    if filenames.is_events(path.name):
        return "scalars"
    try:
        log = power.load(str(path))
    except PowertuiError:
        with pytest.raises(UnreadableFile) as caught:
            registry.read(path)
        assert caught.value.hint
        assert "tf.profiler" not in caught.value.hint or "torch.profiler" in caught.value.hint
        return f"refused: {caught.value.problem}"
    return f"power {log.dialect}: {len(log.series)} channels, {sum(map(len, log.series))} readings"


def test_no_file_is_left_out(shared_data: Path) -> None:
    """A file that is added to ../shared gets a row here or among the profiles."""
    found = {
        path.relative_to(shared_data).as_posix()
        for top in ("public", "own")
        for path in (shared_data / top).rglob("*")
        if path.is_file()
    }
    unknown = {
        name for name in found - set(KNOWN) - set(FILES) if not name.startswith(ANSWERS_ARE_WRONG)
    }
    assert not unknown
    assert not set(KNOWN) & set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_it_is_known_as(shared_data: Path, name: str) -> None:
    path = shared_data / name
    if not path.exists():
        pytest.skip("this file does not lie there")
    assert told_of(path) == FILES[name]


@pytest.mark.parametrize("name", RUNS)
def test_a_folder_lists_its_runs(shared_data: Path, name: str) -> None:
    assert len(logdir.scan(shared_data / name).runs) == RUNS[name]


def test_a_mangled_profile_says_how_it_was_lost(shared_data: Path) -> None:
    (run,) = logdir.scan(shared_data / "public/xplane_utf8_mangled_corrupt").runs
    with pytest.raises(UnreadableFile, match="decoded as text") as caught:
        loading.load_run(run)
    assert "as binary" in (caught.value.hint or "")
