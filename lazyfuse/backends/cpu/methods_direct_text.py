"""Kernels of single operations called on small arrays, as LLVM text; see `methods.py`.

A function has a chain of records of such kernels, each a row of words (`DIRECT`). They run on
arrays that are dense and lie alike, of which copies are made where they are small lines with gaps
(`methods_operands_text.py`); `frontend/direct.py` does so for all others, too.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.methods_operands_text import OPERANDS
from lazyfuse.backends.cpu.short_forms import numbered

#: The words of a record: the next one; the dtypes of the arrays and of the result; how they are
#: called (`FORMS`); the kernel; its parameters, of so many bytes; where in them, in words, are the
#: number of elements, the operands and the result; the picoseconds of an element, and the bytes of
#: a number.
DIRECT = numbered(
    "NEXT_RECORD", "OF_DTYPE", "RESULT_DTYPE", "FORM", "KERNEL", "BLOCK", "BLOCK_BYTES",
    "EXTENT_SLOT", "FIRST_SLOT", "SECOND_SLOT", "RESULT_SLOT", "PICOSECONDS", "NUMBER_BYTES",
    "DIRECT_WORDS",
)  # fmt: skip
#: One array; two; an array and a number; a number and an array.
FORMS = numbered("ALONE", "PAIR", "NUMBER_SECOND", "NUMBER_FIRST")

TEXT = (
    OPERANDS
    + """
declare ptr @PyEval_SaveThread()
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare void @PyEval_RestoreThread(ptr)

; a function by its own kernel; null where that cannot be done or somebody may want to hear of its
; conditions, and for an exception
define internal ptr @direct(ptr %self, ptr %args, i64 %count) {
  %arrays = alloca [2 x ptr]
  %number_at = alloca double
  %chain_object = call ptr @part(ptr %self, i64 T_KERNELS)
  %has_none = icmp eq ptr %chain_object, null
  br i1 %has_none, label %no, label %operands
operands:
  put ptr null, %arrays[1]
  %most = call i64 @reach(ptr %args, i64 %count)
  %has_raised = icmp slt i64 %most, 0
  br i1 %has_raised, label %no, label %take
take:
  %form = call i64 @form_of(ptr %args, i64 %count, ptr %arrays, ptr %number_at, i64 %most)
  %is_known = icmp sge i64 %form, 0
  br i1 %is_known, label %look, label %drop
look:
  %host = get ptr %arrays[0]
  %other = get ptr %arrays[1]
  %are_dense = call i1 @are_dense(ptr %host, ptr %other, i64 %most)
  br i1 %are_dense, label %find, label %drop
find:
  %chain = call ptr @PyLong_AsVoidPtr(ptr %chain_object)
  %record = call ptr @record_of(ptr %chain, ptr %host, i64 %form)
  %is_new = icmp eq ptr %record, null
  br i1 %is_new, label %drop, label %number
number:
  %value = load double, ptr %number_at
  %fits = call i1 @fits_dtype(ptr %record, i64 %form, double %value)
  br i1 %fits, label %team, label %drop
team:
  %is_there = call i1 @has_workers(ptr %record, ptr %host)
  br i1 %is_there, label %allocate, label %drop
allocate:
  %empty_like = call ptr @object(i64 T_EMPTY_LIKE)
  %like = alloca [2 x ptr]
  %dtype = get ptr %record[RESULT_DTYPE]
  put ptr %host, %like[0]
  put ptr %dtype, %like[1]
  %result = call ptr @PyObject_Vectorcall(ptr %empty_like, ptr %like, i64 2, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %drop, label %run
run:
  %met = call i64 @run_direct(ptr %record, ptr %arrays, i64 %form, double %value, ptr %result)
  %mask = get i64 @state[FLAG_MASK]
  %told = and i64 %met, %mask
  %is_quiet = icmp eq i64 %told, 0
  call void @drop_all(ptr %arrays, i64 2)
  br i1 %is_quiet, label %give, label %ask
ask:
  %is_nobodys = call i1 @is_nobodys(i64 %told)
  br i1 %is_nobodys, label %give, label %redo
give:
  %nd = get i32 %result[ND]
  %has_axes = icmp sgt i32 %nd, 0
  br i1 %has_axes, label %array, label %scalar
array:
  %made = call ptr @as_users(ptr %result)
  ret ptr %made
scalar:
  %found = call ptr @number_without_axes(ptr %result)
  ret ptr %found
redo:
  call void @Py_DecRef(ptr %result)
  br label %no
drop:
  call void @drop_all(ptr %arrays, i64 2)
  br label %no
no:
  ret ptr null
}

; NumPy's number in an array without axes, whose reference it takes
define internal ptr @number_without_axes(ptr %array) {
  %key = call ptr @PyTuple_New(i64 0)
  %failed = icmp eq ptr %key, null
  br i1 %failed, label %no, label %take
take:
  %number = call ptr @PyObject_GetItem(ptr %array, ptr %key)
  call void @Py_DecRef(ptr %key)
  call void @Py_DecRef(ptr %array)
  ret ptr %number
no:
  call void @Py_DecRef(ptr %array)
  ret ptr null
}

; whether nobody wants to hear of conditions, as of underflow by default; not for an exception
define internal i1 @is_nobodys(i64 %told) {
  %question = get ptr @state[ASK_FLAGS]
  %is_early = icmp eq ptr %question, null
  br i1 %is_early, label %no, label %ask
ask:
  %given = alloca ptr
  %bits = call ptr @PyLong_FromLongLong(i64 %told)
  %has_failed = icmp eq ptr %bits, null
  br i1 %has_failed, label %no, label %call
call:
  store ptr %bits, ptr %given
  %answer = call ptr @PyObject_Vectorcall(ptr %question, ptr %given, i64 1, ptr null)
  call void @Py_DecRef(ptr %bits)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %no, label %answered
answered:
  %heard = call i64 @PyLong_AsLongLong(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  %is_nobodys = icmp eq i64 %heard, 0
  ret i1 %is_nobodys
no:
  ret i1 false
}

; whether the workers are there, from now on, that may help under the options in force, and whose
; start is paid for by such a run; not for an exception
define internal i1 @has_workers(ptr %record, ptr %host) {
  %hired = get i64 @state[HIRED]
  %helpers = get i64 @state[HELPERS]
  %are_enough = icmp sge i64 %hired, %helpers
  br i1 %are_enough, label %yes, label %weigh
weigh:
  %size = call i64 @elements(ptr %host)
  %each = get i64 %record[PICOSECONDS]
  %picoseconds = mul i64 %size, %each
  %work = sdiv i64 %picoseconds, 1000
  %is_little = icmp slt i64 %work, NS_PER_THREAD
  br i1 %is_little, label %yes, label %hire
hire:
  %hiring = get ptr @state[HIRE]
  call void @ask(ptr %hiring)
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  ret i1 %is_fine
yes:
  ret i1 true
}

; the absolute value of complex numbers; null for others, and an exception
define internal ptr @modulus(ptr %array) {
  %operands = alloca [1 x ptr]
  put ptr %array, %operands[0]
  %ufuncs = call ptr @object(i64 T_UFUNCS)
  %absolute = call ptr @object(i64 T_ABSOLUTE)
  %own = call ptr @PyDict_GetItem(ptr %ufuncs, ptr %absolute)
  %is_unknown = icmp eq ptr %own, null
  br i1 %is_unknown, label %no, label %compute
compute:
  %made = call ptr @direct(ptr %own, ptr %operands, i64 1)
  ret ptr %made
no:
  ret ptr null
}

; the same as `direct` with `out=` as the only keyword, an array that is what the result is; it is
; given
define internal ptr @direct_into(ptr %self, ptr %args, i64 %count, ptr %names) {
  %words = call i64 @count_of(ptr %names)
  %is_one = icmp eq i64 %words, 1
  %is_free = call i1 @is_nothing_recorded()
  %is_usual = and i1 %is_one, %is_free
  br i1 %is_usual, label %word, label %no
word:
  %word_object = call ptr @tuple_item(ptr %names, i64 0)
  %out_word = call ptr @object(i64 T_OUT)
  %is_out = icmp eq ptr %word_object, %out_word
  br i1 %is_out, label %target, label %no
target:
  %out = get ptr %args[%count]
  %is_ours = call i1 @is(ptr %out, i64 T_CLASS)
  br i1 %is_ours, label %host, label %no
host:
  %own = call ptr @small_host(ptr %out)
  %is_large = icmp eq ptr %own, null
  br i1 %is_large, label %no, label %compute
compute:
  %made = call ptr @direct(ptr %self, ptr %args, i64 %count)
  %is_other = icmp eq ptr %made, null
  br i1 %is_other, label %drop_own, label %ask
ask:
  %is_array = call i1 @is(ptr %made, i64 T_CLASS)
  br i1 %is_array, label %look, label %drop
look:
  %result = call ptr @part(ptr %made, i64 T_HOST)
  %is_engines = icmp eq ptr %result, null
  br i1 %is_engines, label %drop, label %compare
compare:
  %alike = call i1 @alike(ptr %own, ptr %result)
  %dtype = get ptr %own[DESCR]
  %result_dtype = get ptr %result[DESCR]
  %same = icmp eq ptr %dtype, %result_dtype
  %flags = get i32 %own[ARRAY_FLAGS]
  %flag = and i32 %flags, 1024
  %is_writeable = icmp ne i32 %flag, 0
  %fits = and i1 %alike, %same
  %can = and i1 %fits, %is_writeable
  br i1 %can, label %write, label %drop
write:
  %all = call ptr @object(i64 T_ALL)
  %status = call i32 @PyObject_SetItem(ptr %own, ptr %all, ptr %result)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %drop, label %give
give:
  call void @Py_DecRef(ptr %made)
  call void @Py_DecRef(ptr %own)
  call void @Py_IncRef(ptr %out)
  ret ptr %out
drop:
  call void @Py_DecRef(ptr %made)
  br label %drop_own
drop_own:
  call void @Py_DecRef(ptr %own)
  br label %no
no:
  ret ptr null
}

define internal ptr @record_of(ptr %chain, ptr %host, i64 %form) {
  %dtype = get ptr %host[DESCR]
  br label %next
next:
  %record = phi ptr [ %chain, %0 ], [ %following, %look ]
  %is_over = icmp eq ptr %record, null
  br i1 %is_over, label %done, label %look
look:
  %following = get ptr %record[NEXT_RECORD]
  %known_dtype = get ptr %record[OF_DTYPE]
  %known_form = get i64 %record[FORM]
  %is_dtype = icmp eq ptr %known_dtype, %dtype
  %is_form = icmp eq i64 %known_form, %form
  %is_it = and i1 %is_dtype, %is_form
  br i1 %is_it, label %done, label %next
done:
  %found = phi ptr [ null, %next ], [ %record, %look ]
  ret ptr %found
}

; whether the dtype of a record takes a number without a word
define internal i1 @fits_dtype(ptr %record, i64 %form, double %value) {
  %has_number = icmp sge i64 %form, NUMBER_SECOND
  br i1 %has_number, label %look, label %yes
look:
  %bytes = get i64 %record[NUMBER_BYTES]
  %is_double = icmp eq i64 %bytes, 8
  %size = call double @llvm.fabs.f64(double %value)
  %is_number = fcmp ord double %value, 0.0
  %is_small = fcmp ole double %size, 1.0e38
  %fits = select i1 %is_double, i1 %is_number, i1 %is_small
  ret i1 %fits
yes:
  ret i1 true
}

; runs the kernel of a record; the conditions that were met, as the processor numbers them
define internal i64 @run_direct(ptr %record, ptr %arrays, i64 %form, double %value,
                                ptr %result) {
  %bytes = get i64 %record[BLOCK_BYTES]
  %block = alloca i8, i64 %bytes, align 64
  %template = get ptr %record[BLOCK]
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %template, i64 %bytes, i1 false)
  %host = get ptr %arrays[0]
  %size = call i64 @elements(ptr %host)
  %extent_slot = get i64 %record[EXTENT_SLOT]
  put i64 %size, %block[%extent_slot]
  %first_slot = get i64 %record[FIRST_SLOT]
  %second_slot = get i64 %record[SECOND_SLOT]
  %result_slot = get i64 %record[RESULT_SLOT]
  %result_data = get ptr %result[DATA]
  put ptr %result_data, %block[%result_slot]
  %data = get ptr %host[DATA]
  put ptr %data, %block[%first_slot]
  switch i64 %form, label %start [ i64 PAIR, label %pair
    i64 NUMBER_SECOND, label %number  i64 NUMBER_FIRST, label %number ]
pair:
  %other = get ptr %arrays[1]
  %other_data = get ptr %other[DATA]
  put ptr %other_data, %block[%second_slot]
  br label %start
number:
  %number_bytes = get i64 %record[NUMBER_BYTES]
  %is_double = icmp eq i64 %number_bytes, 8
  br i1 %is_double, label %double, label %single
double:
  put double %value, %block[%second_slot]
  br label %start
single:
  %narrow = fptrunc double %value to float
  put float %narrow, %block[%second_slot]
  br label %start
start:
  %flags_at = alloca i64
  store i64 0, ptr %flags_at
  %job = alloca [9 x i64], align 64
  call void @fill_job(ptr %job, ptr %record, ptr %block, i64 %size, ptr %flags_at)
  %launch = get ptr @state[LAUNCH]
  %is_long = icmp sgt i64 %size, 2048
  br i1 %is_long, label %released, label %held
held:
  call void %launch(ptr %job)
  br label %done
released:
  %thread = call ptr @PyEval_SaveThread()
  call void %launch(ptr %job)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
done:
  %flags = load i64, ptr %flags_at
  ret i64 %flags
}

; a job of `launch_text.py` for so many elements, in the shares of `launch.py`
define internal void @fill_job(ptr %job, ptr %record, ptr %block, i64 %size, ptr %flags) {
  %kernel = get ptr %record[KERNEL]
  %each = get i64 %record[PICOSECONDS]
  %picoseconds = mul i64 %size, %each
  %work = sdiv i64 %picoseconds, 1000
  %paid = sdiv i64 %work, NS_PER_THREAD
  %most = get i64 @state[HELPERS]
  %whole = add i64 %size, UNIT_ELEMENTS
  %up = sub i64 %whole, 1
  %units = sdiv i64 %up, UNIT_ELEMENTS
  %other_units = sub i64 %units, 1
  %some = call i64 @llvm.smin.i64(i64 %paid, i64 %most)
  %helpers = call i64 @llvm.smin.i64(i64 %some, i64 %other_units)
  %threads = add i64 %helpers, 1
  %shares = mul i64 %threads, RANGES_PER_THREAD
  %is_alone = icmp eq i64 %helpers, 0
  %ranges = select i1 %is_alone, i64 1, i64 %shares
  %above = add i64 %units, %ranges
  %rounded = sub i64 %above, 1
  %units_each = sdiv i64 %rounded, %ranges
  %grain = mul i64 %units_each, UNIT_ELEMENTS
  %is_work = icmp sge i64 %work, WAKE_NS
  %wakes = select i1 %is_work, i64 %helpers, i64 0
  put ptr %kernel, %job[0]
  put ptr %block, %job[1]
  put i64 0, %job[2]
  put i64 %size, %job[3]
  put i64 %grain, %job[4]
  put i64 %helpers, %job[5]
  put ptr %flags, %job[6]
  put ptr null, %job[7]
  put i64 %wakes, %job[8]
  ret void
}
"""
)
