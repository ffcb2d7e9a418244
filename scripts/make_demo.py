"""Make the demo that ships in the package from a recorded logdir: the same bytes from the same
recording.

    python scripts/make_demo.py LOGDIR [-o powertui/demo/data]

LOGDIR holds `power.csv` and one run below `logs/`. The profile is gzipped without a time stamp. Of
the tfevents only the serialised graph of `batch_<N>` is left out (its record, and so its wall time,
stays): powertui never reads it.
"""

from __future__ import annotations

import argparse
import gzip
import io
import shutil
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from powertui.data import logdir
from powertui.data.wire import schemas
from powertui.data.wire.crc32c import crc32c, masked

LIMIT = 2_000_000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logdir", type=Path)
    default = Path(__file__).resolve().parent.parent / "powertui" / "demo" / "data"
    parser.add_argument("-o", "--output", type=Path, default=default)
    args = parser.parse_args()
    source, target = args.logdir.resolve(), args.output.resolve()
    runs = [run for run in logdir.scan(source).runs if run.profiles]
    if len(runs) != 1:
        print(f"{source}: expected one run with a profile, found {len(runs)}", file=sys.stderr)
        return 1
    if target.exists():
        shutil.rmtree(target)
    for profile in runs[0].profiles:
        write(target, source, Path(profile.path + ".gz"), packed(Path(profile.path).read_bytes()))
    for event in runs[0].tfevents:
        write(target, source, Path(event.path), b"".join(trimmed(Path(event.path).read_bytes())))
    write(target, source, source / "power.csv", (source / "power.csv").read_bytes())
    total = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {total:,} bytes")
    return 0 if total <= LIMIT else 1


def write(target: Path, source: Path, path: Path, content: bytes) -> None:
    """At the same place below the target."""
    place = target / path.relative_to(source)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def packed(content: bytes) -> bytes:
    """Gzip that depends on nothing but the content."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as stream:
        stream.write(content)
    return buffer.getvalue()


def trimmed(content: bytes) -> Iterator[bytes]:
    """The records of a tfevents file, without the graphs in them."""
    at = 0
    while at + 12 <= len(content):
        length = struct.unpack_from("<Q", content, at)[0]
        yield record(without_graph(content[at + 12 : at + 12 + length]))
        at += 16 + length


def without_graph(payload: bytes) -> bytes:
    """The event with the text of graph_run_metadata tensors emptied; any other event as it is."""
    event = schemas.message("Event").FromString(payload)
    changed = False
    for value in event.summary.value:  # type: ignore[attr-defined]
        if value.metadata.plugin_data.plugin_name.startswith("graph_run_metadata"):
            del value.tensor.string_val[:]
            changed = True
    return event.SerializeToString(deterministic=True) if changed else payload


def record(payload: bytes) -> bytes:
    """One TFRecord."""
    length = struct.pack("<Q", len(payload))
    return length + checksum(length) + payload + checksum(payload)


def checksum(data: bytes) -> bytes:
    return struct.pack("<I", int(masked(crc32c(data, [0], [len(data)]))[0]))


if __name__ == "__main__":
    raise SystemExit(main())
