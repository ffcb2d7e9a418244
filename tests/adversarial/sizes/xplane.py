"""XPlane profiles that are large in one respect."""

from __future__ import annotations

from collections.abc import Callable

from tests.adversarial.sizes.protobuf import length_delimited, messages, number
from tests.adversarial.sizes.shapes import Pieces, Shape


def _plane(name: bytes, *content: bytes) -> bytes:
    return length_delimited(1, length_delimited(2, name) + b"".join(content))


def _line(i: int, *events: bytes) -> bytes:
    return length_delimited(
        3,
        number(1, i)
        + length_delimited(2, b"line%d" % i)
        + number(3, 1)
        + b"".join(length_delimited(4, event) for event in events),
    )


def _metadata(field: int, i: int, name: bytes) -> bytes:
    return length_delimited(
        field, number(1, i) + length_delimited(2, number(1, i) + length_delimited(2, name))
    )


_XEVENT = number(1, 1) + number(2, 1_000) + number(3, 1_000)
_XPLANE = "host.xplane.pb"


def _one_plane(make: Callable[[int], bytes]) -> Callable[[int], Pieces]:
    """A plane with so many of something, and one event."""

    def pieces(count: int) -> Pieces:
        yield _plane(
            b"/host:CPU",
            _metadata(4, 1, b"op"),
            _line(1, _XEVENT),
            *(make(i) for i in range(2, count + 2)),
        )

    return pieces


def _stats_of_one_event(count: int) -> Pieces:
    stats = b"".join(length_delimited(4, number(1, i + 1) + number(4, i)) for i in range(count))
    yield _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT + stats))


def _events_of_one_line(count: int) -> Pieces:
    yield _plane(
        b"/host:CPU",
        _metadata(4, 1, b"op"),
        _line(1, *(number(1, i) + number(2, i) for i in range(count))),
    )


XPLANE = (
    Shape(
        "xplane: planes",
        _XPLANE,
        messages(lambda i: _plane(b"/host:%d" % i, _metadata(4, 1, b"op"), _line(1, _XEVENT))),
        300_000,
    ),
    Shape(
        "xplane: devices",
        _XPLANE,
        messages(
            lambda i: _plane(b"/device:GPU:%d" % i, _metadata(4, 1, b"op"), _line(1, _XEVENT))
        ),
        300_000,
    ),
    Shape(
        "xplane: planes of one name",
        _XPLANE,
        messages(lambda i: _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT))),
        300_000,
    ),
    Shape(
        "xplane: empty planes",
        _XPLANE,
        messages(
            lambda i: b"\x0a\x00", _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT))
        ),
        16 << 20,
    ),
    Shape("xplane: lines", _XPLANE, _one_plane(lambda i: _line(i, _XEVENT)), 500_000),
    Shape("xplane: empty lines", _XPLANE, _one_plane(lambda i: b"\x1a\x00"), 16 << 20),
    Shape(
        "xplane: event metadata",
        _XPLANE,
        _one_plane(lambda i: _metadata(4, i, b"op%d" % i)),
        1_000_000,
    ),
    Shape(
        "xplane: stat metadata",
        _XPLANE,
        _one_plane(lambda i: _metadata(5, i, b"stat%d" % i)),
        1_000_000,
    ),
    Shape(
        "xplane: stats of a plane",
        _XPLANE,
        _one_plane(lambda i: length_delimited(6, number(1, i) + number(4, i))),
        1_000_000,
    ),
    Shape("xplane: stats of one event", _XPLANE, _stats_of_one_event, 1_000_000),
    Shape("xplane: events of unknown names", _XPLANE, _events_of_one_line, 1_000_000),
    Shape(
        "xplane: errors",
        _XPLANE,
        messages(
            lambda i: length_delimited(2, b"error %d" % i),
            _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT)),
        ),
        1_000_000,
    ),
    Shape(
        "xplane: host names",
        _XPLANE,
        messages(
            lambda i: length_delimited(4, b"host%d" % i),
            _plane(b"/host:CPU", _metadata(4, 1, b"op"), _line(1, _XEVENT)),
        ),
        1_000_000,
    ),
)
