"""The text of recording in machine code, for LLVM; see `record.py`."""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import (
    record_attach_text,
    record_cuts_text,
    record_flush_text,
    record_guard_text,
    record_nodes_text,
    record_numbers_text,
    record_operators_text,
    record_perform_text,
    record_place_text,
    record_results_text,
    record_rows_text,
    record_taking_text,
    record_text,
    record_trace_text,
    record_views_text,
)
from lazyfuse.backends.cpu.ints_text import INTS
from lazyfuse.backends.cpu.tuples_text import TUPLES


def text(places: Mapping[str, int]) -> str:
    """The functions, for LLVM: places of attributes, and entries of the table."""
    parts = (
        record_text.HEAD, INTS, record_guard_text.GUARD, record_text.MARKS,
        record_place_text.PLACE, record_nodes_text.NODES,
        record_results_text.RESULTS, record_results_text.WRITES, record_operators_text.OPERATORS,
        record_views_text.VIEWS, record_cuts_text.CUTS, record_rows_text.ROWS,
        record_numbers_text.NUMBERS, record_trace_text.TRACE, record_attach_text.ATTACH,
        record_flush_text.FLUSH, record_taking_text.TAKING,
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
