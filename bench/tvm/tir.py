"""A loop as a TIR function, through TVM's `InjectSoftwarePipeline`, executed on integers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from bench.tvm.executions import Access, Commit, Event, Place, Scope, Wait
from bench.tvm.loops import AnnotatedLoop

LENGTH = 64
"""Elements of every array."""


class TVMAbortError(Exception):
    """TVM's pass raised; the message is the last line of what it said."""


def function_text(loop: AnnotatedLoop) -> str:
    """The loop in TVMScript. Each statement names itself and its iteration in an opaque call, which TVM keeps."""
    arrays = ", ".join(f'{name}: T.Buffer(({LENGTH},), "float32")' for name in ("A", *loop.outputs))
    annotations = {
        "software_pipeline_stage": list(loop.stages),
        "software_pipeline_order": list(loop.order),
        "software_pipeline_async_stages": list(loop.async_stages),
    }
    if not loop.async_stages:
        del annotations["software_pipeline_async_stages"]
    written = ", ".join(f"{name}[i]" for name in loop.outputs)
    lines = [
        "@T.prim_func(s_tir=True)",
        f"def loop({arrays}):",
        f"    for i in T.serial({loop.lower}, {loop.lower + loop.trips}, annotations={annotations}):",
        '        with T.sblock("body"):',
        f"            T.reads(A[i]); T.writes({written})",
        *(f'            {name} = T.sblock_alloc_buffer((1,), "float32")' for name in loop.temporaries),
    ]
    for number, component in enumerate(loop.components):
        reads = [f"{name}[0]" for name in component.reads] or ["A[i]"]
        target = f"{component.writes}[{'i' if component.is_output else '0'}]"
        lines += [
            f'            with T.sblock("component{number}"):',
            f"                T.reads({', '.join(reads)}); T.writes({target})",
            f'                {target} = T.call_extern("float32", "component", {number}, i, {", ".join(reads)})',
        ]
    return "\n".join(lines)


def pipelined(loop: AnnotatedLoop) -> Any:
    """The body of the function after TVM's pass. Raises `TVMAbortError`."""
    import tvm
    import tvm.script

    function = tvm.script.from_source(function_text(loop))
    try:
        module = tvm.s_tir.transform.InjectSoftwarePipeline()(tvm.IRModule.from_expr(function))
    except Exception as error:
        raise TVMAbortError(str(error).strip().splitlines()[-1]) from error
    (result,) = module.functions.values()
    return result.body


def execution_of(loop: AnnotatedLoop) -> tuple[Event, ...]:
    """What the loop does after TVM's pass, in program order. Raises `TVMAbortError`."""
    return tuple(_events(pipelined(loop), {}))


class Worker:
    """Runs TVM in a child process, because some loops make it crash; a new child after each crash."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def execution_of(self, loop: AnnotatedLoop) -> tuple[Event, ...]:
        """
        What the loop does after TVM's pass, computed in the child. Raises `TVMAbortError`, also where the child dies.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))
        try:
            return self._pool.submit(execution_of, loop).result()
        except BrokenProcessPool:
            self._pool = None
            raise TVMAbortError("TVM's process died") from None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _events(node: Any, values: dict[Any, int]) -> list[Event]:
    match type(node).__name__:
        case "SeqStmt":
            return [event for child in node.seq for event in _events(child, values)]
        case "SBlockRealize":
            return _events(node.block.body, values) if evaluate(node.predicate, values) else []
        case "For":
            low, extent = evaluate(node.min, values), evaluate(node.extent, values)
            turns = range(low, low + extent)
            return [event for i in turns for event in _events(node.body, {**values, node.loop_var: i})]
        case "IfThenElse":
            taken = node.then_case if evaluate(node.condition, values) else node.else_case
            return [] if taken is None else _events(taken, values)
        case "AttrStmt":
            return _scope(node, values)
        case "BufferStore":
            return [_access(node, values)]
        case "Evaluate":
            return []
        case other:
            raise NotImplementedError(f"a TIR statement of kind {other}")


def _scope(node: Any, values: dict[Any, int]) -> list[Event]:
    match node.attr_key:
        case "async_scope":
            return [Scope(tuple(_events(node.body, values)))]
        case "async_commit_queue_scope":
            return [Commit(evaluate(node.value, values), tuple(_events(node.body, values)))]
        case "async_wait_queue_scope":
            inner = node.body
            if getattr(inner, "attr_key", None) != "async_wait_inflight_count":
                raise NotImplementedError("a wait without its count")
            count = evaluate(inner.value, values)
            return [Wait(evaluate(node.value, values), count, tuple(_events(inner.body, values)))]
        case other:
            raise NotImplementedError(f"a TIR attribute {other}")


def _access(store: Any, values: dict[Any, int]) -> Access:
    _, number, iteration, *reads = store.value.args
    return Access(
        evaluate(number, values),
        evaluate(iteration, values),
        tuple(_place(_source(read), read.indices, values) for read in reads),
        _place(store.buffer, store.indices, values),
    )


def _source(load: Any) -> Any:
    """What a load reads: `source` since TVM 0.27, `buffer` before."""
    return load.source if hasattr(load, "source") else load.buffer


def _place(buffer: Any, indices: Any, values: dict[Any, int]) -> Place:
    """A temporary has one element: what is left is the version, which is absent where there is one."""
    numbers = [evaluate(index, values) for index in indices]
    return str(buffer.name), numbers[0]


BINARY: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Min": min,
    "Max": max,
    "LT": lambda a, b: int(a < b),
    "LE": lambda a, b: int(a <= b),
    "GT": lambda a, b: int(a > b),
    "GE": lambda a, b: int(a >= b),
    "EQ": lambda a, b: int(a == b),
    "NE": lambda a, b: int(a != b),
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "And": lambda a, b: int(bool(a) and bool(b)),
    "Or": lambda a, b: int(bool(a) or bool(b)),
}


def evaluate(node: Any, values: dict[Any, int]) -> int:
    """The number that an index expression comes to."""
    kind = type(node).__name__
    if kind == "IntImm":
        return int(node.value)
    if kind in ("Var", "PrimVar"):
        return values[node]
    if kind in BINARY:
        return BINARY[kind](evaluate(node.a, values), evaluate(node.b, values))
    if kind == "Not":
        return int(not evaluate(node.a, values))
    if kind == "Cast":
        return evaluate(node.value, values)
    if kind == "Select":
        chosen = node.true_value if evaluate(node.condition, values) else node.false_value
        return evaluate(chosen, values)
    if kind == "Call" and str(getattr(node.op, "name", "")).endswith("if_then_else"):
        return evaluate(node.args[1] if evaluate(node.args[0], values) else node.args[2], values)
    raise NotImplementedError(f"a TIR expression of kind {kind}")
