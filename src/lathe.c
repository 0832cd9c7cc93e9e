/* SPDX-License-Identifier: Apache-2.0
 *
 * lathe.c: the runtime behind lathe.h, one translation unit of C11 with the compiler's atomics (GCC, Clang): lathe sources writes it with
 * its parts as one file. It needs pthreads and the dynamic linker, and can do without either:
 *
 *   -DLATHE_NO_THREADS   one worker; no pthreads.
 *   -DLATHE_NO_FILES     no lathe_open: libraries are linked in (lathe_open_library); no dlopen, no mmap.
 *   -DLATHE_NO_EXTERNAL  no run-time modules of external code generators: the packages' own steps compute all. LATHE_NO_FILES
 *                        implies it, as does a machine without an operating system.
 *   -DLATHE_NO_AFFINITY  workers may be woken on the CPU of who wakes them; no sched_setaffinity.
 *   -DLATHE_NO_FUTEX     workers sleep on a condition variable, as on systems other than Linux.
 *   -ffreestanding       both of the first, no allocation (lathe_options.memory) and no clock: for microcontrollers. memcpy,
 *                        memset and memcmp must exist, as GCC asks of every program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "lathe.h"

#include <stdarg.h>

#if __STDC_HOSTED__
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#else
#define LATHE_NO_THREADS
#define LATHE_NO_FILES
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
#endif

#ifndef LATHE_NO_FILES
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define LATHE_NO_EXTERNAL
#endif

#ifndef LATHE_NO_EXTERNAL
#include "lathe_external.h"
#endif

#ifndef LATHE_NO_THREADS
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

#if __STDC_HOSTED__ && defined(__linux__)
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__linux__) && !defined(LATHE_NO_THREADS) && !defined(LATHE_NO_FUTEX)
#define LATHE_FUTEX 1
#ifndef LATHE_NO_AFFINITY
#define LATHE_AFFINITY 1
#endif
#if !defined(SYS_futex) && defined(SYS_futex_time64)
#define SYS_futex SYS_futex_time64
#endif
#endif

_Static_assert(sizeof(lathe_ctx) == (sizeof(void *) == 8 ? 120 : 68), "lathe_ctx is laid out as compiled code expects");
_Static_assert(sizeof(lathe_team) == 640 && sizeof(lathe_part) == 128, "laid out as compiled code expects");
_Static_assert(sizeof(lathe_library) == 12 * 4 + 16 * sizeof(void *), "lathe_library is laid out as the compiler writes it");

/* What is called in many places and never in a hurry stands in one: the runtime is to be small. */
#define SMALL __attribute__((noinline))

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

#include "lathe/messages.c"
#include "lathe/digests.c"
#include "lathe/params.c"
#include "lathe/machine.c"
#include "lathe/workers.c"
#include "lathe/strength.c"
#include "lathe/threads.c"
#include "lathe/models.c"
#include "lathe/runs.c"
#include "lathe/packages.c"
#include "lathe/regions.c"
