"""The part of `launch_text.py` about workers: how threads wait, and how one helps with jobs."""

from __future__ import annotations

WAIT = """\
define void @lf_open() {
entry:
  store i64 0, ptr @idle
  store i64 0, ptr @count
  store i32 0, ptr @closed
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %after, %next ]
  %slot = getelementptr [SLOTS x %slot], ptr @slots, i64 0, i64 %number
  %word = getelementptr %slot, ptr %slot, i32 0, i32 2
  %lock_at = getelementptr %slot, ptr %slot, i32 0, i32 4
  %lock = call ptr @semaphore()
  %is_none = icmp eq ptr %lock, null
  %taken = zext i1 %is_none to i32
  store i32 %taken, ptr %slot
  store i64 0, ptr %word
  store ptr %lock, ptr %lock_at
  %after = add i64 %number, 1
  %is_last = icmp eq i64 %after, SLOTS
  br i1 %is_last, label %done, label %next
done:
  ret void
}

; a lock that is waited for until somebody releases it; null without memory
define internal ptr @semaphore() {
  %lock = call ptr @PyThread_allocate_lock()
  %is_none = icmp eq ptr %lock, null
  br i1 %is_none, label %done, label %take
take:
  %taken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %done
done:
  ret ptr %lock
}

define internal i64 @now() {
  %time = alloca [2 x i64]
  CLOCK
  ret i64 %nanoseconds
}

; look for some time whether a value changes: 1 if it did, 0 if not, 2 if another thread wanted the
; processor meanwhile, and got it
define internal i32 @changes(ptr %at, i64 %from) {
entry:
  %begin = call i64 @now()
  br label %look
look:
  %turn = phi i64 [ 0, %entry ], [ %after, %pause ], [ %after, %timed ]
  %last = phi i64 [ %begin, %entry ], [ %last, %pause ], [ %now, %timed ]
  %found = load atomic i64, ptr %at seq_cst, align 8
  %is_new = icmp ne i64 %found, %from
  br i1 %is_new, label %changed, label %pause
pause:
  call void @PAUSE
  %after = add i64 %turn, 1
  %phase = and i64 %after, 31
  %is_polite = icmp eq i64 %phase, 0
  br i1 %is_polite, label %yield, label %look
yield:
  %yielded = call i32 @YIELD()
  %now = call i64 @now()
  %gap = sub i64 %now, %last
  %is_gap = icmp sgt i64 %gap, GAP_NS
  br i1 %is_gap, label %elsewhere, label %timed
timed:
  %spent = sub i64 %now, %begin
  %is_over = icmp sgt i64 %spent, LOOK_NS
  br i1 %is_over, label %over, label %look
over:
  ret i32 0
changed:
  ret i32 1
elsewhere:
  ret i32 2
}
"""

WORK = """\
define void @lf_serve() {
entry:
  %number = atomicrmw add ptr @count, i64 1 seq_cst
  %is_superfluous = icmp sge i64 %number, WORKERS
  br i1 %is_superfluous, label %done, label %enter
enter:
  %worker = getelementptr [WORKERS x %worker], ptr @workers, i64 0, i64 %number
  %lock = call ptr @semaphore()
  %is_none = icmp eq ptr %lock, null
  br i1 %is_none, label %done, label %open
open:
  %lock_at = getelementptr %worker, ptr %worker, i32 0, i32 1
  store ptr %lock, ptr %lock_at
  store i32 0, ptr %worker
  br label %serve
serve:
  %seen = load atomic i64, ptr @epoch seq_cst, align 8
  %closed = load atomic i32, ptr @closed acquire, align 4
  %is_closed = icmp ne i32 %closed, 0
  br i1 %is_closed, label %leave, label %help
help:
  %has_helped = call i1 @help()
  br i1 %has_helped, label %serve, label %look
look:
  %idle = atomicrmw add ptr @idle, i64 1 seq_cst
  %found = call i32 @changes(ptr @epoch, i64 %seen)
  %idle_before = atomicrmw sub ptr @idle, i64 1 seq_cst
  switch i32 %found, label %park [ i32 1, label %serve  i32 2, label %rest ]
rest:
  %rested = call i32 @PyThread_acquire_lock_timed(ptr %lock, i64 REST_US, i32 0)
  br label %park
park:
  %state = atomicrmw xchg ptr %worker, i32 1 seq_cst
  %last = load atomic i64, ptr @epoch seq_cst, align 8
  %is_late = icmp ne i64 %last, %seen
  br i1 %is_late, label %back, label %wait
back:
  %tried = cmpxchg ptr %worker, i32 1, i32 0 seq_cst seq_cst
  %is_undone = extractvalue { i32, i1 } %tried, 1
  br i1 %is_undone, label %serve, label %wait
wait:
  %woken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %serve
leave:
  call void @wake(i64 WORKERS)
  br label %done
done:
  ret void
}

; take part in a job that has a ticket left; whether there was one
define internal i1 @help() {
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %after, %none ]
  %slot = getelementptr [SLOTS x %slot], ptr @slots, i64 0, i64 %number
  %word = getelementptr %slot, ptr %slot, i32 0, i32 2
  br label %look
look:
  %seen = load atomic i64, ptr %word acquire, align 8
  %left = lshr i64 %seen, 16
  %ticket = and i64 %left, AT_WORK
  %is_none = icmp eq i64 %ticket, 0
  br i1 %is_none, label %none, label %draw
none:
  %after = add i64 %number, 1
  %is_last = icmp eq i64 %after, SLOTS
  br i1 %is_last, label %nothing, label %next
draw:
  %there_at = getelementptr %slot, ptr %slot, i32 0, i32 6
  %there = load atomic i32, ptr %there_at monotonic, align 4
  call void @step_aside(i32 %there)
  %drawn = sub i64 %seen, AT_WORK
  %tried = cmpxchg ptr %word, i64 %seen, i64 %drawn acq_rel monotonic
  %is_got = extractvalue { i64, i1 } %tried, 1
  br i1 %is_got, label %join, label %look
join:
  %wakes_at = getelementptr %slot, ptr %slot, i32 0, i32 5
  %wakes = load i64, ptr %wakes_at
  %others = sub i64 %ticket, 1
  %more = call i64 @llvm.smin.i64(i64 %others, i64 %wakes)
  call void @wake(i64 %more)
  %job_at = getelementptr %slot, ptr %slot, i32 0, i32 3
  %job = load ptr, ptr %job_at
  %params_at = getelementptr %job, ptr %job, i32 0, i32 1
  %params = load ptr, ptr %params_at
  %stride_at = getelementptr %job, ptr %job, i32 0, i32 2
  %stride = load i64, ptr %stride_at
  %offset = mul i64 %stride, %ticket
  %own = getelementptr i8, ptr %params, i64 %offset
  %claimed = getelementptr %slot, ptr %slot, i32 0, i32 8
  %odd = and i64 %ticket, 1
  %half = shl i64 %odd, 5
  %step = shl i64 1, %half
  %control_at = getelementptr %slot, ptr %slot, i32 0, i32 1
  %control = load i32, ptr %control_at
  call void @share(ptr %job, ptr %own, ptr %claimed, i64 %step, i32 %control)
  %before = atomicrmw sub ptr %word, i64 1 seq_cst
  %is_awaited = icmp eq i64 %before, LAST
  br i1 %is_awaited, label %tell, label %done
tell:
  %lock_at = getelementptr %slot, ptr %slot, i32 0, i32 4
  %lock = load ptr, ptr %lock_at
  call void @PyThread_release_lock(ptr %lock)
  br label %done
done:
  ret i1 true
nothing:
  ret i1 false
}

define void @lf_close() {
  store atomic i32 1, ptr @closed release, align 4
  %epoch = atomicrmw add ptr @epoch, i64 1 seq_cst
  call void @wake(i64 WORKERS)
  ret void
}
"""
