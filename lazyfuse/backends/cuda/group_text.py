"""Fixed CUDA C text of reductions: how the threads that share an outer index combine their states.

`lf_group` leaves the combined state in every thread of the group. In ROWS the group is
`blockDim.x` consecutive threads: shuffles inside a warp, shared memory across warps. In COLUMNS it
is `blockDim.y` threads, one per block row: a tree in shared memory. Group sizes are powers of two
and blocks are whole warps.

`lf_gather` combines the blocks that share an outer index (gridDim.y of them): each leaves its
state in `partials`, and the block that arrives last adds them in block order, so that the result
does not depend on who was last.
"""

from __future__ import annotations

ROWS_GROUP = """\
template <class S> __device__ __forceinline__ void lf_group(S& a) {
  const unsigned int lane = threadIdx.x, lanes = blockDim.x, width = lanes < 32 ? lanes : 32;
  for (unsigned int o = 1; o < width; o <<= 1) {
    S b = lf_swap_state(a, o);
    if (lane & o) { lf_combine(b, a); a = b; } else { lf_combine(a, b); }
  }
  if (lanes > 32) {
    __shared__ S warps[32];
    const unsigned int count = lanes >> 5, base = threadIdx.y * count;
    if ((lane & 31) == 0) warps[base + (lane >> 5)] = a;
    __syncthreads();
    a = warps[base];
    for (unsigned int w = 1; w < count; ++w) lf_combine(a, warps[base + w]);
    __syncthreads();
  }
}
"""

COLUMNS_GROUP = """\
template <class S> __device__ __forceinline__ void lf_group(S& a) {
  __shared__ S column[THREADS];
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
"""

GATHER = """\
template <class S> __device__ bool lf_gather(
    S& a, const S& identity, S* partials, unsigned int* counters, unsigned long long o,
    bool live) {
  __shared__ unsigned int is_last;
  const unsigned int lane = LANE, lanes = LANES;
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
"""


def group_text(*, columns: bool, threads: int) -> str:
    """The two functions for one thread layout."""
    group = COLUMNS_GROUP.replace("THREADS", str(threads)) if columns else ROWS_GROUP
    axis = "y" if columns else "x"
    gather = GATHER.replace("LANES", f"blockDim.{axis}").replace("LANE", f"threadIdx.{axis}")
    return group + gather
