"""What arrays of the engine are asked for before most functions begin, as LLVM text; see
`methods.py`.

`np.shape(x)`, `np.ndim(x)`, `np.size(x)`, and what gives an array back that is as it is asked for:
`np.atleast_2d(x)`, `np.ascontiguousarray(x)`, `x.astype(float, copy=False)`.
"""

FORMS = """
; what a function that is called with an array of the engine alone knows of its form; null for
; others
define internal ptr @quick_form(ptr %maker, ptr %args, i64 %count, ptr %names) {
  %is_bare = icmp eq i64 %count, 1
  %has_no_words = icmp eq ptr %names, null
  %is_alone = and i1 %is_bare, %has_no_words
  br i1 %is_alone, label %look, label %no
look:
  %array = get ptr %args[0]
  %is_engines = call i1 @is_engines(ptr %array)
  br i1 %is_engines, label %which, label %no
which:
  %shapes = call ptr @object(i64 T_SHAPE_OF)
  %is_shape = icmp eq ptr %maker, %shapes
  br i1 %is_shape, label %shape, label %other
shape:
  %shape_found = call ptr @engine_shape(ptr %array)
  ret ptr %shape_found
other:
  %axes_of = call ptr @object(i64 T_NDIM_OF)
  %is_ndim = icmp eq ptr %maker, %axes_of
  br i1 %is_ndim, label %ndim, label %another
ndim:
  %ndim_found = call ptr @engine_ndim(ptr %array)
  ret ptr %ndim_found
another:
  %sizes = call ptr @object(i64 T_SIZE_OF)
  %is_size = icmp eq ptr %maker, %sizes
  br i1 %is_size, label %size, label %last
size:
  %size_found = call ptr @engine_size(ptr %array)
  ret ptr %size_found
last:
  %lines = call ptr @object(i64 T_LINES)
  %rows = call ptr @object(i64 T_ROWS)
  %is_line = icmp eq ptr %maker, %lines
  %is_rows = icmp eq ptr %maker, %rows
  %gives_back = or i1 %is_line, %is_rows
  br i1 %gives_back, label %axes, label %dense
dense:
  %denses = call ptr @object(i64 T_DENSE)
  %is_dense = icmp eq ptr %maker, %denses
  br i1 %is_dense, label %order, label %no
order:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %elements = call i64 @dense_count(ptr %layout)
  %is_in_order = icmp sgt i64 %elements, 0
  br i1 %is_in_order, label %axes, label %no
axes:
  %least = select i1 %is_rows, i64 2, i64 1
  %extents = call ptr @shape_of(ptr %array)
  %axes_there = call i64 @tuple_size(ptr %extents)
  %are_enough = icmp sge i64 %axes_there, %least
  br i1 %are_enough, label %give, label %no
give:
  call void @Py_IncRef(ptr %array)
  ret ptr %array
no:
  ret ptr null
}

; an array of the engine itself for `astype(dtype, copy=False)`, where it has that dtype; null for
; others
define internal ptr @quick_astype(ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_one = icmp eq i64 %count, 1
  %words = call i64 @count_of(ptr %names)
  %is_named = icmp eq i64 %words, 1
  %is_usual = and i1 %is_one, %is_named
  br i1 %is_usual, label %look, label %no
look:
  %name = call ptr @tuple_item(ptr %names, i64 0)
  %copy_name = call ptr @object(i64 T_COPY_NAME)
  %false = call ptr @object(i64 T_FALSE)
  %copies = get ptr %args[1]
  %is_copy = icmp eq ptr %name, %copy_name
  %is_not = icmp eq ptr %copies, %false
  %is_asked = and i1 %is_copy, %is_not
  %is_engines = call i1 @is_engines(ptr %self)
  %may = and i1 %is_asked, %is_engines
  br i1 %may, label %dtypes, label %no
dtypes:
  %asked = get ptr %args[0]
  %wanted = call ptr @dtype_asked(ptr %asked)
  %own = call ptr @dtype_in_engine(ptr %self)
  %has_it = icmp eq ptr %wanted, %own
  %is_known = icmp ne ptr %own, null
  %is_it = and i1 %has_it, %is_known
  br i1 %is_it, label %give, label %no
give:
  call void @Py_IncRef(ptr %self)
  ret ptr %self
no:
  ret ptr null
}
"""
