"""Kinds of elementwise operations: one object for each that is met, compared by identity."""

from __future__ import annotations

from lazyfuse.ir.form import Form
from lazyfuse.ops.opdef import OpDef

#: Kinds that are remembered; a plan made with a forgotten one is made again.
_MOST = 1 << 16


class MapKind:
    """What all Maps of one op, loop and form have in common; one object for each."""

    __slots__ = ("op", "loop", "form", "is_costly")

    def __init__(self, op: OpDef, loop: tuple[str, ...], form: Form) -> None:
        self.op, self.loop, self.form = op, loop, form
        self.is_costly = op.ulp > 0

    def __repr__(self) -> str:
        form = self.form
        return repr((self.op.name, self.loop, form.shape, form.dtype, form.strides))


_mapkinds: dict[tuple[object, ...], MapKind] = {}


def mapkind(cls: type, op: OpDef, loop: tuple[str, ...], form: Form) -> MapKind:
    """The kind of the Maps (of this class: Map or Masked) of an op, a loop and a form."""
    key = (cls, op.name, loop, form)
    found = _mapkinds.get(key)
    if found is None:
        if len(_mapkinds) >= _MOST:
            _mapkinds.clear()
        found = _mapkinds.setdefault(key, MapKind(op, loop, form))
    return found
