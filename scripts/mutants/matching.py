"""Find a quoted statement or expression in a source file, and put another one in its place.

Quotes are compared as syntax trees. Line breaks, parentheses, quotation marks and comments of the
source do not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scripts.mutants.listed import Mutant

MODULE = "<module>"  # the scope outside all functions and classes
DELETED = "pass"  # what is in the place of a statement that was left out
_NAMED_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class NoMatch(Exception):
    """A mutant does not fit the source."""


def scopes(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """The functions and classes of a module by their dotted names.

    A property and its setter have one name, and a list of both.
    """
    scopes: dict[str, list[ast.AST]] = {MODULE: [tree]}

    def add_scopes_below(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _NAMED_SCOPES):
                name = prefix + child.name
                scopes.setdefault(name, []).append(child)
                add_scopes_below(child, f"{name}.")
            else:
                add_scopes_below(child, prefix)

    add_scopes_below(tree, "")
    return scopes


def nodes_of(scope: ast.AST) -> Iterator[ast.AST]:
    """Every node of a function, class or module that is not part of a smaller one."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, _NAMED_SCOPES):
            yield child
            yield from nodes_of(child)


def applied(mutant: Mutant, source: str) -> str:
    """The source with the mutant in it."""
    tree = ast.parse(source)
    scope = scopes(tree).get(mutant.function)
    if scope is None:
        raise NoMatch(f"{mutant.file} has no {mutant.function} any more (- {mutant.before})")
    quote = _parsed(mutant.before, is_statement=mutant.after == DELETED)
    quote_dump = ast.dump(quote)
    matches = [
        node
        for part in scope
        for node in nodes_of(part)
        if type(node) is type(quote) and ast.dump(node) == quote_dump
    ]
    if len(matches) != 1:
        raise NoMatch(
            f"{mutant.file} {mutant.function} contains this {len(matches)} times, not once: "
            f"{mutant.before}"
        )
    replacement = f"({mutant.after})" if isinstance(quote, ast.expr) else mutant.after
    mutated = _with_replacement(source, matches[0], replacement)
    if ast.dump(ast.parse(mutated)) == ast.dump(tree):
        raise NoMatch(f"{mutant.file} {mutant.function}: this changes nothing: {mutant.after}")
    return mutated


def _parsed(quote: str, is_statement: bool) -> ast.stmt | ast.expr:
    """The one statement of a quote, or the expression if it is nothing else."""
    body = ast.parse(quote).body
    if len(body) != 1:
        raise NoMatch(f"Not one statement: {quote}")
    if isinstance(body[0], ast.Expr) and not is_statement:
        return body[0].value
    return body[0]


def _with_replacement(source: str, node: ast.AST, replacement: str) -> str:
    """The source with other text in the place of a node."""
    lines = source.encode().splitlines(keepends=True)
    # The columns of syntax trees count bytes.
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    before = lines[first][: node.col_offset]  # type: ignore[attr-defined]
    after = lines[last][node.end_col_offset :]  # type: ignore[attr-defined]
    parts = [*lines[:first], before, replacement.encode(), after, *lines[last + 1 :]]
    return b"".join(parts).decode()
