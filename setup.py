"""Builds the wire scanner where there is a compiler. Everything else is said in pyproject.toml.

The extension is optional: without a compiler the installation succeeds and powertui decodes with numpy alone.
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
            "powertui.data.wire._scan",
            sources=["powertui/data/wire/scan.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
