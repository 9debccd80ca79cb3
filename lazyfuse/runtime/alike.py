"""Plans for ever new shapes: what plans of one shape class tell of the next one.

All traces of a class (`runtime/shape_class.py`) are run by the same kernels; their plans differ in
numbers: extents, strides, offsets, sizes. Each of these is a constant, or a multiple of a letter
or of a product of letters. Which of these it is, is found from plans that were made:

    x[5:] * y   A, B, C = 1,000, 995, 5     an offset of 5, an extent of 995, 7,960 bytes
    x[7:] * y   A, B, C = 1,001, 994, 7     an offset of 7, an extent of 994, 7,952 bytes

leaves C, B and 8 B. As long as what would explain a number says different things of the next
trace, its plan is made, and so tells more. Else the plan is the last one with other numbers, which
takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from math import prod
from typing import NamedTuple

from lazyfuse.errors import VerifyError
from lazyfuse.ir.plan import Launch, Plan
from lazyfuse.ir.verify import verify_reach
from lazyfuse.runtime.renumber import Numbered, numbered, renumbered

#: Bytes of an element, 16, and two small extents, 64: what letters are multiplied by.
_MOST_TIMES = 1 << 16
#: Letters of a product.
_MOST_FACTORS = 3
#: Plans of a class that are looked at, at most: more would tell nothing new.
_MOST_PLANS = 12

Letters = tuple[int, ...]
#: What the letters stood for, and the numbers of the plan.
_Sample = tuple[Letters, Sequence[int]]


class _Term(NamedTuple):
    """A number of a plan as `times` the product of the letters at `places`."""

    times: int
    places: tuple[int, ...]

    def value(self, letters: Letters) -> int:
        return self.times * prod([letters[place] for place in self.places])


class Alike:
    """The plans of a shape class, each with what the letters of the class stood for. `sizes`: the
    places of letters of which there are products; others are offsets."""

    def __init__(self, plan: Plan, letters: Letters, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        #: The first plan as long as there is no other.
        self._first: tuple[Plan, Letters] | None = (plan, letters)
        self._whole: Numbered | None = None
        self._samples: tuple[_Sample, ...] = ()
        #: For each number that plans have, which of the terms are its own; and these.
        self._explained: tuple[list[int], list[list[_Term]]] = [], []

    def add(self, plan: Plan, letters: Letters) -> None:
        """A plan has been made for this class. Code of the user that runs in the middle may add
        others."""
        if self._first is not None:
            (first, others), self._first = self._first, None
            self._whole = numbered(first)
            if self._whole is not None:
                self._samples = ((others, self._whole.numbers),)
        known, samples = self._whole, self._samples
        if known is not None and _distinct(plan) != _distinct(known.plan):
            return  # two places are the same one, by chance
        whole = numbered(plan) if known and len(samples) < _MOST_PLANS else None
        if known is None or whole is None or whole.rest != known.rest:
            self._whole = None  # they are not alike
            return
        samples = (*samples, (letters, whole.numbers))
        self._explained = _explained(samples, self._sizes)
        self._samples = samples

    def plan(self, letters: Letters) -> Plan | None:
        """The plan where the letters stand for these; None where that is not known."""
        whole = self._whole
        if whole is None:
            return None
        columns, explained = self._explained
        values: list[int] = []
        for terms in explained:
            found = {term.value(letters) for term in terms}
            if len(found) != 1:
                return None
            values += found
        if not columns:
            return None
        plan = renumbered(whole, [values[column] for column in columns])
        is_alike = _distinct(plan) == _distinct(whole.plan)
        return plan if is_alike and _stays_in_memory(plan) else None


def _stays_in_memory(plan: Plan) -> bool:
    """Whether a plan touches nothing but its slots: nobody has planned it."""
    try:
        for step in plan.steps:
            if isinstance(step, Launch):
                verify_reach(plan, step)
    except VerifyError:
        return False
    return True


def _distinct(plan: Plan) -> list[tuple[int, int]]:
    """How many places and scalars each launch has. What is read at one place is one argument,
    also where it is one only for these numbers."""
    return [
        (len(set(step.operands)), len(set(step.scalars)))
        for step in plan.steps
        if isinstance(step, Launch)
    ]


def _explained(
    samples: Sequence[_Sample], sizes: Sequence[int]
) -> tuple[list[int], list[list[_Term]]]:
    """Find what each number may be."""
    seen: dict[tuple[int, ...], int] = {}
    rows = zip(*[numbers for _, numbers in samples], strict=True)
    columns = [seen.setdefault(row, len(seen)) for row in rows]
    given = [letters for letters, _ in samples]
    offsets = [(place,) for place in range(len(given[0])) if place not in sizes]
    products = [
        places
        for count in range(1, _MOST_FACTORS + 1)
        for places in combinations_with_replacement(sizes, count)
    ]
    return columns, [_terms_of(row, given, [*offsets, *products]) for row in seen]


def _terms_of(
    row: Sequence[int], given: Sequence[Letters], products: Sequence[tuple[int, ...]]
) -> list[_Term]:
    """What gives the numbers of a row where the letters stand for those of the samples."""
    letters, number = given[0], row[0]
    terms = [_Term(number, ())]
    for places in products:
        times, left = divmod(number, prod([letters[place] for place in places]))
        if not left and 0 < abs(times) <= _MOST_TIMES:
            terms.append(_Term(times, places))
    pairs = list(zip(given, row, strict=True))
    return [t for t in terms if all(t.value(letters) == value for letters, value in pairs)]


def verify_alike(found: Plan, made: Plan) -> None:
    """Raises: VerifyError where a plan is not what the planner makes of the same trace, but that
    plans which follow from others run whole, not band by band."""
    one, other = numbered(found), numbered(replace(made, waves={}))
    if one is None or other is None or one[2:] != other[2:]:
        raise VerifyError(f"a plan is not that of its shape class:\n{found}\nfor\n{made}")
