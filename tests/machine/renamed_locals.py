"""
Run as a child process: renames all local variables of the machine's meanings and parts, and prints what is proven of
given programs.

    python -m tests.machine.renamed_locals < {"name": "program", ...}

A proof that depended on the names of variables would come out differently.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

RENAMED = ("tileas_xdsl.machine.",)
Function = ast.FunctionDef | ast.Lambda


def renamed_source(source: str) -> ast.Module:
    """`source` with other names for the local variables of its functions; parameters keep theirs."""
    tree = ast.parse(source)
    known = _bound_outside_of_functions(tree)
    for function in _outermost_functions(tree):
        names = _locals_of(function) - known
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = f"renamed_{node.id}"
    return tree


def _outermost_functions(tree: ast.AST) -> list[Function]:
    found: list[Function] = []
    for node in ast.iter_child_nodes(tree):
        found.extend([node] if isinstance(node, Function) else _outermost_functions(node))
    return found


def _bound_outside_of_functions(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        if not isinstance(node, Function):
            names |= _bound_outside_of_functions(node)
    return names


def _locals_of(function: Function) -> set[str]:
    """What is assigned in `function`, but for what is bound there by other means than a plain name."""
    stored: set[str] = set()
    kept: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored.add(node.id)
        elif isinstance(node, ast.arg):
            kept.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            kept.update(node.names)
        elif isinstance(node, ast.alias):
            kept.add(node.asname or node.name)
        elif isinstance(node, ast.FunctionDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            kept.add(node.name)
    return stored - kept


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_source(fullname)
        assert source is not None
        return compile(renamed_source(source), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the modules of the machine, and has them loaded with other names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(RENAMED):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def proofs_of(programs: dict[str, str]) -> dict[str, Any]:
    """By name, what is found of each program, and how it is proven."""
    from tests.support.ir import parse
    from tileas_xdsl.checker.verdict.checking import check

    found: dict[str, Any] = {}
    for name, text in programs.items():
        report = check(parse(text))
        proofs = [[key, proof.period, proof.executed] for key, proof in sorted(report.proofs.items())]
        found[name] = [str(report.verdict), report.kinds, proofs, str(report)]
    return found


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder())
    found = proofs_of(json.load(sys.stdin))
    assert isinstance(sys.modules["tileas_xdsl.machine.meanings.scf"].__loader__, _Loader)
    json.dump(found, sys.stdout)
