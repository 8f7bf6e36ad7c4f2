"""
The exercises of the course: what lies in a folder `course/NN-name/`, and what its `exercise.toml` demands.

    exercise.toml     the task, hints, and what a solution has to meet
    start.*           what the reader begins with; it fails
    solution.*        one answer that passes
    wrong-*.*         answers that fail, each for the reason that `[wrong]` states

The folders are data of the package, so that an installed `tileas` has them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from tileas_xdsl.tools.errors import InputError

COURSE = Path(__file__).parent.parent / "course"
REFERENCES = COURSE / "reference"
"""Synchronous programs that say what an exercise computes."""


def is_exercise(path: str) -> bool:
    """Whether a file has the name under which `tileas course start` writes an exercise: `06-phases.mlir`."""
    return (COURSE / Path(path).stem / "exercise.toml").is_file()


@dataclass(frozen=True)
class Question:
    """
    A question that the reader answers in a comment, `// answer: NAME = NUMBER`.

    The right answer is measured when the exercise is judged: it is what `pattern` finds in the IR behind `passes`, or
    the line of a `party` of the first violation.
    """

    name: str
    passes: str = ""
    """A pipeline that the starting program is put through."""
    pattern: str = ""
    """A regular expression with one group, which the printed IR is searched for. The group is the answer."""
    counted: str = ""
    """Then the answer is how often this text stands in the group."""
    party: int | None = None
    """Instead: which party of the first violation of the starting program, from 0; the answer is its line."""


@dataclass(frozen=True)
class Conditions:
    """What a solution has to meet. What is None, or empty, is not demanded."""

    verdict: str = "safe"
    """`safe`, proved for every trip count, or the kind of violation that the program has to show."""
    safe_trip_counts: tuple[int, ...] = ()
    """Where a violation is demanded: trip counts at which nothing is wrong."""
    witness: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where a violation is demanded: the arguments of the first call that shows it."""
    same_as: str | None = None
    """A program in `course/reference/` with the same arguments, which leaves the same numbers."""
    arrays: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments of these runs whose types do not say how large they are: `128x256xf16`. They get small integers."""
    compared: tuple[str, ...] = ()
    """The arrays that are compared; empty for all."""
    trip_counts: tuple[int, ...] = (0, 1, 2, 3, 5, 8)
    """The values of `n` in these runs."""
    time_with: Mapping[str, int] = field(default_factory=lambda: {"n": 32})
    """Arguments of the timed run, from which cycles, works in flight and bytes are taken."""
    target: str = "sm_90"
    max_cycles: int | None = None
    """Simulated cycles of the timed run."""
    max_cycles_per_iteration: int | None = None
    min_in_flight: int | None = None
    """Works and tasks under way at one time."""
    max_shared_bytes: int | None = None
    """Bytes of shared memory that the program uses."""
    no_over_wait: bool = False
    """Whether a wait that could be weaker is a fault."""
    op_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many ops of a name there are."""
    max_wavefronts: int | None = None
    """Of a layout: wavefronts of the access that it is chosen for."""
    answers: tuple[Question, ...] = ()
    programs: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of a pass: a program of the folder -> how many ops named `counted` it has behind the pass."""
    counted: str = ""


@dataclass(frozen=True)
class Exercise:
    """One exercise of the course."""

    folder: Path
    number: int
    title: str
    page: str
    """The chapter, as a file name in `docs/course/`."""
    task: str
    hints: tuple[str, ...]
    """From the first push to the last; none is the answer."""
    fails: str
    """The kind of the first condition that the start does not meet."""
    wrong: Mapping[str, str]
    """Wrong answer, as a file name -> the kind of the first condition that it does not meet."""
    demand: Conditions
    passes: str = ""
    """A pipeline that an answer is put through before it is judged."""
    layout: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where the answer is a layout: the layout `of` the registers that are stored, and the `tile`."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def start(self) -> Path:
        return self._file("start")

    @property
    def solution(self) -> Path:
        return self._file("solution")

    @property
    def suffix(self) -> str:
        return self.start.suffix

    def _file(self, stem: str) -> Path:
        return next(path for path in sorted(self.folder.iterdir()) if path.stem == stem)


def exercises() -> dict[int, Exercise]:
    """All exercises by number, in order."""
    found = [read_exercise(folder) for folder in sorted(COURSE.iterdir()) if (folder / "exercise.toml").is_file()]
    return {exercise.number: exercise for exercise in found}


def exercise_numbered(text: str) -> Exercise:
    """The exercise whose number, or folder, is `text`. Raises `InputError` for what names none."""
    known = exercises()
    for exercise in known.values():
        if text == exercise.name or (text.isdecimal() and int(text) == exercise.number):
            return exercise
    raise InputError([f"error: there is no exercise {text}: they are numbered {min(known)} to {max(known)}"])


def read_exercise(folder: Path) -> Exercise:
    """
    The exercise in `folder`. Raises `ValueError` for a word that an `exercise.toml` does not have, so that a condition
    which is misspelt is not a condition that everything meets.
    """
    data = tomllib.loads((folder / "exercise.toml").read_text(encoding="utf-8"))
    demand: dict[str, Any] = data.pop("demand", {})
    questions: list[dict[str, Any]] = demand.pop("answers", [])
    for name in ("trip_counts", "safe_trip_counts", "compared"):
        if name in demand:
            demand[name] = tuple(cast("list[Any]", demand[name]))
    _refuse_unknown(folder, demand, Conditions)
    _refuse_unknown(folder, data, Exercise)
    hints = tuple(cast("list[str]", data.pop("hints", [])))
    asked = tuple(Question(**question) for question in questions)
    return Exercise(folder, int(folder.name[:2]), hints=hints, demand=Conditions(**demand, answers=asked), **data)


def _refuse_unknown(folder: Path, words: Mapping[str, Any], kind: type[Conditions | Exercise]) -> None:
    known = {part.name for part in fields(kind)}
    unknown = [word for word in words if word not in known]
    if unknown:
        raise ValueError(f"{folder.name}/exercise.toml: unknown: {', '.join(unknown)}")
