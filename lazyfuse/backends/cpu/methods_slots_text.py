"""What CPython calls for operators, items and calls by their places in a class, its slots, as LLVM
text; see `methods.py`.

A function of a slot is called at once where a method is looked up first. One slot serves several
methods: `a + b` is `__add__` of `a` or `__radd__` of `b`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SLOTS = """
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)

; self[key] = value; without a value, `del self[key]`
define i32 @lf_slot_set_item(ptr %self, ptr %key, ptr %value) {
  %has_none = icmp eq ptr %value, null
  br i1 %has_none, label %delete, label %set
delete:
  %python = call ptr @object(i64 T_DELETE_ITEM)
  %deleted = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %python, ptr %self, ptr %key, ptr null)
  br label %done
set:
  %args = alloca [2 x ptr]
  put ptr %key, %args[0]
  put ptr %value, %args[1]
  %written = call ptr @lf_set_item(ptr %self, ptr %args, i64 2, ptr null)
  br label %done
done:
  %answer = phi ptr [ %deleted, %delete ], [ %written, %set ]
  %has_failed = icmp eq ptr %answer, null
  br i1 %has_failed, label %fail, label %drop
drop:
  call void @Py_DecRef(ptr %answer)
  ret i32 0
fail:
  ret i32 -1
}

define i64 @lf_slot_len(ptr %self) {
  %answer = call ptr @lf_len(ptr %self, ptr null)
  %has_failed = icmp eq ptr %answer, null
  br i1 %has_failed, label %fail, label %count
count:
  %size = call i64 @PyLong_AsLong(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  ret i64 %size
fail:
  ret i64 -1
}
"""

#: One operand.
UNARY = """
define ptr @lf_slot_{name}(ptr %self) {{
  %made = call ptr @lf_{name}(ptr %self, ptr null)
  ret ptr %made
}}
"""

#: Two operands, of which one is an array.
BINARY = """
define ptr @lf_slot_{name}(ptr %a, ptr %b) {{
  %is_ours = call i1 @is(ptr %a, i64 {class_})
  br i1 %is_ours, label %plain, label %reflected
plain:
  %made = call ptr @lf_{name}(ptr %a, ptr %b)
  ret ptr %made
reflected:
  %turned = call ptr @lf_r{name}(ptr %b, ptr %a)
  ret ptr %turned
}}
"""

#: A call: of what has said where it is to be called (vectorcall), and of what has not, which says
#: so then, and goes by the method where there are keywords, which takes them in another form.
#: Where its class is called by something else since (other code, or a method that somebody has put
#: there, which Python 3.11 does not look for), that is unsaid, and CPython looks again.
CALL = """
define ptr @lf_vector_{name}(ptr %self, ptr %args, i64 %flagged, ptr %names) {{
  %type = call ptr @kind(ptr %self)
  %slot_at = getelementptr i8, ptr %type, i64 128
  %slot = load ptr, ptr %slot_at
  %is_current = icmp eq ptr %slot, @lf_slot_{name}
  br i1 %is_current, label %call, label %unsay
call:
  %count = and i64 %flagged, 9223372036854775807
  %made = call ptr @lf_{name}(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %made
unsay:
  %place = call i64 @entry(i64 {vector})
  %vector_at = getelementptr i8, ptr %self, i64 %place
  store ptr null, ptr %vector_at
  %found = call ptr @PyObject_Vectorcall(ptr %self, ptr %args, i64 %flagged, ptr %names)
  ret ptr %found
}}

define ptr @lf_slot_{name}(ptr %self, ptr %args, ptr %words) {{
  %place = call i64 @entry(i64 {vector})
  %vector_at = getelementptr i8, ptr %self, i64 %place
  store ptr @lf_vector_{name}, ptr %vector_at
  %count = call i64 @tuple_size(ptr %args)
  %items = getelementptr i8, ptr %args, i64 {items}
  %has_none = icmp eq ptr %words, null
  br i1 %has_none, label %plain, label %look
look:
  %pairs = call i64 @PyDict_Size(ptr %words)
  %is_empty = icmp eq i64 %pairs, 0
  br i1 %is_empty, label %plain, label %named
plain:
  %made = call ptr @lf_{name}(ptr %self, ptr %items, i64 %count, ptr null)
  ret ptr %made
named:
  %all = add i64 %count, 1
  %given = alloca ptr, i64 %all
  store ptr %self, ptr %given
  %rest = getelementptr ptr, ptr %given, i64 1
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %items, i64 %bytes, i1 false)
  %method = call ptr @object(i64 {method})
  %found = call ptr @PyObject_VectorcallDict(ptr %method, ptr %given, i64 %all, ptr %words)
  ret ptr %found
}}
"""

_COMPARED = """\
{name}:
  %is_{name} = call ptr @lf_{name}(ptr %self, ptr %other)
  ret ptr %is_{name}
"""


def comparison(numbers: Mapping[str, int]) -> str:
    """All comparisons, by their numbers."""
    names = [*numbers]
    cases = "  ".join(f"i32 {numbers[name]}, label %{name}" for name in names[:-1])
    blocks = each(_COMPARED, names)
    return (
        "define ptr @lf_slot_compare(ptr %self, ptr %other, i32 %number) {\n"
        f"  switch i32 %number, label %{names[-1]} [ {cases} ]\n{blocks}}}\n"
    )


def each(template: str, names: Iterable[str], **words: object) -> str:
    """A template for each of some methods."""
    return "".join(template.format(name=name, **words) for name in names)
