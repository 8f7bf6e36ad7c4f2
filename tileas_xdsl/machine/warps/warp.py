"""A warp while it runs: where its lanes are, what its registers hold, and what it has started."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileas_xdsl.machine.warps.integers import ALL_LANES, LANES, Numbers
from tileas_xdsl.readers.ptx.operands import Address, Name, Negated, Number, Operand
from tileas_xdsl.readers.ptx.syntax import Register
from tileas_xdsl.targets.warps import WARP

QUARTERS = 4
"""Of a multiprocessor; each issues for its own warps."""
NEVER = -1e9


@dataclass(eq=False, slots=True)
class Part:
    """Lanes of a warp that go one way, until they meet the others."""

    block: int | None
    """None at the end."""
    index: int
    mask: int
    meeting: int | None


@dataclass(eq=False)
class Groups:
    """What was started, by the groups in which it is waited for: when each of it is complete."""

    closed: list[list[float]] = field(default_factory=list[list[float]])
    open: list[float] = field(default_factory=list[float])

    def commit(self) -> None:
        """Close the open group."""
        self.closed.append(self.open)
        self.open = []

    def wait(self, left: int) -> list[float]:
        """The ends of all groups but the last `left` ones, which alone are kept."""
        count = max(len(self.closed) - left, 0)
        waited, self.closed = self.closed[:count], self.closed[count:]
        return [end for group in waited for end in group]


@dataclass(eq=False)
class Warp:
    """One warp. Times are cycles."""

    number: int
    parts: list[Part] = field(default_factory=lambda: [Part(0, 0, ALL_LANES, None)])
    next: float = 0.0
    """From when on it can issue."""
    values: dict[Register, Numbers] = field(default_factory=dict[Register, Numbers])
    ready: dict[Register, float] = field(default_factory=dict[Register, float])
    products: Groups = field(default_factory=Groups)
    copies: Groups = field(default_factory=Groups)
    transfers: Groups = field(default_factory=Groups)
    last_products: list[float] = field(default_factory=list[float])
    """The ends of the last products that were handed over."""
    undrained: float | None = None
    """The end of a product for which the assembler waits by itself."""
    copied: float = 0.0
    """When all `cp.async` are complete."""
    stored: float = 0.0
    """When all stores to shared memory are there."""
    transfer_issued: float = NEVER
    done: bool = False
    blocked: bool = False
    """Whether it waits for what others do."""

    @property
    def quarter(self) -> int:
        return self.number % QUARTERS

    def value(self, operand: Operand, symbols: dict[str, int], warps: int) -> Numbers:
        """What `operand` is, where names stand for `symbols`."""
        match operand:
            case Register():
                return self.values.get(operand)
            case Number(value=value):
                return value - (1 << 64) if value >> 63 else value
            case Name(name=name):
                return self._named(name, symbols, warps)
            case Negated(operand=inner):
                value = self.value(inner, symbols, warps)
                return None if value is None else 1 - value
            case Address(base=base, offset=offset):
                value = self.value(base, symbols, warps)
                return None if value is None else value + offset
            case _:
                return None

    def _named(self, name: str, symbols: dict[str, int], warps: int) -> Numbers:
        match name:
            case "%tid.x":
                return LANES + self.number * WARP
            case "%laneid":
                return LANES
            case "%ntid.x":
                return warps * WARP
            case "%nctaid.x" | "%nctaid.y" | "%nctaid.z":
                return 1
            case _:
                return 0 if name.startswith("%") else symbols.get(name)
