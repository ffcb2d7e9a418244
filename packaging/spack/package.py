# Copyright The powertui authors. See the LICENSE file of powertui for details.
#
# SPDX-License-Identifier: Apache-2.0

# For Spack 1.0 and newer, in a repository of your own (`spack repo create`), there as
# packages/py_powertui/package.py. Spack's own textual is older (5.3), and python-ipmi is
# not among its packages: add those, or install with `make bundle`.

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPowertui(PythonPackage):
    """A terminal profiler viewer: TensorBoard profiles and a server's power on one clock,
    over SSH. It reads profile folders and power logs, samples power over IPMI, and tells
    where a training run's time and energy went."""

    homepage = "https://pypi.org/project/powertui/"
    pypi = "powertui/powertui-0.1.0.tar.gz"

    license("Apache-2.0")

    # The checksum of the sdist belongs here; once a version is published,
    # `spack checksum py-powertui` writes it.
    version("0.1.0")

    variant("nvml", default=False, description="Power of NVIDIA GPUs")

    depends_on("c", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-textual@7:8", type=("build", "run"))
    depends_on("py-rich@14.2:15", type=("build", "run"))
    depends_on("py-numpy@1.24:", type=("build", "run"))
    depends_on("py-pandas@1.5:", type=("build", "run"))
    depends_on("py-protobuf@4.21:", type=("build", "run"))
    depends_on("py-python-ipmi@0.6.1:", type=("build", "run"))
    depends_on("py-h2@4.1:", type=("build", "run"))
    depends_on("py-cryptography", type=("build", "run"))
    depends_on("py-tomli@2:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-nvidia-ml-py@12:", type=("build", "run"), when="+nvml")
