"""Reductions of a few hundred elements to one, as LLVM text; see `methods_quick_text.py`. Their
loops are in the module of `rows_text.py`.

Each gives NumPy's bits: sums are pairwise, in its tree. Where the result is a NaN, or an extreme
is a zero, both of which have two signs, and where a floating point condition is met, NumPy is
asked. Means and
variances take the steps of NumPy's `_methods.py`.

Source: numpy/_core/src/umath/loops_utils.h.src, `pairwise_sum`.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu.methods_counts_text import COUNTS

#: LLVM's types of the kinds of elements, and its intrinsics' names for them.
_REALS = {"double": "f64", "float": "f32"}
_KIND = {"double": "DOUBLE", "float": "SINGLE", "i64": "LONG", "i8": "BOOL"}
#: What is reduced to, by name: the loops for doubles, singles, int64 and bool.
FOLDS: Mapping[str, tuple[str, ...]] = {
    "sum": ("double", "float", "i64", "i8"),
    "mean": ("double", "float"),
    "max": ("double", "float", "i64"),
    "min": ("double", "float", "i64"),
    "var": ("double", "float"),
    "std": ("double", "float"),
    "any": ("i8",),
    "all": ("i8",),
}


def loops() -> str:
    """The functions NAME_TYPE, before short forms are written out: those of `FOLDS`, and what they
    need."""
    parts = [_REAL.format(type_=type_, intrinsic=name) for type_, name in _REALS.items()]
    for name, greater in (("max", "gt"), ("min", "lt")):
        for type_ in (*_REALS, "i64"):
            compare = f"icmp s{greater}" if type_ == "i64" else f"fcmp o{greater}"
            parts.append(_extreme(name, type_, compare))
    return "".join((*parts, COUNTS))


def text() -> str:
    """The functions `fold_NAME`, before short forms are written out."""
    parts = [_HEAD]
    for name, types in FOLDS.items():
        loops = {_KIND[type_].lower(): f"@{name}_{type_}" for type_ in types}
        given = {kind.lower(): loops.get(kind.lower(), "null") for kind in _KIND.values()}
        parts.append(_FOLD.format(name=name, **given))
    return "".join(parts)


def _extreme(name: str, type_: str, compare: str) -> str:
    is_real = type_ in _REALS
    return _EXTREME.format(
        name=name, type_=type_, compare=compare,
        is_nan=f"fcmp uno <8 x {type_}> %x, %x" if is_real else "icmp ne <8 x i64> %x, %x",
        is_one_nan=f"fcmp uno {type_} %one, %one" if is_real else "icmp ne i64 %one, %one",
        is_zero=f"fcmp oeq {type_} %last, 0.0" if is_real else "icmp ne i64 %last, %last",
    )  # fmt: skip


_HEAD = """
; one of NumPy's scalars, or null where NumPy is to be asked
define internal ptr @folded(ptr %self, ptr %doubles, ptr %singles, ptr %longs, ptr %bools) {
  %host = call ptr @quick_operand(ptr %self)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %other, label %small
small:
  %of_small = call ptr @folded_array(ptr %host, ptr %doubles, ptr %singles, ptr %longs, ptr %bools)
  ret ptr %of_small
other:
  %window = call ptr @few_at_hand(ptr %self)
  %has_none = icmp eq ptr %window, null
  br i1 %has_none, label %no, label %part
part:
  %of_part = call ptr
    @folded_array(ptr %window, ptr %doubles, ptr %singles, ptr %longs, ptr %bools)
  call void @Py_DecRef(ptr %window)
  ret ptr %of_part
no:
  ret ptr null
}

; a window of a few elements of computed memory, with a reference, where such are computed at once;
; null for others
define internal ptr @few_at_hand(ptr %object) {
  %options = call ptr @options_now()
  %known = get ptr @state[SIZE_OPTIONS]
  %are_known = icmp eq ptr %options, %known
  %eager = get i64 @state[EAGER_SIZE]
  %is_at_once = icmp sgt i64 %eager, 0
  %may = and i1 %are_known, %is_at_once
  br i1 %may, label %look, label %no
look:
  %most = mul i64 QUICK_MOST, OPENS_UNIT
  %opens = or i64 %most, OPENS_OWN
  %made = call ptr @part_opened(ptr %object, i64 %opens, i64 OPENS_OWN)
  ret ptr %made
no:
  ret ptr null
}

; the same of an array of NumPy's; a loop gives false where NumPy is to be asked
define internal ptr @folded_array(ptr %host, ptr %doubles, ptr %singles, ptr %longs, ptr %bools) {
  %room = alloca [2 x i64], align 16
  %dtype = call ptr @quick_dtype(ptr %host)
  %is_other = icmp eq ptr %dtype, null
  br i1 %is_other, label %no, label %array
array:
  %is_dense = call i1 @is_in_rows(ptr %host)
  br i1 %is_dense, label %kind, label %no
kind:
  %bool = get ptr @state[DTYPE_BOOL]
  %is_bool = icmp eq ptr %dtype, %bool
  %other_loop = call ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs)
  %loop = select i1 %is_bool, ptr %bools, ptr %other_loop
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %no, label %run
run:
  %data = get ptr %host[DATA]
  %count = call i64 @elements(ptr %host)
  %control = call i32 @quick_control()
  OPENS
  %is_fine = call i1 %loop(ptr %data, i64 %count, ptr %room)
  CLOSES
  %is_told = call i1 @is_told(i32 %bits)
  %is_quiet = xor i1 %is_told, true
  %is_done = and i1 %is_fine, %is_quiet
  br i1 %is_done, label %give, label %no
give:
  %counts = icmp eq ptr %loop, @sum_i8
  %long = get ptr @state[DTYPE_LONG]
  %given_dtype = select i1 %counts, ptr %long, ptr %dtype
  %maker = call ptr @object(i64 T_NEW_SCALAR)
  %scalar = call ptr %maker(ptr %room, ptr %given_dtype, ptr null)
  %failed = icmp eq ptr %scalar, null
  br i1 %failed, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %no
done:
  ret ptr %scalar
no:
  ret ptr null
}
"""

_FOLD = """
define internal ptr @fold_{name}(ptr %self) {{
  %found = call ptr
    @folded(ptr %self, ptr {double}, ptr {single}, ptr {long}, ptr {bool})
  ret ptr %found
}}
"""

_REAL = """
; the pairwise sum
define internal {type_} @pairwise_{type_}(ptr %data, i64 %count) {{
  %is_short = icmp slt i64 %count, 8
  br i1 %is_short, label %tail, label %long
long:
  %is_split = icmp sgt i64 %count, 128
  br i1 %is_split, label %split, label %block
split:
  %half = lshr i64 %count, 1
  %left_count = and i64 %half, -8
  %right_count = sub i64 %count, %left_count
  %right_at = getelementptr {type_}, ptr %data, i64 %left_count
  %left = call {type_} @pairwise_{type_}(ptr %data, i64 %left_count)
  %right = call {type_} @pairwise_{type_}(ptr %right_at, i64 %right_count)
  %both = fadd {type_} %left, %right
  ret {type_} %both
block:
  %first = load <8 x {type_}>, ptr %data, align 4
  br label %next
next:
  %i = phi i64 [ 8, %block ], [ %end, %step ]
  %sums = phi <8 x {type_}> [ %first, %block ], [ %more, %step ]
  %end = add i64 %i, 8
  %fits = icmp sle i64 %end, %count
  br i1 %fits, label %step, label %join
step:
  %at = getelementptr {type_}, ptr %data, i64 %i
  %x = load <8 x {type_}>, ptr %at, align 4
  %more = fadd <8 x {type_}> %sums, %x
  br label %next
join:
  %a = extractelement <8 x {type_}> %sums, i64 0
  %b = extractelement <8 x {type_}> %sums, i64 1
  %c = extractelement <8 x {type_}> %sums, i64 2
  %d = extractelement <8 x {type_}> %sums, i64 3
  %e = extractelement <8 x {type_}> %sums, i64 4
  %f = extractelement <8 x {type_}> %sums, i64 5
  %g = extractelement <8 x {type_}> %sums, i64 6
  %h = extractelement <8 x {type_}> %sums, i64 7
  %ab = fadd {type_} %a, %b
  %cd = fadd {type_} %c, %d
  %ef = fadd {type_} %e, %f
  %gh = fadd {type_} %g, %h
  %abcd = fadd {type_} %ab, %cd
  %efgh = fadd {type_} %ef, %gh
  %joined = fadd {type_} %abcd, %efgh
  br label %tail
tail:
  %begin = phi i64 [ 0, %0 ], [ %i, %join ]
  %start = phi {type_} [ -0.0, %0 ], [ %joined, %join ]
  br label %last
last:
  %j = phi i64 [ %begin, %tail ], [ %after, %one ]
  %sum = phi {type_} [ %start, %tail ], [ %added, %one ]
  %is_over = icmp sge i64 %j, %count
  br i1 %is_over, label %done, label %one
one:
  %one_at = getelementptr {type_}, ptr %data, i64 %j
  %y = load {type_}, ptr %one_at, align 4
  %added = fadd {type_} %sum, %y
  %after = add i64 %j, 1
  br label %last
done:
  ret {type_} %sum
}}

; NumPy adds it to its identity, 0
define internal {type_} @total_{type_}(ptr %data, i64 %count) {{
  %sum = call {type_} @pairwise_{type_}(ptr %data, i64 %count)
  %total = fadd {type_} 0.0, %sum
  ret {type_} %total
}}

define internal i1 @sum_{type_}(ptr %data, i64 %count, ptr %out) {{
  %sum = call {type_} @total_{type_}(ptr %data, i64 %count)
  store {type_} %sum, ptr %out
  %is_number = fcmp ord {type_} %sum, %sum
  ret i1 %is_number
}}

define internal i1 @mean_{type_}(ptr %data, i64 %count, ptr %out) {{
  %sum = call {type_} @total_{type_}(ptr %data, i64 %count)
  %size = sitofp i64 %count to {type_}
  %mean = fdiv {type_} %sum, %size
  store {type_} %mean, ptr %out
  %is_number = fcmp ord {type_} %mean, %mean
  ret i1 %is_number
}}

define internal i1 @var_{type_}(ptr %data, i64 %count, ptr %out) {{
  %squares = alloca [QUICK_MOST x {type_}], align 64
  %known = call i1 @mean_{type_}(ptr %data, i64 %count, ptr %out)
  %mean = load {type_}, ptr %out
  %one_mean = insertelement <8 x {type_}> poison, {type_} %mean, i64 0
  %means = shufflevector <8 x {type_}> %one_mean, <8 x {type_}> poison,
    <8 x i32> zeroinitializer
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %end, %step ]
  %end = add i64 %i, 8
  %fits = icmp sle i64 %end, %count
  br i1 %fits, label %step, label %tail
step:
  %at = getelementptr {type_}, ptr %data, i64 %i
  %x = load <8 x {type_}>, ptr %at, align 4
  %rest = fsub <8 x {type_}> %x, %means
  %square = fmul <8 x {type_}> %rest, %rest
  %to = getelementptr {type_}, ptr %squares, i64 %i
  store <8 x {type_}> %square, ptr %to, align 4
  br label %next
tail:
  %j = phi i64 [ %i, %next ], [ %after, %one ]
  %is_over = icmp sge i64 %j, %count
  br i1 %is_over, label %done, label %one
one:
  %one_at = getelementptr {type_}, ptr %data, i64 %j
  %y = load {type_}, ptr %one_at, align 4
  %one_rest = fsub {type_} %y, %mean
  %one_square = fmul {type_} %one_rest, %one_rest
  %one_to = getelementptr {type_}, ptr %squares, i64 %j
  store {type_} %one_square, ptr %one_to, align 4
  %after = add i64 %j, 1
  br label %tail
done:
  %is_number = call i1 @mean_{type_}(ptr %squares, i64 %count, ptr %out)
  ret i1 %is_number
}}

define internal i1 @std_{type_}(ptr %data, i64 %count, ptr %out) {{
  %is_number = call i1 @var_{type_}(ptr %data, i64 %count, ptr %out)
  %var = load {type_}, ptr %out
  %std = call {type_} @llvm.sqrt.{intrinsic}({type_} %var)
  store {type_} %std, ptr %out
  ret i1 %is_number
}}
"""

_EXTREME = """
define internal i1 @{name}_{type_}(ptr %data, i64 %count, ptr %out) {{
  %lanes = alloca <8 x {type_}>, align 64
  %first = load {type_}, ptr %data, align 4
  %one_first = insertelement <8 x {type_}> poison, {type_} %first, i64 0
  %firsts = shufflevector <8 x {type_}> %one_first, <8 x {type_}> poison,
    <8 x i32> zeroinitializer
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %end, %step ]
  %best = phi <8 x {type_}> [ %firsts, %0 ], [ %better, %step ]
  %nans = phi <8 x i1> [ zeroinitializer, %0 ], [ %nans_now, %step ]
  %end = add i64 %i, 8
  %fits = icmp sle i64 %end, %count
  br i1 %fits, label %step, label %lanes_over
step:
  %at = getelementptr {type_}, ptr %data, i64 %i
  %x = load <8 x {type_}>, ptr %at, align 4
  %is_better = {compare} <8 x {type_}> %x, %best
  %better = select <8 x i1> %is_better, <8 x {type_}> %x, <8 x {type_}> %best
  %are_nans = {is_nan}
  %nans_now = or <8 x i1> %nans, %are_nans
  br label %next
lanes_over:
  store <8 x {type_}> %best, ptr %lanes, align 64
  %nan_bits = bitcast <8 x i1> %nans to i8
  %has_nans = icmp ne i8 %nan_bits, 0
  br i1 %has_nans, label %no, label %rest
rest:
  %left = sub i64 %count, %i
  %lanes_or_none = icmp sgt i64 %i, 0
  %of_lanes = select i1 %lanes_or_none, i64 8, i64 0
  %all = add i64 %left, %of_lanes
  br label %last_next
last_next:
  %j = phi i64 [ 0, %rest ], [ %after, %compared ]
  %last = phi {type_} [ %first, %rest ], [ %chosen, %compared ]
  %is_over = icmp sge i64 %j, %all
  br i1 %is_over, label %done, label %one_place
one_place:
  %is_lane = icmp slt i64 %j, %of_lanes
  %lane_at = getelementptr {type_}, ptr %lanes, i64 %j
  %past = sub i64 %j, %of_lanes
  %place = add i64 %i, %past
  %element_at = getelementptr {type_}, ptr %data, i64 %place
  %one_at = select i1 %is_lane, ptr %lane_at, ptr %element_at
  %one = load {type_}, ptr %one_at, align 4
  %is_one_nan = {is_one_nan}
  br i1 %is_one_nan, label %no, label %compared
compared:
  %one_better = {compare} {type_} %one, %last
  %chosen = select i1 %one_better, {type_} %one, {type_} %last
  %after = add i64 %j, 1
  br label %last_next
done:
  %is_zero = {is_zero}
  store {type_} %last, ptr %out
  %is_known = xor i1 %is_zero, true
  ret i1 %is_known
no:
  ret i1 false
}}
"""
