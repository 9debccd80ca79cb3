"""Lists and tuples as LLVM text; see `methods.py`."""

SEQUENCES = """
; a tuple or a list that has room for so many items; null for an exception
define internal ptr @new_sequence(i1 %is_tuple, i64 %count) {
  br i1 %is_tuple, label %tuple, label %list
tuple:
  %made_tuple = call ptr @PyTuple_New(i64 %count)
  ret ptr %made_tuple
list:
  %made_list = call ptr @PyList_New(i64 %count)
  ret ptr %made_list
}

; put an item in its place. Takes the reference
define internal void @put_item(ptr %sequence, i1 %is_tuple, i64 %place, ptr %item) {
  br i1 %is_tuple, label %tuple, label %list
tuple:
  %of_tuple = call i32 @PyTuple_SetItem(ptr %sequence, i64 %place, ptr %item)
  ret void
list:
  %of_list = call i32 @PyList_SetItem(ptr %sequence, i64 %place, ptr %item)
  ret void
}

define internal i64 @length_of(ptr %object, i1 %is_tuple) {
  br i1 %is_tuple, label %tuple, label %list
tuple:
  %of_tuple = call i64 @tuple_size(ptr %object)
  ret i64 %of_tuple
list:
  %of_list = call i64 @PyList_Size(ptr %object)
  ret i64 %of_list
}

define internal ptr @item_of(ptr %object, i1 %is_tuple, i64 %place) {
  br i1 %is_tuple, label %tuple, label %list
tuple:
  %of_tuple = call ptr @tuple_item(ptr %object, i64 %place)
  ret ptr %of_tuple
list:
  %of_list = call ptr @PyList_GetItem(ptr %object, i64 %place)
  ret ptr %of_list
}

; whether a list still has an item: settling may have run anything
define internal i1 @has_item(ptr %object, i1 %is_tuple, i64 %place) {
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %is_there = icmp slt i64 %place, %count
  ret i1 %is_there
}

; whether a list or tuple, or the first one in it, begins or ends with an array of ours
define internal i1 @has_pieces(ptr %object, i1 %is_tuple, i64 %levels) {
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %has_items = icmp sgt i64 %count, 0
  br i1 %has_items, label %ends, label %no
ends:
  %last = sub i64 %count, 1
  %last_item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %last)
  %first_item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 0)
  %ends_with = call i1 @is(ptr %last_item, i64 T_CLASS)
  %begins_with = call i1 @is(ptr %first_item, i64 T_CLASS)
  %is_one = or i1 %ends_with, %begins_with
  br i1 %is_one, label %yes, label %inside
inside:
  %in_tuple = call i1 @is(ptr %first_item, i64 T_TUPLE)
  %in_list = call i1 @is(ptr %first_item, i64 T_LIST)
  %is_sequence = or i1 %in_tuple, %in_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %look, label %no
look:
  %less = sub i64 %levels, 1
  %found = call i1 @has_pieces(ptr %first_item, i1 %in_tuple, i64 %less)
  ret i1 %found
yes:
  ret i1 true
no:
  ret i1 false
}
"""
