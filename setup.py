"""Build the scanners (protobuf on the wire, events of JSON) where there is a compiler.

Everything else is in pyproject.toml.

The extensions are optional: without a compiler the installation succeeds, powertui decodes with
numpy and json alone, and the wheel is tagged for every machine. One binary serves every Python from
3.11 on (limited API); 3.10 has no buffer protocol in it, and builds of Python without a GIL have no
limited API yet: those get a binary of their own.

The same source gives the same bytes, wherever and whenever it is built: archives carry the date of
the release, sorted members and no owner; binaries carry no paths.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except (
    ImportError
):  # setuptools before 70, which compiles in place (`setup.py build_ext`) and makes no wheels
    bdist_wheel = None

sys.path.append(str(Path(__file__).resolve().parent / "scripts"))

import archives

LIMITED = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")
os.environ.setdefault("SOURCE_DATE_EPOCH", str(archives.RELEASED))  # whoever builds may say another
# How a Python that was built into a home folder (pyenv's) has its linker note that folder.
RUN_PATH = ("-Wl,-rpath", "-Wl,--rpath", "-Wl,-R")
os.umask(0o022)  # a builder's own umask would stand in the archives


class Scanners(build_ext):
    """Without debugging information, which names the folder of the build and helps no user, and
    without the folders of libraries that the builder's Python was linked with: the scanners need
    the C library alone.
    """

    def build_extension(self, ext):
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args = ["-g0"]
            linker = self.compiler.linker_so
            self.compiler.linker_so = [word for word in linker if not word.startswith(RUN_PATH)]
        super().build_extension(ext)


if bdist_wheel:

    class Wheel(bdist_wheel):
        """`py3-none-any` if nothing could be compiled: such a wheel fits every machine."""

        def run(self):
            build = self.get_finalized_command("build_ext")
            build.run()
            if not any(
                Path(build.get_ext_fullpath(ext.name)).exists()
                for ext in self.distribution.ext_modules or ()
            ):
                self.distribution.ext_modules = []
                self.root_is_pure, self.plat_name_supplied, self.py_limited_api = True, False, False
            super().run()


class Source(sdist):
    """A tar archive that depends on what is in it and on nothing else."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        folder, archive = Path(root_dir or ".") / base_dir, Path(f"{base_name}.tar.gz")
        archives.pack(folder, archive, when=int(os.environ["SOURCE_DATE_EPOCH"]))
        return str(archive)


# What an earlier build left would go into the wheel, too.
shutil.rmtree("build/lib", ignore_errors=True)

setup(
    cmdclass={
        "build_ext": Scanners,
        "sdist": Source,
        **({"bdist_wheel": Wheel} if bdist_wheel else {}),
    },
    ext_modules=[
        Extension(
            name,
            sources=[path for path in files if path.endswith(".c")],
            depends=[path for path in files if path.endswith(".h")],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
        for name, files in (
            (
                "powertui.data.wire._scan",
                sorted(path.as_posix() for path in Path("powertui/data/wire/scan").glob("*.[ch]")),
            ),
            ("powertui.data.formats._json_scan", ["powertui/data/formats/json_scan.c"]),
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
