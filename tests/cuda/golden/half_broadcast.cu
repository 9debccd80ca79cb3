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
__device__ __forceinline__ unsigned int lf_divide(unsigned int n, unsigned int m, int shift) {
  return __umulhi(n << 1, m) >> shift;
}
__device__ __forceinline__ unsigned long long lf_divide(
    unsigned long long n, unsigned long long m, int shift) {
  return __umul64hi(n << 1, m) >> shift;
}
typedef int ix;
typedef unsigned int ux;
extern "C" __global__ void __launch_bounds__(256) lf_half_broadcast(
    long long n0_,
    long long n1_,
    long long m1_,
    long long h1_,
    const h16* a0,
    long long s0_0_,
    long long s0_1_,
    const h16* a1,
    long long s1_0_,
    h16* a2,
    long long s2_0_,
    long long s2_1_) {
  const ux n0 = (ux)n0_;
  const ux n1 = (ux)n1_;
  const ux m1 = (ux)m1_; const int h1 = (int)h1_;
  const ix s0_0 = (ix)s0_0_;
  const ix s0_1 = (ix)s0_1_;
  const ix s1_0 = (ix)s1_0_;
  const ix s2_0 = (ix)s2_0_;
  const ix s2_1 = (ix)s2_1_;
  const ux total = n0 * n1, step = (ux)gridDim.x * blockDim.x;
  const ux thread = (ux)blockIdx.x * blockDim.x + threadIdx.x;
  for (ux flat = thread; flat < total; flat += step) {
    const ux p1 = flat, q1 = lf_divide(p1, m1, h1);
    const ux i1 = p1 - q1 * n1;
    const ux i0 = q1;
    const h16 v0 = a0[(ix)i0 * s0_0 + (ix)i1 * s0_1];
    const h16 v1 = a1[(ix)i0 * s1_0];
    const float v2 = lf_half_widen(v0);
    const float v3 = lf_half_widen(v1);
    const float v4 = (v2 * v3);
    const h16 v5 = lf_half_multiply(v0, v1);
    a2[(ix)i0 * s2_0 + (ix)i1 * s2_1] = v5;
  }
}
