"""What the exact scheduler refuses to be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import slot_kernels as kernels
from tileas_xdsl.scheduling.exact.checks import ProblemError, check_problem
from tileas_xdsl.scheduling.exact.problem import (
    SHARED,
    Constant,
    Dependence,
    ExactProblem,
    ExactRing,
    Move,
    OpSpec,
    RegisterValue,
    RingRead,
    SlotLimit,
    Space,
    Together,
)
from tileas_xdsl.targets.machine_model import SlotUse

GEMM = kernels.GEMM
VALUE = RegisterValue("S", "m", (RingRead("m", 1),), 4, Move(64, 2))


def test_the_kernels_make_sense() -> None:
    for problem in (GEMM, kernels.ATTENTION, kernels.BLOCK_SCALED):
        check_problem(problem)
        hash(problem)


def with_machine(**fields: Any) -> dict[str, Any]:
    return {"machine": replace(GEMM.machine, **fields)}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ops": ()}, "the problem has no ops"),
        ({"ops": (*GEMM.ops, GEMM.ops[0])}, "two records have the op name 'a'"),
        (
            {"ops": (*GEMM.ops, OpSpec("x", (SlotUse("dsp", 1),)))},
            "op 'x' names the slot 'dsp', which the problem does not",
        ),
        ({"ops": (*GEMM.ops, OpSpec("x", latency=-1))}, "the latency of op 'x' is -1; the least that makes sense is 0"),
        (
            {"ops": (*GEMM.ops, OpSpec("x", (SlotUse("tma", 0),)))},
            "the footprint of op 'x' on slot tma is 0; the least",
        ),
        (
            {"dependences": (Dependence("a", "z", 1),)},
            "the dependence a -> z names the op 'z', which .* it has: a, b, m",
        ),
        ({"dependences": (Dependence("a", "b", 1, -1),)}, "the distance of the dependence a -> b is -1"),
        ({"dependences": (Dependence("a", "b", 1, handshake="wave"),)}, "a -> b names the kind of handshake 'wave'"),
        ({"rings": (ExactRing("r", "l2", "a", (), 4),)}, "ring 'r' names the space 'l2', .* it has: shared, tensor"),
        ({"rings": (ExactRing("r", SHARED, "a", (RingRead("q", 1),), 4),)}, "ring 'r' names the op 'q'"),
        ({"rings": (ExactRing("r", SHARED, "a", (), 4, 3, 2),)}, "ring 'r' asks for 3 copies and allows 2"),
        (
            {"rings": (ExactRing("r", SHARED, "a", (RingRead("m", -1),), 4),)},
            "the hold of reader 'm' of ring 'r' is -1",
        ),
        ({"values": (replace(VALUE, definition="q"),)}, "register value 'S' names the op 'q'"),
        ({"values": (replace(VALUE, move=Move(64, 2, "l2")),)}, "register value 'S' names the space 'l2'"),
        ({"values": (VALUE, VALUE)}, "two records have the register value name 'S'"),
        ({"constants": (Constant("O", "q", 4),)}, "constant 'O' names the op 'q'"),
        ({"rules": (Together("one loop", ("a", "q")),)}, "rule 'one loop' names the op 'q'"),
        ({"queues": (("a", "q"),)}, "a queue names the op 'q'"),
        ({"queues": (("a", "m"),)}, "op 'a' stands in a queue and waits for no other op, so it is never ready"),
        ({"agents": 0}, "the number of agents is 0; the least that makes sense is 1"),
        (with_machine(slots=(*GEMM.machine.slots, SlotLimit("tma"))), "two records have the slot name 'tma'"),
        (with_machine(spaces=(Space(SHARED, -1),)), "the bytes of the space 'shared' is -1"),
        (with_machine(queue=-1), "the length of the queue is -1"),
    ],
)
def test_what_makes_no_sense_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        check_problem(replace(GEMM, **fields))


def test_a_cycle_within_an_iteration_is_named() -> None:
    around = (Dependence("a", "m", 8), Dependence("m", "b", 1), Dependence("b", "a", 8))
    message = "the dependences a -> m -> b -> a of one iteration form a cycle of 17 cycles: no op of it can start first"
    with pytest.raises(ProblemError, match=message):
        check_problem(replace(GEMM, dependences=around))


def test_ops_may_be_tied_to_one_start() -> None:
    """A cycle of no latency says that its ops start together."""
    check_problem(replace(GEMM, dependences=(Dependence("a", "m", 3), Dependence("m", "a", -3))))


def test_who_may_be_a_producer() -> None:
    load, product = OpSpec("l", varying_latency=True), OpSpec("m")
    assert not ExactProblem((load, product), GEMM.machine).has_producer
    joint = ExactProblem((load, product), GEMM.machine, agents=3)
    assert (joint.has_producer, joint.fewest_agents) == (True, 2)
    assert ExactProblem((load,), GEMM.machine, agents=3).fewest_agents == 1
    assert ExactProblem((product,), GEMM.machine, agents=3).fewest_agents == 1
