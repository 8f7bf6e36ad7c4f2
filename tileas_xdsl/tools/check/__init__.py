"""
`tileas check FILE`: prove that a program has no race and no deadlock, for every trip count or for those asked for, or
show an interleaving that leads to one.

Exit status 0: safe. 1: a violation; the report shows it. 2: the input cannot be read, or has an op that the machine
does not know. 3: undecided; the report says why and on account of which op.

One mistake often shows in several ways. The report shows the violation that explains most, and a line for each other
one; `--all` shows all of them in full. A Python file may launch a kernel in several forms: the first one that has a
mistake shows it in full. One edit may repair the only mistake of a program in IR or PTX, or of a Python file in Gluon:
a wait, a count, a parity, an arrival, a fence. The report shows an edit that was tried, and for which trip counts the
program is safe with it; all kernels that a Python file launches are safe with it, too. A file of the course gets none:
it would be the answer. `--no-edit` leaves out the search.

Without `--trip-counts` 0 to 8 are tried, or up to 2 S + 2 where a ring has S > 3 slots, and then every trip count is
proved. Where S > 126 these would be more than 256: then 0 to 8 are tried, and nothing is proved of larger ones. What is
asked for may have 256 combinations; of several arguments that nobody asked about fewer trip counts are combined. Calls
in which the step of an `scf.for` would not be positive are left out, and the report says which.

`--capture issue`: asynchronous work reads its sources when it is issued; by default it may read them until it
completes, as hardware does. Without `--may-alias` every array is one of its own. `--programs N`: a block with a
persistent loop computes N programs; without it their number is one more argument that bounds loops. Without
`--function` every public function with a body is checked.

While standard error is a terminal, a check that takes more than two seconds shows there which call it is at. Ctrl-C
ends it with what is known by then, and exit status 130.

A file that ends in `.ptx`, or begins with `.version`, is PTX. What a launch says stands in a JSON of the same name
beside it, as `tileas compile` or Triton writes it, or in `--launch`, `--block`, `--cluster`, `--shared` and
`--tensor-map`, which win. A part of a kernel's name is enough for `--function`.

JSON (a list, where a dump has several kernels) has these keys:

- `file`, `verdict` (`safe`, `violation`, `undecided`), `line` (the last line of the text)
- `scope`: `fixed` (arguments with their numbers), `tried` (what took some numbers and is not proved for others),
  `assumed` and `left_out` (clauses)
- `functions`, `trip_counts`, `executions`, `undecided` (reasons), `left_out` (calls without a positive step)
- `steps` (how many it took, the same on every computer)
- `every_trip_count` (whether that is proved, with nothing fixed), `bounded` (why not), `cut_short` (searches for which
  there was no time)
- `proofs`, by function: the largest trip count that was executed, the period, and at which trip count an array of a
  fixed size ends
- `findings`: `kind`, `cause` (a number, which `tileas explain-error` shows), `effect` (what the author of the kernel
  sees), `symptom` (the kind as which a wrong phase shows), `function`, `arguments`, `message`, `missing`, `parties`
  (`place`, `op`, `agent`, `iteration`, `role`) and `witness`, a list of steps (`agent`, `iteration`, `place`, `op`,
  `kind`, `text`; `elided` with counts per agent), of which those of kind `access` at the end collide
- `mistakes`: the findings by their causes, as places in `findings`: `first` explains most, and the mistake shows
  `also` as the others; `edit` is what repairs it, or null: `file` (null: the one that was checked), `line`, `before`
  and `after` (the lines of the file from there on) and `verdict` (what is said of the program with the edit)
- `kernel` and `same_as`, for kernels of a Python file: the form, and another one with the same mistakes
- `warnings`: `kind`, `function`, `place`, `op`, `message`, `counts`, `more`, `by_compiler`, `cycles`
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tileas_xdsl.checker.verdict.checking import MOST_COMBINATIONS, TIMEOUT, check
from tileas_xdsl.checker.verdict.mistakes import SourceEdit
from tileas_xdsl.checker.verdict.report import GRAVEST, Report, Verdict
from tileas_xdsl.checker.verdict.tile_ir import judge_tile_ir
from tileas_xdsl.machine.core.deadline import INTERRUPTION, ended_by_interrupt
from tileas_xdsl.tools.check.forms import Forms, Shown, lines_in_short
from tileas_xdsl.tools.errors import INTERRUPTED, InputError, collected
from tileas_xdsl.tools.exercises import is_exercise
from tileas_xdsl.tools.machine_input import (
    Input,
    add_capture,
    add_programs,
    add_threads,
    asked_function,
    machine_errors,
    named_values,
    print_json,
    read_kernels,
)
from tileas_xdsl.tools.progress import progress
from tileas_xdsl.tools.ptx import add_launch, tiles_in
from tileas_xdsl.tools.python import DEFAULT, add_python
from tileas_xdsl.tools.python.folders import programs_in, watch
from tileas_xdsl.tools.rendering import FAINT, Line, report_lines, write_lines
from tileas_xdsl.tools.time_limit import add_steps, add_timeout

if TYPE_CHECKING:
    from tileas_xdsl.checker.verdict.repairing import Check

LEAST, GREATEST = -(2**63), 2**64 - 1
"""The least and the greatest integer that 64 bits hold, signed or unsigned."""
UNREADABLE = 2
RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="programs, or folders of programs; - is standard input"
    )
    parser.add_argument("--function", metavar="F", help="check this function only (default: every public one)")
    parser.add_argument(
        "--trip-counts",
        metavar="0..8",
        help="values to try for arguments that bound loops, such as 0..4,8 (default: 0..8, or as many as the deepest "
        "ring needs; then a proof for every trip count)",
    )
    parser.add_argument(
        "--arg",
        metavar="NAME=N",
        action="append",
        default=[],
        help="fix an integer argument, by name or number; of PTX "
        "NAME=64*n or NAME=64*n+64 says that it is such a number, for n from 0 up",
    )
    add_capture(parser)
    parser.add_argument(
        "--may-alias", metavar="A,B", action="append", default=[], help="array arguments that may be the same array"
    )
    parser.add_argument(
        "--assume",
        metavar="CONDITION",
        action="append",
        default=[],
        help="check only calls where this holds: 'K >= 1', 'K %% 64 == 0', 'N >= K', 'M == N', or several with 'and'",
    )
    parser.add_argument(
        "--assume-pure",
        metavar="OP",
        action="append",
        default=[],
        help="treat ops of this name as pure: they only compute from their operands",
    )
    parser.add_argument(
        "--relaxed-proxy",
        action="store_true",
        help="only warn of a generic read before an asynchronous write without a proxy fence",
    )
    add_threads(parser)
    add_programs(parser, "what one block with a persistent loop may compute (default: any number)")
    parser.add_argument(
        "--no-advice",
        action="store_true",
        help="do not look for waits that could be weaker, which takes longer than the proof",
    )
    parser.add_argument(
        "--no-edit", action="store_true", help="do not look for the edit that repairs a mistake; it takes about as long"
    )
    add_steps(parser)
    add_timeout(parser, TIMEOUT, "the check of a function")
    parser.add_argument(
        "--dump-stage",
        metavar="PASS",
        help="in a dump of Triton (MLIR_ENABLE_DUMP=1), check the last module before this pass (default: the last one "
        "in TTGIR)",
    )
    add_python(parser)
    add_launch(parser)
    parser.add_argument("--all", action="store_true", help="show every violation in full, not one for each mistake")
    parser.add_argument("--watch", action="store_true", help="check again when a file changes")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text (the default) or json")


def run(arguments: argparse.Namespace) -> int:
    files = programs_in(arguments.files, with_ptx=arguments.level == "ptx")
    if not arguments.watch:
        return _check(files, arguments)
    return watch(files, lambda: _check(files, arguments))


def _check(files: Sequence[str], arguments: argparse.Namespace) -> int:
    """Check every file, and say what is found of each as soon as it is known; what cannot be read stops no other."""
    counts = None if arguments.trip_counts is None else parse_trip_counts(arguments.trip_counts)
    asked = _Asked(arguments, counts, _fixed(arguments.arg), [_pair(text) for text in arguments.may_alias])
    verdicts: list[Verdict] = []
    data: list[dict[str, Any]] = []
    complaints: list[InputError] = []
    with ended_by_interrupt() as interruption:
        for file in files:
            with collected(complaints, stops=len(files) == 1):
                given = read_kernels(
                    file, arguments.dump_stage, allow_unregistered=bool(arguments.assume_pure), arguments=arguments
                )
                forms = Forms()
                for each in given:
                    if interruption.wanted:
                        break
                    with collected(complaints, stops=len(given) == len(files) == 1):
                        report = _report(each, asked)
                        earlier = forms.earlier(report, each.title)
                        if earlier is None:
                            report.edit = _edit(each, report, asked, given)
                            forms.keep(report, each.title)
                        else:
                            report.edit = earlier.edit
                        verdicts.append(report.verdict)
                        same_as = {} if earlier is None else {"same_as": earlier.title}
                        data.append({"file": each.source.name, **_title_of(each), **same_as, **report.as_data()})
                        if arguments.format == "text":
                            is_one = len(given) == len(files) == 1
                            _print(report, each, earlier, is_one=is_one, all_findings=arguments.all)
            if interruption.wanted:
                break
        if arguments.format == "json":
            print_json(data[0] if len(data) == 1 else data)
        return _interrupted() if interruption.wanted else _status(verdicts, complaints)


def _interrupted() -> int:
    """Say that what was not printed is not known. The exit status after Ctrl-C."""
    sys.stdout.flush()
    print("error: ended by Ctrl-C: what is not said above was not checked", file=sys.stderr)
    return INTERRUPTED


def _print(report: Report, given: Input, earlier: Shown | None, *, is_one: bool, all_findings: bool) -> None:
    """The report, under what it is about where there are several; a mistake that was shown `earlier` in short."""
    if given.title is not None:
        write_lines([[(f"{given.title}:", "bold")]])
    elif not is_one:
        write_lines([[(f"@{', @'.join(report.functions)}:", "bold")]])
    if earlier is not None and not all_findings:
        write_lines(lines_in_short(report, earlier.title))
        return
    for_people = sys.stdout.isatty()
    write_lines(report_lines(report, given.source, for_people=for_people, all_findings=all_findings))
    if for_people and report.mistakes:
        write_lines(_where_to_go_on(report, given))


def _where_to_go_on(report: Report, given: Input) -> list[Line]:
    """The commands that tell more about the first mistake, and draw it if no more has to be said than the file."""
    language = "" if given.origin is None else " --triton"
    commands = [f"tileas explain-error {report.mistakes[0].first.cause.code}{language}"]
    file = given.source.name if given.origin is None else f"{given.origin.path}:{report.functions[0]}"
    target = "" if given.origin is None or given.origin.target == DEFAULT else f" --target {given.origin.target}"
    is_launched = given.origin is not None and given.origin.call is None
    if is_launched or file.endswith((".mlir", ".ttgir")):
        commands.append(f"tileas timeline {file}{target} --view slots -o slots.html")
    return [[("  more: ", FAINT), (command, "")] for command in commands]


def _title_of(given: Input) -> dict[str, str]:
    return {} if given.title is None else {"kernel": given.title}


def _status(verdicts: Sequence[Verdict], complaints: Sequence[InputError]) -> int:
    """A mistake that was found counts most, then what could not be read, then what is undecided."""
    worst = max(verdicts, key=GRAVEST.index, default=Verdict.SAFE)
    return UNREADABLE if complaints and worst is not Verdict.VIOLATION else worst.exit_status


@dataclass(frozen=True)
class _Asked:
    """What the command line asks of every check."""

    arguments: argparse.Namespace
    counts: list[int] | None
    fixed: dict[str, int]
    aliases: list[tuple[str, str]]

    def settings(self, given: Input) -> dict[str, Any]:
        """The options of `check` for a program."""
        arguments = self.arguments
        return {
            "function": given.function or asked_function(arguments),
            "trip_counts": self.counts,
            "capture": arguments.capture,
            "args": self.fixed,
            "may_alias": self.aliases,
            "assume": [*arguments.assume, *given.preconditions],
            "assume_pure": arguments.assume_pure,
            "relaxed_proxy": arguments.relaxed_proxy,
            "threads": arguments.threads,
            "programs": None if arguments.programs is None else prod(arguments.programs),
            "judge_waits": not arguments.no_advice,
            "timeout": arguments.timeout,
            "steps": arguments.steps,
        }


def _report(given: Input, asked: _Asked) -> Report:
    if given.complaint is not None:
        raise given.complaint
    with machine_errors(given.source), progress() as tell:
        report = check(given.module, **asked.settings(given), tell=tell)
        if given.tile_ir is not None:
            judge_tile_ir(given.tile_ir, report)
        return report


def _edit(given: Input, report: Report, asked: _Asked, forms: Sequence[Input]) -> SourceEdit | None:
    """What repairs the only mistake of a program, or of a Python file with its `forms`; None if not asked for."""
    if not report.findings or asked.arguments.no_edit or INTERRUPTION.wanted or is_exercise(given.source.name):
        return None
    from tileas_xdsl.tools.check.edited_ptx import edit_of_ptx
    from tileas_xdsl.tools.check.edited_python import edit_of_python
    from tileas_xdsl.tools.check.edited_source import edit_of_source

    def check_for(form: Input) -> Check:
        """Checks another module as that of `form` was checked."""
        settings = asked.settings(form)
        return lambda module, **other: check(module, **{**settings, **other})

    with machine_errors(given.source), progress() as tell:
        if tell is not None:
            tell("looking for the edit that repairs it")
        if given.origin is not None:
            return edit_of_python(given, report, forms, check_for, asked.fixed)
        if given.read_again is not None:
            return edit_of_ptx(given.source, report, given.read_again, check_for(given), asked.fixed)
        return edit_of_source(given, report, check_for(given), asked.fixed)


def parse_trip_counts(text: str) -> list[int]:
    """`0..4,8` as [0, 1, 2, 3, 4, 8]. Raises `InputError`."""
    counts: dict[int, None] = {}
    for part in text.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            raise InputError(
                [f"error: --trip-counts {text}: '{part}' is neither a number from 0 up nor a range, as 0..8"]
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError([f"error: --trip-counts {text}: the range {part} is empty; write {last}..{first}"])
        counts.update(dict.fromkeys(range(first, min(last, first + MOST_COMBINATIONS) + 1)))
        if len(counts) > MOST_COMBINATIONS:
            raise InputError([f"error: --trip-counts {text}: at most {MOST_COMBINATIONS} trip counts can be tried"])
    return sorted(counts)


def _fixed(texts: list[str]) -> dict[str, int]:
    """NAME -> N, but for multiples (`64*n`). Raises `InputError` for what is no integer and for a name given twice."""
    fixed: dict[str, int] = {}
    for name, value in named_values(texts, "--arg"):
        if tiles_in(value) is not None:
            continue
        try:
            number = int(value, 0)
        except ValueError:
            raise InputError([f"error: --arg {name}={value}: checking takes integers, as {name}=8"]) from None
        if not LEAST <= number <= GREATEST:
            raise InputError([f"error: --arg {name}={value}: an argument has 64 bits at most"])
        if name in fixed:
            raise InputError([f"error: --arg {name} is given twice"])
        fixed[name] = number
    return fixed


def _pair(text: str) -> tuple[str, str]:
    names = [name.strip().removeprefix("%") for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise InputError([f"error: --may-alias {text}: name two arguments, as A,B"])
    return names[0], names[1]
