from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui import demo
from powertui.data.formats import tfevents, tfevents_columns, tfevents_records
from powertui.data.formats.tfevents import Tail, read
from powertui.errors import UnreadableFile
from tests.synthetic.tfevents import frame, scalar, write_scalars
from tests.synthetic.xplane import blob, double, number

WALL = 1_700_000_000.25


def header(wall: float = 1_700_000_000.0) -> bytes:
    return frame(double(1, wall) + blob(3, b"brain.Event:2"))


def summary(wall: float, step: int, *values: bytes) -> bytes:
    return frame(
        double(1, wall)
        + (number(2, step) if step else b"")
        + blob(5, b"".join(blob(1, value) for value in values))
    )


def simple(tag: str, value: float) -> bytes:
    return blob(1, tag.encode()) + struct.pack("<Bf", 2 << 3 | 5, value)


def tensor(tag: str, plugin: str, *fields: bytes) -> bytes:
    return (
        blob(1, tag.encode())
        + blob(9, blob(1, blob(1, plugin.encode())))
        + blob(8, b"".join(fields))
    )


def points(path: Path, tag: str) -> list[tuple[int, int, float]]:
    series = read(str(path)).series(tag)
    assert series is not None
    return list(
        zip(series.steps.tolist(), series.wall_ns.tolist(), series.values.tolist(), strict=True)
    )


# ── scalars ──────────────────────────────────────────────────────────────────────────────────────


def test_both_encodings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.node.7.of.77.0.v2"
    content = (
        header()
        + summary(WALL, 0, simple("epoch_loss", 0.5))
        + scalar_record(WALL + 1, 1, "epoch_loss", 0.25)
    )
    path.write_bytes(content)
    log = read(str(path), "train")
    assert [(s.tag, s.group) for s in log.scalars] == [("epoch_loss", "train")]
    assert points(path, "epoch_loss") == [
        (0, 1_700_000_000_250_000_000, 0.5),
        (1, 1_700_000_001_250_000_000, 0.25),
    ]
    assert (log.host, log.pid, log.records) == ("node.7.of", 77, 3)
    assert (log.header_ns, log.first_ns, log.last_ns) == (
        1_700_000_000 * 10**9,
        1_700_000_000_250_000_000,
        1_700_000_001_250_000_000,
    )
    assert not log.warnings


def scalar_record(wall: float, step: int, tag: str, value: float) -> bytes:
    return frame(scalar(wall, step, tag, value))


FORMS = [
    (1, blob(4, struct.pack("<f", 1.5)), 1.5),
    (2, blob(4, struct.pack("<d", 1.5)), 1.5),
    (3, blob(4, struct.pack("<i", -7)), -7.0),
    (9, blob(4, struct.pack("<q", 1 << 40)), float(1 << 40)),
    (19, blob(4, struct.pack("<e", 0.5)), 0.5),
    (14, blob(4, struct.pack("<f", 1.5)[2:]), 1.5),  # bfloat16: the upper half of a float
    (1, blob(5, struct.pack("<f", 2.5)), 2.5),  # float_val, packed
    (2, blob(6, struct.pack("<d", 2.5)), 2.5),
    (3, blob(7, b"\x05"), 5.0),
    (9, blob(10, b"\x2a"), 42.0),
    (10, blob(11, b"\x01"), 1.0),
    (1, b"", 0.0),  # proto3 leaves a zero out
]


@pytest.mark.parametrize(("dtype", "body", "value"), FORMS)
def test_every_form_of_a_one_element_tensor(
    tmp_path: Path, dtype: int, body: bytes, value: float
) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(
        header() + summary(WALL, 3, tensor("t", "scalars", number(1, dtype), blob(2, b""), body))
    )
    assert points(path, "t")[0][::2] == (3, value)


@pytest.mark.parametrize(
    "value",
    [
        tensor("h", "histograms", number(1, 2), blob(2, blob(2, number(1, 3))), blob(4, bytes(24))),
        tensor("t", "text", number(1, 7), blob(8, b"words")),
        tensor(
            "v", "scalars", number(1, 1), blob(2, blob(2, number(1, 4))), blob(4, bytes(16))
        ),  # a vector is no scalar
        blob(1, b"i") + blob(4, b"image"),
    ],
)
def test_other_values_are_no_scalars(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(header() + summary(WALL, 0, value))
    log = read(str(path))
    assert log.scalars == ()
    assert log.records == 2
    assert not log.warnings


def test_the_plugin_of_a_tag_may_stand_in_its_first_record_only(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    words = blob(1, b"notes") + blob(8, number(1, 1) + blob(4, bytes(4)))
    path.write_bytes(
        header()
        + summary(WALL, 0, tensor("notes", "text", number(1, 7), blob(8, b"x")))
        + summary(WALL, 1, words)
    )
    assert read(str(path)).scalars == ()


def test_marks_of_training_and_profiler(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1616280767.madrid.19202.414.v2"
    path.write_bytes(
        header()
        + frame(double(1, WALL) + blob(4, b"\x00graph that is never parsed"))
        + summary(WALL + 1, 0, tensor("keras", "graph_keras_model", number(1, 7), blob(8, b"{}")))
        + summary(
            WALL + 2,
            520,
            tensor("batch_520", "graph_run_metadata_graph", number(1, 7), blob(8, b"\x1a")),
        )
        + summary(
            WALL + 3, 0, tensor("ipmi_data.csv", "powerboard", number(1, 7), blob(8, b"./data"))
        )
    )
    log = read(str(path))
    assert log.keras_graph_ns == 1_700_000_001_250_000_000
    assert log.batches == ((520, 1_700_000_002_250_000_000),)
    assert log.markers == (("ipmi_data.csv", "./data", 1_700_000_003_250_000_000),)
    assert log.first_ns == 1_700_000_000_250_000_000
    assert log.records == 5


# ── damage ───────────────────────────────────────────────────────────────────────────────────────


def rows(count: int) -> list[tuple[float, int, str, float]]:
    return [(WALL + i, i, "loss", i / 8) for i in range(count)]


def test_a_damaged_payload_is_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    write_scalars(path, rows(5), WALL - 1)
    content = bytearray(path.read_bytes())
    size = len(frame(scalar(*rows(5)[0])))
    content[len(header()) + size + 30] ^= 1
    path.write_bytes(content)
    log = read(str(path))
    assert [p[0] for p in points(path, "loss")] == [0, 2, 3, 4]
    assert [(w.count, w.cause) for w in log.warnings] == [
        (1, "a record's checksum is wrong: skipped")
    ]


def test_a_damaged_length_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    write_scalars(path, rows(5), WALL - 1)
    content = bytearray(path.read_bytes())
    at = len(header()) + 2 * len(frame(scalar(*rows(5)[1]))) - 2
    for position in range(at, at + 10):
        content[position] ^= 0x55
    path.write_bytes(content)
    log = read(str(path))
    assert len(points(path, "loss")) >= 1
    assert any("length is damaged" in warning.cause for warning in log.warnings)


def test_an_unfinished_last_record_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    write_scalars(path, rows(5), WALL - 1)
    whole = path.read_bytes()
    for cut in (1, 5, 20, 40):
        path.write_bytes(whole[:-cut])
        log = read(str(path))
        assert len(points(path, "loss")) == 4
        assert "unfinished" in log.warnings[0].cause


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_bytes_are_fatal(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("noise") / "events.out.tfevents.1.h"
    write_scalars(path, rows(6), WALL - 1)
    content = path.read_bytes()
    path.write_bytes(content[:at] + noise + content[at + len(noise) :])
    try:
        log = read(str(path))
    except UnreadableFile:
        return
    assert log.records <= 8
    assert all(warning.cause for warning in log.warnings)


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 7, b"not a record at all, but long enough to hold one"]
)
def test_nothing_readable_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile) as caught:
        read(str(path))
    assert caught.value.problem
    assert caught.value.hint


def test_impossible_wall_times_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(
        header()
        + scalar_record(float("nan"), 0, "loss", 1.0)
        + scalar_record(-1e300, 1, "loss", 1.0)
    )
    log = read(str(path))
    assert log.scalars == ()
    assert log.warnings[0].count == 2


# ── following ────────────────────────────────────────────────────────────────────────────────────


def test_a_growing_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(header())
    tail = Tail(str(path), "train")
    assert tail.poll() == []
    record = scalar_record(WALL, 0, "loss", 0.5)
    with path.open("ab") as stream:
        stream.write(record[:10])
        stream.flush()
        assert tail.poll() == []
        stream.write(record[10:])
        stream.flush()
        assert [(p.tag, p.step, p.value) for p in tail.poll()] == [("loss", 0, 0.5)]
        stream.write(scalar_record(WALL + 1, 1, "loss", 0.25) * 3)
    assert len(tail.poll()) == 3
    assert tail.poll() == []
    assert tail.records == 5
    assert len(tail.log().scalars[0].steps) == 4


def test_a_replaced_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    write_scalars(path, rows(5), WALL - 1)
    tail = Tail(str(path))
    assert len(tail.poll()) == 5
    write_scalars(path, rows(2), WALL - 1)
    assert len(tail.poll()) == 2
    assert len(tail.log().scalars[0].steps) == 2


def test_a_file_that_ends_within_a_window_is_not_asked_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host.1.0.v2"
    write_scalars(path, [(1_700_000_000.0 + i, i, "loss", 1.0) for i in range(50)], 1_700_000_000.0)
    whole = read(str(path)).series("loss")
    windows: list[int] = []
    really = Tail._window
    monkeypatch.setattr(
        Tail, "_window", lambda self, *args: windows.append(self._offset) or really(self, *args)
    )
    assert read(str(path)).records == 51
    assert windows == [0]
    monkeypatch.setattr(tfevents, "_WINDOW_BYTES", 200)
    windows.clear()
    found = read(str(path)).series("loss")
    assert found is not None
    assert whole is not None
    assert found.steps.tolist() == whole.steps.tolist()
    assert len(windows) > 3


def test_records_longer_than_a_window_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.out.tfevents.1.h"
    long = frame(double(1, WALL) + blob(4, bytes(5000)))
    path.write_bytes(
        header()
        + long
        + scalar_record(WALL, 1, "loss", 1.0)
        + long
        + scalar_record(WALL, 2, "loss", 2.0)
    )
    monkeypatch.setattr(tfevents, "_WINDOW_BYTES", 200)
    assert [p[0] for p in points(path, "loss")] == [1, 2]
    assert read(str(path)).records == 5


# ── real files ───────────────────────────────────────────────────────────────────────────────────


def test_the_demos_epochs() -> None:
    (train,) = demo.folder().glob("logs/**/train/events*")
    log = read(str(train), "train")
    assert {s.tag for s in log.scalars} == {"epoch_accuracy", "epoch_loss", "epoch_learning_rate"}
    assert {tuple(s.steps.tolist()) for s in log.scalars} == {(0, 1)}
    assert log.batches[0][0] == 200
    assert log.keras_graph_ns is not None
    assert not log.warnings


def test_every_recorded_file_reads_whole(shared_data: Path) -> None:
    files = [path for path in shared_data.rglob("*tfevents*") if path.is_file()]
    logs = [read(str(path)) for path in files]
    assert len(logs) >= 15
    assert not [warning for log in logs for warning in log.warnings]
    histograms = next(log for log in logs if "1699381501.instance-2" in log.path)
    assert histograms.records == 564
    loss = histograms.series("epoch_loss")
    assert loss is not None
    assert loss.steps.tolist() == list(range(20))
    assert np.allclose(loss.values[[0, -1]], [0.8784105, 0.2725593], atol=1e-6)


def test_columns_tell_the_same_as_protobuf_record_by_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    records = [header()]
    for step in range(400):
        tag = f"tag {int(rng.integers(0, 4))}" * int(rng.integers(1, 3))
        kind = int(rng.integers(0, 5))
        if kind == 0:
            records.append(summary(WALL + step, step, simple(tag, step)))
        elif kind == 1:
            records.append(
                summary(
                    WALL + step,
                    1 << 40 | step,
                    tensor(tag, "scalars", number(1, 2), blob(4, struct.pack("<d", step))),
                )
            )
        elif kind == 2:
            records.append(summary(WALL + step, step, simple("two", step), simple("two", -step)))
        elif kind == 3:
            records.append(
                summary(WALL + step, step, tensor(tag, "scalars", number(1, 9), blob(10, b"\x07")))
            )
        else:
            records.append(
                summary(
                    WALL + step,
                    step,
                    tensor(tag, "scalars", number(1, 1), blob(4, struct.pack("<f", -step))),
                )
            )
    path = tmp_path / "events.out.tfevents.1.h"
    path.write_bytes(b"".join(records))

    def told() -> list[tuple[object, ...]]:
        return sorted(
            (s.tag, s.steps.tolist(), s.wall_ns.tolist(), s.values.tolist())
            for s in read(str(path)).scalars
        )

    quick = told()
    every = tfevents_columns.WindowRecords([], np.arange(400 + 1))
    monkeypatch.setattr(tfevents_columns, "scan", lambda data, lo, hi: every)
    assert quick == told()


def test_records_that_protobuf_need_not_look_at_say_the_same_as_with_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted((data / "logdirs").rglob("*tfevents*")) + sorted(
        demo.folder().rglob("*tfevents*")
    )
    assert len(files) > 2
    quick = [tfevents.read(str(path), "") for path in files]
    looked: list[bool] = []
    monkeypatch.setattr(tfevents_records, "record_aside", lambda *_: looked.append(True))
    for path, before in zip(files, quick, strict=True):
        again = tfevents.read(str(path), "")
        for name in (
            "first_ns",
            "last_ns",
            "header_ns",
            "keras_graph_ns",
            "batches",
            "markers",
            "records",
            "warnings",
        ):
            assert getattr(again, name) == getattr(before, name), (path, name)
        assert [(one.tag, one.values.tolist()) for one in again.scalars] == [
            (one.tag, one.values.tolist()) for one in before.scalars
        ]
    assert len(looked) > len(files)
    assert any(one.keras_graph_ns for one in quick)
    assert any(one.batches for one in quick)


def test_a_cut_record_is_left_to_protobuf() -> None:
    plugin = blob(9, blob(1, blob(1, b"graph_run_metadata")))
    value = blob(1, b"batch_7") + blob(8, number(1, 7) + blob(2, b"")) + plugin
    record = double(1, 1.0) + number(2, 7) + blob(5, blob(1, value)) + blob(10, b"who wrote it")
    whole = tfevents_records.record_aside(memoryview(record), frozenset())
    assert whole is not None
    assert whole.values == (("batch_7", "graph_run_metadata"),)
    assert (
        tfevents_records.record_aside(memoryview(record), frozenset({"graph_run_metadata"})) is None
    )
    ends = {len(record) - len(blob(10, b"who wrote it"))}  # there it is whole, too
    cuts = [
        cut
        for cut in range(len(record))
        if tfevents_records.record_aside(memoryview(record)[:cut], frozenset()) is not None
    ]
    assert set(cuts) == ends


@given(
    st.lists(
        st.sampled_from(
            [b"loss", b"acc", b"", b"b\x00", b"b\xff\xfe", b"b\xfe\xff", b"longer", b"\x00\x00"]
        ),
        max_size=12,
    )
)
def test_few_rows_are_parted_by_tag_as_many_are(tags: list[bytes]) -> None:
    data = np.frombuffer(b"".join(tags) + b"-", np.uint8)
    hi = np.cumsum([len(tag) for tag in tags], dtype=np.int64)
    lo = hi - np.array([len(tag) for tag in tags], np.int64)
    few = tfevents_columns._by_tag(data, lo, hi)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfevents_columns, "_MAX_SINGLE_ROWS", -1)
        many = tfevents_columns._by_tag(data, lo, hi)
    assert [(tag, rows.tolist()) for tag, rows in few] == [
        (tag, rows.tolist()) for tag, rows in many
    ]


_SINGLE_VALUES = (
    simple("loss", 0.25),
    simple("b", float("nan")),
    tensor("loss", "scalars", number(1, 1), blob(2, b""), blob(4, struct.pack("<f", 3.5))),
    tensor("loss", "scalars", number(1, 2), blob(4, struct.pack("<d", 1e300))),
    tensor("acc", "scalars", number(1, 1), blob(2, b""), blob(5, struct.pack("<f", -1.0))),
    tensor("acc", "scalars", number(1, 2), blob(6, struct.pack("<d", -1.0))),
    tensor("acc", "", number(1, 1), blob(4, struct.pack("<f", 2.0))),
    tensor("acc", "scalars", number(1, 1), blob(2, blob(2, number(1, 1))), blob(4, b"abcd")),
    tensor("acc", "histograms", number(1, 1), blob(4, b"abcd")),
    tensor("acc", "scalars", number(1, 3), blob(7, b"\x05")),
    blob(1, b"text") + blob(5, b"sound"),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1e9, 1_700_000_000.123456, 2e8, float("inf")]),
            st.sampled_from([0, 1, 300, 1 << 40, 1 << 63]),
            st.lists(st.sampled_from(_SINGLE_VALUES), min_size=1, max_size=2),
        ),
        max_size=8,
    )
)
def test_a_few_records_say_the_same_one_by_one_as_in_columns(
    rows: list[tuple[float, int, list[bytes]]],
) -> None:
    # Without what frames them: length and checksums.
    records = [summary(wall, step, *values)[12:-4] for wall, step, values in rows]
    data = np.frombuffer(b"".join(records) + b"-", np.uint8)
    hi = np.cumsum([len(record) for record in records], dtype=np.int64)
    lo = hi - np.array([len(record) for record in records], np.int64)
    few = tfevents_columns.scan(data, lo, hi)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfevents_columns, "_MAX_SINGLE_RECORDS", -1)
        many = tfevents_columns.scan(data, lo, hi)
    assert few.rest.tolist() == many.rest.tolist()
    assert [scalars.tag for scalars in few.scalars] == [scalars.tag for scalars in many.scalars]
    for ours, theirs in zip(few.scalars, many.scalars, strict=True):
        for column, expected in zip(ours[1:], theirs[1:], strict=True):
            np.testing.assert_array_equal(column, expected)
