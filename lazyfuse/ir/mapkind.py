"""Kinds of elementwise operations: one object for each that is met, compared by identity."""

from __future__ import annotations

from lazyfuse.ir.form import Form
from lazyfuse.ops.opdef import OpDef

#: Kinds that are remembered; a plan made with a forgotten one is made again.
_MOST = 1 << 16


class MapKind:
    """What all Maps of one op, loop and form have in common; one object for each."""

    __slots__ = ("kind", "op", "loop", "form", "is_costly")

    def __init__(self, kind: type, op: OpDef, loop: tuple[str, ...], form: Form) -> None:
        self.kind, self.op, self.loop, self.form = kind, op, loop, form
        self.is_costly = op.ulp > 0

    def __repr__(self) -> str:
        return repr((self.kind.__name__, self.op.name, self.loop, self.form))


_mapkinds: dict[tuple[object, ...], MapKind] = {}


def mapkind(kind: type, op: OpDef, loop: tuple[str, ...], form: Form) -> MapKind:
    """The kind of the Maps (of the class `kind`: Map or Masked) of an op, a loop and a form."""
    key = (kind, op.name, loop, form)
    found = _mapkinds.get(key)
    if found is None:
        if len(_mapkinds) >= _MOST:
            _mapkinds.clear()
        found = _mapkinds.setdefault(key, MapKind(kind, op, loop, form))
    return found
