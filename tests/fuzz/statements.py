"""One function per kind of statement: from a draft to the text of the next statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host

from tests.fuzz.draft import Draft
from tests.fuzz.operands import (
    DTYPES,
    advanced_index,
    array,
    basic_index,
    beginning,
    mask,
    moved,
    operand,
    scalar,
    source,
)

BINARY = ("+", "-", "*", "+", "-", "*", "/", "<", ">=", "==", "!=", "&", "|", "^", "//", "%",
          "<<", ">>")  # fmt: skip
FUNCTIONS = ("maximum", "minimum", "fmax", "fmin", "add", "subtract", "multiply", "logical_or",
             "logical_and", "copysign", "divide", "less", "floor_divide", "remainder",
             "bitwise_and", "heaviside", "gcd")  # fmt: skip
UNARY = ("abs({})", "-{}", "np.sqrt(abs({}))", "np.floor({})", "np.square({})", "np.sign({})",
         "~{}", "np.isnan({})", "np.rint({})", "np.signbit({})", "np.positive({})", "np.ceil({})",
         "np.trunc({})", "np.conj({})", "np.isfinite({})", "np.logical_not({})",
         "np.reciprocal({})", "{} ** 2", "np.nan_to_num({})", "np.spacing({})",
         "np.invert({})")  # fmt: skip
TRANSCENDENTAL = ("exp", "sin", "cos", "tanh", "log1p", "exp2", "arctan", "cbrt", "log")
IN_PLACE = ("+=", "-=", "*=", "+=", "*=", "|=", "&=", "^=", "//=", "/=", "%=", "<<=", ">>=",
            "**=")  # fmt: skip
FOLDS = ("sum", "sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod", "std",
         "var")  # fmt: skip
SCANS = ("cumsum", "cumprod")
CASTING = ("same_kind", "unsafe", "safe")


def create(draft: Draft) -> str:
    return f"{draft.new()} = {beginning(draft)}"


def view(draft: Draft) -> str:
    return f"{draft.new()} = {moved(draft, array(draft), chance=1)}"


def binary(draft: Draft) -> str:
    first = moved(draft, array(draft))
    pair = [first, operand(draft, first)]
    if draft.rng.random() < 0.3:
        pair.reverse()
    text = f"{pair[0]} {draft.rng.choice(BINARY)} {pair[1]}"
    if draft.rng.random() < 0.25:
        text = f"({text}) {draft.rng.choice(BINARY)} {operand(draft, first)}"
    return f"{draft.new()} = {text}"


def function(draft: Draft) -> str:
    first, name = moved(draft, array(draft)), draft.rng.choice(FUNCTIONS)
    return f"{draft.new()} = np.{name}({first}, {operand(draft, first)}{_dtype(draft, 0.1)})"


def unary(draft: Draft) -> str:
    return f"{draft.new()} = {draft.rng.choice(UNARY).format(moved(draft, array(draft)))}"


def transcendental(draft: Draft) -> str:
    """Results go to variables that nothing else reads: they are right to some ULP."""
    name = draft.rng.choice(TRANSCENDENTAL)
    value = moved(draft, array(draft))
    return f"u{draft.new()[1:]}_{name} = np.{name}(np.asarray({value}).real)"


def in_place(draft: Draft) -> str:
    target = array(draft)
    return f"{target} {draft.rng.choice(IN_PLACE)} {source(draft, target)}"


def in_place_view(draft: Draft) -> str:
    """`a[1:] += b`; of what is no simple name, Python reads, adds and assigns."""
    name = array(draft)
    target = f"{name}[{basic_index(draft, draft.value(name))}]"
    if draft.rng.random() < 0.1:
        target = f"{name}.T"
    return f"{target} {draft.rng.choice(IN_PLACE)} {source(draft, target)}"


def assign(draft: Draft) -> str:
    name = array(draft)
    target = f"{name}[{basic_index(draft, draft.value(name))}]"
    return f"{target} = {source(draft, target)}"


def overlap(draft: Draft) -> str:
    """A write into memory that its value is read from."""
    a, rng = array(draft), draft.rng
    operator = rng.choice(("=", "=", "+=", "*=", "-="))
    pairs = (("[1:]", "[:-1]"), ("[:-1]", "[1:]"), ("[...]", "[::-1]"), ("[::2]", "[1::2]"),
             ("[..., 1:]", "[..., :-1]"), ("[...]", ".T"), ("[..., ::-1]", ""),
             ("[:2]", "[-2:]"), ("[1:, 1:]", "[:-1, :-1]"), ("[...]", "[0]"),
             ("[...]", "[..., :1]"), ("[0]", "[-1]"))  # fmt: skip
    target, value = rng.choice(pairs)
    extra = rng.choice(("", "", " + 1", f" * {a}{target}"))
    text = f"{a}{value}{extra}"
    if rng.random() < 0.25:
        return f"np.{rng.choice(('add', 'multiply', 'maximum'))}({a}{value}, 2, out={a}{target})"
    return f"{a}{target} {operator} {text}"


def out(draft: Draft) -> str:
    """`out=` with `where=` and `casting=`; the output is often an operand or a view of one."""
    first, name = moved(draft, array(draft)), draft.rng.choice(FUNCTIONS)
    second = operand(draft, first)
    target = _target(draft, f"np.{name}({first}, {second})")
    options = f", out={target}"
    if draft.rng.random() < 0.4:
        options += f", where={mask(draft, target)}"
    if draft.rng.random() < 0.2:
        options += f", casting={draft.rng.choice(CASTING)!r}"
    call = f"np.{name}({first}, {second}{options})"
    return f"{draft.new()} = {call}" if draft.rng.random() < 0.3 else call


def _target(draft: Draft, text: str) -> str:
    """Return an array of the result's shape if one comes up."""
    wanted = getattr(draft.value(text), "shape", None)
    for _ in range(6):
        target = moved(draft, array(draft))
        if getattr(draft.value(target), "shape", ()) == wanted:
            break
    return target


def fold(draft: Draft) -> str:
    rng, name = draft.rng, draft.rng.choice(FOLDS)
    value = moved(draft, array(draft))
    options = [f"axis={rng.choice(('None', '0', '-1', '1', '(0, 1)', '(0, -1)', '()'))}"]
    if rng.random() < 0.3:
        options.append("keepdims=True")
    if rng.random() < 0.15 and name in ("sum", "prod", "mean", "std", "var"):
        options.append(f"dtype={rng.choice(DTYPES)!r}")
    if rng.random() < 0.2 and name in ("sum", "prod", "max", "min", "mean", "any", "all"):
        options.append(f"where={mask(draft, value)}")
    if rng.random() < 0.2 and name in ("sum", "prod", "max", "min"):
        options.append(f"initial={rng.choice(('0', '1', '2.5', '-3'))}")
    if rng.random() < 0.1:
        options.append(f"out={_target(draft, f'{value}.{name}({options[0]})')}")
    return f"{draft.new()} = {value}.{name}({', '.join(options)})"


def scan(draft: Draft) -> str:
    value = moved(draft, array(draft))
    axis = draft.rng.choice(("", "", "axis=0", "axis=-1", "axis=1"))
    if draft.rng.random() < 0.3:
        name = draft.rng.choice(("add", "multiply", "maximum", "minimum", "logical_or"))
        return f"{draft.new()} = np.{name}.accumulate({value}{', ' + axis if axis else ''})"
    return f"{draft.new()} = {value}.{draft.rng.choice(SCANS)}({axis})"


def where(draft: Draft) -> str:
    first = moved(draft, array(draft))
    condition = mask(draft, first)
    return f"{draft.new()} = np.where({condition}, {first}, {operand(draft, first)})"


def clip(draft: Draft) -> str:
    value = moved(draft, array(draft))
    low, high = operand(draft, value, 0.8), operand(draft, value, 0.8)
    return f"{draft.new()} = np.clip({value}, {low}, {high})"


def cast(draft: Draft) -> str:
    value, target = moved(draft, array(draft)), draft.rng.choice(DTYPES)
    order = draft.rng.choice(("", "", "", ", order='F'", ", copy=False"))
    return f"{draft.new()} = ({value}).astype({target!r}{order})"


def copy(draft: Draft) -> str:
    value = moved(draft, array(draft))
    text = draft.rng.choice(
        ("{}.copy()", "np.array({})", "{} + 0", "{}.copy('F')", "{}.flatten()", "np.copy({})",
         "np.ascontiguousarray({})", "np.zeros_like({})", "np.ones_like({})",
         "np.full_like({}, 3)")
    )  # fmt: skip
    return f"{draft.new()} = {text.format(value)}"


def join(draft: Draft) -> str:
    first = moved(draft, array(draft))
    second = operand(draft, first, 0)
    name = draft.rng.choice(("concatenate", "stack", "concatenate", "vstack", "hstack"))
    axis = draft.rng.choice(("", ", axis=0", ", axis=-1", ", axis=1"))
    given = axis if name in ("concatenate", "stack") else ""
    return f"{draft.new()} = np.{name}([{first}, {second}]{given})"


def product(draft: Draft) -> str:
    """Of integers: a sum of float products is rounded as the BLAS at hand likes."""
    for _ in range(4):
        first, second = moved(draft, array(draft)), moved(draft, array(draft))
        if draft.value(f"{first} @ {second}") is not None:
            break
    return f"{draft.new()} = {first} @ {second}"


def mask_read(draft: Draft) -> str:
    value = moved(draft, array(draft), 0.2)
    text = f"{value}[{mask(draft, value)}]"
    if draft.rng.random() < 0.35:
        text += draft.rng.choice((".sum()", ".mean()", ".max()", ".any()", ".min()"))
    return f"{draft.new()} = {text}"


def mask_write(draft: Draft) -> str:
    name = moved(draft, array(draft), 0.15)
    target = f"{name}[{mask(draft, name)}]"
    operator = draft.rng.choice(("=", "=", "=", "+=", "*=", "-="))
    return f"{target} {operator} {source(draft, target)}"


def advanced_read(draft: Draft) -> str:
    value = moved(draft, array(draft), 0.2)
    return f"{draft.new()} = {value}[{advanced_index(draft, value)}]"


def advanced_write(draft: Draft) -> str:
    name = moved(draft, array(draft), 0.15)
    target = f"{name}[{advanced_index(draft, name)}]"
    operator = draft.rng.choice(("=", "=", "+=", "*="))
    return f"{target} {operator} {source(draft, target)}"


def take(draft: Draft) -> str:
    value = array(draft)
    extent = max(draft.names[value].size, 1)
    picks = [draft.rng.randint(-extent, extent - 1) for _ in range(draft.rng.randint(1, 4))]
    texts = (f"np.take({value}, {picks})", f"{value}.take({picks}, axis=0, mode='clip')",
             f"np.add.at({value}, {picks}, 1)", f"np.put({value}, {picks}, {scalar(draft)})",
             f"np.compress({mask(draft, value)}, {value})",
             f"np.array(np.nonzero({value})[0])")  # fmt: skip
    text = draft.rng.choice(texts)
    return text if ".at(" in text or ".put(" in text else f"{draft.new()} = {text}"


def parts(draft: Draft) -> str:
    """Read or write the real and imaginary part."""
    name, part = array(draft), draft.rng.choice(("real", "imag"))
    kind = draft.rng.random()
    if kind < 0.4:
        return f"{draft.new()} = {name}.{part}"
    target = f"{name}.{part}" if kind < 0.7 else f"{name}.{part}[{draft.rng.choice(('1:', '0'))}]"
    return f"{target} {draft.rng.choice(('=', '+=', '*='))} {source(draft, target)}"


def flat(draft: Draft) -> str:
    name = array(draft)
    size = max(draft.names[name].size, 1)
    index = draft.rng.choice((str(draft.rng.randint(-size, size - 1)), "1:", "::2", "[0, -1]"))
    if draft.rng.random() < 0.5:
        return f"{draft.new()} = {name}.flat[{index}]"
    return f"{name}.flat[{index}] = {scalar(draft)}"


#: Dtypes that see each other's memory; floats are seen as integers by a copy only, since a NaN
#: has many forms, and so are bools, since other bytes than 0 and 1 mean nothing in them.
_SEEN_AS = {"i": "iu", "u": "iu", "b": "u", "f": "c", "c": "f"}


def reinterpret(draft: Draft) -> str:
    name = moved(draft, array(draft), 0.3)
    kind = getattr(getattr(draft.value(name), "dtype", None), "kind", "f")
    targets = [code for code in DTYPES if _kind_of(code) in _SEEN_AS[kind]]
    if kind == "f" and draft.rng.random() < 0.5:
        target = draft.rng.choice(("i8", "u4", "i2", "u1"))
        return f"{draft.new()} = {name}.view({target!r}).copy()"
    copied = ".copy()" if kind == "b" else ""
    return f"{draft.new()} = {name}.view({draft.rng.choice(targets)!r}){copied}"


def _kind_of(code: str) -> str:
    return "b" if code == "?" else code[0]


def window(draft: Draft) -> str:
    value, width = moved(draft, array(draft), 0.2), draft.rng.randint(1, 4)
    axis = draft.rng.choice(("", ", axis=0", ", axis=-1"))
    return f"{draft.new()} = np.lib.stride_tricks.sliding_window_view({value}, {width}{axis})"


def element(draft: Draft) -> str:
    """Elements as Python sees them: read, written, and deciding what is done next."""
    name, rng = array(draft), draft.rng
    value = draft.names[name]
    index = ", ".join(str(rng.randint(-n, n - 1)) if n else "0" for n in value.shape) or "()"
    cell = f"{name}[{index}]"
    texts = (f"{draft.new()} = {cell}", f"{cell} = {scalar(draft)}", f"{cell} += 1",
             f"{draft.new()} = {name} + {cell}", f"{draft.new()} = {cell}.item()",
             f"{draft.new()} = {name} + 1 if {cell} > 0 else {name} - 1",
             f"{draft.new()} = {name} * {name}.sum()", f"{cell} = {name}.max()")  # fmt: skip
    return rng.choice(texts)


def reshape_in_place(draft: Draft) -> str:
    name = array(draft)
    shape = draft.names[name].shape
    return f"{name}.shape = {draft.rng.choice((shape[::-1], (-1,), (1, *shape)))}"


def fill(draft: Draft) -> str:
    name = moved(draft, array(draft), 0.4)
    texts = ("{}[...] = {}", "np.copyto({}, {})", "{}.fill({})")
    is_array = isinstance(draft.value(name), host.ndarray)  # scalars have a fill that does nothing
    return draft.rng.choice(texts if is_array else texts[:1]).format(name, scalar(draft))


def swap(draft: Draft) -> str:
    """Two names at once, as in `a, b = b, a + b`."""
    a, b = array(draft), array(draft)
    return f"{a}, {b} = {b}, {a} + {operand(draft, a)}"


def forget(draft: Draft) -> str:
    """Let an array go: its memory may be written by what is still pending."""
    return f"del {array(draft)}" if len(draft.arrays()) > 3 else create(draft)


def several(draft: Draft) -> str:
    value = moved(draft, array(draft))
    a, b = array(draft), f"v{draft.new()[1:]}"
    return f"{a}, {b} = np.divmod({value}, {operand(draft, value)})"


def _dtype(draft: Draft, chance: float) -> str:
    return f", dtype={draft.rng.choice(DTYPES)!r}" if draft.rng.random() < chance else ""


Kind = Callable[[Draft], str]

#: How often each kind comes up.
WEIGHTS: dict[Kind, float] = {
    create: 3, view: 9, binary: 9, function: 4, unary: 4, transcendental: 1, in_place: 9,
    in_place_view: 6, assign: 7, overlap: 5, out: 5, fold: 8, scan: 2, where: 3, clip: 2, cast: 4,
    copy: 3, join: 3, product: 1, mask_read: 3, mask_write: 3, advanced_read: 3,
    advanced_write: 3, take: 1, parts: 2, flat: 1, reinterpret: 2, window: 1, element: 3,
    reshape_in_place: 0.5, fill: 2, swap: 1, forget: 3, several: 1,
}  # fmt: skip


def grow(rng: Any, longest: int) -> Draft:
    """Return a program of up to `longest` statements, short ones more often."""
    draft = Draft(rng)
    for _ in range(rng.randint(1, 3)):
        while not draft.add(create(draft)):
            pass
    length = max(5, min(longest, int(rng.expovariate(1 / 11)) + 4))
    kinds, weights = tuple(WEIGHTS), tuple(WEIGHTS.values())
    while len(draft.lines) < length:
        kind = rng.choices(kinds, weights)[0] if draft.arrays() else create
        draft.add(kind(draft))
    return draft
