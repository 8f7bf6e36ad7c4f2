"""
Corpora of programs in which more decides than arrivals and waits: bytes expected apart from arrivals, arrivals that add
to a phase, warps that return, registers that move, ranks and columns by who comes first, pipelines of `tcgen05`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice
from random import Random

from tests.checker.explorer import pairs, pools, programs, ranks, returns
from tests.checker.explorer.kernel_programs import KernelSample
from tests.checker.explorer.listings import Listing, maybe_changed

LISTINGS: dict[str, tuple[Callable[[Random], Listing], ...]] = {
    "returns": returns.FAMILIES,
    "register pools": pools.FAMILIES,
    "ranks and columns": ranks.FAMILIES,
    "pairs of tcgen05": pairs.FAMILIES,
}
SIGNS = {"expectations": "nvvm.mbarrier.expect_tx", "incrementing arrivals": "nvvm.cp.async.mbarrier.arrive"}
"""What a program of the model of expectations has in it, to be of the corpus."""
CORPORA = (*SIGNS, *LISTINGS)
FIRST = 500
"""The first of the programs of that model that are not taken elsewhere."""


def generate(corpus: str, programs: int) -> list[KernelSample]:
    """So many programs of a corpus; the first ones are the same however many there are."""
    if corpus in SIGNS:
        return list(islice(_expectations(SIGNS[corpus]), programs))
    return [_listing(corpus, seed) for seed in range(programs)]


def _listing(corpus: str, seed: int) -> KernelSample:
    rng = Random(f"{corpus} {seed}")
    family = rng.choice(LISTINGS[corpus])
    return maybe_changed(rng, seed, family.__name__, family(rng))


def _expectations(sign: str) -> Iterator[KernelSample]:
    for seed in count(FIRST):
        made = programs.generate("expectations", seed)
        if sign in made.text:
            family, mutations = made.family.split("+")
            yield KernelSample(seed, family, ("changed",) * int(mutations), made.text)
