"""The stages of a software pipeline: which steps of a loop's body run in the same iteration.

A step of stage s runs s iterations after those of stage 0, for the same vector: so steps that wait
for each other lie an iteration apart, and a core always has others that are ready. What crosses
from a stage to the next is carried from iteration to iteration, in a register as long as there are
some; the more stages, the more is carried.

Source: modulo scheduling, with stages of equal latency in place of an initiation interval: Rau,
Iterative Modulo Scheduling, MICRO 27 (1994); fewer carried values by moving steps towards their
readers, after Llosa and others, Swing Modulo Scheduling, PACT (1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Choice(NamedTuple):
    """How many stages: `many` where they carry no more than `little`, else `some`; and the least
    number of `wide` where a body has at least so many steps per cycle of its path: those seldom
    wait."""

    some: int
    many: int
    little: int
    wide: tuple[tuple[float, int], ...] = ()


#: Measured on Zen 5 with 750 random bodies of 60 to 700 instructions, against two vectors at a
#: time in one stage: three take 0.79 of the time (median; nine tenths of them at most 0.94), four
#: 0.73 (0.90), five 0.71 (0.92), six 0.74 (0.99); if chosen so, 0.72 (0.89). `wide` measured on
#: Zen 4, which takes two cycles where Zen 5 takes one: 24 random bodies with a step per cycle of
#: the path take 0.90 of the time so (geometric mean; 0.71 to 1.05); with fewer steps, three stages
#: take 1.04 of the time of four.
OF_32 = Choice(4, 6, 32, ((1.7, 2), (1.0, 3)))
#: Measured on Zen 1, against two vectors at a time in one stage: Black-Scholes, haversine,
#: Mandelbrot and logistic take 0.84, 1.03, 0.99 and 1.0 of the time in two stages, 0.89, 1.08, 1.0
#: and 1.04 in three, 0.89, 1.07, 1.12 and 1.1 in four. 150 random bodies take 0.97 to 1.01 in two
#: to four. There, each instruction takes two turns; elsewhere more wait.
OF_16 = Choice(2, 3, 10)
#: How much longer than its share of the whole path the path in a stage may be.
STRETCH = 1.7


def staged(
    latencies: Sequence[int],
    before: Sequence[Sequence[int]],
    lasts: Sequence[int],
    choice: Choice = OF_32,
) -> list[int]:
    """The stage of each step. `before` are the steps that each reads, all earlier ones; `lasts`,
    of the last stage, are read by none."""
    after: list[list[int]] = [[] for _ in before]
    for step, reads in enumerate(before):
        for each in reads:
            after[each].append(step)
    starts, length = _starts(latencies, before)

    def cut(count: int) -> tuple[list[int], int]:
        stages = [min(count - 1, start * count // length) for start in starts]
        for step in lasts:
            stages[step] = count - 1
        found = _Cut(latencies, before, after, stages, STRETCH * length / count)
        found.improve(frozenset(lasts))
        return stages, found.carried()

    some, many, little, wide = choice
    for steps, few in wide:
        if len(before) >= steps * length:
            return cut(few)[0]
    stages, carried = cut(some)
    if carried * many <= little * some:
        more, how_many = cut(many)
        return more if how_many <= little else stages
    return stages


def _starts(latencies: Sequence[int], before: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """When each step can begin, and how long all of them take."""
    starts, length = [0] * len(before), 1
    for step, reads in enumerate(before):  # without max(), which takes most of the time
        start = 0
        for each in reads:
            if starts[each] + latencies[each] > start:
                start = starts[each] + latencies[each]
        starts[step] = start
        if start + latencies[step] > length:
            length = start + latencies[step]
    return starts, length


class _Cut:
    """Steps cut into `stages`, which change in place. No path in a stage is to be over `limit`."""

    def __init__(
        self,
        latencies: Sequence[int],
        before: Sequence[Sequence[int]],
        after: Sequence[Sequence[int]],
        stages: list[int],
        limit: float,
    ) -> None:
        self.latencies, self.before, self.after = latencies, before, after
        self.stages, self.limit = stages, limit

    def carried(self) -> int:
        """How many values are carried, each as often as it crosses to another stage."""
        stages, count = self.stages, 0
        for stage, readers in zip(stages, self.after, strict=True):
            if readers:
                count += max([stages[each] for each in readers]) - stage
        return count

    def improve(self, fixed: frozenset[int]) -> None:
        """Move steps but the fixed ones where less is carried: to their readers, from the last
        step on, then to what they read."""
        stages = self.stages
        above, below = self._paths()
        for step in range(len(stages) - 1, -1, -1):
            if (readers := self.after[step]) and step not in fixed:
                stage = min([stages[each] for each in readers])
                if stage != stages[step]:
                    self._move(step, stage, above, below)
        above, below = self._paths()
        for step, reads in enumerate(self.before):
            if reads and step not in fixed:
                stage = max([stages[each] for each in reads])
                if stage != stages[step]:
                    self._move(step, stage, above, below)

    def _paths(self) -> tuple[list[int], list[int]]:
        """The longest path in its stage that ends before each step, and that begins with it."""
        stages, latencies, before = self.stages, self.latencies, self.before
        above, below, ends = [0] * len(stages), list(latencies), list(latencies)
        for step, stage in enumerate(stages):
            path = 0
            for each in before[step]:
                if ends[each] > path and stages[each] == stage:
                    path = ends[each]
            above[step] = path
            ends[step] += path
        for step in range(len(stages) - 1, -1, -1):
            stage, path = stages[step], below[step]
            for each in before[step]:
                if stages[each] == stage and latencies[each] + path > below[each]:
                    below[each] = latencies[each] + path
        return above, below

    def _move(self, step: int, stage: int, above: list[int], below: list[int]) -> None:
        """Put a step into another stage if less is carried then."""
        stages, here = self.stages, self.stages[step]
        ends = [above[e] + self.latencies[e] for e in self.before[step] if stages[e] == stage]
        rests = [below[each] for each in self.after[step] if stages[each] == stage]
        end, rest = max(ends, default=0), max(rests, default=0) + self.latencies[step]
        if end + rest > self.limit:
            return
        cost = self._cost(step)
        stages[step] = stage
        if self._cost(step) < cost:
            above[step], below[step] = end, rest
        else:
            stages[step] = here

    def _cost(self, step: int) -> int:
        """What is carried of a step and of what it reads."""
        stages, after = self.stages, self.after
        cost = 0
        for place in (step, *self.before[step]):
            if readers := after[place]:
                cost += max([stages[each] for each in readers]) - stages[place]
        return cost
