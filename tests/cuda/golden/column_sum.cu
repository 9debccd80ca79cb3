template <class T> __device__ __forceinline__ T lf_swap(T v, unsigned int offset) {
  return (T)__shfl_xor_sync(0xffffffffu, v, offset);
}
typedef long long ix;
typedef unsigned long long ux;
struct State0 { float f0; };
__device__ __forceinline__ State0 lf_identity0() { State0 a; a.f0 = 0x0p+0f; return a; }
__device__ __forceinline__ void lf_combine(State0& a, const State0& b) {
  { const float p = a.f0, q = b.f0; a.f0 = (p + q); }
}
__device__ __forceinline__ State0 lf_swap_state(const State0& a, unsigned int o) { State0 b; b.f0 = lf_swap(a.f0, o); return b; }
struct Totals { float f0; };
template <class S, int W> __device__ __forceinline__ void lf_group(S (&states)[W]) {
  __shared__ S column[512];
  if (blockDim.y > 1) {
    S* mine = column + threadIdx.y * blockDim.x + threadIdx.x;
    #pragma unroll
    for (int w = 0; w < W; ++w) {
      *mine = states[w];
      __syncthreads();
      for (unsigned int half = blockDim.y >> 1; half; half >>= 1) {
        if (threadIdx.y < half) lf_combine(*mine, mine[half * blockDim.x]);
        __syncthreads();
      }
      states[w] = column[threadIdx.x];
      __syncthreads();
    }
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
template <class S, int W, class I> __device__ bool lf_gather(
    S (&states)[W], const S& identity, S* partials, unsigned int* counters, const I (&o)[W],
    I total) {
  const unsigned int lane = threadIdx.y, lanes = blockDim.y;
  #pragma unroll
  for (int w = 0; w < W; ++w)
    if (o[w] < total && lane == 0)
      partials[(unsigned long long)blockIdx.y * total + o[w]] = states[w];
  if (!lf_is_last(counters)) return false;
  #pragma unroll
  for (int w = 0; w < W; ++w) {
    states[w] = identity;
    if (o[w] < total) {
      #pragma unroll 4
      for (unsigned int s = lane; s < gridDim.y; s += lanes)
        lf_combine(states[w], partials[(unsigned long long)s * total + o[w]]);
    }
  }
  lf_group(states);
  return true;
}
extern "C" __global__ void __launch_bounds__(512, 2) lf_column_sum(
    long long n0_,
    long long n1_,
    const float* a0,
    long long s0_0_,
    float* a1,
    Totals* totals,
    void* partials,
    unsigned int* counters,
    long long first,
    long long last,
    long long packed) {
  const ux n0 = (ux)n0_;
  const ux n1 = (ux)n1_;
  const ix s0_0 = (ix)s0_0_;
  const unsigned int lane = threadIdx.y, lanes = blockDim.y;
  const unsigned int row = threadIdx.x, rows = blockDim.x;
  const ux outer_total = n0, inner_total = n1;
  const ux start = (ux)blockIdx.y * lanes + lane, step = (ux)gridDim.y * lanes;
  for (ux tile = blockIdx.x; tile * rows < outer_total; tile += gridDim.x) {
    const ux base = tile * rows * 1;
    ux o[1];
    #pragma unroll
    for (int w = 0; w < 1; ++w) {
      o[w] = base + (packed ? row * 1 + w : w * rows + row);
    }
    const ux slots = gridDim.y > 1 ? outer_total : (ux)gridDim.x * rows * 1;
    const ux moved = gridDim.y > 1 ? 0 : base - (ux)blockIdx.x * rows * 1;
    Totals ts[1];
    if (first <= 0 && 0 < last) {
      State0 states[1];
      #pragma unroll
      for (int w = 0; w < 1; ++w) {
        states[w] = lf_identity0();
      }
      #pragma unroll 4
      for (ux c = start; c < inner_total; c += step) {
        const ux i1 = c;
        #pragma unroll
        for (int w = 0; w < 1; ++w) {
          if (o[w] < outer_total) {
            State0& a = states[w];
            const Totals& t = ts[w];
            const ux i0 = o[w];
            const float v0 = a0[(ix)i0 * s0_0 + (ix)i1];
            State0 b;
            b.f0 = v0;
            lf_combine(a, b);
          }
        }
      }
      lf_group(states);
      if (gridDim.y > 1 && !lf_gather(states, lf_identity0(), static_cast<State0*>(partials), counters, o, outer_total)) return;
      #pragma unroll
      for (int w = 0; w < 1; ++w) {
        State0& a = states[w];
        Totals& t = ts[w];
        t.f0 = a.f0;
      }
    }
    if (first <= 1 && 1 < last && lane == 0) {
      #pragma unroll
      for (int w = 0; w < 1; ++w) {
        if (o[w] < outer_total) {
          const Totals& t = ts[w];
          const ux i0 = o[w];
          const float v0 = t.f0;
          a1[(ix)i0] = v0;
        }
      }
    }
  }
}
