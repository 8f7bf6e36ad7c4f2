"""
The exercises of the course: each start fails as it says, each solution passes, each wrong answer fails for its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tileas_xdsl.tools import main as command
from tileas_xdsl.tools.exercises import Exercise, exercises, read_exercise
from tileas_xdsl.tools.judging import judge

ALL = exercises()
WRONG = [(exercise, name) for exercise in ALL.values() for name in exercise.wrong]
Course = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def course(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Course:
    """`course(action, ...)` in a folder of its own: status, lines of output, errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, list[str], str]:
        status = command.main(["course", *arguments])
        captured = capsys.readouterr()
        return status, captured.out.splitlines(), captured.err

    return run


# The three kinds of files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.name)
def test_a_start_fails_as_it_says(exercise: Exercise):
    assert [unmet.kind for unmet in judge(exercise, exercise.start)][:1] == [exercise.fails]


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.name)
def test_a_solution_passes(exercise: Exercise):
    assert judge(exercise, exercise.solution) == []


@pytest.mark.parametrize(("exercise", "name"), WRONG, ids=lambda value: str(getattr(value, "name", value)))
def test_a_wrong_answer_is_refused_for_its_reason(exercise: Exercise, name: str):
    """For that reason first: what comes behind it may follow from it."""
    assert [unmet.kind for unmet in judge(exercise, exercise.folder / name)][:1] == [exercise.wrong[name]]


def test_there_are_enough_wrong_answers():
    assert list(ALL) == list(range(1, 16))
    assert len(WRONG) >= 26
    assert min(len(exercise.wrong) for exercise in ALL.values()) >= 2


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.name)
def test_a_folder_holds_what_its_toml_names(exercise: Exercise):
    files = {path.name for path in exercise.folder.iterdir() if path.is_file()}
    answers = {exercise.start.name, exercise.solution.name, *exercise.wrong}
    assert files == {"exercise.toml", *answers, *exercise.demand.programs}
    assert len(exercise.hints) >= 2
    assert "TODO" in exercise.start.read_text()
    assert not any("TODO" in (exercise.folder / name).read_text() for name in answers - {exercise.start.name})


def test_a_misspelt_condition_is_no_condition_that_all_meet(tmp_path: Path):
    folder = tmp_path / "01-some"
    folder.mkdir()
    (folder / "exercise.toml").write_text("[demand]\nmax_cycle = 3\n")
    with pytest.raises(ValueError, match=r"01-some/exercise\.toml: unknown: max_cycle"):
        read_exercise(folder)


# The command ----------------------------------------------------------------------------------------------------------


def test_an_exercise_from_its_start_to_its_solution(course: Course):
    status, lines, _ = course("start", "4")
    assert (status, len(lines)) == (0, 1)
    assert lines[0].startswith("04-counts.mlir: Find the weakest wait")
    file = Path("04-counts.mlir")
    status, lines, _ = course("check", "4")
    assert status == 1
    assert lines == [
        "not met: 572 cycles an iteration at n = 32; at most 320 are allowed",
        "not met: 04-counts.mlir:38:5: over-wait: 'async_queue.wait' is stronger than needed; it costs 3502 of 8392 "
        "cycles in @double(n = 8)",
        "04-counts: 2 not met",
    ]
    file.write_text(file.read_text().replace("wait 0, 0\n    %x", "wait 0, 3\n    %x"))
    assert course("check", "4") == (0, ["04-counts: all conditions are met"], "")
    assert course("check", "04-counts", str(file))[0] == 0


def test_the_list_the_hints_and_the_solution(course: Course):
    assert course()[1] == course("list")[1]
    assert len(course("list")[1]) == len(ALL) + 1
    given = [course("hint", "4")[1] for _ in range(len(ALL[4].hints) + 1)]
    steps = [[f"hint {number} of 3: {hint}"] for number, hint in enumerate(ALL[4].hints, 1)]
    assert given == [*steps, steps[-1]]
    assert course("hint", "5")[1] == [f"hint 1 of 2: {ALL[5].hints[0]}"]
    assert course("solution", "12")[1] == ALL[12].solution.read_text().splitlines()


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.name)
def test_no_hint_and_no_judgement_is_the_answer(exercise: Exercise):
    start, solution = (path.read_text().splitlines() for path in (exercise.start, exercise.solution))
    answer = {line.strip() for line in solution if line not in start and len(line.strip()) > 1}
    said = [*exercise.hints, exercise.task, *(unmet.line for unmet in judge(exercise, exercise.start))]
    assert [line for line in said if any(changed in line for changed in answer)] == []
    assert not any(" would do" in line for line in said)


def test_a_check_of_an_exercise_does_not_show_its_edit(course: Course, capsys: pytest.CaptureFixture[str]):
    course("start", "2")
    Path("mine.mlir").write_text(Path("02-races.mlir").read_text())
    shown: list[bool] = []
    for file in ("02-races.mlir", "mine.mlir"):
        assert command.main(["check", file]) == 1
        shown.append("edit: with it" in capsys.readouterr().out)
    assert shown == [False, True]


def test_what_is_solved_is_marked(course: Course):
    assert course("list")[1][-1] == "0 of 15 solved in this folder"
    Path("02-races.mlir").write_text(ALL[2].solution.read_text())
    course("check", "2")
    course("check", "2")
    lines = course("list")[1]
    assert [line for line in lines if line.startswith("[x]")] == [lines[1]]
    assert lines[-1] == "1 of 15 solved in this folder"


@pytest.mark.parametrize("text", ["", "[]", "3", '{"solved": 3, "hints": {}}', '{"solved": [], "hints": {"a": "b"}}'])
def test_marks_that_cannot_be_read_cost_the_marks_alone(course: Course, text: str):
    Path(".tileas-course.json").write_text(text)
    assert course("list")[1][-1] == "0 of 15 solved in this folder"
    assert course("hint", "1")[0] == 0


def test_the_programs_of_an_exercise_come_with_its_start(course: Course):
    assert course("start", "12") == course("start", "12")
    copied = {path.name: path.read_text() for path in Path("12-your-pass").iterdir()}
    assert copied == {name: (ALL[12].folder / name).read_text() for name in ALL[12].demand.programs}


def test_a_bug_of_a_pass_is_said_once_with_the_line_of_its_author(course: Course):
    course("start", "12")
    file = Path("12-your-pass.py")
    file.write_text(file.read_text().replace("        pass", "        left = {}\n        left[0].count(1)"))
    status, lines, _ = course("check", "12")
    assert (status, len(lines)) == (1, 2)
    expected = (
        "not met: 12-your-pass.py:18: 'left[0].count(1)' raises KeyError: 0, on 12-your-pass/twice.mlir; the same on "
    )
    assert lines[0].startswith(expected)


def test_all_conditions_but_one_give_one_line_with_the_missing_number(course: Course):
    status, lines, _ = course("check", "5", str(ALL[5].folder / "wrong-five.mlir"))
    assert status == 1
    assert lines == ["not met: 20 bytes of shared memory; at most 16 are allowed", "05-rings: 1 not met"]


def test_what_was_begun_is_not_overwritten(course: Course):
    assert course("start", "1") == course("start", "1")
    Path("01-asynchronous-work.mlir").write_text("mine")
    status, lines, errors = course("start", "1")
    assert (status, lines) == (2, [])
    assert errors == "01-asynchronous-work.mlir: error: it is there already, and changed: remove it to start again\n"
    assert Path("01-asynchronous-work.mlir").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "text", "expected"),
    [
        ("1", "func.func @f(", "answer:1:14: error: "),
        ("1", "", "answer:1:1: error: there is no operation in this file"),
        ("12", "def f(:\n", "answer:1:7: error: invalid syntax"),
        ("12", "1 / 0\n", "answer:1: '1 / 0' raises ZeroDivisionError: division by zero"),
        ("12", "x = 1\n", "answer: error: it defines 0 passes; one is demanded"),
        ("14", "\n", "answer: error: 0 lines with a layout; one is demanded"),
        ("14", "smem, spiral\n", "error: 64x64xf32, #nv_tileas.layout<smem, spiral> does not parse"),
    ],
)
def test_a_file_that_cannot_be_read_gives_one_line(course: Course, number: str, text: str, expected: str):
    Path("answer").write_text(text)
    status, lines, errors = course("check", number, "answer")
    assert (status, lines) == (2, [])
    assert errors.startswith(expected)
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "99"], "error: there is no exercise 99: they are numbered 1 to 15\n"),
        (["begin", "1"], "error: tileas course begin: there is list, start, check, hint, solution\n"),
        (["start", "counts"], "error: there is no exercise counts: they are numbered 1 to 15\n"),
        (["check"], "error: tileas course check: which exercise? `tileas course list` has them\n"),
        (["check", "4"], "04-counts.mlir: error: no such file: `tileas course start 4` makes 04-counts.mlir\n"),
        (["hint", "4", "x.mlir"], "error: tileas course hint: 'x.mlir' is one argument too many\n"),
    ],
)
def test_a_wrong_command_line_gives_one_line(course: Course, arguments: list[str], expected: str):
    assert course(*arguments) == (2, [], expected)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("func.func @double(%n: index) {\n  func.return\n}\n", "numbers"),
        ("func.func @double(%out: memref<63xf32>, %n: index) {\n  func.return\n}\n", "numbers"),
        ("func.func @double(%m: index) {\n  func.return\n}\n", "arguments"),
        ('func.func @double(%n: index) {\n  "test.op"() : () -> ()\n  func.return\n}\n', "undecided"),
        ("func.func private @double(%n: index)\n", "arguments"),
    ],
)
def test_another_program_is_no_answer(text: str, kind: str, tmp_path: Path):
    path = tmp_path / "other.mlir"
    path.write_text(text)
    assert [unmet.kind for unmet in judge(ALL[4], path)][:1] == [kind]
