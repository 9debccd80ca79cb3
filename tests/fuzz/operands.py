"""The pieces of statements: values to begin with, scalars, views, indices and masks."""

from __future__ import annotations

from typing import Any

import numpy as host

from tests.fuzz.draft import Draft

DTYPES = ("f8", "f8", "f8", "f4", "f4", "i8", "i8", "i4", "u1", "i1", "i2", "u2", "u4", "u8", "?",
          "f2", "c8", "c16")  # fmt: skip
SHAPES = ((6,), (4, 3), (3, 4), (2, 3, 4), (1, 4), (5, 1), (), (0, 3), (0,), (9,), (3, 3), (17,),
          (4, 4), (8,), (2, 1, 3), (1,), (2, 2, 2, 2), (5, 3))  # fmt: skip
LARGE_SHAPES = ((130,), (1030,), (20, 33), (129, 9), (9, 129), (5, 16, 17), (300, 2))
SCALARS = ("0", "1", "2", "-1", "3", "0.5", "2.0", "-1.5", "True", "np.float32(1.5)", "np.int8(2)",
           "np.float64(0.1)", "np.uint8(3)", "np.int64(-2)", "1j", "np.float16(0.5)", "300",
           "np.array(2)", "np.bool_(True)", "-0.0", "np.inf", "np.nan", "1e300", "np.uint64(7)",
           "np.complex64(1 - 2j)")  # fmt: skip
#: Simple scalars come up three times as often.
COMMON = 8
VALUES = {
    "b": ("True", "False"),
    "i": ("0", "1", "-1", "2", "7", "-100", "100", "127", "-128"),
    "u": ("0", "1", "2", "7", "100", "255"),
    "f": ("0.0", "1.0", "-0.0", "0.1", "-2.5", "1e4", "3.0", "-7.0", "0.3", "np.nan", "np.inf"),
    "c": ("0j", "1+2j", "-0.5j", "0.1-0.3j", "3.0", "-2.5+0.1j"),
}
VIEWS = (
    "{0}", "{0}.T", "{0}[::-1]", "{0}[..., ::2]", "{0}[None]", "{0}.ravel()", "{0}.reshape(-1)",
    "{0}[1:]", "{0}[:-1]", "{0}[..., 0]", "{0}[0]", "{0}[..., None]", "{0}.swapaxes(0, -1)",
    "{0}[1:, 1:]", "{0}[:2]", "{0}[-2:]", "{0}[:, ::-1]", "{0}[::2, 1:]", "{0}.squeeze()",
    "np.broadcast_to({0}, (2,) + {0}.shape)", "{0}.reshape(-1, 2)", "{0}[()]", "{0}[...]",
    "np.expand_dims({0}, -1)", "{0}.diagonal()", "np.moveaxis({0}, 0, -1)", "np.flip({0})",
    "np.atleast_2d({0})", "np.asarray({0})", "{0}.reshape({0}.shape[::-1])", "{0}[-1]",
    "{0}.reshape((1,) + {0}.shape)", "np.broadcast_to({0}, {0}.shape)", "{0}[::-2]",
    "{0}.transpose()", "{0}[..., 1:2]", "np.rot90({0})", "{0}.reshape(-1, order='F')",
    "{0}.ravel(order='F')", "np.diagonal({0}, 1)", "{0}[:0]", "{0}.mT", "np.squeeze({0})",
)  # fmt: skip


def array(draft: Draft) -> str:
    """Return a variable; recent ones more often, so that chains grow."""
    names = draft.arrays()
    recent = names[-3:] if draft.rng.random() < 0.4 else names
    return draft.rng.choice(recent)


def moved(draft: Draft, name: str, chance: float = 0.45) -> str:
    """Return the name, or a view of it; mostly one that NumPy makes."""
    if draft.rng.random() > chance:
        return name
    for _ in range(3):
        text = draft.rng.choice(VIEWS).format(name)
        if draft.rng.random() < 0.4:
            text = f"{name}[{basic_index(draft, draft.value(name))}]"
        if draft.value(text) is not None:
            return text
    return text


def scalar(draft: Draft) -> str:
    """Return a scalar's text."""
    return draft.rng.choice(SCALARS if draft.rng.random() < 0.5 else SCALARS[:COMMON])


def operand(draft: Draft, like: str, scalars: float = 0.25) -> str:
    """Return a second operand: a scalar, or a view of an array that broadcasts with `like`."""
    if draft.rng.random() < scalars:
        return scalar(draft)
    first = draft.value(like)
    for _ in range(5):
        text = moved(draft, array(draft))
        if first is None or draft.rng.random() < 0.04 or _fits(draft.value(text), first):
            return text
    return scalar(draft)


def source(draft: Draft, target: str) -> str:
    """Return what may be assigned: it broadcasts into the target's shape."""
    wanted = draft.value(target)
    for _ in range(5):
        text = operand(draft, target, scalars=0.2)
        value = draft.value(text)
        into = wanted is not None and value is not None and _fits(value, wanted)
        if into and host.broadcast_shapes(value.shape, wanted.shape) == wanted.shape:
            return text
        if draft.rng.random() < 0.03:
            return text
    return scalar(draft)


def _fits(value: Any, other: Any) -> bool:
    if not hasattr(value, "shape") or not hasattr(other, "shape"):
        return False
    pairs = zip(value.shape[::-1], other.shape[::-1], strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def basic_index(draft: Draft, value: Any) -> str:
    """Return integers, slices, newaxis and an ellipsis; rarely out of range."""
    rng, items = draft.rng, []
    for extent in getattr(value, "shape", ()):
        if rng.random() < 0.15:
            break
        items.append(_integer(draft, extent) if rng.random() < 0.2 else _slice(draft, extent))
    if rng.random() < 0.15:
        items.insert(rng.randint(0, len(items)), "...")
    if rng.random() < 0.1:
        items.insert(rng.randint(0, len(items)), "None")
    return ", ".join(items) or "..."


def _integer(draft: Draft, extent: int) -> str:
    if draft.rng.random() < 0.04 or extent == 0:
        return str(extent + draft.rng.randint(0, 1))
    return str(draft.rng.randint(-extent, extent - 1))


def _slice(draft: Draft, extent: int) -> str:
    rng = draft.rng
    if rng.random() < 0.85:
        return rng.choice((":", ":", "1:", ":-1", "::2", "::-1", "-2:", ":2", "1:-1", "1::2"))
    start = rng.choice(("", "1", "2", "-1", "-2", str(extent)))
    stop = rng.choice(("", "-1", "-2", "2", "3", str(extent + 2)))
    return f"{start}:{stop}{rng.choice(('', ':2', ':-1', ':-2', ':3', ':-3'))}"


def mask(draft: Draft, name: str) -> str:
    """Return a boolean array of an array's shape: a comparison, a variable, or made of counts."""
    value, choice = draft.value(name), draft.rng.random()
    if value is None or choice < 0.5:
        sign = draft.rng.choice(("> 0", "< 2", "!= 0", "== 1", ">= 0.3"))
        return f"{name} {sign}"
    found = [n for n in draft.arrays() if draft.names[n].dtype.kind == "b"]
    fitting = [n for n in found if draft.names[n].shape == value.shape]
    if fitting and choice < 0.8:
        return draft.rng.choice(fitting)
    if found and choice < 0.83:
        return draft.rng.choice(found)
    return f"(np.arange({value.size}) % {draft.rng.randint(2, 4)} == 0).reshape({value.shape})"


def advanced_index(draft: Draft, name: str) -> str:
    """Return an index with integer arrays or masks: duplicates, negative, rarely out of range."""
    value, rng = draft.value(name), draft.rng
    if value is None or not value.ndim or rng.random() < 0.3:
        return mask(draft, name)
    items = [_indices(draft, value.shape[0])]
    if value.ndim > 1 and rng.random() < 0.5:
        second = rng.choice(("integers", "column", "slice", "number", "mask"))
        if second == "slice":
            items.insert(rng.randint(0, 1), _slice(draft, value.shape[1]))
        elif second == "number":
            items.append(_integer(draft, value.shape[1]))
        elif second == "mask":
            items = [_slice(draft, value.shape[0]), _axis_mask(draft, value.shape[1])]
        else:
            other = _indices(draft, value.shape[1])
            items = [items[0] + ("[:, None]" if second == "column" else ""), other]
    elif value.ndim > 1 and rng.random() < 0.2:
        items = ["...", _indices(draft, value.shape[-1])]
    return ", ".join(items)


def _indices(draft: Draft, extent: int) -> str:
    rng = draft.rng
    if rng.random() < 0.2:
        return _axis_mask(draft, extent)
    length = rng.randint(0, 5)
    top = max(extent, 1)
    numbers = [rng.randint(-top, top - 1) for _ in range(length)]
    if numbers and rng.random() < 0.05:
        numbers[-1] = extent + 1
    return f"np.array({numbers}, dtype={rng.choice(('i8', 'i8', 'i4', 'u1', 'i2'))!r})"


def _axis_mask(draft: Draft, extent: int) -> str:
    return f"np.array({[draft.rng.random() < 0.5 for _ in range(extent)]}, dtype='?')"


def beginning(draft: Draft) -> str:
    """Return an expression that makes an array from nothing."""
    rng = draft.rng
    shape = rng.choice(LARGE_SHAPES if rng.random() < 0.04 else SHAPES)
    dtype = rng.choice(DTYPES)
    size = int(host.prod(shape, dtype=int))
    choice = rng.random()
    if choice < 0.12:
        return f"np.{rng.choice(('zeros', 'ones'))}({shape}, {dtype!r})"
    if choice < 0.2:
        return f"np.arange({rng.randint(0, 12)}, dtype={(dtype if dtype != '?' else 'i4')!r})"
    if choice < 0.25:
        return f"np.full({shape}, {rng.choice(VALUES[_kind(dtype)][:3])}, {dtype!r})"
    if choice < 0.45 and size <= 12:
        listed = ", ".join(rng.choice(VALUES[_kind(dtype)]) for _ in range(size))
        order = ", order='F'" if rng.random() < 0.3 else ""
        return f"np.array([{listed}], dtype={dtype!r}).reshape({shape}{order})"
    return _formula(draft, shape, dtype, size)


def _formula(draft: Draft, shape: tuple[int, ...], dtype: str, size: int) -> str:
    step = {"f": "0.3", "c": "(0.3 + 0.7j)", "i": "3", "u": "1", "b": "1"}[_kind(dtype)]
    offset = 0 if _kind(dtype) in "ub" else draft.rng.randint(0, 6)
    order = draft.rng.choice(("", "", "", ", order='F'"))
    values = f"(np.arange({size}) * 7 % 11 - {offset}) * {step}"
    return f"np.array(({values}).reshape({shape}{order}), dtype={dtype!r})"


def _kind(dtype: str) -> str:
    return host.dtype(dtype).kind
