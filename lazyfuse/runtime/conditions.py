"""Which recorded operations met which floating point conditions.

A kernel says only that something in it overflowed, divided by zero or was invalid, and it may say
so too often (both sides of a select are computed). So when it says anything that somebody wants to
hear, the operations of the run are evaluated one by one through NumPy, with a listener in place of
warnings: what NumPy says is what the user is told, in NumPy's words.

That costs about what NumPy costs, so it is done only while it can lead to something: not when
every line that could warn has warned, and ever more rarely while it finds nothing new.

An input whose memory the run has reused is gone. So inputs are kept where flags alone do not tell
the operation (`kept_bytes`); of large ones only where the flags may be false. What is lost then is
the line: the first operation that can meet the condition is named.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dis import opname
from sys import maxsize
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.cache.memory import Cache
from lazyfuse.collecting import uncollected
from lazyfuse.ir.graph import Graph, is_leaf
from lazyfuse.ir.interp import walk
from lazyfuse.ir.node import (
    Const,
    Fill,
    Gather,
    Map,
    Masked,
    Node,
    Reduce,
    Scan,
    Update,
    View,
)
from lazyfuse.ir.origin import Origin
from lazyfuse.ops.float_flags import (
    ALL,
    BITS,
    DOUBTFUL,
    INVALID,
    NOISY,
    OVERFLOW,
    UNDERFLOW,
    VAGUE,
    WORDS,
)
from lazyfuse.runtime.error_modes import Outlook, keyword_of, outlook


class Finding(NamedTuple):
    """What one operation has to say: a message of NumPy, and all conditions that it met."""

    origin: Origin
    message: str
    bits: int


class Suspect(NamedTuple):
    """An operation that may have met the conditions `bits`; `wanted` are those that its line
    wants to hear of. One of which nobody wants to hear may still be what raised a flag."""

    node: Node
    origin: Origin
    bits: int
    wanted: int


def can_meet(node: Node) -> int:
    """The conditions that computing a node can meet, possibly more; and how sure that is."""
    match node:
        case Const() | Fill() | View() | Update() | Gather():
            return 0
        case Map():
            return node.op.conditions(node.loop, node.dtype) if node.buffer is None else 0
        case Reduce() | Scan():
            return _can_fold(node)
    return ALL if node.srcs else 0


def _can_fold(node: Reduce | Scan) -> int:
    name = node.op.fold if isinstance(node, Reduce) else node.op.name
    kind = node.accumulate[0] if isinstance(node, Reduce) else node.dtype[0]
    if name in ("add", "mul", "multiply"):
        return OVERFLOW | INVALID | UNDERFLOW if kind in "fc" else 0
    return 0 if isinstance(node, Reduce) else ALL


#: Bytes up to which an input is kept, not reused, where it takes the input to tell which of
#: several operations met a condition, or whether one did. For larger ones memory counts more than
#: the line.
KEPT_BYTES = 256 << 10


def kept_bytes(nodes: Iterable[Node], float_errors: str) -> int:
    """The size up to which a run keeps inputs that it could overwrite."""
    if float_errors == "check":
        return maxsize
    once = twice = 0
    masked = False
    for node in nodes:
        masked = masked or isinstance(node, Masked)
        bits = can_meet(node) & ~(UNDERFLOW | NOISY)
        twice |= once & bits
        once |= bits
    if not once or float_errors == "off":
        return 0
    is_unsure = twice or masked or once & DOUBTFUL
    return maxsize if once & VAGUE else KEPT_BYTES if is_unsure else 0


def are_wanted(nodes: Iterable[Node], bits: int) -> bool:
    """Whether the lines that recorded nodes may want to hear of any of the conditions `bits`; else
    there is nothing to find."""
    return any(node.origin is not None and node.origin[2].reported & bits for node in nodes)


def find(
    graph: Graph, bits: int, *, memory: Callable[[], Mapping[Node, np.ndarray]], lost: set[Node]
) -> list[Finding]:
    """What the operations of a run that met the conditions `bits` have to say, operands first.

    `memory` gives the leaves and the results as arrays of their own strides, `lost` are the
    leaves that the run has overwritten. Operations that an earlier run has computed have spoken
    then.
    """
    suspects = _suspects(graph, bits)
    loud = [item for item in suspects if item.wanted]
    if not loud or not _worth_it(loud):
        return []
    masks = _masks(graph)
    known, unknown = _split(graph, suspects, lost, masks)
    if not any(item.wanted for item in unknown):
        known, unknown = [item for item in known if item.wanted], []
    try:
        heard = _replay(graph, known, memory(), masks) if known else []
    except MemoryError:
        heard, unknown = [], suspects
    for _, finding in heard:
        bits &= ~BITS[keyword_of(finding.message)]
    if any(can_meet(node) & NOISY for node in graph.nodes):
        bits &= ~INVALID
    found = [finding for suspect, finding in heard if suspect.wanted] + _guess(unknown, bits)
    _remember(loud, found)
    return found


def _suspects(graph: Graph, bits: int) -> list[Suspect]:
    """Operations of this run that may have met `bits`; those inside a function speak for the line
    that called it."""
    origins: dict[Node, Origin] = {}
    suspects = []
    for node in reversed(graph.nodes):
        origin = node.origin or origins.get(node)
        if origin is None or is_leaf(node):
            continue
        for src in node.srcs:
            origins.setdefault(src, origin)
        spoke = node.seen or (origin[2].is_immediate and _is_repetition(node))
        able = can_meet(node) & bits
        if able:
            wanted = 0 if spoke else able & origin[2].reported
            suspects.append(Suspect(node, origin, able, wanted))
    return suspects[::-1]


def _is_repetition(node: Node) -> bool:
    """Whether a node is a further result of one call of a ufunc."""
    return isinstance(node, Map) and node.op.output > 0


def _messages(suspect: Suspect) -> list[str]:
    """What NumPy would say for the conditions of a suspect."""
    name = name_of(suspect.node)
    texts = [f"{WORDS[key]} encountered in {name}" for key in BITS if BITS[key] & suspect.wanted]
    return [_spoken(suspect, text) for text in texts]


def _spoken(suspect: Suspect, message: str) -> str:
    """The message of an operation: what NumPy says of arrays, or of scalars, whose operators it
    computes without a ufunc."""
    node = _speaker(suspect.node)
    by_count = any(isinstance(src, Const) and src.from_shape for src in node.srcs)  # in np.mean
    what, _, name = message.rpartition(" encountered in ")
    if node is not suspect.node:
        name = name_of(node)
    code, instruction, _ = suspect.origin
    by_operator = opname[code.co_code[instruction]].startswith(("BINARY_", "INPLACE_"))
    is_scalar = by_count or (by_operator and all(src.is_scalar for src in node.srcs))
    if is_scalar and not node.shape and name == name_of(node) and _is_closed(node):
        name = f"scalar {name}"
    return f"{what} encountered in {name}"


def _speaker(node: Node) -> Node:
    """The operation in whose name NumPy speaks: one with `out=` casts its results itself."""
    if isinstance(node, Map) and node.op.ufunc is None and node.srcs:
        src = node.srcs[0]
        if src.origin is None and src.buffer is None and isinstance(src, Map | Reduce | Scan):
            return src
    return node


def _is_closed(node: Node) -> bool:
    """Whether one operand has the dtype to which all are promoted: only then NumPy computes
    scalars without a ufunc."""
    if not isinstance(node, Map) or node.op.ufunc is None:
        return False
    given = [
        np.dtype("i8" if isinstance(src, Const) and src.from_shape else src.dtype)
        for src in node.srcs
    ]
    promoted = np.result_type(*given)
    return promoted.kind != "b" and promoted in given


def name_of(node: Node) -> str:
    """The name of an operation in NumPy's messages."""
    match node:
        case Map():
            ufunc = node.op.ufunc
            return "cast" if ufunc is None else ufunc.__name__
        case Reduce():
            return "reduce"
        case Scan():
            return "accumulate"
    return str(getattr(node, "name", node.kind))


# ---- patience: what finds nothing is asked ever more rarely

#: Sets of lines that are remembered.
_REMEMBERED = 4096
#: Searches that may find nothing before they become rarer: by then it is a habit.
_FREE = 8
#: Lines -> how often asking them found nothing, the runs to skip before asking again, and the
#: warning filters of that time: under others lines that have warned warn again.
_fruitless: Cache[tuple[object, ...], tuple[int, int, object]] = Cache(_REMEMBERED)


def _key(suspects: list[Suspect]) -> tuple[object, ...]:
    return tuple(
        dict.fromkeys((item.origin[:2], name_of(item.node), item.wanted) for item in suspects)
    )


def _worth_it(suspects: list[Suspect]) -> bool:
    """Whether asking can lead to something, and has not failed too often."""
    outlooks = {outlook(item.origin, text) for item in suspects for text in _messages(item)}
    if Outlook.ALWAYS in outlooks or Outlook.FIRST not in outlooks:
        return Outlook.ALWAYS in outlooks
    key = _key(suspects)
    times, skip = _patience(key)
    if skip:
        _fruitless.put(key, (times, skip - 1, warnings.filters), _REMEMBERED)
    return not skip


def _patience(key: tuple[object, ...]) -> tuple[int, int]:
    times, skip, filters = _fruitless.get(key) or (0, 0, None)
    return (times, skip) if filters is warnings.filters else (0, 0)


def _remember(suspects: list[Suspect], found: list[Finding]) -> None:
    if any(outlook(item.origin, item.message) is not Outlook.SILENT for item in found):
        return
    key = _key(suspects)
    times, _ = _patience(key)
    skip = 0 if times < _FREE else 1 << min(times - _FREE, 20)
    _fruitless.put(key, (times + 1, skip, warnings.filters), _REMEMBERED)


# ---- asking NumPy


def _split(
    graph: Graph, suspects: list[Suspect], lost: set[Node], masks: Mapping[Node, Node]
) -> tuple[list[Suspect], list[Suspect]]:
    """Suspects whose operands are at hand or can be computed again, and the others, of which
    those with a mask are not wanted: their flags may be false."""
    if not lost:
        return suspects, []
    gone = set(lost)  # what cannot be read
    stuck = set()  # what cannot be computed again; the results among it can be read
    results = set(graph.outputs)
    for node in graph.nodes:
        mask = masks.get(node)
        if node.buffer is None and not (gone.isdisjoint(node.srcs) and mask not in gone):
            stuck.add(node)
            if node not in results:
                gone.add(node)
    known = [item for item in suspects if item.node not in stuck]
    others = [item for item in suspects if item.node in stuck]
    return known, [item._replace(wanted=0) if item.node in masks else item for item in others]


def _masks(graph: Graph) -> dict[Node, Node]:
    """Operations that NumPy computes where a mask is true alone, and their masks."""
    found: dict[Node, Node] = {}
    for node in graph.nodes:
        if isinstance(node, Masked) and node.buffer is None:
            mask, value, _ = node.srcs
            while isinstance(value, Map) and value.buffer is None and value.origin is None:
                found[value] = mask
                value = value.srcs[0] if value.op.name == "astype" else mask
    return found


class _Listener:
    """Takes NumPy's messages in `np.errstate(all="log")`."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def write(self, text: str) -> None:
        self.messages.append(text.removeprefix("Warning: ").rstrip())

    def take(self) -> list[str]:
        taken, self.messages = self.messages, []
        return taken


def _replay(
    graph: Graph,
    suspects: list[Suspect],
    memory: Mapping[Node, np.ndarray],
    masks: Mapping[Node, Node],
) -> list[tuple[Suspect, Finding]]:
    """Evaluate the suspects through NumPy and hear what it says."""
    scalars: dict[Node, Any] = {
        node: node.value for node in graph.nodes if isinstance(node, Const)
    }
    asked = {item.node: item for item in suspects}
    memory = {node: array for node, array in memory.items() if node not in asked}
    listener = _Listener()
    found: dict[tuple[object, ...], tuple[Suspect, Finding]] = {}
    with np.errstate(all="log", call=listener):
        for node in walk(list(asked), memory, scalars, masks):
            messages = listener.take()
            suspect = asked.get(node)
            if suspect is None:
                continue
            bits = sum({BITS[keyword_of(message)] for message in messages})
            for message in [_spoken(suspect, message) for message in messages]:
                finding = Finding(suspect.origin, message, bits)
                found.setdefault((message, *_identity(suspect)), (suspect, finding))
    return list(found.values())


def _identity(suspect: Suspect) -> tuple[object, ...]:
    """Equal for all that one call of a ufunc computes and casts: it speaks once."""
    node = _speaker(suspect.node)
    if isinstance(node, Map) and node.op.ufunc is not None and node.op.ufunc.nout > 1:
        return (suspect.origin[:2], node.op.ufunc, node.srcs)
    return (node,)


def _guess(suspects: list[Suspect], bits: int) -> list[Finding]:
    """The first operation that can meet each condition, where the operands are gone; nothing
    where nobody wants to hear of it."""
    found: list[Finding] = []
    for keyword, bit in BITS.items():
        able = [item for item in suspects if item.bits & bits & bit]
        if able and able[0].wanted & bit:
            message = f"{WORDS[keyword]} encountered in {name_of(able[0].node)}"
            found.append(Finding(able[0].origin, _spoken(able[0], message), bit))
    return found


def collect(function: Callable[[], Any]) -> tuple[Any, int]:
    """The value of a function that calls NumPy, and the conditions that it met.

    To enter `errstate` sets a variable of the context. CPython 3.11 frees what it changes there
    when a finalizer sets one meanwhile, as it does that asks for a value.
    """
    met = 0

    def note(_: str, bits: int) -> None:
        nonlocal met
        met |= bits

    listening = np.errstate(all="call", call=note)
    uncollected(listening.__enter__)
    try:
        return function(), met
    finally:
        uncollected(listening.__exit__, None, None, None)
