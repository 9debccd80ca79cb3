"""The text of recording in machine code, and what it has to be told of objects.

Where objects keep their attributes is measured by who loads the code (`runtime/recorder.py`) and
written into the text; the objects themselves are entries of the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import (
    record_attach_text,
    record_cuts_text,
    record_flush_text,
    record_guard_text,
    record_nodes_text,
    record_operators_text,
    record_perform_text,
    record_results_text,
    record_rows_text,
    record_taking_text,
    record_text,
    record_trace_text,
    record_views_text,
)
from lazyfuse.backends.cpu.tuples_text import TUPLES

#: Objects of the table: classes, sets and dicts that are looked into, prototypes, functions.
OBJECTS = (
    *("SCALAR", "FORMS", "FLOATS", "TRUE", "FALSE"),
    *("OURS", "THEIRS", "ERROR_NAMES", "KNOWN_NAME", "STATE", "WARNINGS", "FILTERS_NAME"),
    *("CONST", "VIEW", "STORAGE", "LAYOUT", "VIEW_ARRAY"),
    *("MAP", "UPDATE", "CONST_CLASS", "SIGNATURE", "IS_COSTLY"),
    *("OPTIONS", "ORPHAN_BYTES", "ORPHANED", "ENFORCE", "ACQUIRE", "RELEASE"),
    *("MEMORY", "READY", "WATCH", "GONE", "RUNS", "FORM_OF"),
)
#: Attributes of which the text has to know the place, by the class that has them.
ATTRIBUTES: Mapping[str, str] = {
    "node": "shape dtype strides srcs buffer depth held users seen origin handle form",
    "map": "_mapkind is_costly",
    "mapkind": "form",
    "view": "layout",
    "const": "value from_shape",
    "storage": "node device _thread _is_shared",
    "handle": "_storage _layout _writeable _owner _cast _host",
    "form": "shape dtype strides layout nbytes",
    "modes": "state filters first modes",
    "options": "max_pending_nodes max_pending_bytes",
    "watch": "node",
    "buffer": "pointer exclusive _block nbytes",
}
#: Their names in the text, where these are others.
_NAMES = {
    "storage__is_shared": "storage_shared",
    "options_max_pending_nodes": "options_nodes",
    "options_max_pending_bytes": "options_bytes",
}
FUNCTIONS = ("recorded", "written", "traced", "flushed", "row")


def place_name(kind: str, attribute: str) -> str:
    """What the text calls the place of an attribute."""
    name = f"{kind}_{attribute}"
    return _NAMES.get(name, name.replace("__", "_"))


def text(places: Mapping[str, int]) -> str:
    """The functions, for LLVM: places of attributes, and entries of the table."""
    parts = (
        record_text.HEAD, record_guard_text.GUARD, record_text.MARKS, record_text.PLACE,
        record_nodes_text.NODES,
        record_results_text.RESULTS, record_results_text.WRITES, record_operators_text.OPERATORS,
        record_views_text.VIEWS, record_cuts_text.CUTS, record_rows_text.ROWS,
        record_trace_text.TRACE, record_attach_text.ATTACH, record_flush_text.FLUSH,
        record_taking_text.TAKING,
        record_perform_text.PERFORM,
    )  # fmt: skip
    own = {
        **{f"ready_{name}": place for name, place in record_flush_text.READY.items()},
        **{f"given_{name}": place for name, place in record_taking_text.GIVEN.items()},
        "given_count": len(record_taking_text.GIVEN),
        **record_cuts_text.TABLE,
        "leaf_words": record_flush_text.LEAF_WORDS,
        "few_nodes": record_trace_text.FEW_NODES,
        "letter_f": ord("f"),
        "letter_c": ord("c"),
        "scalar_bytes": 8 * places["most_operands"],
    }
    assert not own.keys() & places.keys()
    known = {**places, **own}
    return "\n".join((TUPLES, *(part.format(**known) for part in parts)))
