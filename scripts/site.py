"""Make a static site of README.md, docs/ and the pages beside them: `make site`, into site/.

Links between them hold in the repository and on the site; those to files that are no page go.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / ".site-pages"  # mkdocs.yml names it
# Pages beside docs/, and what the site calls them.
BESIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "security.md",
}
# The order of the pages, as in README's "Where next". What is not named follows by name.
NAVIGATION = {
    "Start": ("index", "install", "tasks", "keys"),
    "Your machine": ("machines/",),
    "Use it": (
        "timeline", "runs", "training", "tools", "terminals", "export", "report", "compare", "gate",
        "agents", "library",
    ),
    "Measure": ("measuring", "live", "fleets", "capture", "recipes"),
    "Trust it": (
        "energy", "energy-evidence", "steps", "formats", "power-logs", "parity", "benchmarks",
        "glossary",
    ),
    "Change it": ("architecture", "files", "contributing", "releasing", "security", "changelog"),
}  # fmt: skip
_LINK = re.compile(r"(\]\(|src=\")([^)\"#\s]*)")


def main() -> int:
    """Exit code of mkdocs: 1 where a link leads nowhere."""
    write_pages()
    config = PAGES.with_name(".site.yml")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config.write_text(f"{text}nav:\n{navigation()}", encoding="utf-8")
    build = [sys.executable, "-I", "-m", "mkdocs", "build", "--quiet", "--clean"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # about the theme's future: not ours
    made = subprocess.run([*build, "--config-file", config], cwd=ROOT, env=environment, check=False)
    code = made.returncode
    shutil.rmtree(PAGES)
    config.unlink()
    if not code:
        print("Open site/index.html.")
    return code


def write_pages() -> None:
    """All pages in one folder, with links that hold there."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.json", "*.cast"))
    for path in PAGES.rglob("*.md"):
        depth = len(path.relative_to(PAGES).parts) - 1
        text = with_links(path.read_text(encoding="utf-8"), "../" * (depth + 1))
        path.write_text(text, encoding="utf-8")
    for name, page in BESIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        (PAGES / page).write_text(with_links(text, ""), encoding="utf-8")


def with_links(text: str, up: str) -> str:
    """The text of a page whose way up to the repository's root is `up`."""

    def renamed(match: re.Match[str]) -> str:
        before, target = match.groups()
        if up and target.startswith(up):
            from_root = target[len(up) :]
            return before + up[3:] + BESIDE.get(from_root, from_root)
        if not up:
            return before + BESIDE.get(target, target.removeprefix("docs/"))
        return match[0]

    return _LINK.sub(renamed, text)


def navigation() -> str:
    """The pages in their order, as mkdocs reads it."""
    pages = {path.relative_to(PAGES).with_suffix("").as_posix() for path in PAGES.rglob("*.md")}
    lines = []
    for title, names in NAVIGATION.items():
        section = []
        for name in names:
            wanted = [name]
            if name.endswith("/"):
                wanted = sorted(page for page in pages if page.startswith(name))
            section += [f"    - {page}.md" for page in wanted if page in pages]
            pages -= set(wanted)
        if section:
            lines += [f"  - {title}:", *section]
    if pages:
        lines += ["  - More:", *[f"    - {page}.md" for page in sorted(pages)]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
