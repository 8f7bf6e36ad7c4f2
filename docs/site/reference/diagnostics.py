"""
Reference of what passes say: each refusal with its way out, read off the calls of `diagnostics.refuse`, `remark`
and `warn`.

Of a text that is put together when it is said, `...` stands for what depends on the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from docs.site.reference.docstrings import cell
from tileas_xdsl.names import DRIVERS, PASSES

SAYS = {"refuse": "error", "remark": "remark", "warn": "warning"}
HEAD = """\
# Diagnostics

What passes say, and what helps. An error is a refusal: nothing was changed. Each stands behind the place and the name
of the op that it is about, `file:line:col: error: 'the.op' op ...`,
with the way out behind `help:`. `...` stands for names and numbers of the program.

What `tileas check` finds are [violations](../tileas-command.md#tileas-check), of which
[the zoo](../zoo/index.md) has an example each.
"""


@dataclass(frozen=True)
class Said:
    """One text: its severity, what it says of the op, and the way out."""

    severity: str
    text: str
    way_out: str


def diagnostics_page(package: Path) -> str:
    """All that passes may say, by the folder or file of their code below `transforms/`."""
    constants = texts_by_name(package)
    parts = [HEAD]
    for name, place in places(package).items():
        found = sorted(
            {said for file in place for said in said_in(file, constants)}, key=lambda said: (said.severity, said.text)
        )
        rows = [f"| {said.severity} | {cell(said.text)} | {cell(said.way_out)} |" for said in found]
        if rows:
            parts.append("\n".join([f"## {name}\n", "| | it says | help |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def places(package: Path) -> dict[str, list[Path]]:
    """Pass -> the files with its code; code of several passes has a name of its own, and comes last."""
    found: dict[str, list[Path]] = {}
    taken: set[Path] = set()
    for name, (module, _) in sorted((PASSES | DRIVERS).items()):
        room = package if name in DRIVERS else package / "transforms"
        path = room / module.replace(".", "/")
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        if not taken & set(files):
            found[name] = files
        taken |= set(files)
    found["several passes"] = [file for file in sorted(package.rglob("*.py")) if file not in taken]
    return found


def said_in(file: Path, constants: Mapping[str, str]) -> Iterator[Said]:
    """The texts of one file whose words can be read off the call."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and (severity := SAYS.get(called(node))) is not None and len(node.args) > 1:
            text = words(node.args[1], constants)
            way_out = words(node.args[2], constants) if len(node.args) > 2 else ""
            if text:
                yield Said(severity, text, way_out or "")


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def words(node: ast.expr, constants: Mapping[str, str]) -> str | None:
    """The text of a string, an f-string or a constant of ours; None for what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(words(value, constants) or "..." for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (words(left, constants) or "...") + (words(right, constants) or "...")
        case ast.Name(id=name):
            return constants.get(name)
        case _:
            return None


def texts_by_name(package: Path) -> dict[str, str]:
    """The texts that modules give a name to; a name that two modules use differently says nothing."""
    found: dict[str, set[str]] = {}
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                text = words(node.value, {})
                if text:
                    found.setdefault(node.targets[0].id, set()).add(text)
    return {name: texts.pop() for name, texts in found.items() if len(texts) == 1}
