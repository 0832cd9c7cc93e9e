/* Whatever number of workers takes the least time comes to be the one that runs are made by, also where another one becomes the fastest
 * later, and a run that takes longer than a trial may meets none. The runtime is part of this file, which calls functions of it that
 * have no names outside. */
#define _GNU_SOURCE
#include "lathe.c"

#include "check.h"

static uint32_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static void check(strength *s, int32_t best) {
  enum { RUNS = 6000, LAST = 1000, MOST = 20 };
  int wrong = 0;
  for (int run = 0; run < RUNS; run++) {
    int32_t n = strength_of(s);
    uint64_t ns = n > best ? 1000000u * (uint64_t)n / (uint64_t)best : 1000000u * (uint64_t)best / (uint64_t)n;
    if (run >= RUNS - LAST) wrong += n != best;
    took(s, ns + ns * draw(10) / 100 + (draw(50) == 0) * draw(4) * 1000000);
  }
  CHECK(wrong <= MOST);
}

int main(void) {
  for (int32_t workers = 2; workers <= 16; workers++)
    for (int seed = 0; seed < 20; seed++) {
      strength s = new_strength(workers);
      for (int change = 0; change < 3; change++) {
        int32_t best = workers;
        while (best > 1 && draw(2) == 0) best /= 2;
        check(&s, best);
      }
    }
  strength many = new_strength(8);
  int whole = 0; /* runs in which all take part, though one would be the fastest */
  for (int run = 0; run < 2 * WHOLE_CREW; run++) {
    int32_t n = strength_of(&many);
    whole += run >= WHOLE_CREW / 2 && n == 8;
    took(&many, (uint64_t)n * 1000000);
  }
  CHECK(whole == 2);
  strength s = new_strength(4);
  for (int run = 0; run < 2000; run++) {
    CHECK(strength_of(&s) == 4);
    took(&s, 2 * (uint64_t)LONGEST_RUN_NS);
  }
  strength longer = new_strength(4); /* one is the fastest, then four are, of runs that are too long to try fewer */
  for (int run = 0; run < 2000; run++) took(&longer, (uint64_t)strength_of(&longer) * 1000000);
  for (int run = 0; run < 4000; run++) took(&longer, 4 * (uint64_t)LONGEST_RUN_NS / (uint64_t)strength_of(&longer));
  CHECK(strength_of(&longer) == 4);
  puts("ok");
  return 0;
}
