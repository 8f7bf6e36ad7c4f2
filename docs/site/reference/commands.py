"""Reference of the command line, from the parsers: one page a subcommand."""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module

from docs.site.reference.docstrings import as_markdown, cell
from tileas_xdsl.tools.main import SUBCOMMANDS, build_parser

INDEX = """\
# Commands

`tileas` reads, runs, checks and draws programs. Stock `xdsl-opt` runs the passes, too.
[Find races and deadlocks](../../tileas-command.md) is the guide to all of it.

| command | what it does |
|---|---|
"""
USAGE = "usage: "
WIDTH = 78
"""Characters that a page shows of a line of code, on a screen of 1280 pixels."""
STATUS = """
Status 0: done, and as it should be. 1: a finding, a refusal or a condition that is not met.
2: the input or the command line is wrong. 3: a limit of time was reached.
"""


def command_pages() -> dict[str, str]:
    """Path below the source of the site -> Markdown."""
    rows = [f"| [`tileas {name}`]({name}.md) | {cell(summary)} |" for name, (_, summary) in SUBCOMMANDS.items()]
    pages = {"reference/commands/index.md": INDEX + "\n".join(rows) + "\n" + STATUS}
    return pages | {f"reference/commands/{name}.md": command_page(name) for name in SUBCOMMANDS}


def command_page(name: str) -> str:
    """One subcommand: how it is called, its arguments, and what its module says of it."""
    parser = subparser(name)
    module = import_module(f"tileas_xdsl.tools.{SUBCOMMANDS[name][0]}")
    parts = [
        f"# tileas {name}",
        f"{parser.description}",
        f"```text\n{usage(parser)}\n```",
        "## Arguments\n\n" + table(parser),
    ]
    doc = inspect.getdoc(module)
    if doc:
        parts.append("## How it works\n\n" + as_markdown(doc))
    return "\n\n".join(parts) + "\n"


def subparser(name: str) -> argparse.ArgumentParser:
    """The parser of `tileas NAME`."""
    parser = build_parser(name)
    groups = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return groups.choices[name]


def usage(parser: argparse.ArgumentParser) -> str:
    """How the command is called, in lines that fit the column of a page and do not depend on the terminal."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=WIDTH + len(USAGE))
    lines = parser.format_usage().rstrip().splitlines()
    return "\n".join(line[len(USAGE) :] for line in lines)


def table(parser: argparse.ArgumentParser) -> str:
    """A row for each argument and option, but for `--help`."""
    rows = ["| argument | meaning |", "|---|---|"]
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            help_text = (action.help or "") % {**vars(action), "prog": parser.prog} if action.help else ""
            rows.append(f"| {spelled(action)} | {cell(help_text)} |")
    return "\n".join(rows)


def spelled(action: argparse.Action) -> str:
    """`-o FILE`, `--output FILE`: the spellings of one argument, with what it takes."""
    takes = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    takes = " ".join(takes) if isinstance(takes, tuple) else takes
    if not action.option_strings:
        return code(takes)
    value = "" if action.nargs == 0 else f" {takes}"
    return ", ".join(code(option + value) for option in action.option_strings)


def code(text: str) -> str:
    """Inline code, in a cell of a table or elsewhere: between backticks Python-Markdown takes a bar as it stands."""
    return f"`{text}`"
