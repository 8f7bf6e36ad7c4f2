"""
`tileas explain-error T012`: what the cause of a mistake is, a program that has it, one that is right, and the source.

That is a page of the bug zoo, as text. A cause that shows in several ways has several; `tileas explain-error T012 NAME`
shows another one, and `tileas explain-error` lists all causes. With `--triton` the programs are in Triton's IR, if the
zoo has them in it. Exit status 2: there is no such cause or page.
"""

from __future__ import annotations

import argparse
import re
import sys
import sysconfig
from pathlib import Path

from tileas_xdsl.checker.witnesses.causes import CAUSES, Cause, cause_with
from tileas_xdsl.tools.errors import InputError

PAGES, PROGRAMS = "docs/zoo", "examples/zoo"
"""Folders of the repository; an installed package has their files below `share`."""
TRITON = ".ttgir"
LANGUAGES = (".mlir", ".ptx", TRITON)
"""The endings of programs of the zoo: a page names its own."""
INSTALLED = {PAGES: "share/tileas-xdsl/zoo", PROGRAMS: "share/tileas-xdsl/examples/zoo"}
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n+```text\n[^`]*```\n+")
LINK = re.compile(r"\[([^\]]*)\]\((https?://[^)]*|[^)]*)\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="T012", nargs="?", help="the number of a cause, as `tileas check` prints it")
    parser.add_argument("--triton", action="store_true", help="show the programs in Triton's IR, if there are such")
    parser.add_argument("page", metavar="NAME", nargs="?", help="one of the pages about it (default: the first)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.code is None:
        for cause in CAUSES:
            print(f"{cause.code}  {cause.kind:<14} {cause.title}")
        return 0
    cause = cause_with(arguments.code)
    if cause is None:
        raise InputError([f"error: there is no cause {arguments.code}: `tileas explain-error` lists them"])
    print(f"{cause.code}, {cause.kind}: {cause.title}\n")
    pages = sorted(cause.pages, key=lambda page: not (arguments.triton and _is_in_triton(page)))
    name = arguments.page or next(iter(pages), None)
    if name is None:
        print("The zoo has no page about it: the report says what is missing.")
        return 0
    if name not in cause.pages:
        raise InputError([f"error: {cause.code} has no page '{name}': {', '.join(cause.pages) or 'none'}"])
    _show(page_of(name, in_triton=arguments.triton))
    _list_others(cause, name)
    return 0


def page_of(name: str, *, in_triton: bool = False) -> str:
    """
    The page of the zoo as Markdown, with both programs in full, in Triton's IR if that is asked for and they are in it.
    Raises `InputError` where it is not installed.
    """
    page = _file(PAGES, f"{name}.md").read_text(encoding="utf-8")
    page = PICTURE.sub("", page)
    text = LINK.sub(lambda link: f"{link[1]} <{link[2]}>" if link[2].startswith("http") else link[1], page)
    language = next((suffix for suffix in LANGUAGES if f"{name}.bad{suffix}" in page), LANGUAGES[0])
    language = TRITON if in_triton and _is_in_triton(name) else language
    wrong, right = (_code(_file(PROGRAMS, f"{name}.{which}{language}")) for which in ("bad", "good"))
    programs = f"**The wrong program.**\n\n```\n{wrong}\n```\n\n**The right program.**\n\n```\n{right}\n```\n"
    return f"{text.rstrip()}\n\n{programs}"


def _is_in_triton(name: str) -> bool:
    """Whether the programs of a page are there in Triton's IR, too."""
    return _place(PROGRAMS, f"{name}.bad{TRITON}").exists()


def _code(path: Path) -> str:
    """A program without the comment at its top, which the page says."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next((number for number, line in enumerate(lines) if not line.startswith("//")), 0)
    return "\n".join(lines[start:]).strip()


def _place(folder: str, name: str) -> Path:
    checkout = Path(__file__).parents[3] / folder / name
    return checkout if checkout.exists() else Path(sysconfig.get_path("data")) / INSTALLED[folder] / name


def _file(folder: str, name: str) -> Path:
    path = _place(folder, name)
    if not path.exists():
        raise InputError([f"error: {path}: the pages of the zoo are not installed"])
    return path


def _show(text: str) -> None:
    """The page, laid out in a terminal and as it is in a pipe."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _list_others(cause: Cause, shown: str) -> None:
    others = [name for name in cause.pages if name != shown]
    if others:
        print(f"\nIt also shows as: {', '.join(others)} (tileas explain-error {cause.code} NAME)")
