"""Axes and arguments -> index arithmetic: where an element lies, with only the multiplications
that vary.

Positions are named `i0, i1, ...` after the axes of the kernel. `ix` is the signed index type (32
bits only where the kernel says `i4`), `ux` its unsigned twin, in which loop counters run: a
counter may pass the end by one grid.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyfuse.ir.kernel import FIXED, UNIT, Arg, Kernel, Role


def index_types(kernel: Kernel) -> str:
    """Define `ix` and `ux`."""
    width = "int" if kernel.index == "i4" else "long long"
    return f"typedef {width} ix;\ntypedef unsigned {width} ux;\n"


def layout_constants(kernel: Kernel) -> list[str]:
    """Narrow the launch's extents and strides to the index type, once per thread."""
    lines = [f"const ux n{axis} = (ux)n{axis}_;" for axis in range(kernel.outer + kernel.inner)]
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
    last, scale = axes[-1], f" * {pack}" if pack > 1 else ""
    if len(axes) == 1:
        return [f"const ux i{last} = {flat}{scale};"]
    lines = [f"ux rest = {flat};"]
    for axis in reversed(axes[1:]):
        extent = f"(n{axis} / {pack})" if pack > 1 and axis == last else f"n{axis}"
        factor = scale if axis == last else ""
        lines.append(f"const ux i{axis} = rest % {extent}{factor}; rest /= {extent};")
    return [*lines, f"const ux i{axes[0]} = rest;"]


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
