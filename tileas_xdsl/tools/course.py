"""
`tileas course`: the exercises of the course. `start 4` copies one here, `check 4` judges what became of it.

    tileas course list           all exercises, and which file is judged for each
    tileas course start N        copies the program that is to be changed into this folder
    tileas course check N [FILE] says which conditions it does not meet yet
    tileas course hint N         one hint
    tileas course solution N     prints an answer that passes

Exit status 0: done, and with `check` that all conditions are met. 1: some are not; one line each. 2: there is no such
exercise, or the file cannot be read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.exercises import Exercise, exercise_numbered, exercises
from tileas_xdsl.tools.inputs import read_text
from tileas_xdsl.tools.output_files import write_text

MET, UNMET = 0, 1
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
    print(exercise.hint if arguments.action == "hint" else read_text(str(exercise.solution)).rstrip("\n"))
    return MET


def working_file(exercise: Exercise) -> str:
    """The name under which a reader works on an exercise, in the current folder."""
    return f"{exercise.name}{exercise.suffix}"


def _list() -> int:
    for exercise in exercises().values():
        print(f"{exercise.number:2}  {exercise.title:24} {working_file(exercise)}")
    return MET


def _start(exercise: Exercise) -> int:
    """Copy the start. What the reader has changed stays; what is unchanged may be started again."""
    name, text = working_file(exercise), read_text(str(exercise.start))
    if not Path(name).exists():
        write_text(name, text)
    elif read_text(name) != text:
        raise InputError([f"{name}: error: it is there already, and changed: remove it to start again"])
    print(f"{name}: {exercise.task}")
    return MET


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
    print(f"{exercise.name}: {f'{len(unmet)} not met' if unmet else 'all conditions are met'}")
    return UNMET if unmet else MET


def _refuse_surplus(given: str | None, action: str) -> None:
    if given is not None:
        raise InputError([f"error: tileas course {action}: '{given}' is one argument too many"])
