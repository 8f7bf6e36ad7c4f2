"""
Our LLVM IR on this machine's own processor, by LLVM's just-in-time compiler: an oracle for what lowers to it.

Copies of `cp.async` are made at once, as one of the orders that they may be made in; waits and barriers do nothing, for
there is one thread.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tests.support.llvm_ir import llvm_ir_of
from tests.support.ptx import require_llvmlite

COPY = """define void @nvvm.cp.async.{kind}.shared.global.{size}(ptr addrspace(3) %to, ptr addrspace(1) %from) {{
  %v = load <{size} x i8>, ptr addrspace(1) %from, align 1
  store <{size} x i8> %v, ptr addrspace(3) %to, align 1
  ret void
}}
define void @nvvm.cp.async.{kind}.shared.global.{size}.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %n) {{
  store <{size} x i8> zeroinitializer, ptr addrspace(3) %to, align 1
  %all = icmp eq i32 %n, {size}
  br i1 %all, label %copy, label %end
copy:
  call void @nvvm.cp.async.{kind}.shared.global.{size}(ptr addrspace(3) %to, ptr addrspace(1) %from)
  br label %end
end:
  ret void
}}
"""
NOTHING = """define void @nvvm.cp.async.commit.group() {
  ret void
}
define void @nvvm.cp.async.wait.group(i32 %n) {
  ret void
}
define void @nvvm.barrier.cta.sync.aligned.all(i32 %n) {
  ret void
}
"""
COPIES = "".join(COPY.format(kind=kind, size=size) for kind, size in (("ca", 4), ("ca", 8), ("cg", 16)))


class NativeCode:
    """The functions of a module of `llvm`, compiled; they may be called as long as this lives."""

    def __init__(self, module: ModuleOp) -> None:
        require_llvmlite()
        from llvmlite import binding

        llvm: Any = binding
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        text = re.sub(r"@llvm\.nvvm\.", "@nvvm.", llvm_ir_of(module))
        if "@nvvm." in text:
            text += COPIES + NOTHING
        machine = llvm.Target.from_default_triple().create_target_machine()
        parsed = llvm.parse_assembly(text)
        parsed.verify()
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()

    def call(self, name: str, *arguments: np.ndarray[Any, Any] | int) -> None:
        """Call a function without results: an array is a pointer to its elements, a number an i64."""
        types = [ctypes.c_void_p if isinstance(value, np.ndarray) else ctypes.c_int64 for value in arguments]
        function = ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(name))
        function(*(value.ctypes.data if isinstance(value, np.ndarray) else value for value in arguments))
