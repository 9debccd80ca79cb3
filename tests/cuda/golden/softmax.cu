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
template <class T, int N> 
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack { T v[N]; };
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
template <class T> __device__ __forceinline__ T lf_swap(T v, unsigned int offset) {
  return (T)__shfl_xor_sync(0xffffffffu, v, offset);
}
#ifndef LF_HOST
extern __shared__ __align__(16) unsigned char lf_shared[];
#else
#define lf_shared lfh::dynamic.data()
#endif
typedef long long ix;
typedef unsigned long long ux;
struct State0 { double f0; };
__device__ __forceinline__ State0 lf_identity0() { State0 a; a.f0 = __longlong_as_double(0xfff0000000000000LL); return a; }
__device__ __forceinline__ void lf_combine(State0& a, const State0& b) {
  { const double p = a.f0, q = b.f0; a.f0 = lf_max_of(p, q); }
}
__device__ __forceinline__ State0 lf_swap_state(const State0& a, unsigned int o) { State0 b; b.f0 = lf_swap(a.f0, o); return b; }
__device__ __forceinline__ void lf_fold(State0& a, const State0& b) {
  { const double p = a.f0, q = b.f0; a.f0 = (p >= q || p != p ? p : q); }
}
struct State1 { double f1; };
__device__ __forceinline__ State1 lf_identity1() { State1 a; a.f1 = 0x0p+0; return a; }
__device__ __forceinline__ void lf_combine(State1& a, const State1& b) {
  { const double p = a.f1, q = b.f1; a.f1 = (p + q); }
}
__device__ __forceinline__ State1 lf_swap_state(const State1& a, unsigned int o) { State1 b; b.f1 = lf_swap(a.f1, o); return b; }
struct State2 { int none; };
__device__ __forceinline__ State2 lf_identity2() { State2 a; a.none = 0; return a; }
__device__ __forceinline__ void lf_combine(State2& a, const State2& b) {
  
}
__device__ __forceinline__ State2 lf_swap_state(const State2& a, unsigned int o) { State2 b; b.none = 0; return b; }
struct Totals { double f0; double f1; };
template <class S> __device__ __forceinline__ void lf_group(S& a) {
  const unsigned int lane = threadIdx.x, lanes = blockDim.x, width = lanes < 32 ? lanes : 32;
  for (unsigned int o = 1; o < width; o <<= 1) lf_combine(a, lf_swap_state(a, o));
  if (lanes > 32) {
    __shared__ S warps[32];
    const unsigned int count = lanes >> 5, base = threadIdx.y * count;
    if ((lane & 31) == 0) warps[base + (lane >> 5)] = a;
    __syncthreads();
    a = warps[base + (lane & (count - 1))];
    for (unsigned int o = 1; o < count; o <<= 1) lf_combine(a, lf_swap_state(a, o));
    __syncthreads();
  }
}
__device__ __forceinline__ bool lf_is_last(unsigned int* counters) {
  __shared__ unsigned int is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    is_last = atomicAdd(counters + blockIdx.x, 1u) == gridDim.y - 1;
    if (is_last) counters[blockIdx.x] = 0;
  }
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  return true;
}
template <class S> __device__ bool lf_gather(
    S& a, const S& identity, S* partials, unsigned int* counters, unsigned long long o,
    bool live) {
  const unsigned int lane = threadIdx.x, lanes = blockDim.x;
  if (live && lane == 0) partials[o * gridDim.y + blockIdx.y] = a;
  if (!lf_is_last(counters)) return false;
  a = identity;
  if (live)
    for (unsigned int s = lane; s < gridDim.y; s += lanes)
      lf_combine(a, partials[o * gridDim.y + s]);
  lf_group(a);
  return true;
}
extern "C" __global__ void __launch_bounds__(512, 2) lf_softmax(
    long long n0_,
    long long n1_,
    const double* a0,
    long long s0_0_,
    double* a1,
    long long s1_0_,
    double* a2,
    Totals* totals,
    void* partials,
    unsigned int* counters,
    long long first,
    long long last,
    long long packed,
    long long in_shared) {
  const ux n0 = (ux)n0_;
  const ux n1 = (ux)n1_;
  const ix s0_0 = (ix)s0_0_;
  const ix s1_0 = (ix)s1_0_;
  const unsigned int lane = threadIdx.x, lanes = blockDim.x;
  const unsigned int row = threadIdx.y, rows = blockDim.y;
  const ux outer_total = n0, inner_total = n1;
  const ux start = (ux)blockIdx.y * lanes + lane, step = (ux)gridDim.y * lanes;
  double* const S0 = reinterpret_cast<double*>(lf_shared + 0);
  double* const S2 = in_shared ? reinterpret_cast<double*>(lf_shared + 0) : a2;
  for (ux tile = blockIdx.x; tile * rows < outer_total; tile += gridDim.x) {
    const ux o = tile * rows + row;
    const bool live = o < outer_total;
    const ux i0 = o;
    Totals t;
    const unsigned long long slot = in_shared ? row : gridDim.y > 1 ? o : (ux)blockIdx.x * rows + row;
    const double* const R0 = in_shared ? S0 + slot * inner_total : a0 + ((ix)i0 * s0_0);
    if (first > 0 && live) t = totals[o];
    if (first <= 0 && 0 < last) {
      State0 a = lf_identity0();
      if (live) {
        ux g = start;
        if (packed) {
          const ux packs = inner_total / 2;
          for (; g < packs; g += step * 4) {
            Pack<double, 2> L0[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
              const ux p = g + step * u;
              if (p < packs) {
                const ux i1 = p * 2;
                L0[u] = *reinterpret_cast<const Pack<double, 2>*>(a0 + ((ix)i0 * s0_0 + (ix)i1));
              }
            }
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
              const ux p = g + step * u;
              if (p < packs) {
                const ux i1 = p * 2;
                const Pack<double, 2> A0 = L0[u];
                if (in_shared) lf_store_scratch(S0 + (slot * inner_total + p * 2), A0);
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                  const double v0 = A0.v[j];
                  State0 b;
                  b.f0 = v0;
                  lf_fold(a, b);
                }
              }
            }
          }
          while (g >= packs + step) g -= step;
        }
        for (; g * 2 < inner_total; g += step) {
          #pragma unroll 2
          for (int j = 0; j < 2; ++j) {
            const ux c = g * 2 + j;
            if (c < inner_total) {
              const ux i1 = c;
              const double v0 = a0[(ix)i0 * s0_0 + (ix)i1];
              if (in_shared) S0[slot * inner_total + c] = a0[(ix)i0 * s0_0 + (ix)i1];
              State0 b;
              b.f0 = v0;
              lf_fold(a, b);
            }
          }
        }
      }
      lf_group(a);
      if (gridDim.y > 1 && !lf_gather(a, lf_identity0(), static_cast<State0*>(partials), counters, o, live)) return;
      t.f0 = a.f0;
      if (gridDim.y > 1 && live && lane == 0) totals[o] = t;
    }
    if (first <= 1 && 1 < last) {
      State1 a = lf_identity1();
      if (live) {
        ux g = start;
        if (packed) {
          const ux packs = inner_total / 2;
          for (; g < packs; g += step * 1) {
            #pragma unroll
            for (int u = 0; u < 1; ++u) {
              const ux p = g + step * u;
              {
                const ux i1 = p * 2;
                const Pack<double, 2> A0 = *reinterpret_cast<const Pack<double, 2>*>(R0 + p * 2);
                Pack<double, 2> B2;
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                  const double v0 = A0.v[j];
                  const double v1 = t.f0;
                  const double v2 = (v0 - v1);
                  const double v3 = exp(v2);
                  B2.v[j] = v3;
                  State1 b;
                  b.f1 = v3;
                  lf_combine(a, b);
                }
                lf_store_scratch(S2 + (slot * inner_total + p * 2), B2);
              }
            }
          }
        }
        for (; g * 2 < inner_total; g += step) {
          #pragma unroll 1
          for (int j = 0; j < 2; ++j) {
            const ux c = g * 2 + j;
            if (c < inner_total) {
              const ux i1 = c;
              const double v0 = R0[c];
              const double v1 = t.f0;
              const double v2 = (v0 - v1);
              const double v3 = exp(v2);
              S2[slot * inner_total + c] = v3;
              State1 b;
              b.f1 = v3;
              lf_combine(a, b);
            }
          }
        }
      }
      lf_group(a);
      if (gridDim.y > 1 && !lf_gather(a, lf_identity1(), static_cast<State1*>(partials), counters, o, live)) return;
      t.f1 = a.f1;
      if (gridDim.y > 1 && live && lane == 0) totals[o] = t;
    }
    if (first <= 2 && 2 < last) {
      State2 a = lf_identity2();
      if (live) {
        ux g = start;
        if (packed) {
          const ux packs = inner_total / 2;
          for (; g < packs; g += step * 1) {
            #pragma unroll
            for (int u = 0; u < 1; ++u) {
              const ux p = g + step * u;
              {
                const ux i1 = p * 2;
                const Pack<double, 2> A2 = *reinterpret_cast<const Pack<double, 2>*>(S2 + (slot * inner_total + p * 2));
                Pack<double, 2> B1;
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                  const double v0 = A2.v[j];
                  const double v1 = t.f1;
                  const double v2 = (double)(v0 / v1);
                  B1.v[j] = v2;
                }
                lf_store_pack(a1 + ((ix)i0 * s1_0 + (ix)i1), B1);
              }
            }
          }
        }
        for (; g * 2 < inner_total; g += step) {
          #pragma unroll 1
          for (int j = 0; j < 2; ++j) {
            const ux c = g * 2 + j;
            if (c < inner_total) {
              const ux i1 = c;
              const double v0 = S2[slot * inner_total + c];
              const double v1 = t.f1;
              const double v2 = (double)(v0 / v1);
              a1[(ix)i0 * s1_0 + (ix)i1] = v2;
            }
          }
        }
      }
    }
  }
}
