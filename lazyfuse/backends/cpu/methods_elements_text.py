"""Numbers that are written into computed memory of the engine, as LLVM text; see `methods.py`.

A number that the dtype holds as it is needs no NumPy: a Python float or a float64 in float64, an
integer in int64 that fits, or in float64 that is finite, a bool in bool; of one element also a
float in float32 and an integer in a narrow one, where they fit.
"""

from __future__ import annotations

from lazyfuse.backends.cpu import methods_listed_text, methods_regions_text

#: The bounds of what is written.
BOUNDS = {**methods_listed_text.BOUNDS, **methods_regions_text.BOUNDS}

ELEMENTS = (
    methods_regions_text.REGIONS
    + methods_listed_text.LISTED
    + """
; what is assigned, with a reference: a number, an array that is at hand, or NumPy's; null for
; others
define internal ptr @assigned_value(ptr %value) {
  %is_bool = call i1 @is(ptr %value, i64 T_BOOL)
  %is_long = call i1 @is(ptr %value, i64 T_INT_LONG)
  %is_whole = or i1 %is_bool, %is_long
  %is_numpys = call i1 @is(ptr %value, i64 T_NDARRAY)
  %is_more = or i1 %is_whole, %is_numpys
  br i1 %is_more, label %same, label %take
same:
  call void @Py_IncRef(ptr %value)
  ret ptr %value
take:
  %reach = call i64 @reach_of(ptr %value)
  %are_any = icmp sgt i64 %reach, 0
  %least = select i1 %are_any, i64 AT_ONCE, i64 0 ; which are written at once by Python as well
  %most = call i64 @llvm.smax.i64(i64 %reach, i64 %least)
  %taken = call ptr @taken(ptr %value, i64 %most)
  ret ptr %taken
}

; whether two arrays of NumPy's are the same elements in the same order, as what `x[1:3] += y`
; assigns last
define internal i1 @is_same_memory(ptr %a, ptr %b) {
  %a_data = get ptr %a[DATA]
  %b_data = get ptr %b[DATA]
  %is_there = icmp eq ptr %a_data, %b_data
  %is_alike = call i1 @alike(ptr %a, ptr %b)
  %may = and i1 %is_there, %is_alike
  br i1 %may, label %steps, label %no
steps:
  %axes = get i32 %a[ND]
  %a_steps = get ptr %a[STRIDES]
  %b_steps = get ptr %b[STRIDES]
  br label %next
next:
  %i = phi i32 [ 0, %steps ], [ %after, %look ]
  %is_over = icmp sge i32 %i, %axes
  br i1 %is_over, label %yes, label %look
look:
  %wide = sext i32 %i to i64
  %a_step = get i64 %a_steps[%wide]
  %b_step = get i64 %b_steps[%wide]
  %after = add i32 %i, 1
  %is_same = icmp eq i64 %a_step, %b_step
  br i1 %is_same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; where an element lies in a layout, for a key of as many integers as there are axes; -1 for other
; keys, and where one is out of bounds
define internal i64 @element_offset(ptr %layout, ptr %key) {
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %extents)
  %is_tuple = call i1 @is(ptr %key, i64 T_TUPLE)
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  %fits = icmp eq i64 %items, %axes
  br i1 %fits, label %begin, label %no
begin:
  %first = call i64 @number_at(ptr %layout, i64 2)
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %inside ]
  %at = phi i64 [ %first, %begin ], [ %at_after, %inside ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_integer = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_integer, label %integer, label %no
integer:
  %extent = call i64 @number_at(ptr %extents, i64 %i)
  %stride = call i64 @number_at(ptr %steps, i64 %i)
  %place = call i64 @placed(ptr %item, i64 %extent)
  %is_inside = icmp sge i64 %place, 0
  br i1 %is_inside, label %inside, label %no
inside:
  %moved = mul i64 %place, %stride
  %at_after = add i64 %at, %moved
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %at
no:
  ret i64 -1
}

; the kind of the numbers of a dtype by its code: 1 float64, 2 int64, 3 bool, 0 others
define internal i32 @number_kind(ptr %code) {
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %bytes = call i64 @item_bytes(ptr %code)
  %wide = trunc i64 %bytes to i32
  %shifted = shl i32 %wide, 8
  %both = or i32 %shifted, %letter
  switch i32 %both, label %other [ i32 2150, label %float  i32 2153, label %integer
                                   i32 354, label %bool ]
float:
  ret i32 1
integer:
  ret i32 2
bool:
  ret i32 3
other:
  ret i32 0
}

; stores what a number is in memory of a kind; whether it is held as it is
define internal i1 @encoded(i32 %kind, ptr %value, ptr %bits) {
  %is_float = call i1 @is(ptr %value, i64 T_FLOAT)
  %is_strong = call i1 @is(ptr %value, i64 T_STRONG)
  %is_real = or i1 %is_float, %is_strong
  %is_int = call i1 @is(ptr %value, i64 T_INT)
  %is_long = call i1 @is(ptr %value, i64 T_INT_LONG)
  %is_whole = or i1 %is_int, %is_long
  %is_bool = call i1 @is(ptr %value, i64 T_BOOL)
  switch i32 %kind, label %no [ i32 1, label %float  i32 2, label %integer  i32 3, label %bool ]
float:
  br i1 %is_real, label %real, label %float_of_whole
real:
  %number = get double %value[2]
  store double %number, ptr %bits
  ret i1 true
float_of_whole:
  br i1 %is_int, label %convert, label %no
convert:
  %converted = call double @PyLong_AsDouble(ptr %value)
  store double %converted, ptr %bits
  br label %check
integer:
  br i1 %is_whole, label %whole, label %no
whole:
  %long = call i64 @PyLong_AsLongLong(ptr %value)
  store i64 %long, ptr %bits
  br label %check
check:
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %yes, label %clear
clear:
  call void @PyErr_Clear()
  br label %no
bool:
  br i1 %is_bool, label %truth, label %no
truth:
  %true = call ptr @object(i64 T_TRUE)
  %is_true = icmp eq ptr %value, %true
  %bit = zext i1 %is_true to i64
  store i64 %bit, ptr %bits
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; the same for singles and integers of less than eight bytes: a number that becomes one without a
; floating point condition, or one that fits
define internal i1 @encoded_narrow(ptr %code, ptr %value, ptr %bits) {
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %bytes = call i64 @item_bytes(ptr %code)
  %is_less = icmp ult i64 %bytes, 8
  %is_int = call i1 @is(ptr %value, i64 T_INT)
  br i1 %is_less, label %choose, label %no
choose:
  %unused = sub i64 8, %bytes
  %gap = shl i64 %unused, 3
  switch i32 %letter, label %no [ i32 102, label %single  i32 105, label %integer
                                  i32 117, label %integer ]
single:
  %is_four = icmp eq i64 %bytes, 4
  br i1 %is_four, label %real, label %no
real:
  %is_single = call i1 @is(ptr %value, i64 T_NUMPYS_FLOAT)
  br i1 %is_single, label %as_it_is, label %wide
as_it_is:
  %word = get i32 %value[2]
  %word_bits = zext i32 %word to i64
  store i64 %word_bits, ptr %bits
  ret i1 true
wide:
  %is_float = call i1 @is(ptr %value, i64 T_FLOAT)
  %is_strong = call i1 @is(ptr %value, i64 T_STRONG)
  %is_real = or i1 %is_float, %is_strong
  br i1 %is_real, label %held, label %number
held:
  %held_number = get double %value[2]
  br label %range
number:
  br i1 %is_int, label %convert, label %no
convert:
  %converted = call double @PyLong_AsDouble(ptr %value)
  %overflow = call ptr @PyErr_Occurred()
  %has_double = icmp eq ptr %overflow, null
  br i1 %has_double, label %range, label %clear
range:
  %number_value = phi double [ %held_number, %held ], [ %converted, %convert ]
  %size = call double @llvm.fabs.f64(double %number_value)
  %is_normal = fcmp oge double %size, 0x3810000000000000
  %is_finite = fcmp ole double %size, 0x47EFFFFFE0000000
  %is_zero = fcmp oeq double %size, 0.0
  %is_inside = and i1 %is_normal, %is_finite
  %is_held = or i1 %is_inside, %is_zero
  br i1 %is_held, label %rounded, label %no
rounded:
  %narrow = fptrunc double %number_value to float
  %narrow_word = bitcast float %narrow to i32
  %narrow_bits = zext i32 %narrow_word to i64
  store i64 %narrow_bits, ptr %bits
  ret i1 true
integer:
  %is_long = call i1 @is(ptr %value, i64 T_INT_LONG)
  %is_short = call i1 @is(ptr %value, i64 T_NUMPYS_INT)
  %is_numpys = or i1 %is_long, %is_short
  %is_whole = or i1 %is_int, %is_numpys
  br i1 %is_whole, label %whole, label %no
whole:
  %long = call i64 @PyLong_AsLongLong(ptr %value)
  store i64 %long, ptr %bits
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %fits, label %clear
fits:
  %high = shl i64 %long, %gap
  %signed = ashr i64 %high, %gap
  %unsigned = lshr i64 %high, %gap
  %has_sign = icmp eq i32 %letter, 105
  %back = select i1 %has_sign, i64 %signed, i64 %unsigned
  %is_same = icmp eq i64 %back, %long
  ret i1 %is_same
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}

; whether an object is a float, an int or a complex number that singles do not hold: Python is
; asked for those, since NumPy says so before it writes anything
define internal i1 @is_beyond_singles(ptr %object) {
  %is_float = call i1 @is(ptr %object, i64 T_FLOAT)
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  %is_complex = call i1 @is_complex_number(ptr %object)
  %is_real = or i1 %is_float, %is_int
  %is_number = or i1 %is_real, %is_complex
  br i1 %is_number, label %measure, label %no
measure:
  %real = call double @PyComplex_RealAsDouble(ptr %object)
  call void @PyErr_Clear()
  %imaginary = call double @PyComplex_ImagAsDouble(ptr %object)
  call void @PyErr_Clear()  ; since Python 3.13, it converts as well
  %real_size = call double @llvm.fabs.f64(double %real)
  %imaginary_size = call double @llvm.fabs.f64(double %imaginary)
  %is_real_large = fcmp ogt double %real_size, 1.0e38
  %is_imaginary_large = fcmp ogt double %imaginary_size, 1.0e38
  %is_beyond = or i1 %is_real_large, %is_imaginary_large
  ret i1 %is_beyond
no:
  ret i1 false
}

; whether NumPy has nothing to say of what is assigned: an array of the same dtype, or a number
; that the dtype holds
define internal i1 @is_quiet(ptr %self, ptr %given) {
  %bits = alloca i64
  %is_array = call i1 @is(ptr %given, i64 T_NDARRAY)
  br i1 %is_array, label %yes, label %number
number:
  %code = call ptr @code_shown(ptr %self)
  %kind = call i32 @number_kind(ptr %code)
  %is_held = call i1 @encoded(i32 %kind, ptr %given, ptr %bits)
  ret i1 %is_held
yes:
  ret i1 true
}

; lets the memory of an array be a new version (`Storage.renew`): it stays where nobody but its
; storage has it, and nothing but it refers to that. Whether that is done, else there is an
; exception
define internal i1 @renewed(ptr %array) {
  %stays = call i1 @stays(ptr %array)
  br i1 %stays, label %yes, label %ask
ask:
  %storage = call ptr @get(ptr %array, i64 HANDLE_STORAGE)
  call void @aside(i64 T_RENEW, ptr %storage)
  %error = call ptr @PyErr_Occurred()
  %is_done = icmp eq ptr %error, null
  ret i1 %is_done
yes:
  ret i1 true
}

; whether nobody but its storage has the version that an array is, and nothing but it refers to
; that
define internal i1 @stays(ptr %array) {
  %storage = call ptr @get(ptr %array, i64 HANDLE_STORAGE)
  %node = call ptr @get(ptr %storage, i64 STORAGE_NODE)
  %holders = load i32, ptr %node
  %is_alone = icmp eq i32 %holders, 1
  %offset = call i64 @entry(i64 T_STORAGE_WEAK)
  %weak_at = getelementptr i8, ptr %storage, i64 %offset
  %weak = load ptr, ptr %weak_at
  %is_watched = icmp ne ptr %weak, null
  %may = and i1 %is_alone, %is_watched
  br i1 %may, label %look, label %no
look:
  %next_place = call i64 @entry(i64 T_WEAK_NEXT)
  %next_at = getelementptr i8, ptr %weak, i64 %next_place
  %next = load ptr, ptr %next_at
  %is_last = icmp eq ptr %next, null
  ret i1 %is_last
no:
  ret i1 false
}

; whether self[key] = value has been done for an element of an array of the engine and a number
; that its dtype holds. No lock is taken: nobody else has the version (`writable_memory`), and no
; other thread runs from then on
define internal i1 @set_number(ptr %self, ptr %key, ptr %value) {
  %bits = alloca i64
  %storage = call ptr @get(ptr %self, i64 HANDLE_STORAGE)
  %node = call ptr @get(ptr %storage, i64 STORAGE_NODE)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %kind = call i32 @number_kind(ptr %code)
  %is_held = call i1 @encoded(i32 %kind, ptr %value, ptr %bits)
  br i1 %is_held, label %find, label %narrower
narrower:
  %is_narrow = call i1 @encoded_narrow(ptr %code, ptr %value, ptr %bits)
  br i1 %is_narrow, label %find, label %no
find:
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %offset = call i64 @element_offset(ptr %layout, ptr %key)
  %is_element = icmp sge i64 %offset, 0
  br i1 %is_element, label %memory, label %no
memory:
  %buffer = call ptr @writable_memory(ptr %self)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %place
place:
  %bytes = call i64 @item_bytes(ptr %code)
  %at = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %stays = call i1 @stays(ptr %self)
  call void @Py_DecRef(ptr %buffer)
  br i1 %stays, label %write, label %no
write:
  %word = load i64, ptr %bits
  switch i64 %bytes, label %narrow [ i64 8, label %wide  i64 4, label %half
                                     i64 2, label %quarter ]
wide:
  store i64 %word, ptr %at, align 1
  ret i1 true
half:
  %half_word = trunc i64 %word to i32
  store i32 %half_word, ptr %at, align 1
  ret i1 true
quarter:
  %quarter_word = trunc i64 %word to i16
  store i16 %quarter_word, ptr %at, align 1
  ret i1 true
narrow:
  %byte = trunc i64 %word to i8
  store i8 %byte, ptr %at
  ret i1 true
no:
  ret i1 false
}
"""
)
