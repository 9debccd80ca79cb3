"""Elements of one axis that an array of a few positions picks, as LLVM text; see `methods.py`.

`x[columns[a:b]]`, `row[order]`: NumPy takes 0.2 us to see what kind of key it has, and a part of
memory of the engine has to be made an array of NumPy's first. Positions that are not inside are
NumPy's, which says which.
"""

from __future__ import annotations

#: The most elements that are picked; the word of a dtype of NumPy's that says how many bytes an
#: element has (PyArray_Descr of its ndarraytypes.h).
BOUNDS = {"GATHERED_MOST": 1024, "ELEMENT_SIZE": 5}

_LOOP = """
; whether all positions are inside: copies what is there
define internal i1 @gather_{bits}(ptr %to, ptr %from, i64 %step, i64 %length, ptr %places,
                                  i64 %places_step, i64 %count) {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %copy ]
  %at = phi ptr [ %places, %0 ], [ %at_after, %copy ]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %given = load i64, ptr %at
  %is_from_end = icmp slt i64 %given, 0
  %from_end = add i64 %given, %length
  %place = select i1 %is_from_end, i64 %from_end, i64 %given
  %is_inside = icmp ult i64 %place, %length
  br i1 %is_inside, label %copy, label %no
copy:
  %skipped = mul i64 %place, %step
  %from_at = getelementptr i8, ptr %from, i64 %skipped
  %word = load i{bits}, ptr %from_at, align 1
  %to_at = getelementptr i{bits}, ptr %to, i64 %i
  store i{bits} %word, ptr %to_at, align 1
  %at_after = getelementptr i8, ptr %at, i64 %places_step
  %after = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

GATHERED = (
    "".join(_LOOP.format(bits=bits) for bits in (8, 16, 32, 64))
    + """
; the elements of an array of ours of one axis at the positions of another one, as a small array;
; null where they are not at hand, not few, or not of such kinds, and for an exception
define internal ptr @gathered_quickly(ptr %self, ptr %key) {
  %picked = call ptr @picked_where(ptr %self, ptr %key)
  %is_no_mask = icmp eq ptr %picked, null
  br i1 %is_no_mask, label %ask, label %give
give:
  ret ptr %picked
ask:
  %mask_error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %mask_error, null
  br i1 %has_raised, label %no, label %class
class:
  %own = alloca [4 x i64]
  %places = alloca [4 x i64]
  %is_ours = call i1 @is(ptr %key, i64 T_CLASS)
  br i1 %is_ours, label %options, label %no
options:
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  %is_plain = call i1 @is_nothing_recorded()
  %may = and i1 %are_any, %is_plain
  br i1 %may, label %positions, label %no
positions:
  %positions_kept = call ptr @line_at_hand(ptr %key, ptr %places)
  %no_positions = icmp eq ptr %positions_kept, null
  br i1 %no_positions, label %no, label %kind
kind:
  %place_dtype = call ptr @dtype_at_hand(ptr %key)
  %long = get ptr @state[DTYPE_LONG]
  %are_longs = icmp eq ptr %place_dtype, %long
  %count = get i64 %places[2]
  %less = sub i64 %count, 1
  %most = call i64 @llvm.smin.i64(i64 %eager, i64 GATHERED_MOST)
  %are_few = icmp ult i64 %less, %most
  %are_positions = and i1 %are_longs, %are_few
  br i1 %are_positions, label %memory, label %drop_positions
memory:
  %kept = call ptr @line_at_hand(ptr %self, ptr %own)
  %is_away = icmp eq ptr %kept, null
  br i1 %is_away, label %drop_positions, label %own_kind
own_kind:
  %dtype = call ptr @dtype_at_hand(ptr %self)
  %is_known = icmp ne ptr %dtype, null
  %bytes = get i64 %own[3]
  %is_word = icmp ule i64 %bytes, 8
  %can = and i1 %is_known, %is_word
  br i1 %can, label %make, label %drop
make:
  %length_at = getelementptr i64, ptr %places, i64 2
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 1, ptr %length_at, ptr null, ptr null,
                          i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %gather
gather:
  %to = get ptr %made[DATA]
  %is_done = call i1 @gather(ptr %to, ptr %own, ptr %places)
  br i1 %is_done, label %drop, label %undo
undo:
  call void @Py_DecRef(ptr %made)
  br label %drop
drop:
  %found = phi ptr [ null, %own_kind ], [ null, %make ], [ %made, %gather ], [ null, %undo ]
  call void @Py_DecRef(ptr %kept)
  br label %drop_positions
drop_positions:
  %array = phi ptr [ null, %kind ], [ null, %memory ], [ %found, %drop ]
  call void @Py_DecRef(ptr %positions_kept)
  %has_none = icmp eq ptr %array, null
  br i1 %has_none, label %no, label %wrap
wrap:
  %none = call ptr @none()
  %result = call ptr @wrapped(ptr %array, ptr %none)
  ret ptr %result
no:
  ret ptr null
}

define internal i1 @gather(ptr %to, ptr %own, ptr %places) {
  %from = get ptr %own[0]
  %step = get i64 %own[1]
  %length = get i64 %own[2]
  %bytes = get i64 %own[3]
  %at = get ptr %places[0]
  %places_step = get i64 %places[1]
  %count = get i64 %places[2]
  switch i64 %bytes, label %by_64 [ i64 1, label %by_8  i64 2, label %by_16  i64 4, label %by_32 ]
"""
    + "".join(
        f"by_{bits}:\n  %done_{bits} = call i1 @gather_{bits}(ptr %to, ptr %from, i64 %step, "
        "i64 %length, ptr %at, i64 %places_step, i64 %count)\n"
        f"  ret i1 %done_{bits}\n"
        for bits in (8, 16, 32, 64)
    )
    + """}

; stores where the elements of an array of ours with one axis begin, how many bytes they are apart,
; how many there are and their bytes; gives what keeps them there, with a reference. Null for
; others
define internal ptr @line_at_hand(ptr %object, ptr %line) {
  %is_large = call i1 @is_engines(ptr %object)
  br i1 %is_large, label %engine, label %small
small:
  %host = call ptr @part(ptr %object, i64 T_HOST)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %no, label %axes
axes:
  %nd = get i32 %host[ND]
  %is_one = icmp eq i32 %nd, 1
  %flags = get i32 %host[ARRAY_FLAGS]
  %flag = and i32 %flags, ALIGNED_FLAG
  %is_aligned = icmp ne i32 %flag, 0
  %is_native = call i1 @has_known_dtype(ptr %host)
  %is_line = and i1 %is_one, %is_aligned
  %can = and i1 %is_line, %is_native
  br i1 %can, label %of_numpys, label %no
of_numpys:
  %extents = get ptr %host[DIMENSIONS]
  %steps = get ptr %host[STRIDES]
  %data = get ptr %host[DATA]
  %step = load i64, ptr %steps
  %extent = load i64, ptr %extents
  %descr = get ptr %host[DESCR]
  %own_bytes = get i64 %descr[ELEMENT_SIZE]
  put ptr %data, %line[0]
  put i64 %step, %line[1]
  put i64 %extent, %line[2]
  put i64 %own_bytes, %line[3]
  call void @Py_IncRef(ptr %host)
  ret ptr %host
engine:
  %layout = call ptr @get(ptr %object, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %own_axes = call i64 @tuple_size(ptr %shape)
  %is_row = icmp eq i64 %own_axes, 1
  br i1 %is_row, label %memory, label %no
memory:
  %buffer = call ptr @settled_memory(ptr %object)
  %is_pending = icmp eq ptr %buffer, null
  br i1 %is_pending, label %no, label %of_engine
of_engine:
  %node = call ptr @memory(ptr %object)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %bytes = call i64 @item_bytes(ptr %code)
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %begin = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %length = call i64 @number_at(ptr %shape, i64 0)
  %stride = call i64 @number_at(ptr %strides, i64 0)
  %apart = mul i64 %stride, %bytes
  put ptr %begin, %line[0]
  put i64 %apart, %line[1]
  put i64 %length, %line[2]
  put i64 %bytes, %line[3]
  ret ptr %buffer
no:
  ret ptr null
}

; the dtype of such an array; null for those that are not known
define internal ptr @dtype_at_hand(ptr %object) {
  %host = call ptr @part(ptr %object, i64 T_HOST)
  %is_large = icmp eq ptr %host, null
  br i1 %is_large, label %engine, label %small
small:
  %own = get ptr %host[DESCR]
  ret ptr %own
engine:
  %node = call ptr @memory(ptr %object)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %dtype = call ptr @dtype_of(ptr %code)
  ret ptr %dtype
}
"""
)
