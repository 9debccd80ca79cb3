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
template <class S> __device__ __forceinline__ void lf_group(S& a) {
  __shared__ S column[256];
  if (blockDim.y > 1) {
    S* mine = column + threadIdx.y * blockDim.x + threadIdx.x;
    *mine = a;
    __syncthreads();
    for (unsigned int half = blockDim.y >> 1; half; half >>= 1) {
      if (threadIdx.y < half) lf_combine(*mine, mine[half * blockDim.x]);
      __syncthreads();
    }
    a = column[threadIdx.x];
    __syncthreads();
  }
}
template <class S> __device__ bool lf_gather(
    S& a, const S& identity, S* partials, unsigned int* counters, unsigned long long o,
    bool live) {
  __shared__ unsigned int is_last;
  const unsigned int lane = threadIdx.y, lanes = blockDim.y;
  if (live && lane == 0) partials[o * gridDim.y + blockIdx.y] = a;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    is_last = atomicAdd(counters + blockIdx.x, 1u) == gridDim.y - 1;
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  a = identity;
  if (live)
    for (unsigned int s = lane; s < gridDim.y; s += lanes)
      lf_combine(a, partials[o * gridDim.y + s]);
  lf_group(a);
  if (threadIdx.x == 0 && threadIdx.y == 0) counters[blockIdx.x] = 0;
  return true;
}
extern "C" __global__ void __launch_bounds__(256, 3) lf_column_sum(
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
    const ux o = tile * rows + row;
    const bool live = o < outer_total;
    const ux i0 = o;
    const unsigned long long slot = gridDim.y > 1 ? o : (ux)blockIdx.x * rows + row;
    Totals t;
    if (first <= 0 && 0 < last) {
      State0 a = lf_identity0();
      if (live) {
        #pragma unroll 4
        for (ux c = start; c < inner_total; c += step) {
          const ux i1 = c;
          const float v0 = a0[(ix)i0 * s0_0 + (ix)i1];
          State0 b;
          b.f0 = v0;
          lf_combine(a, b);
        }
      }
      lf_group(a);
      if (gridDim.y > 1 && !lf_gather(a, lf_identity0(), static_cast<State0*>(partials), counters, o, live)) return;
      t.f0 = a.f0;
    }
    if (first <= 1 && 1 < last && live && lane == 0) {
      const float v0 = t.f0;
      a1[(ix)i0] = v0;
    }
  }
}
