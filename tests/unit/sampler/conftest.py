from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from powertui.sampler import targets
from powertui.sampler.source import Options
from tests.bmc.fixtures import bmc, ipmi, prometheus, redfish

__all__ = ["bmc", "ipmi", "prometheus", "redfish"]

PATIENT_S = 120.0


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    """Where a test names no limit for an answer, a busy machine has its time to give one."""
    made = Options.__init__
    names = [
        one.name
        for one in inspect.signature(made).parameters.values()
        if one.default is not one.empty
    ]
    given = dict(zip(names, made.__defaults__ or (), strict=True)) | {"timeout": PATIENT_S}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made, "__defaults__", tuple(given.values()))
        patch.setattr(targets, "_DEFAULT_TIMEOUT_S", PATIENT_S)
        assert Options().timeout == PATIENT_S
        yield
