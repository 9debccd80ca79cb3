"""Float sums over the lane axis in NumPy's order: leaves of 128 floats, added up along a tree.

Source: pairwise_sum in numpy/_core/src/umath/loops_utils.h.src. A run of n floats is a leaf when n
<= 128, else two runs of n/2 (rounded down to a multiple of 8) and the rest. A leaf keeps 8 partial
sums (4 complex ones), adds them as ((0+1)+(2+3))+((4+5)+(6+7)), then adds what is left over one by
one. NumPy's loop for less than 8 floats starts from -0.0, as the partial sums do here: -0.0 + x is
x, so it needs no case of its own.

The tree is walked with an explicit stack: `sizes[d]` is the length of the right run still to come
at depth d, or 0 once it is being added, and `sums[d]` the sum of its left run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyfuse.backends.cpu.emit_fold import Parts, add
from lazyfuse.backends.cpu.emit_memory import Tail
from lazyfuse.backends.cpu.emit_plan import leaf_length
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand

#: Depth of the tree: every level halves.
DEPTH = 64

#: Evaluates a vector: position, tail -> the parts of each sum.
Vector = Callable[[str, Tail | None], list[Parts]]
#: Is told which positions come next: the first, and how many.
Reach = Callable[[str, str], None]


class PairwiseSums:
    """The sums of one phase that share a tree; `dtypes` are the dtypes of the parts of each."""

    def __init__(self, writer: FunctionWriter, dtypes: Sequence[tuple[str, ...]]) -> None:
        self.writer = writer
        self.group = 4 if len(dtypes[0]) == 2 else 8
        self.leaf_length = leaf_length(len(dtypes[0]) == 2)
        self.dtypes = [["f4" if part == "f2" else part for part in parts] for parts in dtypes]
        with writer.with_lanes(self.group):
            kinds = [[writer.type(part) for part in parts] for parts in self.dtypes]
        self.partials = [[writer.slot(kind) for kind in parts] for parts in kinds]
        self.results = [[self._scalar_slot(part) for part in parts] for parts in self.dtypes]

    def run(
        self, low: str, high: str, vector: Vector, reach: Reach = lambda _low, _count: None
    ) -> list[Parts]:
        """Add the values at [low, high) of the lane axis: the sums, one lane each."""
        writer = self.writer
        sizes, depth = writer.slot("i64", DEPTH), writer.slot("i64")
        position, length = writer.slot("i64"), writer.slot("i64")
        sums = [[self._scalar_slot(part, DEPTH) for part in parts] for parts in self.dtypes]
        writer.line(f"store i64 0, ptr {depth}")
        writer.line(f"store i64 {low}, ptr {position}")
        writer.line(f"store i64 {writer.i64('sub', high, low)}, ptr {length}")
        split, leaf, merge, done = (
            writer.fresh(name)[1:] for name in ("split", "leaf", "merge", "done")
        )
        self._descend(split, leaf, (sizes, depth, length))
        writer.label(leaf)
        begin = writer.value(f"load i64, ptr {position}")
        count = writer.value(f"load i64, ptr {length}")
        reach(begin, count)
        self._leaf(begin, count, vector)
        writer.line(f"store i64 {writer.add(begin, count)}, ptr {position}")
        self._ascend((merge, split, done), (sizes, depth, length), sums)
        writer.label(done)
        with writer.with_lanes(1):
            return self._fetch(self.results)

    def _descend(self, split: str, leaf: str, state: tuple[str, str, str]) -> None:
        """Halve the run until it is a leaf, pushing right halves."""
        writer = self.writer
        sizes, depth, length = state
        push = writer.fresh("push")[1:]
        writer.line(f"br label %{split}")
        writer.label(split)
        size = writer.value(f"load i64, ptr {length}")
        is_leaf = writer.value(f"icmp sle i64 {size}, {self.leaf_length}")
        writer.line(f"br i1 {is_leaf}, label %{leaf}, label %{push}")
        writer.label(push)
        left = self._left(size)
        level = writer.value(f"load i64, ptr {depth}")
        right = writer.i64("sub", size, left)
        writer.line(f"store i64 {right}, ptr {writer.offset(sizes, level, 8)}")
        writer.line(f"store i64 {writer.add(level, '1')}, ptr {depth}")
        writer.line(f"store i64 {left}, ptr {length}")
        writer.line(f"br label %{split}")

    def _left(self, size: str) -> str:
        """`left_length`, computed at run time."""
        writer = self.writer
        if self.group == 8:
            return writer.i64("and", writer.i64("lshr", size, "1"), "-8")
        return writer.i64("lshr", writer.i64("and", size, "-8"), "1")

    def _ascend(
        self,
        labels: tuple[str, str, str],
        state: tuple[str, str, str],
        sums: list[list[str]],
    ) -> None:
        """Keep the sum of a left run and go on with the right one, or add both and climb."""
        writer = self.writer
        merge, split, done = labels
        sizes, depth, length = state
        inside, right, climb = (writer.fresh(name)[1:] for name in ("inside", "right", "climb"))
        writer.line(f"br label %{merge}")
        writer.label(merge)
        level = writer.value(f"load i64, ptr {depth}")
        is_root = writer.value(f"icmp eq i64 {level}, 0")
        writer.line(f"br i1 {is_root}, label %{done}, label %{inside}")
        writer.label(inside)
        top = writer.i64("sub", level, "1")
        place = writer.offset(sizes, top, 8)
        size = writer.value(f"load i64, ptr {place}")
        is_climbing = writer.value(f"icmp eq i64 {size}, 0")
        with writer.with_lanes(1):
            results = self._fetch(self.results)
            lefts = [
                [writer.offset(slot, top, int(part[1:])) for slot, part in zip(*pair, strict=True)]
                for pair in zip(sums, self.dtypes, strict=True)
            ]
            writer.line(f"br i1 {is_climbing}, label %{climb}, label %{right}")
            writer.label(right)
            self._keep(lefts, results)
            writer.line(f"store i64 0, ptr {place}")
            writer.line(f"store i64 {size}, ptr {length}")
            writer.line(f"br label %{split}")
            writer.label(climb)
            self._keep(self.results, self._add(self._fetch(lefts), results))
        writer.line(f"store i64 {top}, ptr {depth}")
        writer.line(f"br label %{merge}")

    def _leaf(self, low: str, count: str, vector: Vector) -> None:
        """Leave the sums of [low, low + count) in `results`."""
        writer = self.writer
        self._keep_partials([tuple(self._zero(part) for part in parts) for parts in self.dtypes])
        whole = writer.i64("and", count, str(-writer.lanes))
        full = writer.add(low, whole)
        with writer.loop(low, full, str(writer.lanes)) as position:
            values = vector(position, None)
            for group in range(writer.lanes // self.group):
                self._add_group(self._groups(values, group))
        rest = writer.i64("sub", count, whole)
        self._keep(self.results, self._horizontal())
        with writer.when(writer.value(f"icmp sgt i64 {rest}, 0")):
            self._add_tail(vector(full, tail := Tail(writer, rest)), tail)

    def _add_tail(self, values: list[Parts], tail: Tail) -> None:
        """Add the full groups of a tail to the partial sums, then what is left one by one."""
        writer, group = self.writer, self.group
        loose = writer.i64("and", tail.count, str(group - 1))
        start = writer.i64("sub", tail.count, loose)
        last = self._groups(values, 0)
        for number in range(writer.lanes // group):
            chosen = self._groups(values, number)
            if number:
                last = self._choose(f"icmp eq i64 {start}, {number * group}", chosen, last)
            is_full = writer.value(f"icmp sge i64 {tail.count}, {(number + 1) * group}")
            if writer.lanes > group:
                with writer.when(is_full):
                    self._add_group(chosen)
        results = self._horizontal()
        for lane in range(group - 1):
            with writer.with_lanes(group):
                element = [tuple(writer.extract(part, lane) for part in parts) for parts in last]
            with writer.with_lanes(1):
                longer = self._add(results, element)
            results = self._choose(f"icmp sgt i64 {loose}, {lane}", longer, results, lanes=1)
        with writer.with_lanes(1):
            self._keep(self.results, results)

    def _choose(
        self, condition: str, left: list[Parts], right: list[Parts], *, lanes: int = 0
    ) -> list[Parts]:
        writer = self.writer
        flag = writer.value(condition)
        chosen = []
        with writer.with_lanes(lanes or self.group):
            for pair in zip(left, right, strict=True):
                chosen.append(tuple(self._pick(flag, *parts) for parts in zip(*pair, strict=True)))
        return chosen

    def _pick(self, flag: str, left: Operand, right: Operand) -> Operand:
        kind = self.writer.type(left.dtype)
        text = f"select i1 {flag}, {kind} {left.name}, {kind} {right.name}"
        return self.writer.assign(text, left.dtype)

    def _groups(self, values: list[Parts], number: int) -> list[Parts]:
        """Group `number` of the lanes of each value."""
        writer = self.writer
        if writer.lanes == self.group:
            return values
        lanes = range(number * self.group, (number + 1) * self.group)
        return [tuple(writer.shuffle(part, lanes) for part in parts) for parts in values]

    def _add_group(self, values: list[Parts]) -> None:
        with self.writer.with_lanes(self.group):
            self._keep_partials(self._add(self._fetch(self.partials), values))

    def _horizontal(self) -> list[Parts]:
        """Fold the partial sums: neighbours, then pairs, then halves."""
        writer = self.writer
        with writer.with_lanes(self.group):
            partials = self._fetch(self.partials)
        return [tuple(self._fold(part) for part in parts) for parts in partials]

    def _fold(self, value: Operand) -> Operand:
        writer, lanes = self.writer, self.group
        while lanes > 1:
            with writer.with_lanes(lanes):
                if lanes == 2:
                    halves = [writer.extract(value, lane) for lane in (0, 1)]
                else:
                    halves = [writer.shuffle(value, range(lane, lanes, 2)) for lane in (0, 1)]
            lanes //= 2
            with writer.with_lanes(lanes):
                value = add(writer, *halves)
        return value

    def _zero(self, part: str) -> Operand:
        with self.writer.with_lanes(self.group):
            return self.writer.number(-0.0, part)

    def _add(self, left: list[Parts], right: list[Parts]) -> list[Parts]:
        return [
            tuple(add(self.writer, *parts) for parts in zip(*pair, strict=True))
            for pair in zip(left, right, strict=True)
        ]

    def _scalar_slot(self, part: str, count: int = 1) -> str:
        with self.writer.with_lanes(1):
            return self.writer.slot(self.writer.type(part), count)

    def _fetch(self, slots: list[list[str]]) -> list[Parts]:
        return [
            tuple(self.writer.fetch(slot, part) for slot, part in zip(*pair, strict=True))
            for pair in zip(slots, self.dtypes, strict=True)
        ]

    def _keep(self, slots: list[list[str]], values: list[Parts]) -> None:
        with self.writer.with_lanes(1):
            self._write(slots, values)

    def _keep_partials(self, values: list[Parts]) -> None:
        with self.writer.with_lanes(self.group):
            self._write(self.partials, values)

    def _write(self, slots: list[list[str]], values: list[Parts]) -> None:
        for pair in zip(slots, values, strict=True):
            for slot, value in zip(*pair, strict=True):
                self.writer.keep(slot, value)
