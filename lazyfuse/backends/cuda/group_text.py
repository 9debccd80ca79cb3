"""Fixed CUDA C text of reductions: how the threads that share an outer index combine their states.

`lf_group` leaves the combined state in every thread of the group. In ROWS the group is
`blockDim.x` consecutive threads: shuffles inside a warp, shared memory across warps. In COLUMNS it
is `blockDim.y` threads, one per block row, for each of the W columns of a thread: a tree in shared
memory. Group sizes are powers of two and blocks are whole warps.

`lf_gather` combines the blocks that share an outer index (gridDim.y of them): each leaves its
state in `partials`, and the block that arrives last adds them in block order, so that the result
does not depend on who was last.
"""

from __future__ import annotations

ROWS_GROUP = """\
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
"""

COLUMNS_GROUP = """\
template <class S, int W> __device__ __forceinline__ void lf_group(S (&states)[W]) {
  __shared__ S column[THREADS];
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
"""

ROWS_GATHER = """\
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
"""

COLUMNS_GATHER = """\
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
"""

# Says so in all threads of a block, and what the others have written before is visible then.
IS_LAST = """\
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
"""


def group_text(*, columns: bool, threads: int) -> str:
    """The functions for one thread layout."""
    if columns:
        return COLUMNS_GROUP.replace("THREADS", str(threads)) + IS_LAST + COLUMNS_GATHER
    return ROWS_GROUP + IS_LAST + ROWS_GATHER
