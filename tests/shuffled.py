"""The tests in another order each time: what one leaves behind must not carry the next.

    python -m pytest -p tests.shuffled                 an order of chance; the first lines say its
                                                       number
    python -m pytest -p tests.shuffled --order 4711    that order again

Files in any order, and inside a file its tests in any order: what a file makes once for all its
tests is still made once.
"""

from __future__ import annotations

import random

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--order", type=int, default=None, help="the number of an order that was printed before"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.order is None:
        config.option.order = random.SystemRandom().randrange(100_000)


def pytest_report_header(config: pytest.Config) -> str:
    return (
        f"order: {config.option.order} (again with -p tests.shuffled --order {config.option.order})"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chance = random.Random(config.option.order)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(str(item.path), []).append(item)
    order = sorted(files)  # whatever order they were named in
    chance.shuffle(order)
    for path in order:
        chance.shuffle(files[path])
    items[:] = [item for path in order for item in files[path]]
