"""Arithmetic of a few hundred elements by loops of its own, as LLVM text; see `methods.py`.

NumPy takes 0.2 us to find out what to do with two arrays of three numbers. Of arrays of one shape
that are dense, and numbers, with one dtype, that is known: the loops here
(`methods_loops_text.py`) give the same bits, and so do reductions to one number
(`methods_folds_text.py`). Where a floating point condition is met, NumPy does it again, and says
so.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import (
    computing_text,
    methods_folds_text,
    methods_rows_text,
    rows_text,
)
from lazyfuse.backends.cpu.launch_text import conditions, is_sse
from lazyfuse.backends.cpu.methods_at_once_text import TEXT
from lazyfuse.backends.cpu.methods_dense_text import DENSE, DENSE_MOST
from lazyfuse.backends.cpu.methods_lines_text import LINES
from lazyfuse.backends.cpu.methods_loops_text import OF_SSE, QUICK_MOST, ROWS, of_kinds
from lazyfuse.backends.cpu.methods_packed_text import PACKED, WINDOWS
from lazyfuse.backends.cpu.methods_walks_text import WALKS
from lazyfuse.backends.cpu.short_forms import expanded

#: The most that lie apart, which are copied first.
_PACKED_MOST = 512
#: NumPy's flags of arrays: that one may be written, and that it warns of that (numpyconfig's
#: NPY_ARRAY_WARN_ON_WRITE).
WRITE_FLAGS = 0x400 - (1 << 31)
#: Operators, and those that may change their first operand.
CHANGING = ("add", "sub", "mul", "truediv")
OPERATORS = (*CHANGING, "neg", "abs", "lt", "le", "eq", "ne", "gt", "ge")
#: Ufuncs by the name of their row, and reductions by theirs; both have codes (`defer.py`).
_UFUNCS: Mapping[str, str] = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "maximum": "maximum", "minimum": "minimum", "negative": "neg", "absolute": "abs",
    "sqrt": "sqrt", "square": "square", "less": "lt", "less_equal": "le", "equal": "eq",
    "not_equal": "ne", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip
_FOLDS: Mapping[str, str] = {
    **{name: name for name in methods_folds_text.FOLDS}, "amax": "max", "amin": "min",
}  # fmt: skip


def text(
    names: Mapping[str, object],
    codes: Mapping[str, int],
    functions: Mapping[str, str],
    triple: str,
) -> str:
    """The functions, with `names` of the state, of the table's places and so on; codes are those
    of `defer.py`, `functions` are C functions for the operators, with an i before the names of
    those that change their first operand."""
    parts = [TEXT, DENSE, WALKS, methods_rows_text.TEXT, LINES, PACKED, WINDOWS]
    parts.append(computing_text.calls())
    parts.append(methods_folds_text.text())
    for name, row in ROWS.items():
        kinds = of_kinds(name)
        if name in OF_SSE and not is_sse(triple):
            kinds = dict.fromkeys(kinds, "null")
        parts.append(_FUNCTION.format(name=name, is_asked=int(row.is_asked), **kinds))
        if name in OPERATORS:
            operands = ("ptr %a", "ptr %b") if row.is_binary else ("ptr %a",)
            parts.append(
                _OF_NUMPYS.format(
                    name=name, is_asked=int(row.is_asked), function=functions[name],
                    operands=", ".join(operands), last=operands[-1], **kinds,
                )
            )  # fmt: skip
            if row.is_binary:  # others of many elements are NumPy's
                parts.append(
                    _REFUSED.format(
                        name=name, is_asked=int(row.is_asked), function=functions[name], **kinds
                    )
                )
        if name in CHANGING:
            parts.append(_IN_PLACE.format(name=name, function=functions[f"i{name}"], **kinds))
    parts.append(_called(codes))
    words = {"QUICK_MOST": QUICK_MOST, "DENSE_MOST": DENSE_MOST, "PACKED_MOST": _PACKED_MOST,
             **rows_text.WORDS}  # fmt: skip
    return expanded("".join(parts), {**names, **conditions(triple), **words})


def _called(codes: Mapping[str, int]) -> str:
    """The functions that go by the code of what is called."""
    arguments = "ptr %first, ptr %second"
    ufuncs = {codes[name]: f"@quick_{row}({arguments})" for name, row in _UFUNCS.items()}
    folds = {codes[name]: f"@fold_{row}(ptr %first)" for name, row in _FOLDS.items()}
    sizes = {codes[name]: 1 + ROWS[row].is_binary for name, row in _UFUNCS.items()}
    choice = {codes["where"]: "@quick_where(ptr %args)"}
    calls = {**ufuncs, **folds, **choice}
    counts = sizes | dict.fromkeys(folds, 1) | dict.fromkeys(choice, 3)
    cases = " ".join(f"i64 {code}, label %by_{code}" for code in calls)
    blocks = "".join(
        _CASE.format(code=code, call=call, count=counts[code]) for code, call in calls.items()
    )
    return _CALLED.format(cases=cases, blocks=blocks)


_FUNCTION = """
define internal ptr @quick_{name}(ptr %a, ptr %b) {{
  %made = call ptr
    @quick(ptr %a, ptr %b, ptr {double}, ptr {single}, ptr {long}, i64 {is_asked})
  ret ptr %made
}}

"""
_OF_NUMPYS = """
; the same of arrays of NumPy's, by whose function where it cannot be quick
define internal ptr @numpys_{name}({operands}) {{
  %made = call ptr
    @quick_array(ptr %a, {last}, ptr {double}, ptr {single}, ptr {long}, i64 {is_asked}, i1 true)
  %is_other = icmp eq ptr %made, null
  br i1 %is_other, label %longer, label %give
give:
  ret ptr %made
longer:
  %of_more = call ptr
    @dense_array(ptr %a, {last}, ptr {double}, ptr {single}, ptr {long}, i64 {is_asked})
  %is_another = icmp eq ptr %of_more, null
  br i1 %is_another, label %ask, label %give_more
give_more:
  ret ptr %of_more
ask:
  %found = call ptr @{function}({operands})
  ret ptr %found
}}
"""
_REFUSED = """
; the same where it was not quick, and was not put off
define internal ptr @refused_{name}(ptr %a, ptr %b) {{
  %are_many = call i1 @rows_are_many(ptr %a, ptr %b)
  br i1 %are_many, label %rows, label %ask
rows:
  %made = call ptr
    @rows_array(ptr %a, ptr %b, ptr {double}, ptr {single}, ptr {long}, i64 {is_asked}, i1 true)
  %is_other = icmp eq ptr %made, null
  br i1 %is_other, label %ask, label %give
give:
  ret ptr %made
ask:
  %found = call ptr @{function}(ptr %a, ptr %b)
  ret ptr %found
}}
"""
_IN_PLACE = """
define internal i1 @within_{name}(ptr %a, ptr %b) {{
  %is_done = call i1
    @quick_in_place(ptr %a, ptr %b, ptr {double}, ptr {single}, ptr {long}, i1 true)
  ret i1 %is_done
}}

define internal ptr @quick_i{name}(ptr %a, ptr %b) {{
  %a_array = call ptr @quick_operand(ptr %a)
  %b_array = call ptr @quick_operand(ptr %b)
  %is_done = call i1
    @quick_in_place(ptr %a_array, ptr %b_array, ptr {double}, ptr {single}, ptr {long}, i1 false)
  br i1 %is_done, label %give, label %no
give:
  call void @Py_IncRef(ptr %a)
  ret ptr %a
no:
  ret ptr null
}}

define internal ptr @refused_i{name}(ptr %a, ptr %b) {{
  %are_many = call i1 @rows_are_many(ptr %a, ptr %b)
  br i1 %are_many, label %rows, label %ask
rows:
  %is_done = call i1
    @rows_in_place(ptr %a, ptr %b, ptr {double}, ptr {single}, ptr {long}, i1 true)
  br i1 %is_done, label %give, label %ask
give:
  call void @Py_IncRef(ptr %a)
  ret ptr %a
ask:
  %found = call ptr @{function}(ptr %a, ptr %b)
  ret ptr %found
}}

define internal ptr @numpys_i{name}(ptr %a, ptr %b) {{
  %is_done = call i1 @within_{name}(ptr %a, ptr %b)
  br i1 %is_done, label %give, label %ask
give:
  call void @Py_IncRef(ptr %a)
  ret ptr %a
ask:
  %found = call ptr @{function}(ptr %a, ptr %b)
  ret ptr %found
}}
"""

_CALLED = """
; a ufunc or a reduction by its code, without keywords; null where NumPy is to be asked
define internal ptr @quick_call(ptr %self, ptr %args, i64 %count, ptr %names) {{
  %has_none = icmp eq ptr %names, null
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, 3
  %can = and i1 %has_none, %are_few
  br i1 %can, label %look, label %no
look:
  %first = get ptr %args[0]
  %last = icmp sgt i64 %less, 0
  %second_place = zext i1 %last to i64
  %second = get ptr %args[%second_place]
  %is_ours = call i1 @is(ptr %first, i64 T_CLASS)
  %is_second = call i1 @is(ptr %second, i64 T_CLASS)
  %has_ours = or i1 %is_ours, %is_second
  br i1 %has_ours, label %known, label %no
known:
  %code_object = call ptr @part(ptr %self, i64 T_CODE)
  %has_code = icmp ne ptr %code_object, null
  br i1 %has_code, label %which, label %no
which:
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  switch i64 %code, label %no [ {cases} ]
{blocks}no:
  ret ptr null
}}
"""
_CASE = """by_{code}:
  %fits_{code} = icmp eq i64 %count, {count}
  br i1 %fits_{code}, label %run_{code}, label %no
run_{code}:
  %made_{code} = call ptr {call}
  ret ptr %made_{code}
"""
