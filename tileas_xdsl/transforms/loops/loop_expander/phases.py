"""
The rewrite of an expansion, in five phases: initialise, prologue, cross-stage values, kernel, epilogue.

Enters a plan; leaves four blocks of new ops that stand nowhere yet: setup, prologue, kernel and epilogue. The original
loop is only read. Whoever holds the result puts the blocks in its place (`__init__.py`), or drops them.

The *history* is what makes the phases alike: a map from (stream, slot) to the value that was made in that slot. Each
part counts its slots anew, and values of earlier parts have negative slots:

* the prologue starts at slot 0, with the initial values of the carried arguments before it;
* the kernel is slot 0 of its own, and what came before are its block arguments at slots -1, -2 ...;
* the epilogue starts at slot 0, and what came before are the results of the kernel.

A use at age `a` in slot `t` therefore always reads slot `t - a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.dialects import arith, scf
from xdsl.ir import Attribute, Block, SSAValue

from tileas_xdsl.analysis.value_flow import yielding
from tileas_xdsl.interfaces import end_of
from tileas_xdsl.scheduling.timetable import Section
from tileas_xdsl.transforms.loops.loop_expander.hooks import ExpansionHooks, IterationRef, OpCopy
from tileas_xdsl.transforms.loops.loop_expander.plan import (
    Epilogue,
    ExpansionPlan,
    Guard,
    Iteration,
    PlannedCopy,
    PlannedSlot,
    TripsAtLeast,
)
from tileas_xdsl.transforms.loops.loop_expander.scalars import Scalar, Scalars, Site
from tileas_xdsl.transforms.loops.loop_expander.streams import Stream

History = dict[tuple[Stream, int], SSAValue]


@dataclass
class _OpenSection:
    """One section under construction: where its ops go, and what it knows of its iterations."""

    site: Site
    base: SSAValue | None = None
    """The induction variable of the kernel."""
    inductions: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    ordinals: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])


class Phases:
    """Builds the parts of one expanded loop."""

    def __init__(self, plan: ExpansionPlan, hooks: ExpansionHooks) -> None:
        self.plan = plan
        self.hooks = hooks
        self.loop = plan.loop
        self.blocks: list[Block] = []
        """Every block made here, so that they can be dropped."""
        self.setup = self._site()
        self.scalars = Scalars(self.loop, self.setup)
        self.prologue = _OpenSection(self._site())
        self.epilogue = _OpenSection(self._site())
        self.kernel: scf.ForOp | None = None
        self._placeholders: dict[Attribute, SSAValue] = {}
        self._rotating: dict[SSAValue, Stream] = {
            stream.source: stream for stream in plan.streams if stream.argument is not None
        }
        self._final = {(result.stream, result.slot) for result in plan.results if result is not None}

    def build(self) -> list[SSAValue | None]:
        """Run the phases. Returns what replaces each result of the loop, None where it is not used."""
        history = self._initialise()
        history = self._emit_prologue(history)
        carried = self._cross_stage_values()
        history = self._emit_kernel(history, carried)
        self._emit_epilogue(history)
        results: list[SSAValue | None] = []
        for result in self.plan.results:
            if result is None or result.stream is None:
                results.append(None if result is None else result.constant)
            else:
                results.append(history[result.stream, result.slot])
        return results

    def drop(self) -> None:
        """Erase everything that was built so far; the original loop is untouched."""
        for block in self.blocks:
            block.drop_all_references()
        if self.kernel is not None:
            self.kernel.drop_all_references()

    # Initialise: the values before the first iteration ---------------------------------------------------------------

    def _initialise(self) -> History:
        history: History = {}
        for stream in self.plan.streams:
            if stream.argument is not None:
                history[stream, 0] = stream.initial[0]
                continue
            for before, value in enumerate(stream.initial, start=1):
                history[stream, stream.stage - before] = value
        return history

    # Prologue: fill the pipeline, slot by slot -----------------------------------------------------------------------

    def _emit_prologue(self, history: History) -> History:
        for slot in self.plan.prologue:
            if slot.guard is not None:
                history = self._emit_guarded_slot(slot, slot.guard, history)
                continue
            self._emit_copies(self.prologue, slot, history)
            self._rotate(self.prologue, Iteration(Section.PROLOGUE, slot.number), slot.number, history)
        return history

    def _emit_guarded_slot(self, slot: PlannedSlot, guard: TripsAtLeast, history: History) -> History:
        """
        A slot that a short loop does not reach.

        Where it is not reached, everything stays as it is: a value of age `a` keeps this age. So behind the slot each
        age is a result of the `scf.if`, and the epilogue finds the same ages whatever the trip count.
        """
        after = slot.number + 1
        inside = dict(history)
        body = self._site()
        self._emit_copies(self.prologue, slot, inside, body)
        self._rotate(self.prologue, Iteration(Section.PROLOGUE, slot.number), slot.number, inside)
        merged: History = {key: value for key, value in history.items() if key[1] >= after}
        merge = _Merge()
        for stream in self.plan.streams:
            for age in stream.ages:
                if (moved := inside.get((stream, after - age))) is None:
                    continue
                kept = history.get((stream, slot.number - age))
                merge.add((stream, after - age), moved, self._stand_in(stream) if kept is None else kept)
        merged.update(self._close_guard(self.prologue.site, self.scalars.trips_at_least(guard.count), body, merge))
        return merged

    # Cross-stage values: what the kernel carries from trip to trip ---------------------------------------------------

    def kernel_positions(self) -> tuple[int | None, ...]:
        """For each carried argument of the loop its position among those of the kernel, None where it has none."""
        positions = {carried: position for position, carried in enumerate(self._cross_stage_values())}
        return tuple(None if argument is None else positions.get(argument) for argument in self.plan.arguments)

    def _cross_stage_values(self) -> list[tuple[Stream, int]]:
        """Stream and age of each carried value, in order; streams of the original arguments come first."""
        return [(stream, age) for stream in self.plan.streams for age in stream.ages]

    # Kernel: the steady state ----------------------------------------------------------------------------------------

    def _emit_kernel(self, history: History, carried: Sequence[tuple[Stream, int]]) -> History:
        """The loop, and the history behind it, in which slot 0 is the first of the epilogue."""
        slot = self.plan.kernel
        if slot is None:
            reached = len(self.plan.prologue)
            return {(stream, number - reached): value for (stream, number), value in history.items()}
        lead = self.plan.lead
        starts = [
            history[stream, lead - age] if (stream, lead - age) in history else self._stand_in(stream)
            for stream, age in carried
        ]
        arguments = [self.loop.body.block.args[0].type, *(start.type for start in starts)]
        body = self._block(Block(arg_types=arguments))
        section = _OpenSection(Site(body, self.loop), base=body.args[0])
        body.args[0].name_hint = self.loop.body.block.args[0].name_hint
        for argument in body.args:
            argument.location = self.loop.location
        inside: History = {}
        for (stream, age), argument in zip(carried, body.args[1:], strict=True):
            argument.name_hint = stream.source.name_hint
            inside[stream, -age] = argument
        self._emit_copies(section, slot, inside)
        self._rotate(section, Iteration(Section.KERNEL, lead), 0, inside)
        section.site.insert(yielding(inside[stream, 1 - age] for stream, age in carried))
        self.kernel = self._make_loop(starts, body)
        return {(stream, -age): result for (stream, age), result in zip(carried, self.kernel.res, strict=True)}

    def _make_loop(self, starts: Sequence[SSAValue], body: Block) -> scf.ForOp:
        drained = self.plan.lead if self.plan.epilogue_kind is Epilogue.PEELED else 0
        upper = self.scalars.value(self.scalars.upper_without_last(drained))
        kernel = scf.ForOp(self.loop.lb, upper, self.loop.step, starts, body)
        kernel.attributes.update(self.loop.attributes)
        kernel.location = self.loop.location
        for argument, result in zip(body.args[1:], kernel.res, strict=True):
            result.name_hint = argument.name_hint
        return kernel

    # Epilogue: drain the pipeline ------------------------------------------------------------------------------------

    def _emit_epilogue(self, history: History) -> None:
        for slot in self.plan.epilogue:
            self._emit_copies(self.epilogue, slot, history)

    # Copies ----------------------------------------------------------------------------------------------------------

    def _emit_copies(
        self, section: _OpenSection, slot: PlannedSlot, history: History, site: Site | None = None
    ) -> None:
        """The copies of one slot, at `site` or the section's. Neighbours under one guard share one `scf.if`."""
        for guard, group in groupby(slot.copies, key=lambda copy: copy.guard):
            copies = list(group)
            if guard is None:
                for copy in copies:
                    self._emit_copy(section, slot, copy, site or section.site, history)
            else:
                self._emit_guarded_run(section, slot, guard, copies, history)

    def _emit_guarded_run(
        self, section: _OpenSection, slot: PlannedSlot, guard: Guard, copies: Sequence[PlannedCopy], history: History
    ) -> None:
        body = self._site()
        for copy in copies:
            self._emit_copy(section, slot, copy, body, history)
        run = {copy.planned.rank for copy in copies}
        merge = _Merge()
        for stream in (s for copy in copies for streams in copy.planned.makes for s in streams):
            made = history.pop((stream, slot.number))
            if self._escapes(stream, slot, run):
                merge.add((stream, slot.number), made, self._missing_value(stream, slot, section.site, history))
        history.update(self._close_guard(section.site, self._condition(section, guard), body, merge))

    def _emit_copy(
        self, section: _OpenSection, slot: PlannedSlot, copy: PlannedCopy, site: Site, history: History
    ) -> None:
        planned = copy.planned
        operands: dict[SSAValue, SSAValue] = {}
        for read in planned.reads:
            if read.stream is not None:
                operands[read.value] = history[read.stream, slot.number - read.age]
            elif read.constant is not None:
                operands[read.value] = read.constant
            else:
                operands[read.value] = self._induction(section, copy.iteration)
        op = planned.op.clone(dict(operands))
        site.block.add_op(op)
        # What the hook asks of the iteration must stand before the copy, if both go to the same block.
        section.site.anchor = op if site is section.site else None
        reference = self._reference(section, slot, copy)
        values = self.hooks.on_copy(OpCopy(planned.op, op, reference, operands)) or op.results
        section.site.anchor = None
        for streams, value in zip(planned.makes, values, strict=True):
            for stream in streams:
                history[stream, slot.number] = value

    def _reference(self, section: _OpenSection, slot: PlannedSlot, copy: PlannedCopy) -> IterationRef:
        iteration = copy.iteration
        number = iteration.offset if iteration.section is Section.PROLOGUE else None
        if iteration.section is Section.EPILOGUE and self.plan.trip_count is not None:
            number = self.plan.trip_count + iteration.offset
        return IterationRef(
            slot=slot.slot,
            stage=copy.planned.stage + self.plan.first_stage,
            offset=iteration.offset,
            number=number,
            _induction=lambda: self._induction(section, iteration),
            _ordinal=lambda: self._ordinal(section, iteration),
        )

    def _rotate(self, section: _OpenSection, iteration: Iteration, slot: int, history: History) -> None:
        """At the end of a slot the arguments that no op makes move on; `iteration` is the one of stage 0."""
        terminator = end_of(self.loop.body.block)
        yielded = terminator.operands
        moved: History = {}
        for stream in self._rotating.values():
            assert stream.argument is not None
            source = yielded[stream.argument.index - 1]
            if source is self.loop.body.block.args[0]:
                moved[stream, slot + 1] = self._induction(section, iteration)
            elif (other := self._rotating.get(source)) is not None:
                moved[stream, slot + 1] = history[other, slot]
            else:
                moved[stream, slot + 1] = self.plan.constants.get(source, source)
        history.update(moved)

    # Guards ----------------------------------------------------------------------------------------------------------

    def _condition(self, section: _OpenSection, guard: Guard) -> SSAValue:
        """An `i1` that is true where the guard holds."""
        if isinstance(guard, TripsAtLeast):
            return self.scalars.trips_at_least(guard.count)
        assert section.base is not None
        bound = self.scalars.value(self.scalars.upper_without_last(guard.ahead))
        return section.site.emit(arith.CmpiOp(section.base, bound, "slt"))

    def _escapes(self, stream: Stream, slot: PlannedSlot, run: set[int]) -> bool:
        """Whether what the stream gets in this slot is read outside the run of ops that makes it."""
        if slot.slot.section is not Section.EPILOGUE:
            return stream.depth > 0 or any(reader.rank not in run for reader, _ in self.plan.readers[stream])
        if (stream, slot.number) in self._final:
            return True
        return any(
            reader.stage > slot.number + age and (age > 0 or reader.rank not in run)
            for reader, age in self.plan.readers[stream]
        )

    def _missing_value(self, stream: Stream, slot: PlannedSlot, site: Site, history: History) -> SSAValue:
        """
        What the stream holds where its op did not run.

        In an epilogue slot of a short loop that is a value before the first iteration: with `N` iterations, that of
        iteration `N + slot - stage`. Everywhere else nobody reads it. Where there is one initial value, all iterations
        before the first have it, so the value of the slot before may stand for it, and does where a hook wants that.
        """
        value = self._stand_in(stream)
        if slot.slot.section is not Section.EPILOGUE or not stream.initial:
            return value
        if len(stream.initial) == 1:
            stays = self.hooks.stays_in_place(stream.source)
            return history.get((stream, slot.number - 1), value) if stays else value
        first_trips = stream.stage - slot.number - 1
        value = stream.initial[-1]
        for before in reversed(range(len(stream.initial) - 1)):
            if first_trips - before > 0:
                condition = self.scalars.trips_at_least(first_trips - before)
                value = site.emit(arith.SelectOp(condition, stream.initial[before], value))
            else:
                value = stream.initial[before]
        return value

    def _stand_in(self, stream: Stream) -> SSAValue:
        """A value of the stream's type that is visible everywhere; the initial one where there is one."""
        if stream.initial:
            return stream.initial[0]
        value_type = stream.source.type
        if value_type not in self._placeholders:
            op = self.plan.placeholder(value_type)
            assert op is not None
            self._placeholders[value_type] = self.setup.emit(op, "missing")
        return self._placeholders[value_type]

    def _close_guard(self, site: Site, condition: SSAValue, body: Site, merge: _Merge) -> History:
        """Wrap `body` in an `scf.if`. Returns what its results are, under the keys of `merge`."""
        taken, missing = merge.columns
        body.insert(yielding(taken))
        otherwise: list[Block] = []
        if missing:
            other = self._site()
            other.insert(yielding(missing))
            otherwise.append(other.block)
        guard = scf.IfOp(condition, [value.type for value in taken], [body.block], otherwise or None)
        site.insert(guard)
        for value, result in zip(taken, guard.output, strict=True):
            result.name_hint = value.name_hint
        return merge.resolve(guard.output)

    # Iterations ------------------------------------------------------------------------------------------------------

    def _induction(self, section: _OpenSection, iteration: Iteration) -> SSAValue:
        """The original induction variable in an iteration of `section`; each is computed once."""
        if iteration.offset not in section.inductions:
            value = self.scalars.value(self._find_induction(section, iteration))
            if value.name_hint is None and value is not self.loop.lb:
                value.name_hint = self.loop.body.block.args[0].name_hint
            section.inductions[iteration.offset] = value
        return section.inductions[iteration.offset]

    def _find_induction(self, section: _OpenSection, iteration: Iteration) -> Scalar:
        match iteration.section:
            case Section.PROLOGUE:
                return self.scalars.nth(section.site, iteration.offset)
            case Section.EPILOGUE:
                return self.scalars.nth_last(section.site, -iteration.offset)
            case Section.KERNEL:
                assert section.base is not None
                ahead = self.scalars.steps(iteration.offset) if iteration.offset else 0
                return self.scalars.add(section.site, section.base, ahead)

    def _ordinal(self, section: _OpenSection, iteration: Iteration) -> SSAValue:
        """The number of an iteration of `section`; each is computed once."""
        if iteration.offset not in section.ordinals:
            section.ordinals[iteration.offset] = self.scalars.value(self._find_ordinal(section, iteration))
        return section.ordinals[iteration.offset]

    def _find_ordinal(self, section: _OpenSection, iteration: Iteration) -> Scalar:
        match iteration.section:
            case Section.PROLOGUE:
                return iteration.offset
            case Section.EPILOGUE:
                return self.scalars.subtract(section.site, self.scalars.trips, -iteration.offset)
            case Section.KERNEL:
                return self.scalars.ordinal(section.site, self._induction(section, iteration))

    # Blocks ----------------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> Block:
        self.blocks.append(block)
        return block

    def _site(self) -> Site:
        return Site(self._block(Block()), self.loop)


class _Merge:
    """The results of an `scf.if` in the making: pairs of values, each pair once, and what they stand for."""

    def __init__(self) -> None:
        self._index: dict[tuple[SSAValue, SSAValue], int] = {}
        self._users: list[tuple[tuple[Stream, int], SSAValue, SSAValue]] = []

    def add(self, key: tuple[Stream, int], taken: SSAValue, missing: SSAValue) -> None:
        """Under `key` there is `taken` where the branch is taken, else `missing`."""
        self._users.append((key, taken, missing))
        if taken is not missing:
            self._index.setdefault((taken, missing), len(self._index))

    @property
    def columns(self) -> tuple[list[SSAValue], list[SSAValue]]:
        """The values that the two branches yield."""
        return [taken for taken, _ in self._index], [missing for _, missing in self._index]

    def resolve(self, results: Sequence[SSAValue]) -> History:
        """The value for each key, given the results of the `scf.if`."""
        return {
            key: taken if taken is missing else results[self._index[taken, missing]]
            for key, taken, missing in self._users
        }
