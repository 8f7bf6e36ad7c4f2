"""
What the ops of `llvm` do, as far as kernels at the level of barriers need them: pointers, loads and stores, branches,
calls. Its integers are those of `arith`. A pointer is an object and a byte offset; as a number it names both.
Comparing pointers is not supported.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, llvm, ub
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from tileas_xdsl.analysis.memory.atomic_reads import is_atomic
from tileas_xdsl.dialects.extensions import llvm as extended
from tileas_xdsl.dialects.extensions import llvm_values as values
from tileas_xdsl.dialects.extensions.llvm_accesses import FenceOp, ordering_of
from tileas_xdsl.dialects.llvm_sizes import POINTER_BYTES
from tileas_xdsl.dialects.nvvm.tcgen05 import TENSOR_ADDRESS
from tileas_xdsl.dialects.rocdl import async_lds_transfer, counted_lds_transfer
from tileas_xdsl.machine.core import moving_numbers as moving
from tileas_xdsl.machine.core.agents import Agent
from tileas_xdsl.machine.core.code import per_op
from tileas_xdsl.machine.core.happens_before import Proxy
from tileas_xdsl.machine.core.meaning import control, effect, jump, pure, same_as, sync, terminators
from tileas_xdsl.machine.core.memory import MemoryObject
from tileas_xdsl.machine.core.op_facts import EVERY_OPERAND, TakesPerThread
from tileas_xdsl.machine.core.standings import Answer, give_results
from tileas_xdsl.machine.core.threads.by_thread import MOST_OUTCOMES, sees_plain_numbers, touch_at_once, what_varies
from tileas_xdsl.machine.core.threads.hardware import PerThread, of_threads
from tileas_xdsl.machine.core.values import UNKNOWN, ElementType, element_type, unsigned, wrap
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.machine.meanings.arith import COMPARISONS, dense_array
from tileas_xdsl.machine.parts import atomics
from tileas_xdsl.machine.parts.atomics import words
from tileas_xdsl.machine.parts.calls import call_symbol
from tileas_xdsl.machine.parts.globals import global_object
from tileas_xdsl.machine.parts.jumps import branch_to, jump_to
from tileas_xdsl.machine.parts.tensor_memory import tensor_memory
from tileas_xdsl.machine.tiles.llvm_types import element_offset, size_and_alignment, space_of, typed_view
from tileas_xdsl.machine.tiles.pointers import BYTE, Addresses, Pointer, byte_object
from tileas_xdsl.machine.tiles.unknown_places import ADDRESS, is_address_of_reads, places_to_read
from tileas_xdsl.targets.chips import CHIPS

terminators(llvm.ReturnOp)


# Values -------------------------------------------------------------------------------------------------------------


@pure(llvm.ConstantOp)
def _constant(agent: Agent, op: llvm.ConstantOp) -> Any:
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr) and isinstance(op.result.type, VectorType):
        numbers = dense_array(op, value)
        return numbers if agent.has_data else UNKNOWN
    if isinstance(value, IntegerAttr):
        return wrap(value.value.data, op.result.type)
    element = element_type(op.result.type)
    if isinstance(value, FloatAttr) and element is not None:
        return element.dtype.type(value.value.data)
    raise UnsupportedError(op, f"is a constant of type {op.result.type}, which has no numbers here")


@pure(llvm.UndefOp, llvm.ZeroOp)
def _zero(agent: Agent, op: Operation) -> Any:
    return _zero_of(op.results[0].type) if agent.has_data else UNKNOWN


def _zero_of(kind: Attribute) -> Any:
    """The zero of a type: of a struct, one for each part. UNKNOWN for a type that has no numbers."""
    if isinstance(kind, llvm.LLVMStructType):
        return tuple(_zero_of(part) for part in kind.types.data)
    vector = _as_vector(kind)
    element = element_type(kind if vector is None else vector.element_type)
    if element is None:
        return UNKNOWN
    if vector is not None:
        return np.zeros(vector.get_shape(), element.dtype)
    return element.dtype.type(0) if element.is_float else 0


def _as_vector(kind: Attribute) -> VectorType[Attribute] | None:
    return cast("VectorType[Attribute]", kind) if isinstance(kind, VectorType) else None


FLOATS: dict[type[Operation], Callable[[Any, Any], Any]] = {
    llvm.FAddOp: np.add,
    llvm.FSubOp: np.subtract,
    llvm.FMulOp: np.multiply,
    llvm.FDivOp: np.divide,
}


@pure(*FLOATS)
def _float_arithmetic(_agent: Agent, op: Operation, lhs: Any, rhs: Any) -> Any:
    with np.errstate(all="ignore"):
        return FLOATS[type(op)](lhs, rhs)


AS_ELSEWHERE: dict[type[Operation], type[Operation]] = {
    llvm.FNegOp: arith.NegfOp,
    llvm.FCmpOp: arith.CmpfOp,
    llvm.FPExtOp: arith.ExtFOp,
    llvm.FPTruncOp: arith.TruncFOp,
    llvm.SIToFPOp: arith.SIToFPOp,
    llvm.VectorFMaxOp: arith.MaxnumfOp,
    llvm.VectorFMinOp: arith.MinnumfOp,
    values.UIToFPOp: arith.UIToFPOp,
    values.FPToSIOp: arith.FPToSIOp,
    values.FPToUIOp: arith.FPToUIOp,
    values.MaximumOp: arith.MaximumfOp,
    values.MinimumOp: arith.MinimumfOp,
    values.PoisonOp: ub.PoisonOp,
}
"""Ops that another dialect has too."""

for _op, _known in AS_ELSEWHERE.items():
    same_as(_known, _op)


@pure(values.ExtractElementOp)
def _extract_element(agent: Agent, op: values.ExtractElementOp, vector: Any, position: Any) -> Any:
    found = vector[unsigned(agent.known(position, op, "takes an element by"), op.position.type)]
    return found.item() if isinstance(found, np.integer) else found


@pure(llvm.InsertElementOp)
def _insert_element(agent: Agent, op: llvm.InsertElementOp, vector: Any, value: Any, position: Any) -> Any:
    changed = np.array(vector)
    changed[unsigned(agent.known(position, op, "puts an element by"), op.index.type)] = value
    return changed


@pure(llvm.BitcastOp)
def _bitcast(_agent: Agent, op: llvm.BitcastOp, value: Any) -> Any:
    """The same bits as numbers of another type."""
    source, target = (_numbers_of(kind, op) for kind in (op.arg.type, op.result.type))
    read = np.ascontiguousarray(np.asarray(value, source.dtype).reshape(-1)).view(target.dtype)
    if isinstance(op.result.type, VectorType):
        return read
    return read[0] if target.is_float else wrap(int(read[0]), op.result.type)


def _numbers_of(kind: Attribute, op: Operation) -> ElementType:
    element = element_type(cast("VectorType[Attribute]", kind).element_type if isinstance(kind, VectorType) else kind)
    if element is None:
        raise UnsupportedError(op, f"reads the bits of a {kind}, which has no numbers here")
    return element


@pure(llvm.ICmpOp, moves=moving.compared)
def _icmp(_agent: Agent, op: llvm.ICmpOp, lhs: Any, rhs: Any) -> int:
    if isinstance(lhs, Pointer):
        raise UnsupportedError(op, "compares pointers; compare indices instead")
    read, compare = COMPARISONS[op.predicate.value.data]
    return int(compare(read(lhs, op.lhs.type), read(rhs, op.lhs.type)))


NUMPY_INTEGERS: Any = (np.integer, np.bool_)


# Memory -------------------------------------------------------------------------------------------------------------


MOST_DYNAMIC = max(chip.shared_bytes for chip in CHIPS.values())
"""Bytes of shared memory that a launch may ask for, where a global of no bytes stands for them (CUDA C++ Programming
Guide, "Technical Specifications per Compute Capability")."""


@effect(values.AssumeOp, opaque=("cond", "bundled"))
def _assume(_agent: Agent, _op: Operation, *_operands: Any) -> None:
    """A promise to the compiler; a check goes without it."""


@effect(llvm.AddressOfOp)
def _address_of(agent: Agent, op: llvm.AddressOfOp) -> Pointer:
    target = SymbolTable.lookup_symbol(op, op.global_name)
    if not isinstance(target, llvm.GlobalOp):
        raise UnsupportedError(op, f"takes the address of {op.global_name}, which is no global of this module")
    size, _ = size_and_alignment(target.global_type, op)
    space = space_of(op.result.type)
    dynamic = agent.code.fact(_dynamic_globals, target) if space == "shared" and not size else ()

    def make() -> MemoryObject:
        name = ", ".join(each.sym_name.data for each in dynamic or (target,))
        made = byte_object(name, MOST_DYNAMIC if dynamic else size, space, with_data=agent.has_data)
        made.is_open = bool(dynamic)
        return made

    return Pointer(global_object(agent, dynamic[0] if dynamic else target, make), 0)


def _dynamic_globals(one: Operation) -> tuple[llvm.GlobalOp, ...]:
    """
    The shared arrays of no size in the module of `one`, in program order. All of them begin where the dynamic shared
    memory of the launch begins (CUDA C++ Programming Guide, "__shared__": arrays declared `extern` start at the same
    address).
    """
    module = one.parent_op() or one
    arrays = [op for op in module.walk() if isinstance(op, llvm.GlobalOp) and op.addr_space.value.data == SHARED_SPACE]
    return tuple(op for op in arrays if not size_and_alignment(op.global_type, op)[0])


SHARED_SPACE = 3
"""The number of the address space of shared memory (LLVM, "User Guide for NVPTX Backend", and for AMDGPU)."""


@effect(llvm.AllocaOp)
def _alloca(agent: Agent, op: llvm.AllocaOp, count: Any) -> Pointer:
    size, _ = size_and_alignment(op.elem_type, op)
    total = size * agent.known(count, op, "takes as its size")
    return Pointer(byte_object("alloca", total, "private", with_data=agent.has_data), 0)


def _index_strides(op: Operation) -> list[int]:
    """Bytes by which the address grows when a dynamic index of a `getelementptr` grows by one, for each of these."""
    return _steps(op)[1]


def _steps(op: Operation) -> tuple[int, list[int]]:
    """The distance of a `getelementptr` in bytes where its dynamic indices are 0, and what each of them adds."""
    assert isinstance(op, llvm.GEPOp)
    raw = [int(index) for index in op.rawConstantIndices.get_values()]
    numbers = [0 if index == llvm.GEP_USE_SSA_VAL else index for index in raw]
    start = element_offset(op.elem_type, numbers, op)
    dynamic = [place for place, index in enumerate(raw) if index == llvm.GEP_USE_SSA_VAL]
    steps = [[number + (place == other) for other, number in enumerate(numbers)] for place in dynamic]
    return start, [element_offset(op.elem_type, step, op) - start for step in steps]


_steps_of = per_op(_steps)


def _addresses_at_once(agent: Agent, op: llvm.GEPOp, pointer: Any, *indices: Any) -> PerThread | Sequence[Any] | None:
    start, steps = _steps_of(agent, op)
    if len(steps) != len(indices):
        return None
    first = pointer.first if type(pointer) is PerThread else pointer
    if type(first) is Pointer and not first.is_guess and sees_plain_numbers(agent):
        offsets = _offsets_at_once(agent, op, pointer, indices)
        if offsets is not None:
            return PerThread.of_addresses(Pointer(first.base, offsets[0]), offsets, what_varies((pointer, *indices)))
    addresses: list[Any] = [UNKNOWN] * agent.size
    columns = [of_threads(operand, agent.size) for operand in (pointer, *indices)]
    for lane in agent.lanes:
        base, *row = (column[lane] for column in columns)
        if type(base) is Pointer and all(isinstance(index, int) for index in row):
            addresses[lane] = base.plus(start + sum(map(operator.mul, row, steps)))
        else:
            return None
    return addresses


def _offsets_at_once(agent: Agent, op: llvm.GEPOp, pointer: Any, indices: Sequence[Any]) -> tuple[int, ...] | None:
    """
    Where the addresses of all threads lie in the object into which `pointer` points; None where they are all the same,
    or not all known. What has been computed before is kept.
    """
    places: tuple[int, ...] | int = pointer.offsets if type(pointer) is PerThread else pointer.offset
    key = (id(op), places, *(each.values if type(each) is PerThread else each for each in indices))
    known = agent.code.outcomes
    if key not in known:
        if len(known) >= MOST_OUTCOMES:
            known.clear()
        known[key] = _offsets(agent, op, places, indices)
    return known[key]


def _offsets(
    agent: Agent, op: llvm.GEPOp, places: tuple[int, ...] | int, indices: Sequence[Any]
) -> tuple[int, ...] | None:
    start, steps = _steps_of(agent, op)
    found = places if isinstance(places, tuple) else (places,) * agent.size
    for index, step in zip(indices, steps, strict=True):
        numbers = of_threads(index, agent.size)
        if not {int, bool}.issuperset(map(type, numbers)):
            return None
        found = tuple(place + step * number for place, number in zip(found, numbers, strict=True))
    return tuple(place + start for place in found) if len(set(found)) > 1 else None


@effect(
    llvm.GEPOp,
    may_move=("ssa_indices",),
    indexes=(("ssa_indices", "ptr"),),
    index_strides=_index_strides,
    per_thread=TakesPerThread.ONE_BY_ONE,
    at_once=_addresses_at_once,
)
def _getelementptr(agent: Agent, op: llvm.GEPOp, pointer: Any, *indices: Any) -> Pointer:
    start, steps = _steps_of(agent, op)
    if len(steps) != len(indices):
        raise UnsupportedError(op, f"has {len(steps)} dynamic indices and {len(indices)} operands for them")
    base: Pointer = agent.known(pointer, op, ADDRESS)
    places: Sequence[Any] = indices
    is_guess = False
    if _is_address_of_reads(agent, op):
        places, is_guess = places_to_read(agent, op, base.base, indices)
    for index, step in zip(places, steps, strict=True):
        start += step * agent.known(index, op, ADDRESS)
    return replace(base, offset=base.offset + start, is_guess=base.is_guess or is_guess)


_is_address_of_reads = per_op(is_address_of_reads)


@effect(llvm.IntToPtrOp, per_thread=TakesPerThread.ONE_BY_ONE)
def _int_to_ptr(agent: Agent, op: llvm.IntToPtrOp, address: Any) -> Pointer:
    number = agent.known(address, op, "makes a pointer of")
    if space_of(op.output.type) == "tensor":
        return tensor_memory(agent).pointer(unsigned(number, op.input.type))
    return agent.shared(Addresses).pointer(unsigned(number, op.input.type), op)


@effect(llvm.PtrToIntOp, per_thread=TakesPerThread.ONE_BY_ONE)
def _ptr_to_int(agent: Agent, op: llvm.PtrToIntOp, pointer: Any) -> int:
    target: Pointer = agent.known(pointer, op, "takes the address of")
    if target.base is tensor_memory(agent).base:
        return wrap(target.offset, op.output.type)
    return wrap(agent.shared(Addresses).number(target), op.output.type)


def _places_of_threads(agent: Agent, pointer: Any) -> Sequence[tuple[int, Pointer]]:
    """Each active lane and its pointer, where all of them point into one object; otherwise nothing."""
    if type(pointer) is not PerThread:
        return ()
    places = [(lane, pointer.values[lane]) for lane in agent.lanes]
    base = getattr(places[0][1], "base", None)
    return places if all(type(place) is Pointer and place.base is base for _, place in places) else ()


def _touched_at_once(agent: Agent, op: Operation, pointer: Any, type_: Attribute, *, write: bool) -> bool:
    if type(pointer) is PerThread and pointer.first is not None and agent.active is None:
        like = typed_view(cast("Pointer", pointer.first), type_, op)
        return touch_at_once(agent, op, like, tuple(enumerate(pointer.offsets)), write=write)
    places = _places_of_threads(agent, pointer)
    if not places:
        return False
    like = typed_view(places[0][1], type_, op)
    return touch_at_once(agent, op, like, [(lane, place.offset) for lane, place in places], write=write)


def _load_at_once(agent: Agent, op: llvm.LoadOp, pointer: Any) -> Sequence[Any] | None:
    is_plain = not is_atomic(op) and TENSOR_ADDRESS not in op.attributes
    is_done = is_plain and _touched_at_once(agent, op, pointer, op.results[0].type, write=False)
    return [UNKNOWN] * agent.size if is_done else None


def _store_at_once(agent: Agent, op: llvm.StoreOp, value: Any, pointer: Any) -> Sequence[Any] | None:
    if is_atomic(op):
        return None
    is_scalar = not isinstance(op.value.type, VectorType)
    is_unknown = not is_scalar or all(each is UNKNOWN for each in of_threads(value, agent.size))
    is_done = is_unknown and _touched_at_once(agent, op, pointer, op.value.type, write=True)
    return [UNKNOWN] * agent.size if is_done else None


@effect(llvm.LoadOp, per_thread=TakesPerThread.ONE_BY_ONE, at_once=_load_at_once)
def _load(agent: Agent, op: llvm.LoadOp, pointer: Any) -> Any:
    target: Pointer = agent.known(pointer, op, "loads through")
    type_ = op.results[0].type
    place = typed_view(target, type_, op)
    if words.is_of_word(agent, op) and not target.is_guess:
        return words.access(agent, op, place, _leaves, _plain)
    proxy = Proxy.UNSPECIFIED if TENSOR_ADDRESS in op.attributes else Proxy.GENERIC
    value = atomics.load(agent, op, place) if is_atomic(op) else agent.load(place, op, proxy)
    return UNKNOWN if target.is_guess else _plain(value)


def _leaves(_number: Any) -> None:
    """An access that changes nothing."""


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, NUMPY_INTEGERS) else value


@effect(
    llvm.StoreOp,
    may_move=("value",),
    opaque=("value",),
    data=("value",),
    per_thread=TakesPerThread.ONE_BY_ONE,
    at_once=_store_at_once,
)
def _store(agent: Agent, op: llvm.StoreOp, value: Any, pointer: Any) -> Answer:
    target: Pointer = agent.known(pointer, op, "stores through")
    place = typed_view(target, op.value.type, op)
    if words.is_of_word(agent, op):
        return words.access(agent, op, place, lambda _: value, _leaves)
    if is_atomic(op):
        atomics.update(agent, op, place, lambda _: value)
    else:
        agent.store(place, value, op)
    return None


@effect(FenceOp)
def _fence(agent: Agent, op: FenceOp) -> None:
    words.fence(agent, op, ordering_of(op))


@pure(extended.AddrSpaceCastOp, moves=moving.unchanged)
def _addrspacecast(_agent: Agent, _op: extended.AddrSpaceCastOp, pointer: Any) -> Any:
    return pointer


INTEGER_UPDATES: dict[str, Callable[[int, int], int]] = {
    "xchg": lambda _old, given: given,
    "add": operator.add,
    "sub": operator.sub,
    "_and": int.__and__,
    "nand": lambda old, given: ~(old & given),
    "_or": int.__or__,
    "_xor": int.__xor__,
    "max": max,
    "min": min,
}
"""On signed numbers."""
UNSIGNED_UPDATES: dict[str, Callable[[int, int], int]] = {
    "umax": max,
    "umin": min,
    "uinc_wrap": lambda old, given: 0 if old >= given else old + 1,
    "udec_wrap": lambda old, given: given if old == 0 or old > given else old - 1,
    "usub_cond": lambda old, given: old - given if old >= given else old,
    "usub_sat": lambda old, given: max(old - given, 0),
}
FLOAT_UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "xchg": lambda _old, given: given,
    "fadd": np.add,
    "fsub": np.subtract,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmaximum": np.maximum,
    "fminimum": np.minimum,
}


@effect(extended.AtomicRMWOp, may_move=("val",), opaque=("val",), per_thread=TakesPerThread.ONE_BY_ONE)
def _atomicrmw(agent: Agent, op: extended.AtomicRMWOp, pointer: Any, given: Any) -> Any:
    target: Pointer = agent.known(pointer, op, "accesses")
    kind, word = op.val.type, op.computes
    is_integer = isinstance(kind, IntegerType)

    def compute(old: Any) -> Any:
        if given is UNKNOWN:
            return UNKNOWN
        if is_integer and word in UNSIGNED_UPDATES:
            return wrap(UNSIGNED_UPDATES[word](unsigned(int(old), kind), unsigned(int(given), kind)), kind)
        if is_integer:
            return wrap(INTEGER_UPDATES[word](int(old), int(given)), kind)
        if word not in FLOAT_UPDATES:
            raise UnsupportedError(op, f"computes {word} on {kind}, which has no meaning here")
        return FLOAT_UPDATES[word](old, given)

    place = typed_view(target, kind, op)
    if words.is_of_word(agent, op):
        return words.access(agent, op, place, compute, _plain)
    return _plain(atomics.update(agent, op, place, compute))


@effect(extended.CmpXchgOp, may_move=("cmp", "val"), opaque=("val",))
def _cmpxchg(agent: Agent, op: extended.CmpXchgOp, pointer: Any, expected: Any, given: Any) -> Any:
    target: Pointer = agent.known(pointer, op, "accesses")
    compares_pointers = isinstance(op.val.type, llvm.LLVMPointerType)
    if agent.has_data and compares_pointers:
        raise UnsupportedError(op, "compares pointers; compare integers instead")
    place = target.view((POINTER_BYTES,), BYTE) if compares_pointers else typed_view(target, op.val.type, op)

    def compute(old: Any) -> Any:
        if expected is UNKNOWN or given is UNKNOWN:
            return UNKNOWN
        return given if int(old) == int(expected) else None

    def result(old: Any) -> Any:
        return UNKNOWN if old is UNKNOWN or expected is UNKNOWN else (int(old), int(int(old) == int(expected)))

    if words.is_of_word(agent, op) and not compares_pointers:
        return words.access(agent, op, place, compute, result)
    return result(atomics.update(agent, op, place, compute))


@pure(llvm.ExtractValueOp)
def _extract_value(_agent: Agent, op: llvm.ExtractValueOp, aggregate: Any) -> Any:
    position = [int(number) for number in op.position.get_values()]
    if not isinstance(aggregate, tuple) or len(position) != 1:
        raise UnsupportedError(op, f"takes a part of a {op.container.type}, which has no numbers here")
    return cast("tuple[Any, ...]", aggregate)[position[0]]


@pure(llvm.InsertValueOp)
def _insert_value(_agent: Agent, op: llvm.InsertValueOp, aggregate: Any, value: Any) -> Any:
    position = [int(number) for number in op.position.get_values()]
    if not isinstance(aggregate, tuple) or len(position) != 1:
        raise UnsupportedError(op, f"changes a part of a {op.container.type}, which has no numbers here")
    parts = cast("tuple[Any, ...]", aggregate)
    return (*parts[: position[0]], value, *parts[position[0] + 1 :])


@sync(llvm.CallIntrinsicOp)
def _call_intrinsic(agent: Agent, op: llvm.CallIntrinsicOp, *operands: Any) -> None:
    if async_lds_transfer(op) is None and counted_lds_transfer(op) is None:
        raise UnsupportedError(op, f"calls {op.intrin.data}, which has no meaning here")
    from tileas_xdsl.machine.meanings.rocdl import issue_transfer

    issue_transfer(agent, op, dict(zip(op.operands, operands, strict=True)))


# Control ------------------------------------------------------------------------------------------------------------


@jump(llvm.BrOp, may_move=EVERY_OPERAND)
def _br(agent: Agent, op: llvm.BrOp, *arguments: Any) -> Answer:
    return jump_to(agent, op, (op.successor, arguments))


@jump(llvm.CondBrOp, may_move=("then_arguments", "else_arguments"), deciding=1)
def _cond_br(agent: Agent, op: llvm.CondBrOp, condition: Any, *arguments: Any) -> Answer:
    middle = len(op.then_arguments)
    targets = (op.then_block, arguments[:middle]), (op.else_block, arguments[middle:])
    return branch_to(agent, op, condition, targets)


@control(llvm.CallOp, may_move=("args",), calls=True)
def _call(agent: Agent, op: llvm.CallOp, *arguments: Any) -> Answer:
    if op.callee is None:
        raise UnsupportedError(op, "calls through a pointer; call a function by name")
    return call_symbol(agent, op, op.callee, arguments).then(give_results)
