"""
Whether every wait for a token can be found.

A pass that moves a completion, or adds an order, has to know all waits. Tokens and promises can be followed through
asynchronous ops, groups, terminators, loops, ops that select among tokens, and calls of functions with a body. They
cannot be followed into memory, through an op that converts them, or into a function that is only declared.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolTable, is_side_effect_free

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.async_ import AddToGroupOp, CallOp, TokenType, ValueType
from tileas_xdsl.interfaces import AsyncOpInterface, FunctionOpInterface, LoopLikeOpInterface


def is_token(value: SSAValue) -> bool:
    """Whether `value` is a token or a promise of `async`."""
    return isinstance(value.type, TokenType | ValueType)


def refuse_untraceable_tokens(function: Operation) -> None:
    """Raise `RefusedError` at the first op in `function` through which a token cannot be followed."""
    for op in function.walk():
        token = next(filter(is_token, op.operands), None)
        if token is None or _hands_on_visibly(op):
            continue
        if isinstance(op, func.CallOp | CallOp):
            if not _has_body(op):
                refuse(
                    op,
                    f"gives {_named(token)} to @{op.callee.string_value()}, which has no body here, so who waits for "
                    "it cannot be followed",
                    f"define @{op.callee.string_value()} in this module, or wait before the call",
                )
            continue
        refuse(
            op,
            f"takes {_named(token)} to where nobody can follow it, so who waits for it is not known",
            "hand it on as an operand of an asynchronous op, a yielded value or a result, or wait for it here",
        )


def _hands_on_visibly(op: Operation) -> bool:
    if AsyncOpInterface.of(op) is not None and not isinstance(op, CallOp):
        return True
    if isinstance(op, AddToGroupOp | scf.WhileOp) or LoopLikeOpInterface.of(op) is not None:
        return True
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return True
    # Choosing among tokens gives a token; anything else that comes of one is not a token any more.
    return is_side_effect_free(op) and all(map(is_token, op.results))


def _has_body(op: func.CallOp | CallOp) -> bool:
    callee = FunctionOpInterface.of(SymbolTable.lookup_symbol(op, op.callee))
    return callee is not None and callee.function_body.first_block is not None


def _named(token: SSAValue) -> str:
    kind = "the token" if isinstance(token.type, TokenType) else "the promise"
    return f"{kind} %{token.name_hint}" if token.name_hint else kind.replace("the", "a")
