"""What kind an array is, and the result of an operation, as LLVM text; see `defer_text.py`.

Of integers it is known how large a number may be for NumPy not to raise: as large as fits all
dtypes of the kind.
"""

from __future__ import annotations

KINDS = """
; the kind of the result of an operation, from the kinds of the first operand and of the others
; together; OTHER where it cannot be put off, as `clip` of a number, which is not weak there
define internal i64 @kind_by(i64 %code, i64 %first, i64 %others) {
  %class = and i64 %code, 3
  %form = and i64 %code, LAST_OF_CODE
  %all = or i64 %first, %others
  %is_cast = icmp eq i64 %form, CAST
  br i1 %is_cast, label %cast, label %computed
cast:
  %cast_kind = call i64 @kind_cast(i64 %code, i64 %first)
  ret i64 %cast_kind
computed:
  %sums = and i64 %all, INTEGER_SUMS
  %has_sums = icmp ne i64 %sums, 0
  %is_clip = icmp eq i64 %form, CLIP
  %first_number = and i64 %first, NUMBERS
  %is_number = icmp ne i64 %first_number, 0
  %clips_number = and i1 %is_clip, %is_number
  %is_unknown = or i1 %has_sums, %clips_number
  br i1 %is_unknown, label %no, label %known
known:
  %is_count = call i1 @is_counted(i64 %code, i64 %first)
  br i1 %is_count, label %counted, label %whole
counted:
  %is_mean = call i1 @is_in_set(i64 %code, i64 MEANS_LOW, i64 MEANS_HIGH)
  %is_of_bools = icmp eq i64 %first, BOOLS
  %sum_kind = select i1 %is_of_bools, i64 INTEGERS, i64 INTEGER_SUMS
  %counted_kind = select i1 %is_mean, i64 DOUBLES, i64 %sum_kind
  ret i64 %counted_kind
whole:
  %integers = and i64 %all, ANY_INTEGERS
  %has_integers = icmp ne i64 %integers, 0
  br i1 %has_integers, label %of_integers, label %of_others
of_integers:
  %kind_of_them = call i64 @kind_with_integers(i64 %code, i64 %first, i64 %others)
  ret i64 %kind_of_them
of_others:
  %narrow = and i64 %all, TOO_LARGE
  %is_too_large = icmp eq i64 %narrow, TOO_LARGE
  %promoted = and i64 %all, PROMOTED
  %is_promoted = icmp eq i64 %promoted, PROMOTED
  %is_refused = or i1 %is_too_large, %is_promoted
  br i1 %is_refused, label %no, label %fine
no:
  ret i64 OTHER
fine:
  switch i64 %class, label %floats [ i64 OF_BOOLS, label %bools  i64 CHOICE, label %choice ]
bools:
  %is_bools = icmp eq i64 %all, BOOLS
  %bools_kind = select i1 %is_bools, i64 BOOLS, i64 OTHER
  ret i64 %bools_kind
choice:
  %has_mask = icmp eq i64 %first, BOOLS
  %bad_choice = and i64 %others, BOOLS
  %fine_choice = icmp eq i64 %bad_choice, 0
  %not_whole = and i64 %others, CHOSEN
  %has_floats = icmp ne i64 %not_whole, 0
  %chosen_arrays = and i64 %others, ARRAYS
  %has_array = icmp ne i64 %chosen_arrays, 0
  %singles_bit = and i64 %others, SINGLE_BIT
  %has_no_single = icmp eq i64 %singles_bit, 0
  %is_clear = or i1 %has_array, %has_no_single
  %is_float_choice = and i1 %has_floats, %is_clear
  %can_choose = and i1 %has_mask, %fine_choice
  %is_choice = and i1 %can_choose, %is_float_choice
  %chosen_kind = call i64 @precision(i64 %others)
  %choice_kind = select i1 %is_choice, i64 %chosen_kind, i64 OTHER
  ret i64 %choice_kind
floats:
  %arrays = and i64 %all, ARRAYS
  %has_arrays = icmp ne i64 %arrays, 0
  %masks = and i64 %all, BOOLS
  %no_masks = icmp eq i64 %masks, 0
  br i1 %no_masks, label %plain, label %with_masks
with_masks:
  %kind_of_masks = call i64 @kind_with_masks(i64 %code, i64 %all)
  ret i64 %kind_of_masks
plain:
  %is_to_bools = icmp eq i64 %class, TO_BOOLS
  %float_kind = call i64 @precision(i64 %all)
  %result_kind = select i1 %is_to_bools, i64 BOOLS, i64 %float_kind
  %kind = select i1 %has_arrays, i64 %result_kind, i64 OTHER
  ret i64 %kind
}

; as `kind_by`, where bools are beside floats or numbers
define internal i64 @kind_with_masks(i64 %code, i64 %all) {
  %form = and i64 %code, LAST_OF_CODE
  switch i64 %form, label %no [ i64 BINARY, label %computed  i64 COMPARISON, label %bools ]
bools:
  ret i64 BOOLS
computed:
  %is_whole = call i1 @is_in_set(i64 %code, i64 WHOLES_LOW, i64 WHOLES_HIGH)
  %is_quotient = call i1 @is_in_set(i64 %code, i64 QUOTIENTS_LOW, i64 QUOTIENTS_HIGH)
  %is_known = or i1 %is_whole, %is_quotient
  br i1 %is_known, label %others, label %no
others:
  %arrays = and i64 %all, ARRAYS
  %has_arrays = icmp ne i64 %arrays, 0
  br i1 %has_arrays, label %floats, label %numbers
floats:
  %precision = call i64 @precision(i64 %all)
  ret i64 %precision
numbers:
  %number = and i64 %all, NUMBER
  %is_float = icmp ne i64 %number, 0
  br i1 %is_float, label %float, label %integer
float:
  %single = and i64 %all, SINGLE_BIT
  %is_double = icmp eq i64 %single, 0
  %float_kind = select i1 %is_double, i64 DOUBLES, i64 OTHER
  ret i64 %float_kind
integer:
  %strong = and i64 %all, STRONG_INTEGER
  %is_weak = icmp eq i64 %strong, INTEGER
  %integer_kind = select i1 %is_quotient, i64 DOUBLES, i64 INTEGERS
  %weak_kind = select i1 %is_weak, i64 %integer_kind, i64 OTHER
  ret i64 %weak_kind
no:
  ret i64 OTHER
}

; singles where there are singles and no doubles; numbers are weak
define internal i64 @precision(i64 %kinds) {
  %arrays = and i64 %kinds, ARRAYS
  %is_single = icmp eq i64 %arrays, SINGLES
  %kind = select i1 %is_single, i64 SINGLES, i64 DOUBLES
  ret i64 %kind
}

; the kind of an array of NumPy's by its dtype alone
define internal i64 @kind_by_dtype(ptr %host) {
  %descr = get ptr %host[DESCR]
  %number = call i64 @cast_number(ptr %descr)
  %is_known = icmp sge i64 %number, 0
  br i1 %is_known, label %known, label %no
known:
  %kind = get i64 @cast_kinds[%number]
  ret i64 %kind
no:
  ret i64 OTHER
}

; the number of a dtype among those of casts; -1 for other objects
define internal i64 @cast_number(ptr %object) alwaysinline {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, CAST_COUNT
  br i1 %is_over, label %no, label %look
look:
  %place = add i64 %i, DTYPE_DOUBLE
  %dtype = get ptr @state[%place]
  %after = add i64 %i, 1
  %is_same = icmp eq ptr %dtype, %object
  br i1 %is_same, label %found, label %next
found:
  ret i64 %i
no:
  ret i64 -1
}

; how many elements are worth a place on the tape: of bytes NumPy computes eight times as many in
; the time of doubles
define internal i64 @least_of(i64 %kind) {
  %least = get i64 @state[SMALLEST]
  %bytes = and i64 %kind, ANY_BYTES
  %are_bytes = icmp ne i64 %bytes, 0
  %are_integers = icmp eq i64 %kind, INTEGERS
  %whole = select i1 %are_integers, i64 1, i64 0
  %power = select i1 %are_bytes, i64 5, i64 %whole
  %wanted = shl i64 %least, %power
  ret i64 %wanted
}

; whether kinds are one, which stands for one dtype
define internal i1 @is_same_dtype(i64 %a, i64 %b) {
  %is_kind = icmp eq i64 %a, %b
  %integers = and i64 %a, ANY_INTEGERS
  %is_one = icmp eq i64 %integers, 0
  %is_same = and i1 %is_kind, %is_one
  ret i1 %is_same
}

@cast_kinds = internal constant [CAST_COUNT x i64] [CAST_KINDS]

; the kind of an array in another dtype
define internal i64 @kind_cast(i64 %code, i64 %first) {
  %numbers = and i64 %first, NUMBERS
  %is_array = icmp eq i64 %numbers, 0
  %number = lshr i64 %code, CODE_SHIFT
  %i = sub i64 %number, FIRST_CAST
  %kind = get i64 @cast_kinds[%i]
  %found = select i1 %is_array, i64 %kind, i64 OTHER
  ret i64 %found
}

; whether a reduction is a sum or a mean of integers or bools
define internal i1 @is_counted(i64 %code, i64 %first) {
  %form = and i64 %code, LAST_OF_CODE
  %is_reduction = icmp eq i64 %form, REDUCTION
  br i1 %is_reduction, label %look, label %no
look:
  %is_sum = call i1 @is_in_set(i64 %code, i64 SUMS_LOW, i64 SUMS_HIGH)
  %is_mean = call i1 @is_in_set(i64 %code, i64 MEANS_LOW, i64 MEANS_HIGH)
  %is_bools = icmp eq i64 %first, BOOLS
  %integers = and i64 %first, ANY_INTEGERS
  %is_integers = icmp ne i64 %integers, 0
  %is_whole = or i1 %is_bools, %is_integers
  %is_either = or i1 %is_sum, %is_mean
  %is_counted = and i1 %is_either, %is_whole
  ret i1 %is_counted
no:
  ret i1 false
}

; whether an operation is one of a set: a bit for each number
define internal i1 @is_in_set(i64 %code, i64 %low, i64 %high) {
  %plain = and i64 %code, 4294967295
  %number = lshr i64 %plain, CODE_SHIFT
  %in_first = icmp ult i64 %number, 64
  %word = select i1 %in_first, i64 %low, i64 %high
  %place = and i64 %number, 63
  %shifted = lshr i64 %word, %place
  %bit = and i64 %shifted, 1
  %is_one = icmp ne i64 %bit, 0
  ret i1 %is_one
}

; as `kind_by`, where operands are integers. Numbers are below the largest of any dtype that there
; is: NumPy raises for others
define internal i64 @kind_with_integers(i64 %code, i64 %first, i64 %others) {
  %class = and i64 %code, 3
  %is_choice = icmp eq i64 %class, CHOICE
  %is_mask = icmp eq i64 %first, BOOLS
  %all = or i64 %first, %others
  %values = select i1 %is_choice, i64 %others, i64 %all
  %masks = and i64 %values, BOOLS
  %has_no_masks = icmp eq i64 %masks, 0
  %pair = and i64 %code, LAST_OF_CODE
  %is_pair = icmp eq i64 %pair, BINARY
  %no_masks = or i1 %has_no_masks, %is_pair
  %is_plain = xor i1 %is_choice, true
  %is_chosen = or i1 %is_plain, %is_mask
  %strong = and i64 %values, STRONG_INTEGER
  %is_strong = icmp eq i64 %strong, STRONG_INTEGER
  %is_weak = xor i1 %is_strong, true
  %single = and i64 %values, SINGLE_BIT
  %no_single = icmp eq i64 %single, 0
  %are_values = and i1 %no_masks, %is_chosen
  %are_numbers = and i1 %is_weak, %no_single
  %can = and i1 %are_values, %are_numbers
  br i1 %can, label %form, label %no
form:
  %floats = and i64 %values, CHOSEN
  %has_floats = icmp ne i64 %floats, 0
  %arity = and i64 %code, ARITY
  %is_binary = icmp eq i64 %arity, BINARY
  %is_to_bools = icmp eq i64 %class, TO_BOOLS
  %compares = and i1 %is_binary, %is_to_bools
  br i1 %compares, label %bools, label %kind
bools:
  ret i64 BOOLS
kind:
  br i1 %has_floats, label %floats_too, label %alone
floats_too:
  %is_to_floats = icmp eq i64 %class, TO_FLOATS
  %computes = and i1 %is_binary, %is_to_floats
  %is_fine = or i1 %computes, %is_choice
  %singles = and i64 %values, SINGLES
  %is_double = icmp eq i64 %singles, 0
  %wide = and i64 %values, INTEGERS
  %are_bytes = icmp eq i64 %wide, 0
  %is_known = or i1 %is_double, %are_bytes
  %is_possible = and i1 %is_fine, %is_known
  %float_kind = call i64 @precision(i64 %values)
  %kind_of_floats = select i1 %is_possible, i64 %float_kind, i64 OTHER
  ret i64 %kind_of_floats
alone:
  %bytes = and i64 %values, BYTES
  %int8s = and i64 %values, SIGNED_BYTES
  %no_bytes = icmp eq i64 %bytes, 0
  %no_int8s = icmp eq i64 %int8s, 0
  %of_bytes = select i1 %no_bytes, i64 ABOVE_SHORT, i64 ABOVE_BYTE
  %limit = select i1 %no_int8s, i64 %of_bytes, i64 ABOVE_SIGNED
  %beyond = and i64 %values, %limit
  %is_within = icmp eq i64 %beyond, 0
  br i1 %is_within, label %whole, label %no
whole:
  %is_whole = call i1 @is_in_set(i64 %code, i64 WHOLES_LOW, i64 WHOLES_HIGH)
  br i1 %is_whole, label %integers, label %quotient
integers:
  %has_wide = and i64 %values, INTEGERS
  %is_wide = icmp ne i64 %has_wide, 0
  %narrow = select i1 %no_int8s, i64 BYTES, i64 SIGNED_BYTES
  %result = select i1 %is_wide, i64 INTEGERS, i64 %narrow
  ret i64 %result
quotient:
  %is_quotient = call i1 @is_in_set(i64 %code, i64 QUOTIENTS_LOW, i64 QUOTIENTS_HIGH)
  %quotient_kind = select i1 %is_quotient, i64 DOUBLES, i64 OTHER
  ret i64 %quotient_kind
no:
  ret i64 OTHER
}
"""
