"""A check as JUnit XML, which GitLab, Jenkins and GitHub's actions read: a test case a limit.

A limit that does not hold is a failure, one that nobody can say an error; with
`--allow-unresolved`, and of what is only watched, it is skipped.
"""

from __future__ import annotations

from xml.etree import ElementTree

from powertui.data.gate.gate import Gate, GateRow, GateVerdict
from powertui.plain import plain
from powertui.report.gate_words import limit_cell, row_sentence

_SUITE = "powertui check"
_NAME_CHARACTERS = 200
_TEXT_CHARACTERS = 2000


def junit_xml(gate: Gate) -> str:
    """The document. Names from runs are text in it, without characters that XML forbids."""
    cases = [_case(row, gate.allows_open) for row in gate.rows]
    suite = ElementTree.Element("testsuite", name=_SUITE, tests=str(len(cases)), time="0")
    for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(kind) is not None for case in cases)))
    suite.extend(cases)
    suites = ElementTree.Element("testsuites", name=_SUITE)
    suites.append(suite)
    ElementTree.indent(suites)
    document = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _case(row: GateRow, allows_open: bool) -> ElementTree.Element:
    name = _text(f"{row.quantity.name} {limit_cell(row)}", _NAME_CHARACTERS)
    case = ElementTree.Element("testcase", classname="powertui.check", name=name, time="0")
    words = _text(row_sentence(row), _TEXT_CHARACTERS)
    if row.is_broken:
        _outcome(case, "failure", words, row.verdict.value)
    elif row.verdict is GateVerdict.CANNOT_SAY:
        kind = "error" if row.is_open and not allows_open else "skipped"
        _outcome(case, kind, words, row.verdict.value)
    else:
        ElementTree.SubElement(case, "system-out").text = words
    return case


def _outcome(case: ElementTree.Element, kind: str, words: str, verdict: str) -> None:
    outcome = ElementTree.SubElement(case, kind, message=words)
    if kind != "skipped":
        outcome.set("type", verdict)
        outcome.text = words


def _text(words: str, characters: int) -> str:
    """Without what XML 1.0 forbids beside what `plain` makes visible."""
    return plain(words, characters).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def write_junit(path: str, gate: Gate) -> None:
    """Write the file, over that of the last job."""
    from powertui.data.export import files

    with files.opened(path, force=True) as stream:
        stream.write(junit_xml(gate).encode())
