"""Why cases of NumPy's tests fail that are known to: what lazyfuse means to do in another way, and
what it does not do yet. The page tells it; it decides nothing, and no case is left out for it.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Why -> the tests, as `module::Class::function`, without the folder of the module.
REASONS: Mapping[str, str] = {
    "another library gets NumPy's own function from `like=` and `__array_function__`, which is in "
    "its tables; the test's class is written against lazyfuse alone": """
        test_overrides::TestArrayLike::test_array_like
        test_overrides::TestArrayLike::test_array_like_fromfile
        test_overrides::TestArrayLike::test_array_like_not_implemented
        test_overrides::TestArrayLike::test_nep35_functions_as_array_functions
        test_overrides::TestNumPyFunctions::test_override_sum
        test_overrides::TestNumPyFunctions::test_sum_on_mock_array
    """,
    "what NumPy gives as a scalar is a LazyScalar while it is pending: `isinstance` takes it for "
    "NumPy's, `type` and `is` do not": """
        test_numeric::TestIsclose::test_non_finite_scalar
        test_type_check::TestNanToNum::test_float
        test_type_check::TestNanToNum::test_complex_good
        test_type_check::TestNanToNum::test_complex_bad
        test_type_check::TestNanToNum::test_complex_bad2
        test_ufunclike::TestUfunclike::test_scalar
    """,
    "NumPy's scalars and classes are NumPy's: they know nothing of lazyfuse": """
        test_numeric::TestBroadcast::test_broadcast_error_kwargs
        test_numeric::TestBroadcast::test_broadcast_in_args
        test_numeric::TestBroadcast::test_broadcast_single_arg
        test_scalar_methods::TestDevice::test___array_namespace__
    """,
    "lazyfuse has the Array API of 2025.12, which NumPy refuses": """
        test_regression::TestRegression::test__array_namespace__
    """,
    "C's `long long` is int64, which has its size": """
        test_array_coercion::TestAsArray::test_dtype_identity
        test_scalar_ctors::TestArrayFromScalar::test_integers
    """,
    "views that the engine does not know (long doubles, strides within an element) are NumPy's "
    "and read-only": """
        test_api::test_contiguous_flags
        test_casting_unittests::TestCasting::test_same_value_float_to_int
        test_casting_unittests::TestCasting::test_same_value_overflow
        test_mem_overlap::TestUFunc::test_binary_ufunc_accumulate_fuzz
        test_mem_overlap::TestUFunc::test_binary_ufunc_reduce_fuzz
        test_mem_overlap::TestUFunc::test_binary_ufunc_reduceat_fuzz
        test_multiarray::TestMethods::test_ravel
    """,
    "an iterator writes into an array when the iteration ends, not element by element; "
    "`nested_iters` does not write, nor do views in the other byte order": """
        test_nditer::TestIterNested::test_dtype_buffered
        test_nditer::TestIterNested::test_dtype_copy
        test_nditer::TestIterNested::test_iter_nested_iters_dtype_buffered
        test_nditer::test_iter_buffering_reduction
        test_nditer::test_iter_copy_if_overlap
        test_nditer::test_iter_nbo_align_contig
        test_nditer::test_iter_slice
        test_nditer::test_iter_writemasked
        test_nditer::test_writebacks
    """,
    "`resize` does not count references: other arrays keep the memory that they had": """
        test_multiarray::TestResize::test_check_reference
        test_multiarray::TestResize::test_check_reference_2
    """,
    "lists are read before NumPy sees them": """
        test_array_coercion::TestBadSequences::test_growing_list
        test_array_coercion::TestBadSequences::test_replace_0d_array
    """,
    "memory is asked for when values are": """
        test_array_coercion::TestArrayLikes::test_too_large_array_error_paths
    """,
    "memory of other objects is copied in, so it is no array's `base`": """
        test_multiarray::TestArrayCreationCopyArgument::test___array__copy_arg
        test_multiarray::TestArrayCreationCopyArgument::test___array__copy_once
        test_multiarray::TestFromBuffer::test_array_base
        test_multiarray::TestFlags::test_writeable_pickle
        test_multiarray::TestZeroSizeFlexible::test_pickle_with_buffercallback
        test_multiarray::test_interface_nullptr
    """,
    "memory that is handed out is read-only: `copy=False` of a consumer that cannot be told so is "
    "refused": """
        test_dlpack::TestDLPack::test_dunder_dlpack_copy
        test_multiarray::TestFlat::test___array__
    """,
    "C code of NumPy asks an object for its `__array__`, which gives a LazyArray": """
        test_function_base::TestBincount::test_gh_28354_array_like
        test_regression::TestRegression::test_2d__array__shape
        test_umath::TestSpecialMethods::test_default_prepare
        test_umath::TestSpecialMethods::test_failing_wrap
        test_umath::TestSpecialMethods::test_none_wrap
        test_umath::TestSpecialMethods::test_priority
        test_umath::TestSpecialMethods::test_wrap
    """,
    "functions and methods are Python's: the slots of C's are not there": """
        test_multiarray::TestTextSignatures::test_array_method_signatures
        test_multiarray::TestTextSignatures::test_c_func_dispatcher_text_signature
        test_multiarray::TestTextSignatures::test_add_newdoc_function_signature
        test_ufunc::TestUfunc::test_pickle_withstring
        test_umath::TestSpecialMethods::test_ufunc_docstring
    """,
    "an override gets the arguments of a ufunc as lazyfuse understood them, not as they were "
    "written": """
        test_multiarray::TestBinop::test_ufunc_override_normalize_signature
        test_ufunc::TestUfunc::test_output_ellipsis_errors
        test_umath::TestSpecialMethods::test_ufunc_override_out
    """,
    "the memory of an array holds elements of one plain dtype": """
        test_numerictypes::TestEmptyField::test_assign
    """,
    "a dtype's metadata is not kept": """
        test_format::test_metadata_dtype
    """,
    "a private module of NumPy is not there": """
        test_ufunc::TestUfunc::test_at_not_none_signature
    """,
    "nothing refuses a large gather when it is recorded": """
        test_regression::TestRegression::test_large_fancy_indexing
    """,
    "flags that NumPy keeps for its own deprecations": """
        test_multiarray::TestFlags::test_warnonwrite
    """,
    "elements begin at multiples of their size": """
        test_regression::TestRegression::test_alignment_update
    """,
}

_WHY = {name: why for why, names in REASONS.items() for name in names.split()}


def why(module: str, test: str) -> str:
    """Why a test of a module fails, or an empty string when it is not known."""
    return _WHY.get(f"{module.rpartition('/')[2]}::{test}", "")
