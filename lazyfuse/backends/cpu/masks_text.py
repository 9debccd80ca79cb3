"""What masks pick from arrays in one piece, as LLVM text; see `masks.py`.

Where a processor moves the lanes of a mask together (AVX-512), a vector is read at a time, packed,
and stored whole behind what is there, which later ones overwrite; elsewhere, and at the end, every
element is stored, and the place moves on where its mask is true. So there are no branches that
depend on values, and nothing is touched behind the last element that is
picked, nor behind the end, should another thread change a mask after it was counted.

Sources: VPCOMPRESSD/Q and VPEXPANDD/Q in Intel 64 and IA-32 Architectures Software Developer's
Manual, volume 2; Polychroniou, Raghavan and Ross, "Rethinking SIMD Vectorization for In-Memory
Databases", SIGMOD 2015, section 4 (selective stores and loads).
"""

from __future__ import annotations

from collections.abc import Mapping

#: Bytes of elements, with the type that is moved.
TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64", 16: "i128"}
#: Of those, lanes of a vector, where lanes can be packed.
LANES = {4: 16, 8: 8}
#: Dtypes of places.
PLACES = {4: "i32", 8: "i64"}

#: An element at a time: `single` moves it. Eight that are false are passed over together.
_SINGLE = """
rest:
  %i_begin = phi i64 {i_first}
  %k_begin = phi i64 {k_first}
  br label %next
next:
  %i_now = phi i64 [ %i_begin, %rest ], [ %i_eight, %look ], [ %i, %check ]
  %k_now = phi i64 [ %k_begin, %rest ], [ %k_now, %look ], [ %k, %check ]
  %are_all = icmp sge i64 %k_now, %count
  %is_end = icmp sge i64 %i_now, %size
  %is_over = or i1 %are_all, %is_end
  br i1 %is_over, label %done, label %bound
bound:
  %i_eight = add i64 %i_now, 8
  %are_eight = icmp sle i64 %i_eight, %size
  br i1 %are_eight, label %look, label %open
look:
  %eight_at = getelementptr i8, ptr %mask, i64 %i_now
  %eight = load i64, ptr %eight_at, align 1
  %are_none = icmp eq i64 %eight, 0
  br i1 %are_none, label %next, label %open
open:
  %less = call i64 @llvm.smin.i64(i64 %i_eight, i64 %size)
  br label %check
check:
  %i = phi i64 [ %i_now, %open ], [ %i_after, %step ]
  %k = phi i64 [ %k_now, %open ], [ %k_after, %step ]
  %is_inside = icmp slt i64 %i, %less
  %is_more = icmp slt i64 %k, %count
  %goes_on = and i1 %is_inside, %is_more
  br i1 %goes_on, label %step, label %next
step:
  %flag_at = getelementptr i8, ptr %mask, i64 %i
  %flag = load i8, ptr %flag_at
  %is_true = icmp ne i8 %flag, 0
  %one = zext i1 %is_true to i64
{single}
  %i_after = add i64 %i, 1
  %k_after = add i64 %k, %one
  br label %check
done:
  ret void
}}
"""
#: A vector at a time, while it cannot reach behind the end. Sixty-four that are false are passed
#: over together.
_PACKED = """
entry:
  br label %ask
ask:
  %p_now = phi i64 [ 0, %entry ], [ %p_far, %far ], [ %p, %again ]
  %q_now = phi i64 [ 0, %entry ], [ %q_now, %far ], [ %q, %again ]
  %q_next = add i64 %q_now, {lanes}
  %is_room = icmp sle i64 %q_next, %count
  br i1 %is_room, label %pass, label %rest
pass:
  %p_far = add i64 %p_now, 64
  %are_many = icmp sle i64 %p_far, %size
  br i1 %are_many, label %far, label %rest
far:
  %many_at = getelementptr i8, ptr %mask, i64 %p_now
  %many = load <8 x i64>, ptr %many_at, align 1
  %merged = call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> %many)
  %is_empty = icmp eq i64 %merged, 0
  br i1 %is_empty, label %ask, label %enter
enter:
  br label %again
again:
  %p = phi i64 [ %p_now, %enter ], [ %p_after, %pack ]
  %q = phi i64 [ %q_now, %enter ], [ %q_after, %pack ]
  %q_end = add i64 %q, {lanes}
  %fits = icmp sle i64 %q_end, %count
  %is_near = icmp slt i64 %p, %p_far
  %packs = and i1 %fits, %is_near
  br i1 %packs, label %pack, label %ask
pack:
  %flags_at = getelementptr i8, ptr %mask, i64 %p
  %flags = load <{lanes} x i8>, ptr %flags_at, align 1
  %are_true = icmp ne <{lanes} x i8> %flags, zeroinitializer
  %bits = bitcast <{lanes} x i1> %are_true to i{lanes}
  %ones = call i{lanes} @llvm.ctpop.i{lanes}(i{lanes} %bits)
  %wide_ones = zext i{lanes} %ones to i64
{vector}
  %p_after = add i64 %p, {lanes}
  %q_after = add i64 %q, %wide_ones
  br label %again
"""
#: Where vectors leave off.
_LEFT = "[ {0}, %ask ], [ {0}, %pass ]"
_START = """
entry:
  br label %rest
"""
_INTRINSIC = "<{lanes} x {type}> @llvm.x86.avx512.mask.{name}.v{lanes}{type}"

_PICK = (
    """define void @lf_pick_{bytes}(ptr %values, ptr %mask, ptr noalias %out, i64 %count,
                              i64 %size) {{""",
    """\
  %value_at = getelementptr {type}, ptr %values, i64 %i
  %value = load {type}, ptr %value_at, align 1
  %out_at = getelementptr {type}, ptr %out, i64 %k
  store {type} %value, ptr %out_at, align 1""",
    """\
  %values_at = getelementptr {type}, ptr %values, i64 %p
  %all = load <{lanes} x {type}>, ptr %values_at, align 1
  %packed = call {compress}(<{lanes} x {type}> %all, <{lanes} x {type}> zeroinitializer,
                            <{lanes} x i1> %are_true)
  %outs_at = getelementptr {type}, ptr %out, i64 %q
  store <{lanes} x {type}> %packed, ptr %outs_at, align 1""",
)
_LIST = (
    "define void @lf_list_{bytes}(ptr %mask, ptr noalias %out, i64 %count, i64 %size) {{",
    """\
  %place = {narrow} i64 %i{narrowed}
  %out_at = getelementptr {type}, ptr %out, i64 %k
  store {type} %place, ptr %out_at, align 1""",
    """\
  %first = {narrow} i64 %p{narrowed}
  %firsts = insertelement <{lanes} x {type}> poison, {type} %first, i32 0
  %begin = shufflevector <{lanes} x {type}> %firsts, <{lanes} x {type}> poison,
                         <{lanes} x i32> zeroinitializer
  %all = add <{lanes} x {type}> %begin, <{steps}>
  %packed = call {compress}(<{lanes} x {type}> %all, <{lanes} x {type}> zeroinitializer,
                            <{lanes} x i1> %are_true)
  %outs_at = getelementptr {type}, ptr %out, i64 %q
  store <{lanes} x {type}> %packed, ptr %outs_at, align 1""",
)
_PLACE = (
    """define void @lf_place_{bytes}(ptr %target, ptr %mask, ptr noalias %values, i64 %count,
                               i64 %size) {{""",
    """\
  %value_at = getelementptr {type}, ptr %values, i64 %k
  %value = load {type}, ptr %value_at, align 1
  %target_at = getelementptr {type}, ptr %target, i64 %i
  %old = load {type}, ptr %target_at, align 1
  %new = select i1 %is_true, {type} %value, {type} %old
  store {type} %new, ptr %target_at, align 1""",
    """\
  %values_at = getelementptr {type}, ptr %values, i64 %q
  %all = load <{lanes} x {type}>, ptr %values_at, align 1
  %targets_at = getelementptr {type}, ptr %target, i64 %p
  %olds = load <{lanes} x {type}>, ptr %targets_at, align 1
  %news = call {expand}(<{lanes} x {type}> %all, <{lanes} x {type}> %olds,
                        <{lanes} x i1> %are_true)
  store <{lanes} x {type}> %news, ptr %targets_at, align 1""",
)
#: Where a mask is true, one value: those of a vector by a masked store, which touches no others.
_FILL = """
define void @lf_fill_{bytes}(ptr %target, ptr %mask, ptr %value, i64 %size) {{
entry:
  %one = load {type}, ptr %value, align 1
{vectors}
rest:
  %begin = phi i64 {first}
  br label %next
next:
  %i = phi i64 [ %begin, %rest ], [ %i_after, %step ]
  %is_inside = icmp slt i64 %i, %size
  br i1 %is_inside, label %step, label %done
step:
  %flag_at = getelementptr i8, ptr %mask, i64 %i
  %flag = load i8, ptr %flag_at
  %is_true = icmp ne i8 %flag, 0
  %target_at = getelementptr {type}, ptr %target, i64 %i
  %old = load {type}, ptr %target_at, align 1
  %new = select i1 %is_true, {type} %one, {type} %old
  store {type} %new, ptr %target_at, align 1
  %i_after = add i64 %i, 1
  br label %next
done:
  ret void
}}
"""
_FILL_VECTORS = """\
  %all = {spread}
  br label %again
again:
  %p = phi i64 [ 0, %entry ], [ %p_after, %fill ]
  %p_after = add i64 %p, {elements}
  %fits = icmp sle i64 %p_after, %size
  br i1 %fits, label %fill, label %rest
fill:
  %flags_at = getelementptr i8, ptr %mask, i64 %p
  %flags = load <{elements} x i8>, ptr %flags_at, align 1
  %are_true = icmp ne <{elements} x i8> %flags, zeroinitializer
{doubled}
  %targets_at = getelementptr {type}, ptr %target, i64 %p
  call void @llvm.masked.store.v{lanes}{lane}.p0(
    <{lanes} x {lane}> %all, ptr %targets_at, i32 1, <{lanes} x i1> %{chosen})
  br label %again"""
_DOUBLED = """\
  %are_doubled = shufflevector <4 x i1> %are_true, <4 x i1> poison, <8 x i32>
    <i32 0, i32 0, i32 1, i32 1, i32 2, i32 2, i32 3, i32 3>"""
_SPREAD = """
define internal {kind} @spread_{bytes}({type} %one) alwaysinline {{
  %first = insertelement <{elements} x {type}> poison, {type} %one, i32 0
  %all = shufflevector <{elements} x {type}> %first, <{elements} x {type}> poison,
                       <{elements} x i32> zeroinitializer
  %lanes = bitcast <{elements} x {type}> %all to {kind}
  ret {kind} %lanes
}}
"""
_VECTOR_BYTES = 64
#: How many arguments they take.
FUNCTIONS: Mapping[str, int] = {
    **{f"lf_fill_{size}": 4 for size in TYPES},
    **{f"lf_pick_{size}": 5 for size in TYPES},
    **{f"lf_place_{size}": 5 for size in TYPES},
    **{f"lf_list_{size}": 4 for size in PLACES},
}


def text(*, packs: bool) -> str:
    """The module. `packs`: whether the processor has AVX-512."""
    parts = ["declare i64 @llvm.smin.i64(i64, i64)"]
    if packs:
        parts.append("declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)")
        for size, lanes in LANES.items():
            kind = f"<{lanes} x {TYPES[size]}>"
            for name in ("compress", "expand"):
                function = _INTRINSIC.format(lanes=lanes, type=TYPES[size], name=name)
                parts.append(f"declare {function}({kind}, {kind}, <{lanes} x i1>)")
            parts.append(f"declare i{lanes} @llvm.ctpop.i{lanes}(i{lanes})")
    for template, types in ((_PICK, TYPES), (_PLACE, TYPES), (_LIST, PLACES)):
        parts += [_function(template, size, packs=packs and size in LANES) for size in types]
    for size in TYPES:
        parts += _filling(size, packs=packs)
    return "\n".join(parts)


def _filling(size: int, *, packs: bool) -> list[str]:
    """`lf_fill`, and what it calls. Two lanes of a vector are one element of 16 bytes."""
    words = {"bytes": size, "type": TYPES[size]}
    if not packs:
        return [_FILL.format(**words, vectors="  br label %rest", first="[ 0, %entry ]")]
    elements, lane, lanes = (
        _VECTOR_BYTES // size,
        TYPES[min(size, 8)],
        _VECTOR_BYTES // min(size, 8),
    )
    kind = f"<{lanes} x {lane}>"
    vectors = _FILL_VECTORS.format(
        **words, elements=elements, lane=lane, lanes=lanes,
        spread=f"call {kind} @spread_{size}({TYPES[size]} %one)",
        doubled=_DOUBLED if size > 8 else "", chosen="are_doubled" if size > 8 else "are_true",
    )  # fmt: skip
    store = f"llvm.masked.store.v{lanes}{lane}.p0"
    return [
        *([f"declare void @{store}({kind}, ptr, i32, <{lanes} x i1>)"] if size <= 8 else []),
        _SPREAD.format(**words, kind=kind, elements=elements),
        _FILL.format(**words, vectors=vectors, first="[ %p, %again ]"),
    ]


def _function(template: tuple[str, str, str], size: int, *, packs: bool) -> str:
    head, single, vector = template
    words = {"bytes": size, "type": TYPES[size]}
    words |= {"narrow": "trunc", "narrowed": f" to {TYPES[size]}"}
    if size == 8:
        words |= {"narrow": "add", "narrowed": ", 0"}
    one = single.format(**words)
    if not packs:
        begin = "[ 0, %entry ]"
        rest = _SINGLE.format(i_first=begin, k_first=begin, single=one)
        return head.format(**words) + _START + rest
    lanes = LANES[size]
    words |= {
        "lanes": lanes,
        "steps": ", ".join(f"{TYPES[size]} {lane}" for lane in range(lanes)),
        **{
            name: _INTRINSIC.format(lanes=lanes, type=TYPES[size], name=name)
            for name in ("compress", "expand")
        },
    }
    packed = _PACKED.format(lanes=lanes, vector=vector.format(**words))
    i_first, k_first = _LEFT.format("%p_now"), _LEFT.format("%q_now")
    return (
        head.format(**words)
        + packed
        + _SINGLE.format(i_first=i_first, k_first=k_first, single=one)
    )
