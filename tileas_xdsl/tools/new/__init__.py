"""
`tileas new KIND NAME`: a package of your own with a test that fails, to begin with.

    tileas new op twice.double        a dialect with one op, and what the op does
    tileas new async-op demo.start    a copy that completes later, and the wait for it
    tileas new pass use-twice         a pass on programs
    tileas new package twice          a dialect with one op, and a pass

The package stands in a folder of its name, in this folder or in `--into`. It is found once it is installed:

    pip install --editable ./use-twice
    lit -v use-twice/tests

The folder has dashes where the module has underscores: Python would take a folder of the module's name for the module.
A test of it fails: where it does, `TODO` stands in the Python file beside. Nothing that exists is overwritten. Exit
status 2: a name that is none, or a folder that is there.
"""

from __future__ import annotations

import argparse
import keyword
import re
from pathlib import Path

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.new.templates import FILES, KINDS

OP = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)")
WORDS = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"what to begin: {', '.join(KINDS)}")
    parser.add_argument("name", metavar="NAME", help="its name: DIALECT.OP for an op, else words with dashes")
    parser.add_argument("--into", metavar="FOLDER", type=Path, default=Path(), help="where to put it (default: here)")


def run(arguments: argparse.Namespace) -> int:
    names = names_in(arguments.kind, arguments.name)
    folder: Path = arguments.into / names["PACKAGE"].replace("_", "-")
    if folder.exists():
        raise InputError([f"error: {folder} is there already: nothing is overwritten"])
    for file, text in files(arguments.kind, names).items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    print(f"\n{folder / names['PACKAGE']}.py has a TODO; when it is done, the test passes:\n")
    print(f"pip install --editable {_shown(folder)}\nlit -v {folder / 'tests'}")
    return 0


def _shown(folder: Path) -> str:
    """The folder as pip takes it: a name alone would be looked up in an index."""
    return str(folder) if folder.is_absolute() or len(folder.parts) > 1 else f"./{folder}"


def names_in(kind: str, name: str) -> dict[str, str]:
    """What stands in the templates -> what it becomes. Raises `InputError` for what is no name."""
    if kind in ("op", "async-op"):
        found = OP.fullmatch(name)
        if found is None:
            raise InputError([f"error: an op has a name as twice.double: DIALECT.OP, not '{name}'"])
        package, op = found[1], found[2]
    else:
        if WORDS.fullmatch(name) is None:
            raise InputError([f"error: '{name}' is no name: words of small letters and digits, with dashes between"])
        package, op = name.replace("-", "_"), "double"
    if keyword.iskeyword(package):
        raise InputError([f"error: '{package}' is a keyword of Python, and no name of a package"])
    words = package.split("_")
    camel = "".join(word.capitalize() for word in words)
    return {
        "PACKAGE": package,
        "UPPER": package.upper(),
        "DIALECT": camel,
        "PASS": "-".join(words) if kind == "pass" else f"use-{'-'.join(words)}",
        "PassClass": f"{camel}Pass" if kind == "pass" else f"Use{camel}Pass",
        "OPNAME": op,
        "OpClass": "".join(word.capitalize() for word in op.split("_")) + "Op",
    }


def files(kind: str, names: dict[str, str]) -> dict[str, str]:
    """File name -> text, for a package of `kind`."""
    pattern = re.compile("|".join(rf"@{name}@" for name in names))

    def filled(text: str) -> str:
        return pattern.sub(lambda found: names[found[0].strip("@")], text)

    return {filled(file): filled(text) for file, text in FILES[kind].items()}
