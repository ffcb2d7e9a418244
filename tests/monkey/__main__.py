"""`python -m tests.monkey`: many episodes on all cores, or one again."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from . import outside, play, script
from .many import Told, episode, prepare
from .shrink import shrink
from .worlds import worlds

EPISODE_KEYS = 1000


def main() -> int:
    """Play, tell, and end with 1 when something broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.monkey", description=__doc__)
    parser.add_argument(
        "--keys", type=int, default=100_000, help="how many keys in all (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, help="the first seed; one episode each (default: from the clock)"
    )
    parser.add_argument(
        "--episode-keys",
        type=int,
        default=EPISODE_KEYS,
        help="keys of one episode (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="processes (default: one for each core)",
    )
    parser.add_argument("--world", help="what to open, instead of one by chance")
    parser.add_argument("--size", help="80x24, with --script")
    parser.add_argument("--color", default="256")
    parser.add_argument("--glyphs", default="unicode")
    parser.add_argument(
        "--busy", action="store_true", help="beside something that takes the machine"
    )
    parser.add_argument(
        "--late", action="store_true", help="threads begin and answer late, as on a starved machine"
    )
    parser.add_argument("--script", help="one episode: these words")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="with --script: look for fewer words that break it too",
    )
    parser.add_argument("--pty", action="store_true", help="the real program in a terminal")
    parser.add_argument(
        "--outside",
        nargs="?",
        const="any",
        choices=("any", *outside.KINDS),
        help="the real program as a job of a shell",
    )
    parser.add_argument("--stop", action="store_true", help="at the first trouble")
    parser.add_argument(
        "--folder", type=Path, help="where everything is made (default: a temporary folder)"
    )
    args = parser.parse_args()
    if args.folder is not None:
        args.folder.mkdir(parents=True, exist_ok=True)
        return _run(args, args.folder.resolve())
    with tempfile.TemporaryDirectory(prefix="monkey-") as folder:
        return _run(args, Path(folder).resolve())


def _run(args: argparse.Namespace, folder: Path) -> int:
    known = worlds(folder)
    if args.world and args.world not in known:
        print(f"There is no world {args.world!r}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    if args.script is not None:
        # The fence is for good, and whoever is behind it cannot remove the folder.
        behind_fence = multiprocessing.get_context("fork").Process(target=_one, args=(args, folder))
        behind_fence.start()
        behind_fence.join()
        return behind_fence.exitcode or 0
    first = args.seed if args.seed is not None else int(time.time()) % 1_000_000_000
    count = max(1, -(-args.keys // args.episode_keys))
    most = 3 * count + 10 if count > 1 else 1  # a key that ends the program ends the episode
    began = time.monotonic()
    print(f"seeds from {first}, {args.episode_keys} keys each, {args.jobs} processes", flush=True)
    how = args.outside or ("pty" if args.pty else "")
    work = [
        (seed, folder, args.episode_keys, args.world, how) for seed in range(first, first + most)
    ]
    context = multiprocessing.get_context("fork")
    enough = (
        context.Event()
    )  # the application takes SIGTERM for itself: processes are asked to end, not told
    with context.Pool(
        args.jobs, initializer=prepare, initargs=(folder, enough), maxtasksperchild=200
    ) as pool:
        told: list[Told] = []
        next_word = 0.0
        for one in pool.imap_unordered(episode, work):
            if one is None:
                continue
            told.append(one)
            if one.trouble:
                print(
                    (
                        f"\nseed {one.seed}, {one.world} {one.kind}, after {one.keys} "
                        f"keys:\n{one.trouble}\nAgain: {one.command}"
                    ),
                    flush=True,
                )
            if (args.stop and one.trouble) or sum(one.keys for one in told) >= args.keys:
                enough.set()
            if time.monotonic() >= next_word:
                next_word = time.monotonic() + 20
                _progress(told, began)
        pool.close()
        pool.join()
    _progress(told, began)
    print(
        "keys by world: "
        + ", ".join(f"{name} {keys:,}" for name, keys in sorted(_by_world(told).items()))
    )
    for kind in sorted({one.kind for one in told if one.kind}):
        those = [one for one in told if one.kind == kind]
        bad = sum(bool(one.trouble) for one in those)
        print(
            f"{kind}: {len(those):,} episodes, {sum(one.keys for one in those):,} keys, {bad} "
            "with trouble"
        )
    return int(any(one.trouble for one in told))


def _by_world(told: list[Told]) -> Counter[str]:
    keys: Counter[str] = Counter()
    for one in told:
        keys[one.world] += one.keys
    return keys


def _progress(told: list[Told], began: float) -> None:
    keys, bad = sum(one.keys for one in told), sum(bool(one.trouble) for one in told)
    took = time.monotonic() - began
    print(
        f"{len(told):,} episodes, {keys:,} keys ({sum(one.words for one in told):,} words with "
        "mouse, sizes, rests), "
        f"{sum(one.left for one in told):,} ended by a key, {bad} with trouble, {took:.0f} s",
        flush=True,
    )


def _one(args: argparse.Namespace, folder: Path) -> None:
    """A script from a command line. Ends the process, with 1 when something broke."""
    prepare(folder)
    size = args.size or "80x24"
    width, _, height = size.partition("x")
    world = worlds(folder)[args.world or "demo"]
    made = play.Episode(
        world,
        script.parse(args.script),
        (int(width), int(height)),
        args.busy,
        args.color,
        args.glyphs,
        late=args.late,
        outside=outside.KINDS[0] if args.outside == "any" else args.outside or "",
    )
    player = (lambda episode: outside.play(episode, folder)) if made.outside else play.play
    played = player(made)
    if played.trouble and args.shrink:
        played = shrink(played, player)
        print(f"Again: {played.command()}")
    print("\n".join(played.trouble) or f"nothing broke in {played.keys} keys")
    sys.exit(int(bool(played.trouble)))


if __name__ == "__main__":
    sys.exit(main())
