"""Regular expressions that are compiled when they are first asked something.

Python compiles the patterns of a module whenever it is imported: 0.13 ms each, and a report imports
some 270, of which it asks one in three. Compiling them took a twentieth of the processor time of
`demo --report`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr

# What a compiled pattern offers.
_ABILITIES = (
    "search",
    "match",
    "fullmatch",
    "split",
    "findall",
    "finditer",
    "sub",
    "subn",
    "pattern",
    "flags",
    "groups",
    "groupindex",
)

if TYPE_CHECKING:

    def late_pattern(text: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
        """As `re.compile`."""

else:

    def late_pattern(text, flags=0):
        """As `re.compile`, but a fault in the pattern comes up when it is first asked something.

        The functions of `re` do not take it: ask the pattern itself.
        """
        return _LatePattern(text, flags)


class _LatePattern:
    """A pattern that has the methods of a compiled one as soon as one of them is asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ABILITIES:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for ability in _ABILITIES:
            # From now on they are found here, so that a question costs no detour.
            setattr(self, ability, getattr(compiled, ability))
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return late_pattern, (self._text, self._flags)
