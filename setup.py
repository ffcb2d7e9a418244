"""Builds the scanners (protobuf on the wire, events of JSON) where there is a compiler. Everything else is said in pyproject.toml.

The extensions are optional: without a compiler the installation succeeds and powertui decodes with numpy and json alone.
One binary serves every Python from 3.11 on (limited API); 3.10 has no buffer protocol in it, and builds of
Python without a GIL have no limited API yet: those get a binary of their own.
"""

import sys
import sysconfig

from setuptools import Extension, setup

LIMITED = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            name,
            sources=[source],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
        for name, source in (
            ("powertui.data.wire._scan", "powertui/data/wire/scan.c"),
            ("powertui.data.formats._json_scan", "powertui/data/formats/json_scan.c"),
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
