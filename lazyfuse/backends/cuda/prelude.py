"""The device functions that kernel text may use, in pieces: a kernel carries only the pieces it
names.

No piece includes a header, so NVRTC needs no include path. Where the device needs inline PTX,
`LF_HOST` selects the twin that the host shim (`backends/cuda_host`) provides, so that tests run
the same text.
"""

from __future__ import annotations

from collections.abc import Mapping

_HALF = """\
struct h16 { unsigned short x; };
#ifndef LF_HOST
__device__ __forceinline__ float lf_half_widen(h16 h) {
  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.x)); return f;
}
__device__ __forceinline__ h16 lf_half_round(float f) {
  h16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.x) : "f"(f)); return h;
}
__device__ __forceinline__ h16 lf_half_round(double f) {
  h16 h; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h.x) : "d"(f)); return h;
}
__device__ __forceinline__ h16 lf_half_add(h16 x, h16 y) {
  h16 h; asm("add.rn.f16 %0, %1, %2;" : "=h"(h.x) : "h"(x.x), "h"(y.x)); return h;
}
__device__ __forceinline__ h16 lf_half_subtract(h16 x, h16 y) {
  h16 h; asm("sub.rn.f16 %0, %1, %2;" : "=h"(h.x) : "h"(x.x), "h"(y.x)); return h;
}
__device__ __forceinline__ h16 lf_half_multiply(h16 x, h16 y) {
  h16 h; asm("mul.rn.f16 %0, %1, %2;" : "=h"(h.x) : "h"(x.x), "h"(y.x)); return h;
}
__device__ __forceinline__ h16 lf_half_divide(h16 x, h16 y) {
  const float a = lf_half_widen(x), b = lf_half_widen(y);
  float r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  const float q = a * r, rest = fmaf(-q, b, a);
  return lf_half_round(fabsf(rest) > 0 ? fmaf(rest, r, q) : q);  // no rest, or NaN: as it is
}
__device__ __forceinline__ h16 lf_half_exp2(float x) {
  float f; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(x)); return lf_half_round(f);
}
__device__ __forceinline__ h16 lf_half_exp2(h16 x) { return lf_half_exp2(lf_half_widen(x)); }
__device__ __forceinline__ h16 lf_half_exp(h16 x) {
  return lf_half_exp2(lf_half_widen(x) * 0x1.715476p+0f);
}
#else
static inline float lf_half_widen(h16 h) { return lfh::half_widen(h.x); }
static inline h16 lf_half_round(float f) { return h16{lfh::half_round(f)}; }
static inline h16 lf_half_round(double f) { return h16{lfh::half_round(f)}; }
static inline h16 lf_half_add(h16 x, h16 y) {
  return lf_half_round(lf_half_widen(x) + lf_half_widen(y));
}
static inline h16 lf_half_subtract(h16 x, h16 y) {
  return lf_half_round(lf_half_widen(x) - lf_half_widen(y));
}
static inline h16 lf_half_multiply(h16 x, h16 y) {
  return lf_half_round(lf_half_widen(x) * lf_half_widen(y));
}
static inline h16 lf_half_divide(h16 x, h16 y) {
  return lf_half_round(lf_half_widen(x) / lf_half_widen(y));
}
static inline h16 lf_half_exp2(h16 x) { return lf_half_round(exp2f(lf_half_widen(x))); }
static inline h16 lf_half_exp(h16 x) { return lf_half_round(expf(lf_half_widen(x))); }
#endif
"""

_COMPLEX = """\
struct __align__(8) c32x2 { float re, im; };
struct __align__(16) c64x2 { double re, im; };
"""

_BITCAST = """\
template <class T, class S> __device__ __forceinline__ T lf_bitcast(S s) {
  static_assert(sizeof(T) == sizeof(S), "widths differ");
  T t; memcpy(&t, &s, sizeof(T)); return t;
}
"""

# The device would give the nearest integer where a float does not fit, and 0 for NaN.
_TRUNCATE = """\
template <class T, class S> __device__ __forceinline__ T lf_truncate(S x) {
  const S limit = (S)(1ULL << (8 * sizeof(T) - 1));
  const bool above = sizeof(S) > sizeof(T) ? x > -limit - 1 : x >= -limit;
  return above && x < limit ? (T)x : (T)-limit;
}
"""

# All bits of a value count from here on: else the compiler sees that its low bits are stored, does
# all before in 16 bits, and takes the registers apart again and again.
_WHOLE = """\
__device__ __forceinline__ unsigned int lf_whole(unsigned int x) {
#ifndef LF_HOST
  asm("" : "+r"(x));
#endif
  return x;
}
"""

# The one of CUDA 13.0 overflows where the result is the largest float64, and is one ULP off at
# times: near that number it is squared and compared with the middle between it and infinity,
# 2^500 - 2^446 when scaled.
_HYPOT = """\
__device__ __forceinline__ double lf_hypot(double x, double y) {
  const double a = fabs(x), b = fabs(y), limit = 0x1.fffffffffffffp1023;
  if (!((a > 0x1p1000 || b > 0x1p1000) && a <= limit && b <= limit)) return hypot(x, y);
  const double most = fmax(a, b) * 0x1p-524, least = fmin(a, b) * 0x1p-524;
  const double found = hypot(most, least);
  if (found < 0x1.fffffffffffffp499) return found * 0x1p524;
  const bool above = (0x1p500 - most - 0x1p446) * (0x1p500 + most) <= least * least;
  return above ? found * 0x1p525 : limit;
}
__device__ __forceinline__ float lf_hypotf(float x, float y) { return hypotf(x, y); }
"""

# The larger and the smaller of two whatever their order: NaN wins, or loses where the name has an
# f, and +0 is above -0.
_EXTREME = """\
template <class T> __device__ __forceinline__ bool lf_above(T p, T q) {
  return p > q || (p == q && copysign((T)1, p) > 0);
}
template <class T> __device__ __forceinline__ T lf_max_of(T p, T q) {
  return lf_above(p, q) || p != p ? p : q;
}
template <class T> __device__ __forceinline__ T lf_min_of(T p, T q) {
  return lf_above(q, p) || p != p ? p : q;
}
template <class T> __device__ __forceinline__ T lf_fmax_of(T p, T q) {
  return lf_above(p, q) || q != q ? p : q;
}
template <class T> __device__ __forceinline__ T lf_fmin_of(T p, T q) {
  return lf_above(q, p) || q != q ? p : q;
}
#ifndef LF_HOST
#if __CUDA_ARCH__ >= 800
template <> __device__ __forceinline__ float lf_max_of(float p, float q) {
  float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(p), "f"(q)); return r;
}
template <> __device__ __forceinline__ float lf_min_of(float p, float q) {
  float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(p), "f"(q)); return r;
}
#endif
template <> __device__ __forceinline__ float lf_fmax_of(float p, float q) { return fmaxf(p, q); }
template <> __device__ __forceinline__ float lf_fmin_of(float p, float q) { return fminf(p, q); }
#endif
"""

# 16 bytes is the widest access the hardware has: a longer pack is split into several by the
# compiler.
_PACK = """\
template <class T, int N> 
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T v[N]; };
"""

# Assigned, a pack may be taken apart into stores of its elements by the compiler that NVRTC has
# for architectures before sm_100, where a position has three terms; `__stwb` is a plain store
# that stays whole. The one for later architectures keeps packs whole, and spills with `__stwb`.
_STORE_PACK = """\
template <class T, int N>
__device__ __forceinline__ void lf_store_pack(T* place, const Pack<T, N>& pack) {
#if !defined(LF_HOST) && __CUDA_ARCH__ < 1000
  if constexpr (sizeof(pack) % 16 == 0) {
    #pragma unroll
    for (int part = 0; part < sizeof(pack) / 16; ++part)
      __stwb(reinterpret_cast<uint4*>(place) + part, reinterpret_cast<const uint4*>(&pack)[part]);
    return;
  }
  if constexpr (sizeof(pack) == 8) {
    __stwb(reinterpret_cast<uint2*>(place), reinterpret_cast<const uint2&>(pack));
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N>*>(place) = pack;
}
"""

# The same of scratch memory, which is shared or global: `__stwb` takes it for global.
_STORE_SCRATCH = """\
template <class T, int N>
__device__ __forceinline__ void lf_store_scratch(T* place, const Pack<T, N>& pack) {
#if !defined(LF_HOST)
  if constexpr (sizeof(pack) % 16 == 0) {
    #pragma unroll
    for (int part = 0; part < sizeof(pack) / 16; ++part) {
      uint4* const there = reinterpret_cast<uint4*>(place) + part;
      const uint4 v = reinterpret_cast<const uint4*>(&pack)[part];
      asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};"
                   :: "l"(there), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
    }
    return;
  }
  if constexpr (sizeof(pack) == 8) {
    const uint2 v = reinterpret_cast<const uint2&>(pack);
    asm volatile("st.v2.u32 [%0], {%1, %2};" :: "l"(place), "r"(v.x), "r"(v.y) : "memory");
    return;
  }
#endif
  *reinterpret_cast<Pack<T, N>*>(place) = pack;
}
"""

_DIVIDE = """\
__device__ __forceinline__ unsigned int lf_divide(unsigned int n, unsigned int m, int shift) {
  return __umulhi(n << 1, m) >> shift;
}
__device__ __forceinline__ unsigned long long lf_divide(
    unsigned long long n, unsigned long long m, int shift) {
  return __umul64hi(n << 1, m) >> shift;
}
"""

_MULHI = """\
__device__ __forceinline__ unsigned char lf_mulhi(unsigned char x, unsigned char y) {
  return (unsigned char)((unsigned int)x * y >> 8);
}
__device__ __forceinline__ unsigned short lf_mulhi(unsigned short x, unsigned short y) {
  return (unsigned short)((unsigned int)x * y >> 16);
}
__device__ __forceinline__ unsigned int lf_mulhi(unsigned int x, unsigned int y) {
  return __umulhi(x, y);
}
__device__ __forceinline__ unsigned long long lf_mulhi(
    unsigned long long x, unsigned long long y) {
  return __umul64hi(x, y);
}
"""

# Shared memory whose size a launch gives.
_SHARED = """\
#ifndef LF_HOST
extern __shared__ __align__(16) unsigned char lf_shared[];
#else
#define lf_shared lfh::dynamic.data()
#endif
"""

_SHUFFLE = """\
template <class T> __device__ __forceinline__ T lf_swap(T v, unsigned int offset) {
  return (T)__shfl_xor_sync(0xffffffffu, v, offset);
}
"""

#: Piece by the word that asks for it, in the order in which they are emitted.
PIECES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "half": (("h16", "lf_half_"), _HALF),
    "complex": (("c32x2", "c64x2"), _COMPLEX),
    "bitcast": (("lf_bitcast",), _BITCAST),
    "truncate": (("lf_truncate",), _TRUNCATE),
    "whole": (("lf_whole",), _WHOLE),
    "hypot": (("lf_hypot",), _HYPOT),
    "extreme": (("lf_max_of", "lf_min_of", "lf_fmax_of", "lf_fmin_of"), _EXTREME),
    "pack": (("Pack<",), _PACK),
    "store_pack": (("lf_store_pack",), _STORE_PACK),
    "store_scratch": (("lf_store_scratch",), _STORE_SCRATCH),
    "divide": (("lf_divide",), _DIVIDE),
    "mulhi": (("lf_mulhi",), _MULHI),
    "shuffle": (("lf_swap",), _SHUFFLE),
    "shared": (("lf_shared",), _SHARED),
}


def with_prelude(text: str) -> str:
    """Put the pieces that `text` names in front of it."""
    needed = [piece for words, piece in PIECES.values() if any(word in text for word in words)]
    return "".join([*needed, text])
