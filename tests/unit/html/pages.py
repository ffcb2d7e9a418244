"""A page as a test reads it: its elements and texts, by the parser of the standard library."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = frozenset(("meta", "br", "wbr", "path", "rect"))
_FOREIGN = re.compile(r"(?i)^\s*(?:[a-z][a-z0-9+.-]*:|//)")  # a scheme, or another host
_LOADING = frozenset(
    ("src", "href", "action", "data", "poster", "srcset", "xlink:href", "formaction")
)


class PageReader(HTMLParser):
    """Elements, their attributes, and the texts in them. Raises where tags do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.by_class: dict[str, list[str]] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop()[0] == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _VOID
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "style":
            return
        self.texts.append(data)
        for _, classes in self._open:
            for name in classes.split():
                self.by_class.setdefault(name, []).append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def of_class(self, name: str) -> str:
        return "".join(self.by_class.get(name, []))


def check_safe(page: str) -> PageReader:
    """A page that runs nothing, loads nothing, and hides or reorders no text."""
    reader = PageReader(page)
    allowed = {"script", "iframe", "object", "embed", "link", "img", "form", "input", "base"}
    assert not allowed & set(reader.tags)
    for name, value in reader.attributes:
        assert not name.startswith("on")
        assert name not in _LOADING or value.startswith("#"), (name, value)
        assert not _FOREIGN.match(value) or name in ("style", "aria-label", "content"), value
        assert "url(" not in value
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", page
    )
    return reader
