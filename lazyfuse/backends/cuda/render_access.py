"""Axes and arguments -> index arithmetic: where an element lies, with only the multiplications
that vary.

Positions are named `i0, i1, ...` after the axes of the kernel. `ix` is the signed index type (32
bits only where the kernel says `i4`), `ux` its unsigned twin, in which loop counters run: a
counter may pass the end by one grid. `m1, h1` divide by the extent `n1` (division.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyfuse.backends.cuda.program import divisors
from lazyfuse.ir.kernel import FIXED, UNIT, Arg, Kernel, Phase, Role


def index_types(kernel: Kernel) -> str:
    """Define `ix` and `ux`."""
    width = "int" if kernel.index == "i4" else "long long"
    return f"typedef {width} ix;\ntypedef unsigned {width} ux;\n"


def layout_constants(kernel: Kernel) -> list[str]:
    """Narrow the launch's extents and strides to the index type, once per thread."""
    lines = [f"const ux n{axis} = (ux)n{axis}_;" for axis in range(kernel.outer + kernel.inner)]
    lines += [
        f"const ux m{axis} = (ux)m{axis}_; const int h{axis} = (int)h{axis}_;"
        for axis in divisors(kernel)
    ]
    for number, arg in enumerate(kernel.args):
        if arg.role is Role.SCRATCH:
            continue
        lines += [
            f"const ix s{number}_{axis} = (ix)s{number}_{axis}_;"
            for axis, access in enumerate(arg.access)
            if access not in (FIXED, UNIT)
        ]
    return lines


def product(axes: Sequence[int]) -> str:
    """Multiply the extents of `axes`."""
    return " * ".join(f"n{axis}" for axis in axes) if axes else "(ux)1"


def coordinates(flat: str, axes: Sequence[int], *, pack: int = 1) -> list[str]:
    """Split the flat position `flat` into one position per axis, slowest axis first.

    With `pack` above 1, `flat` counts packs of that many elements of the last axis.
    """
    if not axes:
        return []
    rest = f"{flat} * {pack}" if pack > 1 else flat
    lines = []
    for axis in reversed(axes[1:]):
        lines.append(f"const ux p{axis} = {rest}, q{axis} = lf_divide(p{axis}, m{axis}, h{axis});")
        lines.append(f"const ux i{axis} = p{axis} - q{axis} * n{axis};")
        rest = f"q{axis}"
    return [*lines, f"const ux i{axes[0]} = {rest};"]


def offset(number: int, arg: Arg, axes: Sequence[int]) -> str:
    """Sum the contributions of `axes` to the element offset of argument `number`; "0" when there
    are none.
    """
    terms = []
    for axis in axes:
        access = arg.access[axis]
        if access == UNIT:
            terms.append(f"(ix)i{axis}")
        elif access != FIXED:
            terms.append(f"(ix)i{axis} * s{number}_{axis}")
    return " + ".join(terms) or "0"


def element(number: int, arg: Arg, axes: Sequence[int]) -> str:
    """The lvalue of argument `number` at the current positions along `axes`."""
    return f"a{number}[{offset(number, arg, axes)}]"


def loaded(phase: Phase) -> set[int]:
    """The arguments that a phase reads at the current position."""
    return {
        instr.attr for instr in phase.body if instr.op == "load" and isinstance(instr.attr, int)
    }


def stored(phase: Phase) -> set[int]:
    """The arguments that it writes."""
    return {store.arg for store in phase.stores}


def touched(phase: Phase) -> list[int]:
    """Both, in order."""
    return sorted(loaded(phase) | stored(phase))
