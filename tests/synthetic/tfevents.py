"""tfevents files with scalars, in TensorFlow 2's form: one record a value, checksums right."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from .xplane import blob, double, number


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """CRC-32C, masked as TFRecord does."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(record: bytes) -> bytes:
    """One TFRecord."""
    head = struct.pack("<Q", len(record))
    return (
        head + struct.pack("<I", masked_crc(head)) + record + struct.pack("<I", masked_crc(record))
    )


def scalar(wall: float, step: int, tag: str, value: float) -> bytes:
    """An Event that holds one scalar as a float tensor, tagged for the scalars plugin."""
    tensor = number(1, 1) + blob(2, b"") + blob(4, struct.pack("<f", value))
    metadata = blob(1, blob(1, b"scalars"))
    item = blob(1, tag.encode()) + blob(9, metadata) + blob(8, tensor)
    return double(1, wall) + number(2, step) + blob(5, blob(1, item))


def keras_graph(wall: float) -> bytes:
    """The record of the model's graph, which Keras writes just before the first step."""
    metadata = blob(1, blob(1, b"graph_keras_model"))
    item = blob(1, b"keras") + blob(9, metadata) + blob(8, number(1, 7) + blob(8, b"{}"))
    return double(1, wall) + blob(5, blob(1, item))


def write_scalars(
    path: Path,
    rows: Iterable[tuple[float, int, str, float]],
    begin: float,
    *,
    graph: float | None = None,
) -> None:
    """A file as Keras' TensorBoard callback writes it: the version record, the model's graph if
    asked for, one record a value.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(frame(double(1, begin) + blob(3, b"brain.Event:2")))
        if graph is not None:
            file.write(frame(keras_graph(graph)))
        for wall, step, tag, value in rows:
            file.write(frame(scalar(wall, step, tag, value)))
