"""Runs a function on all its threads: one group of threads per program counter.

Threads that agree run together. A branch that they disagree on splits their group; groups that
come to the same instruction join again. The group that is furthest behind runs first, so that the
sides of a branch meet where they join. A group that has come to a barrier waits until every living
thread of its block has; one at a shuffle, until the living threads of its mask have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from lazyfuse.backends.cuda_ptx import access, compute, warp
from lazyfuse.backends.cuda_ptx.access import Step
from lazyfuse.backends.cuda_ptx.faults import PtxBarrierError, PtxFault, UnknownInstruction
from lazyfuse.backends.cuda_ptx.frame import EVERY, Frame, Lanes
from lazyfuse.backends.cuda_ptx.operands import Reader
from lazyfuse.backends.cuda_ptx.parse import Function, Instruction


class Kind(Enum):
    """What an instruction does to the program counter."""

    PLAIN = "plain"  # goes on
    BRANCH = "branch"
    EXIT = "exit"
    BARRIER = "barrier"
    WARP = "warp"  # goes on when the threads of its mask are here


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction that can be executed."""

    instruction: Instruction
    kind: Kind
    step: Step | None = None
    target: int = 0
    mask: Reader | None = None

    @property
    def name(self) -> str:
        """Opcode and modifiers."""
        return ".".join((self.instruction.opcode, *self.instruction.modifiers))


@dataclass(frozen=True, slots=True)
class Code:
    """A function, decoded."""

    function: Function
    operations: tuple[Operation, ...]


_MEMORY: Mapping[str, Callable[[Instruction, Function], Step]] = {
    "ld": access.load,
    "st": access.store,
    "atom": access.atomic,
    "red": access.atomic,
    "membar": access.fence,
    "fence": access.fence,
    "cvta": access.convert_address,
}


def decode(function: Function) -> Code:
    """Bind every instruction of a function.

    Raises: UnknownInstruction with its line.
    """
    operations = []
    for instruction in function.instructions:
        try:
            operations.append(_operation(instruction, function))
        except PtxFault as fault:
            raise fault.at(instruction.line, instruction.text) from fault
        except (KeyError, IndexError, StopIteration, ValueError) as error:
            unknown = UnknownInstruction(f"not understood ({error!r})")
            raise unknown.at(instruction.line, instruction.text) from error
    return Code(function, tuple(operations))


def _operation(instruction: Instruction, function: Function) -> Operation:
    opcode = instruction.opcode
    if opcode == "bra":
        target = function.labels[instruction.operands[0]]
        return Operation(instruction, Kind.BRANCH, target=target)
    if opcode in ("ret", "exit"):
        return Operation(instruction, Kind.EXIT)
    if opcode in ("bar", "barrier"):
        if set(instruction.modifiers) - {"sync", "cta", "aligned"} or instruction.operands != (
            "0",
        ):
            raise UnknownInstruction("a barrier of less than the block")
        return Operation(instruction, Kind.BARRIER)
    if opcode in warp.OPCODES:
        mask = warp.mask_of(instruction, function)
        return Operation(instruction, Kind.WARP, warp.step_of(instruction, function), mask=mask)
    if opcode == "call":
        return Operation(instruction, Kind.PLAIN, _call(instruction))
    bind = _MEMORY.get(opcode, compute.step_of)
    return Operation(instruction, Kind.PLAIN, bind(instruction, function))


def _call(instruction: Instruction) -> Step:
    """call.uni (result), function, (parameters)"""
    operands = list(instruction.operands)
    results = operands.pop(0).strip("() ") if operands[0].startswith("(") else ""
    name = operands[0]
    given = [part.strip() for part in operands[1].strip("()").split(",")] if operands[1:] else []

    def step(frame: Frame, lanes: Lanes) -> None:
        code = frame.world.functions[name]
        assert isinstance(code, Code), name
        parameters = {
            variable.name: frame.parameters[place][lanes]
            for variable, place in zip(code.function.parameters, given, strict=True)
        }
        callee = Frame(code.function, frame.threads.only(lanes), frame.world, parameters)
        Machine(code, callee, Counter(), called=True).run()
        if results:
            assert code.function.result is not None, name
            frame.parameters[results][lanes] = callee.parameters[code.function.result.name]

    return step


class Machine:
    """One run of a function. `counts` receives how many threads executed each instruction."""

    def __init__(
        self, code: Code, frame: Frame, counts: Counter[str], *, called: bool = False
    ) -> None:
        self.code, self.frame, self.counts, self.called = code, frame, counts, called
        self.groups: dict[int, np.ndarray] = {0: np.arange(frame.count)}
        #: Groups at a warp instruction for which threads are missing; the next one to arrive
        #: there wakes them.
        self.held: set[int] = set()
        self.waiting: dict[int, np.ndarray] = {}

    def run(self) -> None:
        """Run until every thread has left."""
        while self.groups or self.waiting:
            ready = self.groups.keys() - self.held
            if ready:
                counter = min(ready)
                self._advance(
                    counter, self.groups.pop(counter), min(ready - {counter}, default=-1)
                )
            elif self.held:
                operation = self.code.operations[min(self.held)]
                fault = PtxBarrierError("waits for threads that wait elsewhere or never come")
                raise fault.at(operation.instruction.line, operation.instruction.text)
            else:
                self._release()

    def _advance(self, counter: int, lanes: np.ndarray, limit: int) -> None:
        """Run one group until it ends, splits, waits, or has come to or past another group."""
        operations = self.code.operations
        every = EVERY if len(lanes) == self.frame.count else lanes
        while True:
            if counter == len(operations):
                self.frame.alive[lanes] = False
                return
            operation = operations[counter]
            if operation.kind is Kind.PLAIN:
                self._execute(operation, lanes, every)
                counter += 1
            else:
                following = self._control(operation, counter, lanes, every)
                if following is None:
                    return
                counter = following
            if counter in self.groups or 0 <= limit <= counter:
                self._arrive(counter, lanes)
                return

    def _arrive(self, counter: int, lanes: np.ndarray) -> None:
        """Join the group at an instruction."""
        if counter in self.groups:
            lanes = np.sort(np.concatenate([self.groups[counter], lanes]))
        self.groups[counter] = lanes
        self.held.discard(counter)

    def _execute(self, operation: Operation, lanes: np.ndarray, every: Lanes) -> None:
        """Run a step on the lanes whose predicate holds."""
        chosen = self._chosen(operation, lanes)
        if not len(chosen):
            return
        self.counts[operation.name] += len(chosen)
        assert operation.step is not None
        try:
            operation.step(self.frame, every if len(chosen) == len(lanes) else chosen)
        except PtxFault as fault:
            raise fault.at(operation.instruction.line, operation.instruction.text) from fault

    def _chosen(self, operation: Operation, lanes: np.ndarray) -> np.ndarray:
        predicate = operation.instruction.predicate
        if predicate is None:
            return lanes
        holds = self.frame.registers[predicate][lanes]
        chosen: np.ndarray = lanes[holds != operation.instruction.negated]
        return chosen

    def _control(
        self, operation: Operation, counter: int, lanes: np.ndarray, every: Lanes
    ) -> int | None:
        """Where a whole group goes on; None when it has split, ended or waits."""
        chosen = self._chosen(operation, lanes)
        if operation.kind is Kind.WARP:
            return self._warp(operation, counter, lanes, every)
        if not len(chosen):
            return counter + 1
        self.counts[operation.name] += len(chosen)
        if operation.kind is Kind.BRANCH and len(chosen) == len(lanes):
            return operation.target
        if len(chosen) < len(lanes):
            self._arrive(counter + 1, np.setdiff1d(lanes, chosen, assume_unique=True))
        if operation.kind is Kind.BRANCH:
            self._arrive(operation.target, chosen)
        elif operation.kind is Kind.EXIT:
            self.frame.alive[chosen] = False
        else:
            self._wait(operation, counter, chosen)
        return None

    def _warp(
        self, operation: Operation, counter: int, lanes: np.ndarray, every: Lanes
    ) -> int | None:
        assert operation.mask is not None
        chosen = self._chosen(operation, lanes)
        mask = operation.mask(self.frame, chosen)
        if warp.is_missing(self.frame, chosen, mask):
            self._arrive(counter, lanes)
            self.held.add(counter)
            return None
        self._execute(operation, lanes, every)
        return counter + 1

    def _wait(self, operation: Operation, counter: int, lanes: np.ndarray) -> None:
        if self.called:
            fault = UnknownInstruction("a barrier inside a called function")
            raise fault.at(operation.instruction.line, operation.instruction.text)
        before = self.waiting.get(counter, lanes[:0])
        self.waiting[counter] = np.sort(np.concatenate([before, lanes]))

    def _release(self) -> None:
        """Every living thread waits: let them go on, if those of a block wait at one barrier."""
        place = np.full(self.frame.count, -1)
        for counter, lanes in self.waiting.items():
            place[lanes] = counter
        blocks = self.frame.threads.local_blocks
        count = int(blocks.max()) + 1
        first, last = np.full(count, len(self.code.operations)), np.full(count, -1)
        np.minimum.at(first, blocks[place >= 0], place[place >= 0])
        np.maximum.at(last, blocks, place)
        if (first < last).any():
            block = int(np.flatnonzero(first < last)[0])
            lines = [self.code.operations[n[block]].instruction.line for n in (first, last)]
            raise PtxBarrierError(f"threads of a block wait at different barriers, lines {lines}")
        self.frame.world.clock.barrier(np.unique(self.frame.threads.blocks[place >= 0]))
        groups, self.waiting = self.waiting, {}
        for counter, lanes in groups.items():
            self._arrive(counter + 1, lanes)
