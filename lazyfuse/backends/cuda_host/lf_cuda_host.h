// Runs CUDA C++ kernel text on the CPU, for tests and for machines without a GPU.
//
//  * A kernel without barriers runs as a plain loop over blocks and threads.
//  * A kernel with barriers or shuffles runs one fiber per CUDA thread, which gives way at each of
//    them. Blocks run one after the other. `order` decides who goes first: 0 forward, 1 reverse, 2
//    and above by that seed and as unevenly as barriers allow, so that a missing barrier gives
//    answers that differ between orders.
//  * Threads that wait at different barriers (told apart by their lines), or a round in which no
//    fiber gets any further, end the launch with status DIVERGED.
//  * Shared memory keeps what the block before left, as on a GPU.
//
// Arithmetic is the host's: compile with -ffp-contract=off -fwrapv.
#pragma once
#define LF_HOST 1
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

using std::isnan;

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

namespace lfh {

enum Status { FINISHED = 0, DIVERGED = 2 };

struct Warp { unsigned live, arrived, generation; uint64_t slot[32]; };

struct Fiber {
  void* stack_pointer; char* stack; uint3 thread; unsigned lane; Warp* warp; bool done;
};

struct Block {
  uint3 index; dim3 size, grid;
  unsigned live, arrived, generation;
  int site;
  bool diverged;
  uint64_t progress;
  void (*body)(void*); void* closure;
};

inline thread_local Block block;
inline thread_local std::vector<unsigned char> dynamic;  // shared memory that a launch asks for
inline thread_local Fiber* current = nullptr;
inline thread_local Fiber lone{};
inline thread_local void* scheduler;

#if !defined(__x86_64__)
#error "the host shim switches fibers in x86-64 assembly: add a version for this architecture"
#endif
extern "C" void lfh_switch(void** save, void* to);
asm(R"(.text
.weak lfh_switch
.type lfh_switch,@function
lfh_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
.size lfh_switch,.-lfh_switch
)");

inline void enter() {
  Fiber* fiber = current;
  block.body(block.closure);
  fiber->done = true;
  block.live--;
  fiber->warp->live &= ~(1u << fiber->lane);
  block.progress++;
  void* unused;
  lfh_switch(&unused, scheduler);
  __builtin_trap();
}

// The stack of a new fiber: six saved registers, the address to return to, and a null frame.
inline void prepare(Fiber& fiber, size_t size) {
  const uintptr_t end = (reinterpret_cast<uintptr_t>(fiber.stack) + size) & ~15ull;
  void** top = reinterpret_cast<void**>(end);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&enter);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  fiber.stack_pointer = top;
}

inline void give_way() { lfh_switch(&current->stack_pointer, scheduler); }
inline void resume(Fiber& fiber) { current = &fiber; lfh_switch(&scheduler, fiber.stack_pointer); }

// A thread that has exited no longer counts, as on the device.
inline void block_barrier(int site) {
  const unsigned generation = block.generation;
  if (block.arrived++ == 0) block.site = site;
  if (block.site != site) block.diverged = true;
  while (block.generation == generation) {
    if (block.arrived >= block.live) { block.arrived = 0; block.generation++; break; }
    give_way();
  }
  block.progress++;
}

inline void warp_barrier(unsigned mask) {
  Warp& warp = *current->warp;
  const unsigned generation = warp.generation;
  warp.arrived++;
  while (warp.generation == generation) {
    if (warp.arrived >= unsigned(__builtin_popcount(mask & warp.live))) {
      warp.arrived = 0; warp.generation++; break;
    }
    give_way();
  }
  block.progress++;
}

template <class T> inline T exchange(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8, "shuffles move 8 bytes at most");
  Warp& warp = *current->warp;
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  warp.slot[current->lane] = bits;
  warp_barrier(mask);
  bits = warp.slot[source & 31];
  warp_barrier(mask);
  T result;
  memcpy(&result, &bits, sizeof(T));
  return result;
}

struct Launch { unsigned grid[3], block[3]; int fibers, order; unsigned shared; };

inline uint64_t next_random(uint64_t& state) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state;
}

template <class F> inline void run_plain(const Launch& launch, F&& kernel) {
  current = &lone;
  uint3& b = block.index; uint3& t = lone.thread;
  for (b.z = 0; b.z < launch.grid[2]; b.z++)
    for (b.y = 0; b.y < launch.grid[1]; b.y++)
      for (b.x = 0; b.x < launch.grid[0]; b.x++)
        for (t.z = 0; t.z < launch.block[2]; t.z++)
          for (t.y = 0; t.y < launch.block[1]; t.y++)
            for (t.x = 0; t.x < launch.block[0]; t.x++) kernel();
}

constexpr size_t STACK = 128 * 1024;

inline char* stacks(unsigned count) {
  static thread_local char* pool = nullptr;
  static thread_local unsigned capacity = 0;
  if (capacity < count) {
    if (pool) munmap(pool, capacity * STACK);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    pool = static_cast<char*>(mmap(nullptr, count * STACK, PROT_READ | PROT_WRITE, flags, -1, 0));
    if (pool == MAP_FAILED) abort();
    capacity = count;
  }
  return pool;
}

inline void start_block(const Launch& launch, Fiber* fibers, Warp* warps, unsigned count) {
  block.live = count; block.arrived = 0; block.generation = 0; block.progress = 0;
  block.diverged = false;
  memset(warps, 0, sizeof(Warp) * ((count + 31) / 32));
  char* pool = stacks(count);
  for (unsigned i = 0; i < count; i++) {
    Fiber& fiber = fibers[i];
    fiber.stack = pool + i * STACK;
    fiber.thread = {i % launch.block[0], i / launch.block[0] % launch.block[1],
                    i / (launch.block[0] * launch.block[1])};
    fiber.lane = i & 31;
    fiber.warp = warps + i / 32;
    fiber.warp->live |= 1u << fiber.lane;
    fiber.done = false;
    prepare(fiber, STACK);
  }
}

inline void sweep(Fiber* fibers, const unsigned* turn, unsigned count, const Warp* only) {
  for (unsigned i = 0; i < count; i++) {
    Fiber& fiber = fibers[turn[i]];
    if (!fiber.done && (!only || fiber.warp == only)) resume(fiber);
  }
}

// Orders 0 and 1: every thread gets its turn. Above: one warp runs until it cannot go on, then
// another, so that warps are as far apart as barriers allow.
inline int finish_block(Fiber* fibers, Warp* warps, const unsigned* turn, unsigned count,
                        int order, uint64_t& seed) {
  const unsigned groups = (count + 31) / 32;
  while (block.live) {
    const uint64_t before = block.progress;
    if (order >= 2) {
      const unsigned first = next_random(seed) % groups;
      for (unsigned g = 0; g < groups && block.progress == before; g++) {
        uint64_t last;
        do {
          last = block.progress;
          sweep(fibers, turn, count, warps + (first + g) % groups);
        } while (block.progress != last && !block.diverged);
      }
    } else {
      sweep(fibers, turn, count, nullptr);
    }
    if (block.diverged || (block.live && block.progress == before)) return DIVERGED;
  }
  return FINISHED;
}

template <class F> inline int run_fibers(const Launch& launch, F&& kernel) {
  typedef typename std::remove_reference<F>::type Closure;
  block.body = [](void* closure) { (*static_cast<Closure*>(closure))(); };
  block.closure = static_cast<void*>(&kernel);
  const unsigned count = launch.block[0] * launch.block[1] * launch.block[2];
  const uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  Fiber* fibers = static_cast<Fiber*>(calloc(count, sizeof(Fiber)));
  Warp* warps = static_cast<Warp*>(calloc((count + 31) / 32, sizeof(Warp)));
  unsigned* turn = static_cast<unsigned*>(malloc(count * sizeof(unsigned)));
  uint64_t seed = 0x9E3779B97F4A7C15ull * uint64_t(launch.order + 1);
  int status = FINISHED;
  for (uint64_t q = 0; q < blocks && status == FINISHED; q++) {
    const uint64_t k = launch.order == 1 ? blocks - 1 - q : q;
    block.index = {unsigned(k % launch.grid[0]), unsigned(k / launch.grid[0] % launch.grid[1]),
                   unsigned(k / launch.grid[0] / launch.grid[1])};
    start_block(launch, fibers, warps, count);
    for (unsigned i = 0; i < count; i++) turn[i] = launch.order == 1 ? count - 1 - i : i;
    if (launch.order >= 2)
      for (unsigned i = count - 1; i > 0; i--)
        std::swap(turn[i], turn[next_random(seed) % (i + 1)]);
    status = finish_block(fibers, warps, turn, count, launch.order, seed);
  }
  free(fibers); free(warps); free(turn);
  return status;
}

template <class... A, size_t... I>
inline int call(const Launch& launch, void (*kernel)(A...), void** values,
                std::index_sequence<I...>) {
  dynamic.assign(launch.shared, 0xA5);
  block.grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  block.size = {launch.block[0], launch.block[1], launch.block[2]};
  auto body = [&] { kernel(*static_cast<typename std::remove_const<A>::type*>(values[I])...); };
  if (launch.fibers) return run_fibers(launch, body);
  run_plain(launch, body);
  return FINISHED;
}

template <class... A> inline int launch(const Launch* how, void (*kernel)(A...), void** values) {
  return call(*how, kernel, values, std::index_sequence_for<A...>{});
}

// float16 in software, round to nearest even, as the device's cvt.rn.
inline float half_widen(unsigned short h) {
  const unsigned sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3ff;
  unsigned bits;
  if (exponent == 31) bits = sign | 0x7f800000u | (fraction << 13);
  else if (exponent) bits = sign | ((exponent + 112) << 23) | (fraction << 13);
  else { const float f = fraction * 0x1p-24f; memcpy(&bits, &f, 4); bits |= sign; }
  float result;
  memcpy(&result, &bits, 4);
  return result;
}

inline unsigned short half_round(double f) {
  const unsigned short sign = std::signbit(f) ? 0x8000 : 0;
  f = std::fabs(f);
  if (f != f) return sign | 0x7e00;
  if (f >= 65520.0) return sign | 0x7c00;
  if (f < 0x1p-14) return sign | (unsigned short)std::nearbyint(f * 0x1p24);  // counts 2^-24
  int exponent;
  const double fraction = std::frexp(f, &exponent);                       // in [0.5, 1)
  const unsigned mantissa = unsigned(std::nearbyint(fraction * 2048.0));  // 1024 .. 2048
  return sign | (unsigned short)(((exponent + 13) << 10) + mantissa);
}

}  // namespace lfh

#define LF_EXPORT(kernel)                                                         \
  extern "C" int lf_launch_##kernel(const lfh::Launch* how, void** values) {      \
    return lfh::launch(how, &kernel, values);                                     \
  }

#define threadIdx (lfh::current->thread)
#define blockIdx (lfh::block.index)
#define blockDim (lfh::block.size)
#define gridDim (lfh::block.grid)

#define __syncthreads() lfh::block_barrier(__LINE__)
static inline void __threadfence() { __sync_synchronize(); }

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int offset) {
  return lfh::exchange(mask, value, lfh::current->lane ^ offset);
}

template <class T> static inline T atomicAdd(T* place, T value) {
  const T before = *place;
  *place = before + value;
  return before;
}

static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }

static inline float __int_as_float(int bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline double __longlong_as_double(long long bits) {
  double f;
  memcpy(&f, &bits, 8);
  return f;
}
