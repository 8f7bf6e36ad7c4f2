"""
What the dialect `async` rejects, mlir-opt 22 rejects as well, in the same words.
"""

from __future__ import annotations

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.support.ir import parse
from tests.support.mlir import mlir_opt_rejects

EDGE = "'async.execute' op along control flow edge from "

REFUSALS = {
    # one error of each text in MLIR's verifiers of `async`
    "execute: result of another type": (
        "func.func @f(%x: f32) { %t:2 = async.execute -> f32 { async.yield %x : f32 } return }",
        "'async.execute' op result #1 must be variadic of async value type, but got 'f32'",
    ),
    "execute: body operand of another type": (
        "func.func @f(%x: f32) { %t = async.execute (%x as %y: f32) { async.yield } return }",
        "'async.execute' op operand #0 must be variadic of async value type or async token type, but got 'f32'",
    ),
    "execute: no token": (
        """func.func @f(%x: f32) {
          %v = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({ "async.yield"(%x) : (f32) -> () })
            : () -> !async.value<f32>
          return }""",
        "'async.execute' op result #0 must be async token type, but got '!async.value<f32>'",
    ),
    "execute: no results": (
        """func.func @f() {
          "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({ async.yield }) : () -> () return }""",
        "'async.execute' op expected 1 or more results",
    ),
    "execute: token as body operand": (
        """func.func @f(%d: !async.token) {
          %t = "async.execute"(%d) <{operandSegmentSizes = array<i32: 0, 1>}> ({
            ^bb0(%y: !async.token): async.yield
          }) : (!async.token) -> !async.token
          return }""",
        "'async.execute' op async body region argument types do not match the execute operation arguments types",
    ),
    "execute: wrong block argument": (
        """func.func @f(%a: !async.value<f32>) {
          %t = "async.execute"(%a) <{operandSegmentSizes = array<i32: 0, 1>}> ({ ^bb0(%y: i32): async.yield })
            : (!async.value<f32>) -> !async.token
          return }""",
        EDGE + "parent to Region #0: successor operand type #0 '!async.value<f32>' "
        "should match successor input type #0 'i32'",
    ),
    "execute: missing block argument": (
        """func.func @f(%a: !async.value<f32>) {
          %t = "async.execute"(%a) <{operandSegmentSizes = array<i32: 0, 1>}> ({ async.yield })
            : (!async.value<f32>) -> !async.token
          return }""",
        EDGE + "parent to Region #0: region branch point has 1 operands, but region successor needs 0 inputs",
    ),
    "execute: block argument too many": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({ ^bb0(%y: f32): async.yield })
            : () -> !async.token
          return }""",
        EDGE + "parent to Region #0: region branch point has 0 operands, but region successor needs 1 inputs",
    ),
    "execute: promise not unwrapped": (
        """func.func @f(%a: !async.value<f32>) {
          %t = "async.execute"(%a) <{operandSegmentSizes = array<i32: 0, 1>}> ({
            ^bb0(%y: !async.value<f32>): async.yield
          }) : (!async.value<f32>) -> !async.token
          return }""",
        "'async.execute' op async body region argument types do not match the execute operation arguments types",
    ),
    "yield: too few": (
        "func.func @f() { %t:2 = async.execute -> !async.value<f32> { async.yield } return }",
        EDGE + "Operation async.yield to parent: region branch point has 0 operands, "
        "but region successor needs 1 inputs",
    ),
    "yield: too many": (
        "func.func @f(%i: i32) { %t = async.execute { async.yield %i : i32 } return }",
        EDGE + "Operation async.yield to parent: region branch point has 1 operands, "
        "but region successor needs 0 inputs",
    ),
    "yield: wrong type": (
        "func.func @f(%i: i32) { %t:2 = async.execute -> !async.value<f32> { async.yield %i : i32 } return }",
        EDGE + "Operation async.yield to parent: successor operand type #0 'i32' "
        "should match successor input type #0 '!async.value<f32>'",
    ),
    "yield: promise of a promise": (
        """func.func @f(%a: !async.value<f32>) {
          %t:2 = async.execute -> !async.value<!async.value<f32>> { async.yield %a : !async.value<f32> } return }""",
        EDGE + "Operation async.yield to parent: successor operand type #0 '!async.value<f32>' "
        "should match successor input type #0 '!async.value<!async.value<f32>>'",
    ),
    "execute: empty region": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({}) : () -> !async.token return }""",
        "'async.execute' op region #0 ('bodyRegion') failed to verify constraint: region with 1 blocks",
    ),
    "execute: empty braces": (
        "func.func @f() { %t = async.execute {} return }",
        "'async.execute' op region #0 ('bodyRegion') failed to verify constraint: region with 1 blocks",
    ),
    "execute: two blocks": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({
            ^a: cf.br ^b
            ^b: async.yield
          }) : () -> !async.token
          return }""",
        "'async.execute' op expects region #0 to have 0 or 1 blocks",
    ),
    "execute: segments too long": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 1, 0>}> ({ async.yield }) : () -> !async.token
          return }""",
        "'async.execute' op operand count (0) does not match with the total size (1) "
        "specified in attribute 'operandSegmentSizes'",
    ),
    "execute: segments missing": (
        """func.func @f(%a: !async.value<f32>) {
          %t = "async.execute"(%a) ({ ^bb0(%x: f32): async.yield }) : (!async.value<f32>) -> !async.token return }""",
        "'async.execute' op operand count (1) does not match with the total size (0) "
        "specified in attribute 'operandSegmentSizes'",
    ),
    "execute: value as dependency": (
        "func.func @f(%v: !async.value<f32>) { %t = async.execute [%v] { async.yield } return }",
        "use of value '%v' expects different type than prior uses: '!async.token' vs '!async.value<f32>'",
    ),
    "execute: value as dependency, generic": (
        """func.func @f(%v: !async.value<f32>) {
          %t = "async.execute"(%v) <{operandSegmentSizes = array<i32: 1, 0>}> ({ async.yield })
            : (!async.value<f32>) -> !async.token
          return }""",
        "'async.execute' op operand #0 must be variadic of async token type, but got '!async.value<f32>'",
    ),
    "yield: elsewhere": (
        "func.func @f() { async.yield }",
        "'async.yield' op expects parent op 'async.execute'",
    ),
    "yield: one level too deep": (
        "func.func @f() { %t = async.execute { scf.execute_region { async.yield } async.yield } return }",
        "'async.yield' op expects parent op 'async.execute'",
    ),
    "await: of a float": (
        "func.func @f(%v: f32) { async.await %v : f32 return }",
        "'async.await' op operand #0 must be async value type or async token type, but got 'f32'",
    ),
    "await: of a group": (
        "func.func @f(%g: !async.group) { async.await %g : !async.group return }",
        "'async.await' op operand #0 must be async value type or async token type, but got '!async.group'",
    ),
    "await: token with a result": (
        """func.func @f(%t: !async.token) { %0 = "async.await"(%t) : (!async.token) -> f32 return }""",
        "'async.await' op awaiting on a token must have empty result",
    ),
    "await: wrong result": (
        """func.func @f(%v: !async.value<f32>) { %0 = "async.await"(%v) : (!async.value<f32>) -> i32 return }""",
        "'async.await' op result type 'i32' does not match async value type 'f32'",
    ),
    "add_to_group: of a float": (
        "func.func @f(%v: f32, %g: !async.group) { %0 = async.add_to_group %v, %g : f32 return }",
        "'async.add_to_group' op operand #0 must be async value type or async token type, but got 'f32'",
    ),
    "func: no results": (
        "async.func @f() { return }",
        "'async.func' op result is expected to be at least of size 1, but got 0",
    ),
    "func: float result": (
        "async.func @f(%x: f32) -> f32 { return %x : f32 }",
        "'async.func' op result type must be async value type or async token type, but got 'f32'",
    ),
    "func: token not first": (
        "async.func private @f() -> (!async.value<f32>, !async.token)",
        "'async.func' op  results' (optional) async token type is expected to appear as the 1st return value, "
        "but got 2",
    ),
    "func: two tokens": (
        "async.func private @f() -> (!async.token, !async.token)",
        "'async.func' op  results' (optional) async token type is expected to appear as the 1st return value, "
        "but got 2",
    ),
    "return: too few": (
        "async.func @f(%x: f32) -> !async.value<f32> { return }",
        "'async.return' op operand types do not match the types returned from the parent FuncOp",
    ),
    "return: wrong type": (
        "async.func @f(%x: f32) -> !async.value<i32> { return %x : f32 }",
        "'async.return' op operand types do not match the types returned from the parent FuncOp",
    ),
    "return: elsewhere": (
        "func.func @f() { async.return }",
        "'async.return' op expects parent op 'async.func'",
    ),
    "call: unknown": (
        "func.func @f() { async.call @nope() : () -> () return }",
        "'async.call' op 'nope' does not reference a valid async function",
    ),
    "call: of a func.func": (
        "func.func @f() { async.call @f() : () -> () return }",
        "'async.call' op 'f' does not reference a valid async function",
    ),
    "call: too few operands": (
        """async.func private @g(f32) -> !async.token
        func.func @f() { %t = async.call @g() : () -> !async.token return }""",
        "incorrect number of operands for callee",
    ),
    "call: wrong operand": (
        """async.func private @g(f32) -> !async.token
        func.func @f(%i: i32) { %t = async.call @g(%i) : (i32) -> !async.token return }""",
        "operand type mismatch: expected operand type 'f32', but provided 'i32' for operand number 0",
    ),
    "call: too few results": (
        """async.func private @g(f32) -> !async.token
        func.func @f(%x: f32) { async.call @g(%x) : (f32) -> () return }""",
        "incorrect number of results for callee",
    ),
    "call: wrong result": (
        """async.func private @g(f32) -> !async.token
        func.func @f(%x: f32) { %t = async.call @g(%x) : (f32) -> !async.value<f32> return }""",
        "result type mismatch at index 0",
    ),
    "add_ref: count 0": (
        "func.func @f(%t: !async.token) { async.runtime.add_ref %t {count = 0 : i64} : !async.token return }",
        "attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive",
    ),
    "drop_ref: count of 32 bits": (
        "func.func @f(%t: !async.token) { async.runtime.drop_ref %t {count = 1 : i32} : !async.token return }",
        "attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive",
    ),
    "store: another payload": (
        """func.func @f(%x: f32, %v: !async.value<i32>) {
          "async.runtime.store"(%x, %v) : (f32, !async.value<i32>) -> () return }""",
        "'async.runtime.store' op failed to verify that type of 'value' matches element type of 'storage'",
    ),
    # further operands and results that the same texts reject
    "load: another payload": (
        """func.func @f(%v: !async.value<i32>) {
          %0 = "async.runtime.load"(%v) : (!async.value<i32>) -> f32 return }""",
        "'async.runtime.load' op failed to verify that type of 'value' matches element type of 'storage'",
    ),
    "store: into a token": (
        "func.func @f(%t: !async.token) { async.runtime.store %t, %t : !async.token return }",
        "invalid kind of type specified: expected async.value, but found '!async.token'",
    ),
    "store: operand of another type": (
        "func.func @f(%x: f32, %v: !async.value<i32>) { async.runtime.store %x, %v : <i32> return }",
        "use of value '%x' expects different type than prior uses: 'i32' vs 'f32'",
    ),
    "add_to_group: to a token": (
        """func.func @f(%t: !async.token) {
          %0 = "async.add_to_group"(%t, %t) : (!async.token, !async.token) -> index return }""",
        "'async.add_to_group' op operand #1 must be async group type, but got '!async.token'",
    ),
    "create_group: of i32": (
        """func.func @f(%n: i32) { %0 = "async.create_group"(%n) : (i32) -> !async.group return }""",
        "'async.create_group' op operand #0 must be index, but got 'i32'",
    ),
    "create_group: a token": (
        """func.func @f(%n: index) { %0 = "async.create_group"(%n) : (index) -> !async.token return }""",
        "'async.create_group' op result #0 must be async group type, but got '!async.token'",
    ),
    "await_all: of an index": (
        """func.func @f(%n: index) { "async.await_all"(%n) : (index) -> () return }""",
        "'async.await_all' op operand #0 must be async group type, but got 'index'",
    ),
    "runtime.await: of a float": (
        "func.func @f(%x: f32) { async.runtime.await %x : f32 return }",
        "'async.runtime.await' op operand #0 must be async value type or async token type or async group type, "
        "but got 'f32'",
    ),
    "runtime.await_and_resume: of a float": (
        """func.func @f(%x: f32, %h: !async.coro.handle) { async.runtime.await_and_resume %x, %h : f32 return }""",
        "'async.runtime.await_and_resume' op operand #0 must be async value type or async token type "
        "or async group type, but got 'f32'",
    ),
    "runtime.resume: of a float": (
        """func.func @f(%x: f32) { "async.runtime.resume"(%x) : (f32) -> () return }""",
        "'async.runtime.resume' op operand #0 must be coroutine handle, but got 'f32'",
    ),
    "runtime.is_error: an i32": (
        """func.func @f(%t: !async.token) { %0 = "async.runtime.is_error"(%t) : (!async.token) -> i32 return }""",
        "'async.runtime.is_error' op result #0 must be 1-bit signless integer, but got 'i32'",
    ),
    "runtime.set_available: of a group": (
        "func.func @f(%g: !async.group) { async.runtime.set_available %g : !async.group return }",
        "'async.runtime.set_available' op operand #0 must be async value type or async token type, "
        "but got '!async.group'",
    ),
    "runtime.set_error: of a group": (
        "func.func @f(%g: !async.group) { async.runtime.set_error %g : !async.group return }",
        "'async.runtime.set_error' op operand #0 must be async value type or async token type, but got '!async.group'",
    ),
    "runtime.create: a group": (
        "func.func @f() { %0 = async.runtime.create : !async.group return }",
        "'async.runtime.create' op result #0 must be async value type or async token type, but got '!async.group'",
    ),
    "runtime.add_to_group: of a group": (
        "func.func @f(%g: !async.group) { %0 = async.runtime.add_to_group %g, %g : !async.group return }",
        "'async.runtime.add_to_group' op operand #0 must be async value type or async token type, "
        "but got '!async.group'",
    ),
    "runtime.add_ref: of a float": (
        "func.func @f(%x: f32) { async.runtime.add_ref %x {count = 1 : i64} : f32 return }",
        "'async.runtime.add_ref' op operand #0 must be async value type or async token type or async group type, "
        "but got 'f32'",
    ),
    "runtime.load: of a token": (
        """func.func @f(%t: !async.token) { %0 = "async.runtime.load"(%t) : (!async.token) -> f32 return }""",
        "'async.runtime.load' op operand #0 must be async value type, but got '!async.token'",
    ),
    "coro.begin: of a token": (
        """func.func @f(%t: !async.token) {
          %0 = "async.coro.begin"(%t) : (!async.token) -> !async.coro.handle return }""",
        "'async.coro.begin' op operand #0 must be switched-resume coroutine identifier, but got '!async.token'",
    ),
    "coro.save: of a token": (
        """func.func @f(%t: !async.token) {
          %0 = "async.coro.save"(%t) : (!async.token) -> !async.coro.state return }""",
        "'async.coro.save' op operand #0 must be coroutine handle, but got '!async.token'",
    ),
    "coro.suspend: of a token": (
        """func.func @f(%t: !async.token) {
          "async.coro.suspend"(%t) [^a, ^a, ^a] : (!async.token) -> () ^a: return }""",
        "'async.coro.suspend' op operand #0 must be saved coroutine state, but got '!async.token'",
    ),
    "func: public declaration": (
        "async.func @f() -> !async.token",
        "'async.func' op symbol declaration cannot have public visibility",
    ),
    "func: no type": (
        """"async.func"() <{sym_name = "f"}> ({ "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op requires attribute 'function_type'",
    ),
    "func: not a function type": (
        """"async.func"() <{sym_name = "f", function_type = f32}> ({ "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op attribute 'function_type' failed to satisfy constraint: type attribute of function type",
    ),
    "func: empty body": (
        "async.func @f() -> !async.token { }",
        "expected non-empty function body",
    ),
    "func: entry block without arguments": (
        """"async.func"() <{function_type = (f32) -> !async.token, sym_name = "f"}> ({
          "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op entry block must have 1 arguments to match function signature",
    ),
    "func: entry block with another type": (
        """"async.func"() <{function_type = (f32) -> !async.token, sym_name = "f"}> ({
          ^bb0(%i: i32): "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op type of entry block argument #0('i32') must match the type of the corresponding argument "
        "in function signature('f32')",
    ),
    "func: argument attributes": (
        """"async.func"() <{function_type = (f32) -> !async.token, sym_name = "f", arg_attrs = [{}, {}]}> ({
          ^bb0(%x: f32): "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op expects argument attribute array to have the same number of elements as the number of "
        "function arguments, got 2, but expected 1",
    ),
    "func: result attributes": (
        """"async.func"() <{function_type = () -> !async.token, sym_name = "f", res_attrs = [{}, {}]}> ({
          "async.return"() : () -> () }) : () -> ()""",
        "'async.func' op expects result attribute array to have the same number of elements as the number of "
        "function results, got 2, but expected 1",
    ),
    "func: argument attribute without dialect": (
        "async.func @f(%x: f32 {a}) -> !async.token { return }",
        "'async.func' op arguments may only have dialect attributes",
    ),
    "func: visibility": (
        """"async.func"() <{function_type = () -> !async.token, sym_name = "f", sym_visibility = "blue"}> ({
          "async.return"() : () -> () }) : () -> ()""",
        """'async.func' op visibility expected to be one of ["public", "private", "nested"], but got "blue\"""",
    ),
    "call: float result": (
        "func.func @f() { %0 = async.call @nope() : () -> f32 return }",
        "'async.call' op result #0 must be variadic of async value type or async token type, but got 'f32'",
    ),
}


def refused(text: str) -> str:
    """What parser or verifier say to `text`."""
    with pytest.raises((ParseError, VerifyException)) as refusal:
        parse(text)
    return str(refusal.value)


@pytest.mark.parametrize("case", REFUSALS)
def test_rejects_in_the_words_of_mlir_opt(case: str) -> None:
    text, message = REFUSALS[case]
    assert message in refused(text)
    assert message in mlir_opt_rejects(text)


# Both reject these; xDSL speaks before an op of ours is asked, or the two parsers meet them in another order.
WORDED_OTHERWISE = {
    "await: token with a result": (
        "func.func @f(%t: !async.token) { %0 = async.await %t : !async.token return }",
        "Operation has 0 results, but was given 1 to bind",
        "cannot name an operation with no results",
    ),
    "execute: three segments": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> ({ async.yield }) : () -> !async.token
          return }""",
        "'operandSegmentSizes' attribute for specifying operand segments must have 2 elements, but got 3",
        "invalid properties {operandSegmentSizes = array<i32: 0, 0, 0>} for op async.execute",
    ),
    "value without a payload": (
        "func.func private @f(!async.value)",
        "expected '<': failed to parse async value type",
        "failed to parse async value type",
    ),
    "unknown type": (
        "func.func private @f(!async.foo)",
        "'async.foo' is not registered",
        "unknown  type `foo` in dialect `async`",
    ),
    "execute without yield": (
        "func.func @f(%x: f32) { %t = async.execute { %0 = arith.addf %x, %x : f32 } return }",
        "terminates block in single-block region but is not a terminator",
        "block with no terminator",
    ),
    "execute with a foreign terminator": (
        "func.func @f() { %t = async.execute { func.return } return }",
        "'func.return' expects parent op 'func.func'",
        "'func.return' op expects parent op 'func.func'",
    ),
    "results without parentheses": (
        "async.func private @f() -> !async.token, !async.value<f32>",
        "Could not parse entire input",
        "expected operation name in quotes",
    ),
    "an argument without a name after one with": (
        "async.func private @f(%a: f32, i32) -> !async.token",
        "expected all arguments to be named or all to be unnamed",
        "expected SSA identifier",
    ),
    "an argument with a name after one without": (
        "async.func private @f(f32, %b: i32) -> !async.token",
        "expected all arguments to be named or all to be unnamed",
        "expected type instead of SSA identifier",
    ),
    "a body that ends with another terminator": (
        """func.func @f() {
          %t = "async.execute"() <{operandSegmentSizes = array<i32: 0, 0>}> ({ "test.termop"() : () -> () })
            : () -> !async.token
          return }""",
        "'async.execute' op expects its body to end with 'async.yield'",
        "'async.execute' op expects regions to end with 'async.yield', found 'test.termop'",
    ),
    "two functions of a name": (
        "async.func private @f() -> !async.token async.func private @f() -> !async.token",
        'Redefinition of symbol "f"',
        "redefinition of symbol named 'f'",
    ),
    "two successors": (
        """func.func @f(%s: !async.coro.state) {
          "async.coro.suspend"(%s) [^a, ^a] : (!async.coro.state) -> () ^a: return }""",
        "Expected 3 successors, but got 2",
        "requires 3 successors but found 2",
    ),
    "count missing": (
        "func.func @f(%t: !async.token) { async.runtime.add_ref %t : !async.token return }",
        "property 'count' expected",
        "requires attribute 'count'",
    ),
    "group type expected": (
        "func.func @f(%n: index) { %0 = async.create_group %n : !async.token return }",
        "'async.create_group' op result #0 must be async group type, but got '!async.token'",
        "expected async.group, but found '!async.token'",
    ),
    "group operand expected": (
        "func.func @f(%n: index) { async.await_all %n return }",
        "operand is used with type !async.group",
        "use of value '%n' expects different type than prior uses",
    ),
}


@pytest.mark.parametrize("case", WORDED_OTHERWISE)
def test_rejects_what_mlir_opt_rejects(case: str) -> None:
    text, ours, theirs = WORDED_OTHERWISE[case]
    assert ours in refused(text)
    assert theirs in mlir_opt_rejects(text)


# MLIR 22 accepts the first and cannot lower it; the second crashes it.
REJECTED_BY_US_ONLY = {
    "yield of a promise": (
        """func.func @f(%a: !async.value<f32>) {
          %t:2 = async.execute -> !async.value<f32> { async.yield %a : !async.value<f32> } return }""",
        "'async.execute' op cannot return the yielded promise #0 '!async.value<f32>' as '!async.value<f32>': "
        "await it in the body and yield its payload",
    ),
    "await that drops the payload": (
        """func.func @f(%a: !async.value<f32>) { "async.await"(%a) : (!async.value<f32>) -> () return }""",
        "'async.await' op awaiting on a value must have one result of type 'f32', but has 0 results",
    ),
}


@pytest.mark.parametrize("case", REJECTED_BY_US_ONLY)
def test_rejects_what_mlir_cannot_lower(case: str) -> None:
    text, message = REJECTED_BY_US_ONLY[case]
    assert message in refused(text)
