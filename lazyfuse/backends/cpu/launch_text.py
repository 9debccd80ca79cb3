"""Running kernels on one thread or on several, as LLVM text.

    lf_launch(job)              run a job and those after it; return when all are done
    lf_calls(rows, begin, end)  a kernel that calls functions: rows of six words each
    lf_copy(params, begin, end) a kernel that copies pieces of memory: target, source, and a table
                                of offset and length in bytes; nothing is done where both are one
    lf_serve()                  be a worker until lf_close
    lf_open()                   start without workers
    lf_close()                  send the workers home
    lf_stay()                   leave them on their processors

A job is a record of nine words, `JOB`. Its kernel, `void (params, begin, end)`, computes ranges of
`grain` indices, the last one shorter, until [0, end) is done. Up to `helpers` workers take part:
each gets `params + n * stride` for another n from 1 on, the calling thread gets `params`. Of
workers that sleep, `wakes` are woken, and all where jobs follow each other closely. Floating point
conditions that are met are added to the 32 bits at `flags`, as the processor numbers them, and
those of the calling thread stay as they were. Workers compute under the caller's control word
where that is one register (SSE). All may run on several threads at once and need no GIL.

How workers get a job. The caller puts it into one of SLOTS slots, sets the *word* of the slot to a
ticket per helper, and advances `epoch`. A worker that sees the epoch change draws a ticket and
claims ranges, as the caller does: it from the begin, the first worker from the end, so that each
finds in its cache what it had there in the job before. The caller, once no range is left, takes
back the tickets and waits for those who drew one: workers that come late are not waited for, and
without workers or a free slot the caller does all.

How they wait. A worker without work looks at the epoch for LOOK_NS, now and then giving way to
threads that want its processor. Then it parks: it says so in its state, looks once more, and waits
for its lock. Whoever advances the epoch looks at the states after that, so one of the two sees the
other. A worker that had to give way rests before it parks: where processors are taken, small jobs
are done before it gets one, and waking it costs their callers more than it brings. The caller
waits for the last helper in the same way. A worker that finds itself on the caller's processor
goes to another one (Linux): the scheduler may leave them there for 70 ms. Locks are CPython's,
used as semaphores: they exist wherever it does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from lazyfuse.backends.cpu.calls_text import CALLS
from lazyfuse.backends.cpu.processors_text import NOWHERE, ON_LINUX
from lazyfuse.backends.cpu.workers_text import WAIT, WORK

#: The words of a job; `next` is the job to run after it, or 0.
JOB = ("kernel", "params", "stride", "end", "grain", "helpers", "flags", "next", "wakes")
#: The words of a row: a function and what it is called with.
ROW_WORDS = 6
#: Jobs that workers may help at one time, and workers at most.
SLOTS, WORKERS = 16, 256
#: Workers that one thread wakes; each costs it some microseconds.
_WAKES = 2
#: How long a thread looks before it sleeps, in nanoseconds: a program that records a few
#: operations and runs them again and again needs some 50 us between two launches, and one that has
#: NumPy move 200,000 elements between them some 200. Waking it takes longer than what is left of
#: a kernel of 100 us (a virtual machine); 0.65 to 0.9 of the time of such programs.
LOOK_NS = 300_000
#: A thread that gives way comes back in 1 us, or in milliseconds.
_GAP_NS = 20_000
#: How long a worker rests, in microseconds.
_REST_US = 1_000

#: A word has the helpers at work in its low 16 bits, the tickets in the next, and then a bit for a
#: caller who sleeps until the last helper is done.
_AT_WORK, _SLEEPS = (1 << 16) - 1, 1 << 32

ENTRIES = ("lf_launch", "lf_calls", "lf_copy", "lf_serve", "lf_open", "lf_close", "lf_stay")

_HEAD = """\
%job = type { ptr, ptr, i64, i64, i64, i64, ptr, ptr, i64 }
; whether it is taken, control word, word, job, lock, how many workers may be woken, the caller's
; processor; ranges that are claimed. Each half has its own cache lines
%slot = type { i32, i32, i64, ptr, ptr, i64, i32, [84 x i8], i64, [120 x i8] }
; whether it is parked, lock
%worker = type { i32, ptr, [112 x i8] }
@epoch = internal global i64 0, align 128
@idle = internal global i64 0, align 128
@count = internal global i64 0, align 128
@closed = internal global i32 0
@last = internal global i64 0, align 128
@slots = internal global [SLOTS x %slot] zeroinitializer, align 128
@workers = internal global [WORKERS x %worker] zeroinitializer, align 128
declare ptr @PyThread_allocate_lock()
declare i32 @PyThread_acquire_lock(ptr, i32)
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)
declare i64 @llvm.smin.i64(i64, i64)
DECLARES
SYSTEM
PROCESSORS
"""

_RANGES = """\
; claim and run ranges until none is left, from one end: how many were claimed from the begin and
; from the end is counted in the halves of a word, by steps of 1 and 1 << 32
define internal void @share(ptr %job, ptr %params, ptr %claimed, i64 %step, i32 %control) {
entry:
  OPENS
  %kernel = load ptr, ptr %job
  %end_at = getelementptr %job, ptr %job, i32 0, i32 3
  %end = load i64, ptr %end_at
  %grain_at = getelementptr %job, ptr %job, i32 0, i32 4
  %grain = load i64, ptr %grain_at
  %above = add i64 %end, %grain
  %up = sub i64 %above, 1
  %ranges = udiv i64 %up, %grain
  %is_first = icmp eq i64 %step, 1
  br label %next
next:
  %before = atomicrmw add ptr %claimed, i64 %step monotonic
  %low = and i64 %before, LOW_HALF
  %high = lshr i64 %before, 32
  %number = add i64 %low, %high
  %is_over = icmp uge i64 %number, %ranges
  br i1 %is_over, label %done, label %run
run:
  %left = sub i64 %ranges, %high
  %last = sub i64 %left, 1
  %range = select i1 %is_first, i64 %low, i64 %last
  %begin = mul i64 %range, %grain
  %limit = add i64 %begin, %grain
  %is_whole = icmp slt i64 %limit, %end
  %stop = select i1 %is_whole, i64 %limit, i64 %end
  call void %kernel(ptr %params, i64 %begin, i64 %stop)
  br label %next
done:
  CLOSES
  %flags_at = getelementptr %job, ptr %job, i32 0, i32 6
  %flags = load ptr, ptr %flags_at
  %seen = atomicrmw or ptr %flags, i32 %bits monotonic
  ret void
}
"""

_CALLER = """\
define void @lf_launch(ptr %first) {
entry:
  %own = alloca i64
  CONTROL
  br label %next
next:
  %job = phi ptr [ %first, %entry ], [ %after, %over ]
  %params_at = getelementptr %job, ptr %job, i32 0, i32 1
  %params = load ptr, ptr %params_at
  %helpers_at = getelementptr %job, ptr %job, i32 0, i32 5
  %helpers = load i64, ptr %helpers_at
  %is_shared = icmp sgt i64 %helpers, 0
  br i1 %is_shared, label %find, label %alone
alone:
  store i64 0, ptr %own
  call void @share(ptr %job, ptr %params, ptr %own, i64 1, i32 %control)
  br label %over
find:
  %slot = call ptr @free_slot()
  %is_none = icmp eq ptr %slot, null
  br i1 %is_none, label %alone, label %together
together:
  %wakes_at = getelementptr %slot, ptr %slot, i32 0, i32 5
  %wakes = call i64 @worth_waking(ptr %job, i64 %helpers)
  store i64 %wakes, ptr %wakes_at
  %claimed = getelementptr %slot, ptr %slot, i32 0, i32 8
  store i64 0, ptr %claimed
  %control_at = getelementptr %slot, ptr %slot, i32 0, i32 1
  store i32 %control, ptr %control_at
  %here_at = getelementptr %slot, ptr %slot, i32 0, i32 6
  %here = call i32 @processor()
  store atomic i32 %here, ptr %here_at monotonic, align 4
  %job_at = getelementptr %slot, ptr %slot, i32 0, i32 3
  store ptr %job, ptr %job_at
  %word = getelementptr %slot, ptr %slot, i32 0, i32 2
  %tickets = shl i64 %helpers, 16
  store atomic i64 %tickets, ptr %word release, align 8
  %epoch = atomicrmw add ptr @epoch, i64 1 seq_cst
  call void @wake(i64 %wakes)
  call void @share(ptr %job, ptr %params, ptr %claimed, i64 1, i32 %control)
  call void @finish(ptr %slot)
  br label %over
over:
  %next_at = getelementptr %job, ptr %job, i32 0, i32 7
  %after = load ptr, ptr %next_at
  %is_last = icmp eq ptr %after, null
  br i1 %is_last, label %done, label %next
done:
  ret void
}

; how many workers may be woken: those of the job, or all where jobs follow each other so closely
; that they will be awake for the next one
define internal i64 @worth_waking(ptr %job, i64 %helpers) {
  %wakes_at = getelementptr %job, ptr %job, i32 0, i32 8
  %wakes = load i64, ptr %wakes_at
  %now = call i64 @now()
  %last = load atomic i64, ptr @last monotonic, align 8
  %pause = sub i64 %now, %last
  %is_close = icmp slt i64 %pause, LOOK_NS
  %worth = select i1 %is_close, i64 %helpers, i64 %wakes
  ret i64 %worth
}

define internal ptr @free_slot() {
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %after, %taken ]
  %slot = getelementptr [SLOTS x %slot], ptr @slots, i64 0, i64 %number
  %tried = cmpxchg ptr %slot, i32 0, i32 1 acquire monotonic
  %is_got = extractvalue { i32, i1 } %tried, 1
  br i1 %is_got, label %done, label %taken
taken:
  %after = add i64 %number, 1
  %is_last = icmp eq i64 %after, SLOTS
  br i1 %is_last, label %none, label %next
done:
  ret ptr %slot
none:
  ret ptr null
}

; wake parked workers, as many as are missing when those who look for work are counted; but few,
; for it takes time, and each of them goes on with it
define internal void @wake(i64 %helpers) {
entry:
  %idle = load atomic i64, ptr @idle seq_cst, align 8
  %all = sub i64 %helpers, %idle
  %missing = call i64 @llvm.smin.i64(i64 %all, i64 WAKES)
  %begun = load atomic i64, ptr @count monotonic, align 8
  %count = call i64 @llvm.smin.i64(i64 %begun, i64 WORKERS)
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %after, %over ]
  %left = phi i64 [ %missing, %entry ], [ %left_after, %over ]
  %is_enough = icmp sle i64 %left, 0
  %is_last = icmp sge i64 %number, %count
  %is_over = or i1 %is_enough, %is_last
  br i1 %is_over, label %done, label %try
try:
  %worker = getelementptr [WORKERS x %worker], ptr @workers, i64 0, i64 %number
  %tried = cmpxchg ptr %worker, i32 1, i32 0 seq_cst seq_cst
  %is_parked = extractvalue { i32, i1 } %tried, 1
  br i1 %is_parked, label %wake, label %over
wake:
  %lock_at = getelementptr %worker, ptr %worker, i32 0, i32 1
  %lock = load ptr, ptr %lock_at
  call void @PyThread_release_lock(ptr %lock)
  br label %over
over:
  %woken = zext i1 %is_parked to i64
  %left_after = sub i64 %left, %woken
  %after = add i64 %number, 1
  br label %next
done:
  ret void
}

; take back the tickets, wait for those who drew one, and free the slot
define internal void @finish(ptr %slot) {
entry:
  %word = getelementptr %slot, ptr %slot, i32 0, i32 2
  %closed = atomicrmw and ptr %word, i64 AT_WORK seq_cst
  br label %look
look:
  %seen = load atomic i64, ptr %word acquire, align 8
  %is_over = icmp eq i64 %seen, 0
  br i1 %is_over, label %done, label %wait
wait:
  %found = call i32 @changes(ptr %word, i64 %seen)
  %is_changed = icmp eq i32 %found, 1
  br i1 %is_changed, label %look, label %sleep
sleep:
  %before = atomicrmw or ptr %word, i64 SLEEPS seq_cst
  %is_late = icmp eq i64 %before, 0
  br i1 %is_late, label %clear, label %rest
rest:
  %lock_at = getelementptr %slot, ptr %slot, i32 0, i32 4
  %lock = load ptr, ptr %lock_at
  %woken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %clear
clear:
  store atomic i64 0, ptr %word release, align 8
  br label %done
done:
  %now = call i64 @now()
  store atomic i64 %now, ptr @last monotonic, align 8
  store atomic i32 0, ptr %slot release, align 4
  ret void
}
"""

#: SSE: the conditions are the low six bits of the control word.
_SSE = {
    "DECLARES": """declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse2.pause()""",
    "PAUSE": "llvm.x86.sse2.pause()",
    "CONTROL": """%now = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %now)
  %state = load i32, ptr %now
  %control = and i32 %state, -64""",
    "OPENS": """%state = alloca i32
  %raised = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %state)
  store i32 %control, ptr %raised
  call void @llvm.x86.sse.ldmxcsr(ptr %raised)""",
    "CLOSES": """call void @llvm.x86.sse.stmxcsr(ptr %raised)
  call void @llvm.x86.sse.ldmxcsr(ptr %state)
  %after = load i32, ptr %raised
  %bits = and i32 %after, 63""",
}
#: Elsewhere the C library knows where they are: FE_ALL_EXCEPT of AArch64's fenv.h.
_FENV = {
    "DECLARES": """declare i32 @feclearexcept(i32)
declare i32 @fetestexcept(i32)
declare void @llvm.aarch64.hint(i32)""",
    "PAUSE": "llvm.aarch64.hint(i32 1)",
    "CONTROL": "%control = add i32 0, 0",
    "OPENS": "%cleared = call i32 @feclearexcept(i32 31)",
    "CLOSES": "%bits = call i32 @fetestexcept(i32 31)",
}
_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)
_POSIX = {
    "SYSTEM": """declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)""",
    "YIELD": "sched_yield",
    "CLOCK": f"""%status = call i32 @clock_gettime(i32 {_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %nanoseconds = add i64 %whole, %rest""",
    "PROCESSORS": NOWHERE,
}
_LINUX = _POSIX | {"PROCESSORS": ON_LINUX}
#: The counter of Windows counts in 100 ns where the processor's own can be relied on.
_WINDOWS = {
    "SYSTEM": """declare i32 @SwitchToThread()
declare i32 @QueryPerformanceCounter(ptr)""",
    "YIELD": "SwitchToThread",
    "CLOCK": """%status = call i32 @QueryPerformanceCounter(ptr %time)
  %ticks = load i64, ptr %time
  %nanoseconds = mul i64 %ticks, 100""",
    "PROCESSORS": NOWHERE,
}


def is_sse(triple: str) -> bool:
    """Whether floating point conditions are in the control word of SSE."""
    return triple.startswith(("x86_64", "amd64"))


def conditions(triple: str) -> Mapping[str, str]:
    """How floating point conditions are looked at: CONTROL reads how the processor computes into
    %control; OPENS has it compute so with no condition met so far, and CLOSES gives those that are
    met from there on in %bits. DECLARES declares what these call."""
    return _SSE if is_sse(triple) else _FENV


def _system(triple: str) -> Mapping[str, str]:
    """What is to be said in another way on other systems."""
    if "windows" in triple:
        return _WINDOWS
    return _LINUX if "linux" in triple else _POSIX


def text(triple: str) -> str:
    """The module, for a target."""
    values = {
        "LOOK_NS": LOOK_NS, "GAP_NS": _GAP_NS, "REST_US": _REST_US,
        "SLOTS": SLOTS, "WORKERS": WORKERS, "WAKES": _WAKES,
        "ROW_WORDS": ROW_WORDS, "LOW_HALF": (1 << 32) - 1,
        "AT_WORK": _AT_WORK, "SLEEPS": _SLEEPS, "LAST": _SLEEPS + 1,
        **_system(triple), **conditions(triple),
    }  # fmt: skip
    source = re.sub(" *;.*", "", "\n".join((_HEAD, WAIT, _RANGES, CALLS, _CALLER, WORK)))
    return re.sub(r"\b[A-Z][A-Z_]{3,}\b", lambda found: str(values[found[0]]), source)
