"""What NumPy makes of large memory where the result is not, as LLVM text; see `methods.py`."""

from __future__ import annotations

from lazyfuse.ops.rules import LOOKED_AT, MADE, MOST
from lazyfuse.ops.shapes import MOST_AXES

#: The elements that a product has at most, as in `frontend/at_once.py`; those that are made of no
#: arrays; the extents of a shape.
SIZES = {
    "PRODUCT_MOST": MOST,
    "MADE_MOST": MADE,
    "SHAPE_MOST": MOST_AXES,
    "LOOKED_MOST": LOOKED_AT,
}

PRODUCT = """
declare i64 @llvm.smax.i64(i64, i64)

; the array of a small one, or one of all elements of one of the engine that is at hand, however
; many they are, with a reference; null for others, and for an exception
define internal ptr @host_or_memory(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %host = call ptr @small_host(ptr %object)
  %has_none = icmp eq ptr %host, null
  br i1 %has_none, label %memory, label %give
give:
  ret ptr %host
memory:
  %made = call ptr @window_of(ptr %object, i64 9223372036854775807, i32 0)
  ret ptr %made
no:
  ret ptr null
}

; the same, or one of NumPy's of a dtype of ours
define internal ptr @factor(ptr %object) {
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_numpys, label %numpys, label %ours
ours:
  %memory = call ptr @host_or_memory(ptr %object)
  ret ptr %memory
numpys:
  %is_known = call i1 @has_known_dtype(ptr %object)
  br i1 %is_known, label %give, label %no
give:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
no:
  ret ptr null
}

; a result of NumPy's of so many elements for the user: memory of the engine's, where they are
; many. Takes the reference
define internal ptr @small_or_adopted(ptr %value, i64 %size, ptr %objects) {
  %none = call ptr @none()
  %raised = icmp eq ptr %value, null
  %eager = call i64 @eager_size()
  %is_small = icmp sle i64 %size, %eager
  %stays = or i1 %raised, %is_small
  br i1 %stays, label %wrap, label %adopt
wrap:
  %wrapped = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %wrapped
adopt:
  %adopted = call ptr @adopted_or_lifted(ptr %value, ptr %objects, i64 2)
  ret ptr %adopted
}

; what NumPy's product gives for vectors and matrices in memory, where that is not very large
; (`frontend/at_once.py`); null where it is, and for an exception
define internal ptr @product(ptr %plain, ptr %self, ptr %other, i1 %is_reflected) {
  %given = alloca [2 x ptr]
  %objects = alloca [2 x ptr]
  put ptr %self, %objects[0]
  put ptr %other, %objects[1]
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %no, label %sizes
sizes:
  %most = call i64 @eager_size()
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %take, label %no
take:
  %a = call ptr @host_or_memory(ptr %self)
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %no, label %take_other
take_other:
  put ptr %a, %given[0]
  %b = call ptr @factor(ptr %other)
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %drop_one, label %shapes
drop_one:
  call void @Py_DecRef(ptr %a)
  br label %no
shapes:
  put ptr %b, %given[1]
  %left = select i1 %is_reflected, ptr %b, ptr %a
  %right = select i1 %is_reflected, ptr %a, ptr %b
  %size = call i64 @size_of_product(ptr %left, ptr %right)
  %less = sub i64 %size, 1
  %bound = call i64 @llvm.smax.i64(i64 %most, i64 PRODUCT_MOST)
  %is_small = icmp ult i64 %less, %bound
  br i1 %is_small, label %run, label %drop
run:
  %value = call ptr @PyObject_Vectorcall(ptr %plain, ptr %given, i64 2, ptr null)
  call void @drop_all(ptr %given, i64 2)
  %made = call ptr @small_or_adopted(ptr %value, i64 %size, ptr %objects)
  ret ptr %made
drop:
  call void @drop_all(ptr %given, i64 2)
  br label %no
no:
  ret ptr null
}

; a ufunc over whole vectors or matrices
define ptr @lf_product(ptr %self, ptr %args, i64 %count, ptr %names) {
  %numpys = call ptr @part(ptr %self, i64 T_UFUNC)
  %made = call ptr @small_call(ptr %numpys, ptr null, ptr %args, i64 %count, ptr %names,
                              i64 RULE_NONE)
  %is_large = icmp eq ptr %made, null
  br i1 %is_large, label %look, label %give
give:
  ret ptr %made
look:
  %matmul = call ptr @object(i64 T_MATMUL)
  %is_matmul = icmp eq ptr %numpys, %matmul
  %are_two = icmp eq i64 %count, 2
  %has_no_words = icmp eq ptr %names, null
  %is_plain = and i1 %are_two, %has_no_words
  %is_pair = and i1 %is_matmul, %is_plain
  br i1 %is_pair, label %factors, label %general
factors:
  %one = get ptr %args[0]
  %other = get ptr %args[1]
  %product = call ptr @product(ptr %numpys, ptr %one, ptr %other, i1 false)
  %is_other = icmp eq ptr %product, null
  br i1 %is_other, label %general, label %give_product
give_product:
  ret ptr %product
general:
  %python = call ptr @object(i64 T_PRODUCT)
  %result = call ptr @general(ptr %python, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}

; `self.dot(other)` of such, by NumPy's method; null for others, and for an exception
define internal ptr @dot_of_memory(ptr %plain, ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_one = icmp eq i64 %count, 1
  %has_none = icmp eq ptr %names, null
  %can = and i1 %is_one, %has_none
  br i1 %can, label %look, label %no
look:
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %run, label %no
run:
  %other = get ptr %args[0]
  %made = call ptr @product(ptr %plain, ptr %self, ptr %other, i1 false)
  ret ptr %made
no:
  ret ptr null
}

; how many elements the product of an array, along its last axis, and a vector or matrix has; 0 for
; others, and where they do not fit
define internal i64 @size_of_product(ptr %left, ptr %right) {
  %left_axes = get i32 %left[ND]
  %right_axes = get i32 %right[ND]
  %left_less = sub i32 %left_axes, 1
  %right_less = sub i32 %right_axes, 1
  %left_fits = icmp ult i32 %left_less, MOST_AXES
  %right_fits = icmp ult i32 %right_less, 2
  %both = and i1 %left_fits, %right_fits
  br i1 %both, label %inner, label %no
inner:
  %summed = call i64 @extent(ptr %left, i32 0)
  %is_vector = icmp eq i32 %right_axes, 1
  %from_last = select i1 %is_vector, i32 0, i32 1
  %summed_right = call i64 @extent(ptr %right, i32 %from_last)
  %is_same = icmp eq i64 %summed, %summed_right
  %are_any = icmp sgt i64 %summed, 0
  %may = and i1 %is_same, %are_any
  br i1 %may, label %outer, label %no
outer:
  %elements = call i64 @elements(ptr %left)
  %rows = sdiv i64 %elements, %summed
  %last = call i64 @extent(ptr %right, i32 0)
  %columns = select i1 %is_vector, i64 1, i64 %last
  %size = mul i64 %rows, %columns
  ret i64 %size
no:
  ret i64 0
}
"""

#: In the place of what puts a method off.
DOT = """
  %dot_plain = call ptr @object(i64 {plain})
  %dot = call ptr @dot_of_memory(ptr %dot_plain, ptr %self, ptr %args, i64 %count, ptr %names)
  %has_dot = icmp ne ptr %dot, null
  br i1 %has_dot, label %give_dot, label %ask_dot
give_dot:
  ret ptr %dot
ask_dot:
  %dot_error = call ptr @PyErr_Occurred()
  %has_dot_error = icmp ne ptr %dot_error, null
  br i1 %has_dot_error, label %fail_dot, label %no_dot
fail_dot:
  ret ptr null
no_dot:"""
