"""The names that the instructions of a kernel see beside registers and labels."""

from __future__ import annotations

from dataclasses import dataclass

from tileas_xdsl.readers.ptx.syntax import Function, Instruction, Module, Parameter, Variable


@dataclass(frozen=True)
class Symbols:
    """The variables of a module and a kernel, and the parameters of the kernel."""

    module: Module
    function: Function

    def variable(self, name: str, user: Instruction) -> Variable:
        """The variable `name`. Raises `PtxError` where there is none."""
        for variable in (*self.function.variables, *self.module.variables):
            if variable.name == name:
                return variable
        raise user.error(f"names '{name}', which is declared nowhere")

    def parameter(self, name: str) -> Parameter | None:
        """The parameter `name` of the kernel."""
        return next((each for each in self.function.parameters if each.name == name), None)

    @property
    def shared(self) -> list[Variable]:
        """The arrays in shared memory that this kernel can name."""
        return [each for each in (*self.function.variables, *self.module.variables) if each.space == "shared"]
