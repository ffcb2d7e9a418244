"""What `packaging/` says of versions and dependencies is what pyproject.toml says, and archives
depend on their content alone.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import powertui

ROOT = Path(__file__).resolve().parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def dependencies() -> list[str]:
    """Names that pyproject.toml asks for."""
    body = PROJECT.partition("dependencies = [")[2].partition("\n]")[0]
    return re.findall(r'^\s*"([A-Za-z0-9._-]+)', body, re.MULTILINE)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", ["conda/recipe.yaml", "rpm/powertui.spec", "spack/package.py"])
def test_recipes_are_of_this_version(file: str) -> None:
    text = (ROOT / "packaging" / file).read_text("utf-8")
    assert powertui.__version__ in text
    assert "Apache-2.0" in text


@pytest.mark.parametrize(
    ("file", "prefix"), [("conda/recipe.yaml", "- "), ("spack/package.py", 'depends_on("py-')]
)
def test_recipes_ask_for_what_the_project_asks_for(file: str, prefix: str) -> None:
    text = (ROOT / "packaging" / file).read_text("utf-8")
    assert len(dependencies()) >= 8
    for name in dependencies():
        assert prefix + name in text or name == "tomli", (
            name
        )  # conda's recipe is for newer Pythons, and harmless without it


def test_the_recipe_for_spack_is_one() -> None:
    """In Spack's own style (99 columns).

    From Spack 1.0 on the star import brings no PythonPackage.
    """
    text = (ROOT / "packaging/spack/package.py").read_text("utf-8")
    names = [
        base
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for base in map(ast.unparse, node.bases)
    ]
    imported = re.findall(
        r"^from spack_repo\.builtin\.build_systems\.\w+ import (\w+)$", text, re.MULTILINE
    )
    assert names == imported == ["PythonPackage"]
    assert max(map(len, text.splitlines())) <= 99


def test_the_spec_makes_the_project_readable_for_the_setuptools_of_rhel(tmp_path: Path) -> None:
    """Version 68 refuses a licence that is one word, and does not know `license-files`."""
    (line,) = re.findall(
        r"^sed -i (.*) pyproject\.toml$",
        (ROOT / "packaging/rpm/powertui.spec").read_text("utf-8"),
        re.MULTILINE,
    )
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT, "utf-8")
    assert subprocess.run(["sed", "-i", *shlex.split(line), str(file)], check=False).returncode == 0
    before, after = PROJECT.splitlines(), file.read_text("utf-8").splitlines()
    assert [one for one in after if one not in before] == ['license = { text = "Apache-2.0" }']
    assert [one for one in before if one not in after] == [
        'license = "Apache-2.0"',
        'license-files = ["LICENSE"]',
    ]


def test_no_text_of_an_issue_form_is_taken_for_a_key() -> None:
    """Text without quotation marks must not hold a colon and a blank: a form that does not parse
    is not offered.
    """
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    if not forms:
        pytest.skip("not a checkout")
    for form in forms:
        for line in form.read_text("utf-8").splitlines():
            _, _, text = line.partition(": ")
            assert text.startswith('"') or ": " not in text, f"{form.name}: {line}"


def test_the_install_script_is_plain_sh() -> None:
    file = ROOT / "packaging/install.sh"
    for shell in ("sh", "dash", "bash"):
        if shutil.which(shell):
            assert subprocess.run([shell, "-n", str(file)], check=False).returncode == 0


# Not by its name alone: `pip install .` leaves a folder of that name.
needs_build = pytest.mark.skipif(
    not any(metadata.distributions(name="build")),
    reason="`build` is not installed: `make check` installs it",
)


def sources(into: Path) -> Path:
    """What an archive is made of, at another place and another time."""
    names = (
        "powertui",
        "share",
        "scripts",
        "setup.py",
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
    )
    into.mkdir()
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, into / name)
    for path in [*into.rglob("*.so"), *into.rglob("*.pyc")]:
        path.unlink()
    for path in into.rglob("*"):
        os.utime(path, (1_600_000_000 + len(into.name), 1_600_000_000 + len(into.name)))
    return into


@needs_build
def test_two_builds_give_equal_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "another/folder"):
        folder = tmp_path / name.partition("/")[0]
        folder.mkdir(exist_ok=True)
        tree = sources(tmp_path / name) if "/" in name else sources(folder / "tree")
        command = [
            sys.executable,
            "-m",
            "build",
            "--sdist",
            "--no-isolation",
            "--outdir",
            str(folder / "out"),
            str(tree),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        (archive,) = (folder / "out").glob("*.tar.gz")
        digests.append(hashlib.sha256(archive.read_bytes()).hexdigest())
        with tarfile.open(archive) as tar:
            assert {member.uname for member in tar} == {""}
            assert len({member.mtime for member in tar}) == 1
    assert digests[0] == digests[1]


def wheel(folder: Path, name: str, license_: str = "", requires: tuple[str, ...] = ()) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        "Version: 1.0",
        *([f"License: {license_}"] if license_ else []),
    ]
    lines += [f"Requires-Dist: {one}" for one in requires]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-1.0.dist-info/METADATA", "\n".join(lines) + "\n\nA text.\n")
    return path


def test_the_bill_lists_each_wheel_with_its_checksum(tmp_path: Path) -> None:
    sbom = script("sbom")
    files = [
        wheel(tmp_path, "powertui", "Apache-2.0"),
        wheel(tmp_path, "other", "MIT License"),
        wheel(tmp_path, "odd", "see the file " * 9),
    ]
    text = sbom.document("a bundle", [sbom.of_wheel(path) for path in files])
    bill = json.loads(text)
    assert bill["spdxVersion"] == "SPDX-2.3"
    assert [one["name"] for one in bill["packages"]] == ["powertui", "odd", "other"]
    assert [one["licenseDeclared"] for one in bill["packages"]] == [
        "Apache-2.0",
        "NOASSERTION",
        "MIT",
    ]
    assert (
        bill["packages"][0]["checksums"][0]["checksumValue"]
        == hashlib.sha256(files[0].read_bytes()).hexdigest()
    )
    assert {one["relationshipType"] for one in bill["relationships"]} == {"DESCRIBES", "DEPENDS_ON"}
    assert text == sbom.document("a bundle", [sbom.of_wheel(path) for path in files])


def test_the_bill_of_what_is_installed_follows_what_is_asked_for(tmp_path: Path) -> None:
    sbom = script("sbom")
    asked = ("rich>=14", "python-ipmi[rmcpplus]>=0.6", "nothing-like-this")
    first = sbom.of_wheel(wheel(tmp_path, "powertui", "Apache-2.0", asked))
    names = [one.name for one in sbom.with_needs(first)]
    assert names[0] == "powertui"
    assert "rich" in names
    assert "Pygments" in names  # what rich needs
    assert "cryptography" in names  # what python-ipmi needs with that extra
    assert "nothing-like-this" not in names


def wheel_of_binaries(folder: Path, tags: str, binaries: dict[str, bytes]) -> Path:
    path = folder / f"powertui-1.0-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, head in binaries.items():
            archive.writestr(f"powertui/{name}.abi3.so", head)
    return path


FOR_GLIBC = "cp311-abi3-manylinux_2_17_ppc64le"
FOR_MUSL = "cp311-abi3-musllinux_1_2_ppc64le"
FOR_310 = "cp310-cp310-manylinux_2_17_ppc64le"


def binary(*, order: int = 1, machine: int = 21, strings: str = "libc.so.6", tag: int = 1) -> bytes:
    """An ELF file with 64 bits (POWER's, little-endian): its head, its strings, and one section for
    the loader with one entry, by default a library that is needed.
    """
    text = b"".join(b"\0" + name.encode() for name in strings.split()) + b"\0"
    head = bytearray(b"\x7fELF" + bytes([2, order]) + bytes(58))
    head[18:20] = machine.to_bytes(2, "little" if order == 1 else "big")
    sections = len(head) + len(text)
    struct.pack_into("<Q", head, 40, sections)
    struct.pack_into("<HH", head, 58, 64, 1)
    section = struct.pack("<4xI16xQQ24x", 6, sections + 64, 16)
    return bytes(head) + text + section + struct.pack("<QQ", tag, 0)


@pytest.mark.parametrize(
    ("tags", "strings"),
    [
        (FOR_GLIBC, "PyType_GetName libc.so.6"),
        (FOR_MUSL, "libc.so PyType_GetName"),
        (FOR_310, "PyBuffer_Release libc.so.6"),
    ],
    ids=("glibc", "musl", "3.10"),
)
def test_a_wheel_holds_both_scanners_compiled_for_what_its_name_says(
    tmp_path: Path, tags: str, strings: str
) -> None:
    scanner = binary(strings=strings)
    both = {"data/wire/_scan": scanner, "data/formats/_json_scan": scanner}
    script("cross_wheels").check_binaries(wheel_of_binaries(tmp_path, tags, both))


@pytest.mark.parametrize(
    ("tags", "second", "trouble"),
    [
        (FOR_GLIBC, None, "lacks _json_scan"),
        (FOR_GLIBC, binary(machine=62), "_json_scan.abi3.so is of another machine"),
        (FOR_GLIBC, binary(order=2), "_json_scan.abi3.so is of another machine"),
        (FOR_GLIBC, binary(strings="libc.so"), "does not ask for libc.so.6"),
        (FOR_MUSL, binary(), "does not ask for libc.so"),
        (FOR_GLIBC, binary(tag=15), "names a folder of the builder"),
        (FOR_MUSL, binary(strings="libc.so", tag=29), "names a folder of the builder"),
        (
            FOR_310,
            binary(strings="libc.so.6 PyType_GetName"),
            "calls PyType_GetName, which Python 3.10 lacks",
        ),
    ],
)
def test_a_wheel_whose_binaries_are_not_what_its_name_says_is_refused(
    tmp_path: Path, tags: str, second: bytes | None, trouble: str
) -> None:
    binaries = {"data/wire/_scan": binary(strings="libc.so libc.so.6")}
    if second is not None:
        binaries["data/formats/_json_scan"] = second
    with pytest.raises(ValueError, match=trouble):
        script("cross_wheels").check_binaries(wheel_of_binaries(tmp_path, tags, binaries))


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_scanners_name_no_folder_of_the_builder(tmp_path: Path) -> None:
    """A Python in a home folder has its own folder in what it links with."""
    pytest.importorskip("setuptools", minversion="77")  # as pyproject.toml asks of who builds
    tree = sources(tmp_path / "tree")
    flags = {"CFLAGS": "-O0", "LDFLAGS": "-Wl,-rpath,/home/me/python/lib"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scanners = sorted((tree / "powertui").rglob("*.so"))
    assert len(scanners) == 2
    for scanner in scanners:
        assert not script("cross_wheels").has_run_path(scanner.read_bytes())


def test_a_compiler_for_another_machine_finds_debians_header_of_that_machine(
    tmp_path: Path,
) -> None:
    cross_wheels = script("cross_wheels")
    targets = [*cross_wheels.TARGETS.items(), *cross_wheels.MUSL_TARGETS.items()]
    for machine, target in targets:
        folder = tmp_path / "with blank" / target
        environment = cross_wheels.compiler_environment(machine, target, folder)
        words = shlex.split(environment["CC"])
        assert words[1:7] == ["-I", "-m", "ziglang", "cc", "-target", target]
        # Debian's dispatching header includes it by the name for glibc, whatever the library is.
        assert (Path(words[-1]) / cross_wheels.TARGETS[machine].rpartition(".2.")[0]).is_dir()


OUR_OWN = ("scripts.", "powertui", "pytest")  # what is of this checkout, and needs it on the path


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.py")), ids=lambda p: p.stem)
def test_no_script_starts_a_module_that_the_working_folder_could_replace(script: Path) -> None:
    """`python -m pip` imports pip.py and re.py of the folder that it runs in; `python -I -m` not."""
    replaceable = []
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        words = node.elts if isinstance(node, ast.List | ast.Tuple) else getattr(node, "args", [])
        texts = [ast.unparse(word) for word in words] if isinstance(words, list) else []
        for place in [place for place, text in enumerate(texts) if text == "'-m'"]:
            module = texts[place + 1].strip("'")
            is_isolated = texts[place - 1] in ("*ISOLATED", "*PYTHON", "'-I'")
            if not is_isolated and not module.startswith(OUR_OWN):
                replaceable.append(f"{script.name}:{node.lineno}: {module}")
    assert not replaceable
