"""The part of `launch_text.py` about processors: which one a thread runs on, and leaving it.

Where processors were busy a moment ago, Linux does not look for an idle one when it wakes a thread
(SIS_UTIL in kernel/sched/fair.c), and it evens out what is running only now and then: a worker was
seen on the processor of its caller for 70 ms, with another one idle, and all jobs took as long as
without it.

Workers that have left a processor once keep the processors that they might use then, as if by
`taskset`: what a container is given later is not theirs. Where there is nowhere to go, and after
`lf_stay()`, nobody asks any more.
"""

from __future__ import annotations

#: Elsewhere, threads stay where they are.
NOWHERE = """
define internal i32 @processor() alwaysinline {
  ret i32 -1
}

define internal void @step_aside(i32 %theirs) alwaysinline {
  ret void
}

define void @lf_stay() {
  ret void
}
"""

#: With the C library's cpu_set_t, of 1024 processors: on larger machines nothing is done.
ON_LINUX = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
@stays = internal global i32 0

define void @lf_stay() {
  store atomic i32 1, ptr @stays monotonic, align 4
  ret void
}

define internal i32 @processor() alwaysinline {
  %number = call i32 @sched_getcpu()
  ret i32 %number
}

; go to another processor if this one is that of a thread that is at work: for a moment, it is the
; only one that is not allowed
define internal void @step_aside(i32 %theirs) {
entry:
  %allowed = alloca [16 x i64]
  %own = call i32 @sched_getcpu()
  %is_apart = icmp ne i32 %own, %theirs
  %is_unknown = icmp uge i32 %own, 1024
  %may_stay = or i1 %is_apart, %is_unknown
  br i1 %may_stay, label %done, label %decide
decide:
  %stays = load atomic i32, ptr @stays monotonic, align 4
  %may_go = icmp eq i32 %stays, 0
  br i1 %may_go, label %ask, label %done
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %is_asked = icmp eq i32 %failed, 0
  br i1 %is_asked, label %leave, label %stay
leave:
  %place = lshr i32 %own, 6
  %at = getelementptr [16 x i64], ptr %allowed, i64 0, i32 %place
  %all = load i64, ptr %at
  %number = zext i32 %own to i64
  %shift = and i64 %number, 63
  %bit = shl i64 1, %shift
  %rest = xor i64 %bit, -1
  %others = and i64 %all, %rest
  store i64 %others, ptr %at
  %is_only = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  %has_left = icmp eq i32 %is_only, 0
  br i1 %has_left, label %allow, label %stay
allow:
  store i64 %all, ptr %at
  %again = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %done
stay:
  call void @lf_stay()
  br label %done
done:
  ret void
}
"""
