"""Running the kernel of a recording on the arrays of a call, as LLVM text; see `replay.py`."""

from __future__ import annotations

HEAD = """\
@table = internal global [TABLE_WORDS x i64] zeroinitializer
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i32 @PyObject_IsTrue(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyCell_Get(ptr)
declare ptr @PyObject_GenericGetDict(ptr)
declare ptr @PyDict_Keys(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLong(i64)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_ExceptionMatches(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare double @llvm.fabs.f64(double)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare i64 @PyThread_get_thread_ident()
declare ptr @PyObject_GetItem(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare void @PyErr_Clear()
declare ptr @PyErr_NoMemory()
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define ptr @lf_open() {
  ret ptr @table
}

; what an object keeps at a place of the table
define internal ptr @part(ptr %object, i64 %place) {
  %offset = get i64 @table[%place]
  %at = getelementptr i8, ptr %object, i64 %offset
  %part = load ptr, ptr %at
  ret ptr %part
}

define internal ptr @call_one(ptr %callable, ptr %value) {
  %given = alloca ptr
  store ptr %value, ptr %given
  %result = call ptr @PyObject_Vectorcall(ptr %callable, ptr %given, i64 1, ptr null)
  ret ptr %result
}

; drop what a run of places refers to
define internal void @release(ptr %places, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %drop ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %drop
drop:
  %object = get ptr %places[%i]
  call void @Py_DecRef(ptr %object)
  put ptr null, %places[%i]
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}
"""

LAUNCH = """
; new arrays, or memory of the engine, for the results and between kernels; false for an exception
define internal i1 @allocate(ptr %entry, ptr %outputs) {
  %count = get i64 %entry[MEMORY_COUNT]
  %begin = get ptr %entry[OUTPUTS]
  %given = alloca [2 x ptr]
  %empty = get ptr @table[EMPTY]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %made ]
  %output = phi ptr [ %begin, %0 ], [ %output_after, %made ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %make
make:
  %shape = get ptr %output[OUTPUT_SHAPE]
  %dtype = get ptr %output[OUTPUT_DTYPE]
  %is_memory = icmp eq ptr %dtype, null
  br i1 %is_memory, label %memory, label %array
memory:
  %allocator = get ptr @table[ALLOCATE]
  %buffer = call ptr @call_one(ptr %allocator, ptr %shape)
  br label %look
array:
  put ptr %shape, %given[0]
  put ptr %dtype, %given[1]
  %new = call ptr @PyObject_Vectorcall(ptr %empty, ptr %given, i64 2, ptr null)
  br label %look
look:
  %object = phi ptr [ %buffer, %memory ], [ %new, %array ]
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %fail, label %made
made:
  put ptr %object, %outputs[%i]
  %after = add i64 %i, 1
  %output_after = getelementptr i64, ptr %output, i64 OUTPUT_WORDS
  br label %next
done:
  ret i1 true
fail:
  ret i1 false
}

; write the parameters of a participant: those that are known, the addresses of operands and of
; its scratch memory, and scalars of this call
define internal void @fill(ptr %launch, ptr %block, ptr %hosts, ptr %outputs, ptr %scratch,
                           ptr %values) {
  %words = get i64 %launch[BLOCK_WORDS]
  %template = get ptr %launch[BLOCK]
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k_after, %copy ]
  %is_copied = icmp sge i64 %k, %words
  br i1 %is_copied, label %operands, label %copy
copy:
  %word = get i64 %template[%k]
  put i64 %word, %block[%k]
  %k_after = add i64 %k, 1
  br label %each
operands:
  %count = get i64 %launch[OPERAND_COUNT]
  %begin = get ptr %launch[OPERANDS]
  br label %next
next:
  %i = phi i64 [ 0, %operands ], [ %after, %write ]
  %operand = phi ptr [ %begin, %operands ], [ %operand_after, %write ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %scalars, label %look
look:
  %slot = get i64 %operand[OPERAND_SLOT]
  %offset = get i64 %operand[OPERAND_OFFSET]
  %number = get i64 %operand[OPERAND_NUMBER]
  %role = get i64 %operand[OPERAND_ROLE]
  %is_scratch = icmp eq i64 %role, OF_SCRATCH
  br i1 %is_scratch, label %write, label %given
given:
  %is_result = and i64 %role, OF_RESULT
  %is_argument = icmp eq i64 %is_result, 0
  %objects = select i1 %is_argument, ptr %hosts, ptr %outputs
  %object = get ptr %objects[%number]
  %is_memory = and i64 %role, OF_MEMORY
  %is_array = icmp eq i64 %is_memory, 0
  br i1 %is_array, label %array, label %memory
array:
  %data_of = get ptr %object[DATA]
  br label %write
memory:
  %pointer = call ptr @part(ptr %object, i64 POINTER)
  %pointer_value = call i64 @PyLong_AsUnsignedLongLong(ptr %pointer)
  %begins = inttoptr i64 %pointer_value to ptr
  br label %write
write:
  %data = phi ptr [ %scratch, %look ], [ %data_of, %array ], [ %begins, %memory ]
  %address = getelementptr i8, ptr %data, i64 %offset
  put ptr %address, %block[%slot]
  %after = add i64 %i, 1
  %operand_after = getelementptr i64, ptr %operand, i64 OPERAND_WORDS
  br label %next
scalars:
  %value_count = get i64 %launch[VALUE_COUNT]
  %value_begin = get ptr %launch[VALUES]
  br label %another
another:
  %j = phi i64 [ 0, %scalars ], [ %j_after, %put ]
  %value = phi ptr [ %value_begin, %scalars ], [ %value_after, %put ]
  %is_written = icmp sge i64 %j, %value_count
  br i1 %is_written, label %done, label %put
put:
  %value_slot = get i64 %value[VALUE_SLOT]
  %value_number = get i64 %value[VALUE_SCALAR]
  %bits = get i64 %values[%value_number]
  put i64 %bits, %block[%value_slot]
  %j_after = add i64 %j, 1
  %value_after = getelementptr i64, ptr %value, i64 VALUE_WORDS
  br label %another
done:
  ret void
}

; run a kernel on these arrays: the conditions met, as the CPU's flags; -1 for an exception
define internal i64 @launch(ptr %launch, ptr %hosts, ptr %outputs, ptr %values) {
  %nbytes = get i64 %launch[SCRATCH_BYTES]
  %participants = get i64 %launch[PARTICIPANTS]
  %is_bare = icmp eq i64 %nbytes, 0
  br i1 %is_bare, label %ready, label %allocate
allocate:
  %needed = mul i64 %nbytes, %participants
  %with_room = add i64 %needed, 64
  %memory = call ptr @PyMem_RawMalloc(i64 %with_room)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %fail, label %ready
fail:
  %nothing = call ptr @PyErr_NoMemory()
  ret i64 -1
ready:
  %scratch = phi ptr [ null, %0 ], [ %memory, %allocate ]
  %address = ptrtoint ptr %scratch to i64
  %above = add i64 %address, 63
  %aligned = and i64 %above, -64
  %scratch_begin = inttoptr i64 %aligned to ptr
  %words = get i64 %launch[BLOCK_WORDS]
  %total = mul i64 %words, %participants
  %new = alloca i64, i64 %total
  %known = get ptr %launch[BLOCK]
  %is_known = icmp eq i64 %words, 0
  %blocks = select i1 %is_known, ptr %known, ptr %new
  br label %next
next:
  %i = phi i64 [ 0, %ready ], [ %after, %fill ]
  %is_over = icmp sge i64 %i, %participants
  br i1 %is_over, label %filled, label %fill
fill:
  %place = mul i64 %i, %words
  %block = getelementptr i64, ptr %blocks, i64 %place
  %bytes_before = mul i64 %i, %nbytes
  %own = getelementptr i8, ptr %scratch_begin, i64 %bytes_before
  call void @fill(ptr %launch, ptr %block, ptr %hosts, ptr %outputs, ptr %own, ptr %values)
  %after = add i64 %i, 1
  br label %next
filled:
  %flags = alloca i64
  store i64 0, ptr %flags
  call void @run_job(ptr %launch, ptr %blocks, ptr %flags)
  call void @PyMem_RawFree(ptr %scratch)
  %met = load i64, ptr %flags
  %mask = get i64 @table[CONDITIONS]
  %relevant = and i64 %met, %mask
  ret i64 %relevant
}

; launch a kernel with these parameters, without the GIL if it takes long
define internal void @run_job(ptr %launch, ptr %blocks, ptr %flags) {
  %known = get ptr %launch[JOB]
  %is_new = icmp eq ptr %known, null
  br i1 %is_new, label %make, label %own
own:
  call void @run_known(ptr %launch, ptr %known)
  %flags_at = get ptr %known[JOB_FLAGS]
  %met = load i32, ptr %flags_at
  store i32 0, ptr %flags_at
  store i32 %met, ptr %flags
  ret void
make:
  %job = alloca [JOB_WORDS x i64]
  %kernel = get ptr %launch[KERNEL]
  put ptr %kernel, %job[JOB_KERNEL]
  put ptr %blocks, %job[JOB_PARAMS]
  %participants = get i64 %launch[PARTICIPANTS]
  %is_one = icmp eq i64 %participants, 1
  %words = get i64 %launch[BLOCK_WORDS]
  %nbytes = mul i64 %words, 8
  %stride = select i1 %is_one, i64 0, i64 %nbytes
  put i64 %stride, %job[JOB_STRIDE]
  %end = get i64 %launch[END]
  put i64 %end, %job[JOB_END]
  %grain = get i64 %launch[GRAIN]
  put i64 %grain, %job[JOB_GRAIN]
  %helpers = get i64 %launch[STEP_HELPERS]
  put i64 %helpers, %job[JOB_HELPERS]
  %wakes = get i64 %launch[STEP_WAKES]
  put i64 %wakes, %job[JOB_WAKES]
  put ptr %flags, %job[JOB_FLAGS]
  put ptr null, %job[JOB_NEXT]
  call void @run_known(ptr %launch, ptr %job)
  ret void
}

define internal void @run_known(ptr %launch, ptr %job) {
  %launcher = get ptr @table[LAUNCHER]
  %is_long = get i64 %launch[IS_LONG]
  %shares = icmp ne i64 %is_long, 0
  br i1 %shares, label %apart, label %here
here:
  call void %launcher(ptr %job)
  ret void
apart:
  %state = call ptr @PyEval_SaveThread()
  call void %launcher(ptr %job)
  call void @PyEval_RestoreThread(ptr %state)
  ret void
}

; run all kernels of an entry, as above
define internal i64 @launches(ptr %entry, ptr %hosts, ptr %outputs, ptr %values) {
  %count = get i64 %entry[STEP_COUNT]
  %begin = get ptr %entry[STEPS]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %ran ]
  %met = phi i64 [ 0, %0 ], [ %all, %ran ]
  %launch = phi ptr [ %begin, %0 ], [ %launch_after, %ran ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %run
run:
  %one = call i64 @launch(ptr %launch, ptr %hosts, ptr %outputs, ptr %values)
  %all = or i64 %met, %one
  %failed = icmp slt i64 %one, 0
  br i1 %failed, label %fail, label %ran
ran:
  %after = add i64 %i, 1
  %launch_after = getelementptr i64, ptr %launch, i64 STEP_WORDS
  br label %next
done:
  ret i64 %met
fail:
  ret i64 -1
}
"""
