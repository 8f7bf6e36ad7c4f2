"""
`rocdl-elide-marks`: what goes, what stays, and that no wait gets shorter or longer (LLVM, "AMDGPU Asynchronous
Operations").
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import corpus, each, sample
from tests.support.counting_programs import random_program, waits_in
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tests.transforms.test_convert_queue_to_rocdl import MOST_PATHS, arguments, some_bits
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.rocdl.waits import AsyncmarkOp, WaitAsyncmarkOp

WITH_WAITS = sample(range(600, 618), 5)
PASS = "rocdl-elide-marks"
MARK = "rocdl.asyncmark\n"


def load(cell: int) -> str:
    return f"rocdl.global.load.async.lds %g, %l, 4, {4 * cell}, 0 : !llvm.ptr<1>, !llvm.ptr<3>\n"


def use(cell: int) -> str:
    """A read of a cell of LDS."""
    return f"""%p{cell} = llvm.getelementptr %l[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
%v{cell} = llvm.load %p{cell} : !llvm.ptr<3> -> f32
"""


def wait(count: int) -> str:
    return f"rocdl.wait.asyncmark {count}\n"


def branch(then: str, otherwise: str = "") -> str:
    return f"scf.if %c {{\n{then}}} else {{\n{otherwise}}}\n"


def function(body: str, name: str = "foo", kind: str = "") -> str:
    return f"func.func {kind} @{name}(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %c: i1) {{\n{body}func.return\n}}\n"


def call(name: str) -> str:
    return f"func.call @{name}(%g, %l, %c) : (!llvm.ptr<1>, !llvm.ptr<3>, i1) -> ()\n"


def elided(text: str, options: str = "") -> ModuleOp:
    return run_passes(parse(text), PASS + options)


def marks_of(module: ModuleOp, name: str = "foo") -> str:
    """Transfers, marks, waits, reads and branches of a function in program order, a letter or a number each."""
    letters = {"rocdl.global.load.async.lds": "L", "rocdl.asyncmark": "m", "llvm.load": "u", "func.call": "c"}
    (found,) = (op for op in module.walk() if op.name == "func.func" and op.properties["sym_name"].data == name)  # pyright: ignore
    return "".join(
        str(op.count.value.data) if isinstance(op, WaitAsyncmarkOp) else letters.get(op.name, "") for op in found.walk()
    )


def assert_as_safe(before: str, after: ModuleOp, name: str = "foo") -> None:
    """Before and after there are the same kinds of mistakes by the same kinds of op, whichever way branches go."""
    for condition in (0, 1):
        reports = [check(module, name, args={"c": condition}) for module in (parse(before), after)]
        assert reports[0].kinds == reports[1].kinds, f"{reports[0]}\n{reports[1]}\n{print_custom(after)}"


# What LLVM's document lets an implementation eliminate, to the letter and as it is meant ------------------------------


def test_a_mark_that_no_wait_postdominates_may_be_needed() -> None:
    """`load; mark; if c { wait 0; use }`: "not post-dominated by any wait" would remove the mark, and the order."""
    text = function(load(0) + MARK + branch(wait(0) + use(0)))
    module = elided(text)
    assert marks_of(module) == "Lm0u"
    literal = function(load(0) + branch(wait(0) + use(0)))
    assert check(parse(text), "foo", args={"c": 1}).kinds == []
    assert "race" in check(parse(literal), "foo", args={"c": 1}).kinds


def test_a_wait_that_no_mark_dominates_may_be_needed() -> None:
    """`if c { load; mark }; wait 0`: "not dominated by any mark" would remove the wait."""
    text = function(branch(load(0) + MARK) + wait(0) + use(0))
    module = elided(text)
    assert marks_of(module) == "Lm0u"
    literal = function(branch(load(0) + MARK) + use(0))
    assert check(parse(text), "foo", args={"c": 1}).kinds == []
    assert "race" in check(parse(literal), "foo", args={"c": 1}).kinds


def test_a_mark_from_which_no_wait_is_reached_goes() -> None:
    assert marks_of(elided(function(load(0) + MARK + wait(0) + load(1) + MARK))) == "Lm0L"
    assert marks_of(elided(function(load(0) + MARK + branch(MARK, wait(0))))) == "Lm0"


def test_a_wait_at_which_few_enough_marks_are_outstanding_goes() -> None:
    assert marks_of(elided(function(load(0) + MARK + wait(1) + wait(0) + use(0)))) == "Lm0u"
    assert marks_of(elided(function(load(0) + MARK + wait(0) + wait(0) + use(0)))) == "Lm0u"
    both = branch(load(0) + MARK, load(0) + MARK)
    assert marks_of(elided(function(both + wait(1) + use(0)))) == "LLu"


def test_equality_is_enough() -> None:
    two = load(0) + MARK + load(1) + MARK
    assert marks_of(elided(function(two + wait(2) + wait(0)))) == "LLm0"


def test_a_mark_that_is_only_counted_goes_with_the_count() -> None:
    """`load X; mark; load Y; mark; wait 1` covers X by its second mark: without it the count is 0."""
    text = function(load(0) + MARK + load(1) + MARK + wait(1) + use(0))
    module = elided(text)
    assert marks_of(module) == "LmL0u"
    assert_as_safe(text, module)
    too_new = function(load(0) + MARK + load(1) + MARK + wait(1) + use(1))
    assert "race" in check(elided(too_new)).kinds, "the wait does not complete Y now"


def test_a_mark_behind_a_mark_covers_nothing_new() -> None:
    text = function(load(0) + MARK + MARK + load(1) + MARK + wait(2) + use(0) + wait(1) + wait(0) + use(1))
    module = elided(text)
    assert marks_of(module) == "LmLm1u0u"
    assert_as_safe(text, module)


def test_marks_stay_where_paths_would_need_different_counts() -> None:
    """With c the wait for A is behind one more mark than without; as it stands one count fits both ways."""
    text = function(branch(load(0) + MARK + load(1) + MARK, load(0) + MARK + MARK) + wait(1) + use(0))
    module = elided(text)
    assert_as_safe(text, module)
    uneven = function(load(2) + MARK + branch(load(0) + MARK + load(1) + MARK, load(0) + MARK) + wait(1) + wait(0))
    assert marks_of(elided(uneven)).count("m") >= 3


def test_a_call_may_have_issued_something() -> None:
    text = "func.func private @bar()\n" + function(load(0) + MARK + "func.call @bar() : () -> ()\n" + MARK + wait(0))
    assert marks_of(elided(text)) == "Lcm0"
    text = "func.func private @bar()\n" + function(
        load(0) + MARK + "func.call @bar() : () -> ()\n" + MARK + wait(1) + use(0) + wait(0)
    )
    assert marks_of(elided(text)) == "Lmcm1u0"


def test_a_software_pipeline_keeps_its_marks() -> None:
    text = """
    func.func @foo(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
      rocdl.asyncmark
      scf.for %i = %c0 to %n step %c1 {
        rocdl.global.load.async.lds %g, %l, 4, 4, 0 : !llvm.ptr<1>, !llvm.ptr<3>
        rocdl.asyncmark
        rocdl.wait.asyncmark 1
      }
      rocdl.wait.asyncmark 0
      func.return
    }"""
    assert print_custom(elided(text)) == print_custom(parse(text))


# Calls ----------------------------------------------------------------------------------------------------------------

FOO = function(MARK, "foo")
BAR = function(load(0) + MARK + load(1) + MARK + call("foo") + wait(1) + use(0), "bar")


def test_the_mark_of_the_callee_is_gone_before_it_is_inlined() -> None:
    """The last program of LLVM's document: "the optimizer should have eliminated mark A in the body of foo()"."""
    module = elided(FOO + BAR, "{inline-calls=true}")
    assert marks_of(module, "foo") == ""
    assert marks_of(module, "bar") in ("LmLc0u", "LmLmc1u")
    assert check(module, "bar").verdict is check(parse(FOO + BAR), "bar").verdict


NEEDED = function(load(2) + MARK + branch(wait(0) + use(2)), "foo")


def test_waits_are_raised_by_the_marks_that_are_inlined_behind_what_they_are_for() -> None:
    """
    Mark A is needed in its function. Inlined, it is one more mark behind B: the wait for B is one for at most 2, and
    for at most 1 once the mark C is gone, which no wait is for.
    """
    body = load(0) + MARK + load(1) + MARK + call("foo") + wait(1) + use(0) + MARK + wait(0)
    text = NEEDED + function(body, "bar")
    module = elided(text, "{inline-calls=true}")
    assert marks_of(module, "bar") == "LmLLm0u1u0"
    for cell, kinds in ((0, []), (1, ["race"])):
        variant = text.replace(wait(1) + use(0), wait(1) + use(cell))
        assert check(parse(variant), "bar", args={"c": 0}).kinds == kinds
        assert check(elided(variant, "{inline-calls=true}"), "bar", args={"c": 0}).kinds == kinds


def test_plain_inlining_would_have_lengthened_the_wait() -> None:
    inlined = load(0) + MARK + load(1) + MARK + load(2) + MARK + wait(1) + use(1) + wait(0)
    assert check(parse(function(inlined)), "foo").kinds == [], "the wait now completes C as well"


def test_waits_of_a_callee_count_its_own_marks() -> None:
    callee = function(load(2) + MARK + load(3) + MARK + wait(1) + use(2) + wait(0), "foo")
    text = callee + function(load(0) + MARK + call("foo") + load(1) + MARK + wait(1) + use(0) + wait(0), "bar")
    module = elided(text, "{inline-calls=true}")
    assert "c" not in marks_of(module, "bar")
    assert_as_safe(text, module, "bar")


def test_results_of_inlined_calls() -> None:
    text = """
    func.func private @first(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) -> f32 {
      rocdl.global.load.async.lds %g, %l, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>
      rocdl.asyncmark
      rocdl.wait.asyncmark 0
      %v = llvm.load %l : !llvm.ptr<3> -> f32
      func.return %v : f32
    }
    func.func @main(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) -> f32 {
      %a = func.call @first(%g, %l) : (!llvm.ptr<1>, !llvm.ptr<3>) -> f32
      %b = func.call @first(%g, %l) : (!llvm.ptr<1>, !llvm.ptr<3>) -> f32
      %sum = arith.addf %a, %b : f32
      func.return %sum : f32
    }"""
    module = elided(text, "{inline-calls=true}")
    assert "func.call" not in print_custom(module)
    assert_same_meaning(parse(text), module, "main", [{}])


def test_calls_that_cannot_be_inlined_stay() -> None:
    recursive = function(load(0) + MARK + wait(0) + branch(call("foo")))
    assert marks_of(elided(recursive, "{inline-calls=true}")) == "Lm0c"
    external = "func.func private @bar()\n" + function("func.call @bar() : () -> ()\n")
    assert marks_of(elided(external, "{inline-calls=true}")) == "c"
    other = NEEDED + function("%t = async.execute {\n" + call("foo") + "async.yield\n}\n" + MARK + wait(0), "bar")
    assert "c" in marks_of(elided(other, "{inline-calls=true}"), "bar")


def test_marks_in_other_threads_are_left_alone() -> None:
    text = function("%t = async.execute {\n" + MARK + wait(3) + "async.yield\n}\n" + MARK)
    assert print_custom(elided(text)) == print_custom(parse(text))


# Random programs ------------------------------------------------------------------------------------------------------


def lowered(text: str) -> ModuleOp:
    module = parse(text)
    with recorded_diagnostics():
        return run_passes(module, "convert-queue-to-rocdl{barriers=false}")


@each("seed", range(500, 530), 10)
def test_random_programs_keep_their_numbers_and_their_safety(seed: int) -> None:
    program = random_program(seed)
    before, after = lowered(program.text()), lowered(program.text())
    run_passes(after, PASS)
    sets = [arguments(bits) for bits in some_bits(program, seed)]
    assert_same_meaning(before, after, "f", sets, orders=("lazy", "random:1"))


def number_of_marks(module: ModuleOp) -> int:
    return sum(isinstance(op, AsyncmarkOp) for op in module.walk())


@corpus(len(WITH_WAITS))
def test_no_wait_gets_longer() -> None:
    """A read of the oldest group that a wait does not promise is a race before, and after."""
    raced = fewer = 0
    for seed in WITH_WAITS:
        program = random_program(seed, queues=1, least_copies=1)
        paths = list(program.paths(MOST_PATHS + 1))
        if len(paths) > MOST_PATHS:
            continue
        for site in waits_in(program.statements):
            text = program.text(only=site.site, too_new=True)
            before, after = lowered(text), lowered(text)
            run_passes(after, PASS)
            fewer += number_of_marks(after) < number_of_marks(before)
            if site.count == 0:
                continue
            for path in paths[:: max(1, len(paths) // 2)]:
                kinds = [check(module, "f", args={"bits": path.bits}).kinds for module in (before, after)]
                assert kinds[0] == kinds[1], f"seed {seed}, site {site.site}, bits {path.bits}"
                raced += kinds[0] == ["race"]
    assert raced > 2
    assert fewer > 2


def test_elision_settles() -> None:
    for seed in range(500, 506):
        module = run_passes(lowered(random_program(seed).text()), PASS)
        once = print_custom(module)
        assert print_custom(run_passes(module, PASS)) == once


def test_a_function_without_marks_is_safe_as_it_is() -> None:
    assert check(parse(function(wait(0)))).verdict is Verdict.SAFE
    assert marks_of(elided(function(wait(0)))) == ""
