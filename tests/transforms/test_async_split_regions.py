"""`async-split-regions`: results come earlier, numbers and safety stay."""

from __future__ import annotations

import random
import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import corpus, sample
from tests.support.ir import ROOT, chunks, parse, run_passes
from tests.support.safe_token_programs import safe_program
from tests.support.token_meaning import assert_safe_and_equal, changed
from tileas_xdsl.diagnostics import RefusedError
from tileas_xdsl.interfaces import AsyncOpInterface
from tileas_xdsl.machine.running import Outcome, run

SEEDS = sample(range(300), 60)
TEXTS = chunks(ROOT / "tests/filecheck/transforms/async-split-regions.mlir")
SPLIT = "async-split-regions"


def tokens(module: ModuleOp) -> int:
    views = [AsyncOpInterface.of(op) for op in module.walk()]
    return sum(view is not None and view.async_token is not None for view in views)


def several_values(seed: int) -> str:
    """A region or task that computes several values, some from memory of its own, and users of some of them each."""
    generator = random.Random(seed)
    upstream = generator.random() < 0.3
    body = ["%own = memref.alloc() : memref<2xf32>", "memref.store %x, %own[%c0] : memref<2xf32>"]
    values = ["%x"]
    for number in range(generator.randint(2, 7)):
        first, second = generator.choice(values), generator.choice(values)
        match generator.randrange(5):
            case 0:
                body.append(f"memref.store {first}, %own[%c0] : memref<2xf32>")
            case 1:
                body.append(f"%d{number} = memref.load %own[%c0] : memref<2xf32>")
                values.append(f"%d{number}")
            case _:
                op = generator.choice(("addf", "subf", "mulf"))
                body.append(f"%d{number} = arith.{op} {first}, {second} : f32")
                values.append(f"%d{number}")
    body.append("%last = arith.addf %x, %x : f32")
    values.append("%last")
    yielded = [generator.choice(values[1:]) for _ in range(generator.randint(2, 4))]
    promised = [upstream or generator.random() < 0.5 for _ in yielded]
    dialect, op = ("async", "execute") if upstream else ("async_region", "region")
    names = [f"%v{number}" for number in range(len(yielded))]
    types = ", ".join("!async.value<f32>" if promise else "f32" for promise in promised)
    lines = [f"%t, {', '.join(names)} = {dialect}.{op} -> ({types}) {{", *body]
    lines += [f"{dialect}.yield {', '.join(yielded)} : {', '.join(['f32'] * len(yielded))}", "}"]
    users: list[str] = []
    for number in range(4):
        used = generator.sample(range(len(names)), generator.randint(1, len(names)))
        late = [names[index] for index in used if not promised[index]]
        unwrapped = [index for index in used if promised[index]]
        given = ", ".join(f"{names[index]} as %w{number}_{index}: !async.value<f32>" for index in unwrapped)
        edge = " [%t]" if late or generator.random() < 0.3 else ""
        lines.append(f"%u{number} = async_region.region{edge}{f' ({given})' if given else ''} {{")
        total = "%x"
        for place, term in enumerate([*late, *(f"%w{number}_{index}" for index in unwrapped)]):
            lines.append(f"%s{number}_{place} = arith.addf {total}, {term} : f32")
            total = f"%s{number}_{place}"
        lines += [f"memref.store {total}, %out[%k{number}] : memref<4xf32>", "async_region.yield", "}"]
        users.append(f"%u{number}")
    if generator.random() < 0.3:
        lines.append("async.await %t : !async.token")
    if generator.random() < 0.3:
        users.append("%t")
    constants = [f"%k{number} = arith.constant {number} : index" for number in range(4)]
    text = "\n  ".join(["%c0 = arith.constant 0 : index", *constants, *lines])
    types = ", ".join(["!async.token"] * len(users))
    return f"""func.func @f(%x: f32, %out: memref<4xf32>) -> ({types}) {{
  {text}
  return {", ".join(users)} : {types}
}}"""


@corpus(len(SEEDS))
def test_random_regions_stay_safe_and_compute_the_same() -> None:
    split = 0
    for seed in SEEDS:
        text = several_values(seed)
        after = changed(text, SPLIT)
        assert_safe_and_equal(text, after)
        split += tokens(after) > tokens(parse(text))
    assert split > len(SEEDS) // 3


@corpus(len(SEEDS[::2]))
def test_other_random_programs_stay_safe_and_compute_the_same() -> None:
    for seed in SEEDS[::2]:
        text = safe_program(seed)
        assert_safe_and_equal(text, changed(text, SPLIT))


@pytest.mark.parametrize("text", [text for text in TEXTS if "tensor" not in text])
def test_programs_of_the_text_file_stay_safe_and_compute_the_same(text: str) -> None:
    (name,) = re.findall(r"func\.func @(\w+)\(.*\{", text.split("// CHECK")[0])
    assert_safe_and_equal(text, changed(text, SPLIT), name)


EARLIER = """
func.func @f(%x: f32, %m: memref<1xf32>, %n: memref<1xf32>, %go: memref<1xf32>) -> (!async.token, !async.token) {
  %c0 = arith.constant 0 : index
  %done, %a, %b = async_region.region -> (!async.value<f32>, !async.value<f32>) {
    %y = arith.addf %x, %x : f32
    %z = arith.mulf %x, %x : f32
    async_region.yield %y, %z : f32, f32
  }
  %s = async_region.region (%a as %v: !async.value<f32>) {
    memref.store %v, %m[%c0] : memref<1xf32>
    async_region.yield
  }
  %t = async_region.region (%b as %v: !async.value<f32>) {
    memref.store %v, %n[%c0] : memref<1xf32>
    async_region.yield
  }
  func.return %s, %t : !async.token, !async.token
}"""


def _finished(outcome: Outcome) -> list[str]:
    return [h.agent_name for h in outcome.trace.happenings if h.kind == "finish"]


def test_a_user_of_one_value_may_be_done_before_the_other_is_computed() -> None:
    """Before the split a user is never done so early. After it tasks 0 and 1 are the parts, 2 and 3 their users."""
    after = changed(EARLIER, SPLIT)
    earlier: set[bool] = set()
    for seed in range(40):
        order = _finished(run(after, "f", {"x": 2.0}, order="random", seed=seed))
        earlier.add(order.index("task 2") < order.index("task 1"))
        before = _finished(run(parse(EARLIER), "f", {"x": 2.0}, order="random", seed=seed))
        assert before.index("task 0") < before.index("task 1")
    assert earlier == {True, False}


STAYS = EARLIER.replace("-> (!async.token, !async.token) {", "-> (!async.token, !async.token, !async.token) {").replace(
    "return %s, %t : !async.token, !async.token", "return %s, %t, %done : !async.token, !async.token, !async.token"
)


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        pytest.param("", "", 2, id="independent values, and one token for both"),
        pytest.param(
            "%z = arith.mulf %x, %x : f32",
            "%z = arith.mulf %x, %x : f32 memref.store %z, %go[%c0] : memref<1xf32>",
            0,
            id="it writes memory from outside",
        ),
        pytest.param(
            "%z = arith.mulf %x, %x : f32", "%z = memref.load %go[%c0] : memref<1xf32>", 0, id="it reads such memory"
        ),
        pytest.param(
            "%y = arith.addf %x, %x : f32",
            "%y = arith.addf %x, %x : f32 %i = async_region.region { async_region.yield }",
            0,
            id="it starts something",
        ),
        pytest.param("%z = arith.mulf %x, %x : f32", "%z = arith.mulf %y, %x : f32", 1, id="one needs the other"),
        pytest.param("yield %y, %z", "yield %y, %y", 0, id="both are one"),
        pytest.param("yield %y, %z", "yield %y, %x", 0, id="one is not computed here"),
    ],
)
def test_what_is_split(before: str, after: str, more: int) -> None:
    text = STAYS.replace(before, after) if before else STAYS
    assert tokens(changed(text, SPLIT)) == tokens(parse(text)) + more


def test_a_token_that_escapes_is_refused() -> None:
    text = EARLIER.replace(
        "  func.return", "  %n0 = builtin.unrealized_conversion_cast %done : !async.token to i64\n  func.return"
    )
    module = parse(text)
    with pytest.raises(
        RefusedError, match=r"(?s)takes the token %done to where nobody can follow it.*help: hand it on"
    ):
        run_passes(module, SPLIT)
    assert module.is_structurally_equivalent(parse(text))
