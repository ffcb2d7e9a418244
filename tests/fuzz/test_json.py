"""The JSON stream on any bytes in any pieces: it ends, it never raises, and where the pieces are
cut changes nothing.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from powertui.data.formats.json_stream import JsonStream

EXAMPLES = int(os.environ.get("POWERTUI_FUZZ_EXAMPLES", "200"))
ANY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from("XMBEi"), "ts": st.floats() | st.integers()}, optional={"args": VALUES}
)
PIECES = (
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "\\u",
    "\\ud83d",
    '"events"',
    "1",
    "-",
    ".5",
    "e",
    "nul",
    "true",
    " ",
    "\n",
    "\ufeff",
    "NaN",
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A trace that something happened to; or fragments of JSON; or bytes that never were any."""
    which = draw(st.integers(0, 9))
    if which == 0:
        return draw(st.binary(max_size=200))
    if which == 1:
        return "".join(draw(st.lists(st.sampled_from(PIECES), max_size=60))).encode()
    members = draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=2))
    text = bytearray(
        json.dumps(
            {**members, "events": draw(st.lists(EVENTS | VALUES, max_size=6)), "after": 1}
        ).encode()
    )
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        what = draw(st.integers(0, 3))
        if what == 0:
            del text[at:]
        elif what == 1:
            del text[at : at + draw(st.integers(1, 9))]
        elif what == 2:
            text[at:at] = draw(st.sampled_from(PIECES)).encode()
        elif at < len(text):
            text[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(text)


def read(data: bytes, cuts: Sequence[int]) -> tuple[list[tuple[str, Any]], bool, int, str]:
    """Everything that a stream says of these bytes, cut at these places."""
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    stream = JsonStream([data[lo:hi] for lo, hi in itertools.pairwise(ends)], "events")
    found = []
    for key, value in stream:
        found.append((key, value))
        assert len(found) <= len(data) + 1
        stream.raw()
    return found, stream.listed, stream.damaged, stream.problem


@ANY
@given(damaged(), st.lists(st.integers(0, 400), max_size=12))
def test_where_the_pieces_are_cut_changes_nothing(data: bytes, cuts: list[int]) -> None:
    whole = read(data, ())
    assert repr(read(data, cuts)) == repr(whole)
    assert repr(read(data, range(len(data)))) == repr(whole)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


@ANY
@given(damaged())
def test_what_json_reads_the_stream_reads_as_well(data: bytes) -> None:
    try:
        document = json.loads(data.decode("utf-8-sig"), strict=False, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return
    wanted: list[tuple[str, Any]] = []
    for key, value in document.items() if isinstance(document, dict) else [("events", document)]:
        wanted += (
            [(key, item) for item in value]
            if key == "events" and isinstance(value, list)
            else [(key, value)]
        )
    if isinstance(document, (dict, list)):
        assert repr(read(data, ())[0]) == repr(wanted)
        assert read(data, ())[2:] == (0, "")
    else:
        assert read(data, ())[3]
