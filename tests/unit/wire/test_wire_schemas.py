"""Messages made at run time agree with the bytes that TensorFlow writes."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

from powertui.data.wire import schemas
from powertui.data.wire.result_schemas import RESULT_SCHEMAS
from powertui.data.wire.types import FIXED32, FIXED64, LEN, VARINT
from tests.unit.wire.wire_oracle import field


@pytest.mark.parametrize("name", sorted({**schemas._SCHEMAS, **RESULT_SCHEMAS}))
def test_every_message_can_be_made_written_and_read(name: str) -> None:
    made = schemas.message(name)
    assert made.FromString(made().SerializeToString()) == made()
    assert schemas.message(name) is made


def test_a_scalar_in_both_encodings() -> None:
    def bits(value: float) -> int:
        return struct.unpack("<I", struct.pack("<f", value))[0]

    old = field(1, LEN, b"epoch_loss") + field(2, FIXED32, bits(0.5))
    tensor = field(1, VARINT, 1) + field(5, LEN, struct.pack("<f", 0.25))
    new = (
        field(1, LEN, b"loss")
        + field(9, LEN, field(1, LEN, field(1, LEN, b"scalars")))
        + field(8, LEN, tensor)
    )
    wall = struct.unpack("<Q", struct.pack("<d", 1616280767.25))[0]
    record = (
        field(1, FIXED64, wall)
        + field(2, VARINT, 3)
        + field(5, LEN, field(1, LEN, old) + field(1, LEN, new))
    )

    event = schemas.message("Event").FromString(record)
    first, second = event.summary.value
    assert (event.wall_time, event.step, event.WhichOneof("what")) == (1616280767.25, 3, "summary")
    assert (first.tag, first.WhichOneof("value"), first.simple_value) == (
        "epoch_loss",
        "simple_value",
        0.5,
    )
    assert (second.WhichOneof("value"), list(second.tensor.float_val)) == ("tensor", [0.25])
    assert second.metadata.plugin_data.plugin_name == "scalars"


def test_fields_that_are_not_named_here_are_kept() -> None:
    record = field(2, VARINT, 1) + field(99, LEN, b"later")
    assert schemas.message("Event").FromString(record).SerializeToString() == record


def test_maps_and_choices_of_a_profile() -> None:
    space = schemas.message("XSpace")()
    plane = space.planes.add(name="/host:CPU")
    plane.event_metadata[-7].name = "MatMul"
    plane.stats.add(metadata_id=1, ref_value=2)
    again = schemas.message("XSpace").FromString(space.SerializeToString())
    assert again.planes[0].event_metadata[-7].name == "MatMul"
    assert again.planes[0].stats[0].WhichOneof("value") == "ref_value"


_DAMAGE = """
import random
from powertui.data.wire import schemas
from powertui.data.wire.result_schemas import RESULT_SCHEMAS
from google.protobuf.internal import api_implementation

draw, refused = random.Random(1), 0
for name in (*schemas._SCHEMAS, *RESULT_SCHEMAS):
    cases = [bytes([number << 3 | 2, 2]) + b"\\xc3\\x28" for number in range(1, 11)]  # a text that is no UTF-8
    cases += [bytes(draw.randrange(256) for _ in range(draw.randrange(1, 30))) for _ in range(200)]
    cases += [b"\\x0a" * 40_000, b"\\x0b" * 5_000]  # nested without end
    for data in cases:
        try:
            schemas.parsed(name, data)
        except schemas.Undecodable:
            refused += 1
print(api_implementation.Type(), refused > 1000)
"""


@pytest.mark.parametrize("which", ["", "python"])
def test_a_part_is_not_taken_for_the_whole(which: str) -> None:
    """The end of a group that never began: Debian 12's protobuf, compiled from C++, stops there and
    warns.
    """
    program = """
from powertui.data.wire import schemas
event = schemas.message("Event")(step=7).SerializeToString()
try:
    print(schemas.parsed("Event", event + b"\\x0c" + event))
except schemas.Undecodable:
    print("refused")
"""
    environment = {
        **os.environ,
        **({"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": which} if which else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("refused", "")


@pytest.mark.parametrize("which", ["", "python"])
def test_damage_is_one_kind_of_error_whichever_protobuf_is_there(which: str) -> None:
    """PyPI has the one in Python alone for POWER."""
    environment = {
        **os.environ,
        **({"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": which} if which else {}),
    }
    done = subprocess.run(
        [sys.executable, "-c", _DAMAGE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    kind, enough = done.stdout.split()
    said = done.stderr.splitlines()
    if (
        kind == "cpp"
    ):  # Debian 12's: its library writes of texts that are no UTF-8, whatever anybody asks
        said = [line for line in said if not line.startswith("[libprotobuf ERROR")]
    assert not said
    assert kind == which or not which
    assert enough == "True"
