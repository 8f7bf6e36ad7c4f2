"""
`tileas course`: the exercises of the course. `start 4` copies one here, `check 4` judges what became of it.

    tileas course list           all exercises, which file is judged for each, and which are solved
    tileas course start N        copies the program that is to be changed, and what goes with it, into this folder
    tileas course check N [FILE] says which conditions it does not meet yet
    tileas course hint N         the next hint; none of them is the answer
    tileas course solution N     prints an answer that passes

Exit status 0: done, and with `check` that all conditions are met. 1: some are not; one line each. 2: there is no such
exercise, or the file cannot be read.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.exercises import Exercise, exercise_numbered, exercises
from tileas_xdsl.tools.inputs import read_text
from tileas_xdsl.tools.output_files import write_text

MET, UNMET = 0, 1
MARKS = ".tileas-course.json"
"""The file in the folder of a reader that says how far the reader is."""
ACTIONS = ("list", "start", "check", "hint", "solution")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = f"{', '.join(ACTIONS)} (default: list)"
    parser.add_argument("action", metavar="ACTION", nargs="?", default="list", help=actions)
    parser.add_argument("exercise", metavar="N", nargs="?", help="which exercise, by its number")
    parser.add_argument("file", metavar="FILE", nargs="?", help="with check: the file (default: as start names it)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action not in ACTIONS:
        raise InputError([f"error: tileas course {arguments.action}: there is {', '.join(ACTIONS)}"])
    if arguments.action == "list":
        _refuse_surplus(arguments.exercise, "list")
        return _list()
    if arguments.exercise is None:
        raise InputError([f"error: tileas course {arguments.action}: which exercise? `tileas course list` has them"])
    exercise = exercise_numbered(arguments.exercise)
    if arguments.action == "check":
        return _check(exercise, arguments.file or working_file(exercise))
    _refuse_surplus(arguments.file, arguments.action)
    if arguments.action == "start":
        return _start(exercise)
    print(_hint(exercise) if arguments.action == "hint" else read_text(str(exercise.solution)).rstrip("\n"))
    return MET


def _hint(exercise: Exercise) -> str:
    count = len(exercise.hints)
    number = Progress.read().next_hint(exercise.name, count)
    return f"hint {number} of {count}: {exercise.hints[number - 1]}"


def working_file(exercise: Exercise) -> str:
    """The name under which a reader works on an exercise, in the current folder."""
    return f"{exercise.name}{exercise.suffix}"


def _list() -> int:
    solved = Progress.read().solved
    for exercise in exercises().values():
        mark = "x" if exercise.name in solved else " "
        print(f"[{mark}] {exercise.number:2}  {exercise.title:24} {working_file(exercise)}")
    print(f"{len(solved)} of {len(exercises())} solved in this folder")
    return MET


def _start(exercise: Exercise) -> int:
    """Copy the start, and the programs of the exercise. What the reader has changed stays."""
    for program in exercise.demand.programs:
        copy = Path(exercise.name, program)
        copy.parent.mkdir(exist_ok=True)
        _copy(exercise.folder / program, copy)
    name = working_file(exercise)
    _copy(exercise.start, Path(name))
    print(f"{name}: {exercise.task}")
    return MET


def _copy(source: Path, target: Path) -> None:
    """Copy a file. Raises `InputError` where the reader has changed the copy."""
    text = read_text(str(source))
    if not target.exists():
        write_text(str(target), text)
    elif read_text(str(target)) != text:
        raise InputError([f"{target}: error: it is there already, and changed: remove it to start again"])


def _check(exercise: Exercise, file: str) -> int:
    from tileas_xdsl.tools.judging import judge

    try:
        unmet = judge(exercise, Path(file))
    except FileNotFoundError:
        help_ = f"`tileas course start {exercise.number}` makes {working_file(exercise)}"
        raise InputError([f"{file}: error: no such file: {help_}"]) from None
    except InputError as error:
        # One line: the exercise and its file are known, and the caret says no more than the place.
        raise InputError([error.messages[0].partition("\n")[0]]) from None
    for condition in unmet:
        print(f"not met: {condition.line}")
    if not unmet:
        Progress.read().solve(exercise.name)
    print(f"{exercise.name}: {f'{len(unmet)} not met' if unmet else 'all conditions are met'}")
    return UNMET if unmet else MET


def _refuse_surplus(given: str | None, action: str) -> None:
    if given is not None:
        raise InputError([f"error: tileas course {action}: '{given}' is one argument too many"])


# How far a reader is -----------------------------------------------------------------------------------------------


@dataclass
class Progress:
    """
    What was solved in a folder, and how many hints were given. A folder that cannot be written, or a file that is not
    ours, costs the marks alone.
    """

    solved: list[str] = field(default_factory=list[str])
    """Names of exercises, in the order in which they were solved."""
    hints: dict[str, int] = field(default_factory=dict[str, int])
    """Name of an exercise -> how many of its hints were given."""

    @classmethod
    def read(cls) -> Progress:
        """The marks of the current folder; none where nothing can be read."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept: Any = json.loads(Path(MARKS).read_text(encoding="utf-8"))
            return cls(list(map(str, kept["solved"])), {str(name): int(kept["hints"][name]) for name in kept["hints"]})
        return cls()

    def write(self) -> None:
        """Keep the marks in the current folder, where that is possible."""
        with suppress(OSError):
            Path(MARKS).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def solve(self, name: str) -> None:
        """Mark the exercise `name` as solved."""
        if name not in self.solved:
            self.solved.append(name)
            self.write()

    def next_hint(self, name: str, count: int) -> int:
        """The number of the hint that is due, from 1; the last of `count` is given again and again."""
        number = min(self.hints.get(name, 0) + 1, count)
        self.hints[name] = number
        self.write()
        return number
