/* Part of lathe.c: how many of a model's workers take part in a run. */

#ifndef LATHE_NO_THREADS

/* A strength says how many workers take part in a run: all, unless half of them, a quarter and so on take less time. Two threads of one
 * core, cores whose caches have nothing in common or another program on one of them may lose more by meetings than a small network
 * gains. It is found by trial: blocks of runs by one number and by another take turns, and the means of their times decide. Results do
 * not depend on it.
 *
 * The first run of a block finds data and weights where other workers left them, and does not count. A trial ends early where it clearly
 * loses, mostly with its first run, so that of many runs one in 500 takes longer, and none of the first ones. */
enum {
  TRIAL_BLOCK = 4,                 /* runs */
  TRIAL_RUNS = 3 * 2 * TRIAL_BLOCK, /* of three blocks by either number */
  TRIAL_LOSS = 115,                /* percent of the present mean: the trial ends */
  FIRST_LOSS = 150,                /* the same for a first run */
  TRIAL_GAIN = 97,                 /* percent of it: the trial is won */
  FIRST_WAIT = 16,                 /* runs, before the first trial */
  LEAST_WAIT = 64,
  MOST_WAIT = 512,
  WHOLE_CREW = 1 << 16, /* in one of so many runs all take part: what they claim is told apart from claims of 2^39 chunks ago and no earlier */
  LONGEST_RUN_NS = 50000000 /* fewer workers are not tried for a longer one: meetings are no part of it, and its user would wait */
};

typedef struct strength {
  int32_t most;
  uint32_t runs;
  int halved, step; /* how often that is halved, and how much oftener in the trial */
  int wait, rest;   /* runs between two trials, and before the next one */
  int run;          /* of the trial */
  int64_t means[2]; /* ns of a run by the present number, and by that of the trial */
} strength;

static strength new_strength(int32_t workers) { return (strength){.most = workers, .step = 1, .wait = LEAST_WAIT, .rest = FIRST_WAIT}; }

static int is_trial(const strength *s) { return s->run / TRIAL_BLOCK % 2; }

/* strength_of is how many workers take part in the next run. */
static int32_t strength_of(const strength *s) {
  return s->runs % WHOLE_CREW == WHOLE_CREW - 1 ? s->most : s->most >> (s->halved + (is_trial(s) ? s->step : 0));
}

/* end_trial says what the next one tries: what is beyond a number that won, or what is on the other side of the present one. */
static void end_trial(strength *s, int won) {
  if (won) s->halved += s->step;
  else s->step = -s->step;
  if (s->halved + s->step < 0 || s->most >> (s->halved + s->step) == 0) s->step = -s->step;
  s->wait = won ? LEAST_WAIT : 2 * s->wait < MOST_WAIT ? 2 * s->wait : MOST_WAIT;
  s->rest = s->wait;
  s->run = 0;
}

/* took is called with the time of a run by strength_of workers. */
static void took(strength *s, uint64_t ns) {
  if (++s->runs % WHOLE_CREW == 0) return;
  if (s->rest > 0) {
    s->rest--;
    return;
  }
  int trial = is_trial(s), run = s->run++;
  if (run % TRIAL_BLOCK == 0) {
    if (trial && 100 * (int64_t)ns > FIRST_LOSS * s->means[0]) end_trial(s, 0);
    return;
  }
  int count = run / (2 * TRIAL_BLOCK) * (TRIAL_BLOCK - 1) + run % TRIAL_BLOCK;
  int64_t *means = s->means;
  means[trial] += ((int64_t)ns - means[trial]) / count;
  if (trial ? 100 * means[1] > TRIAL_LOSS * means[0] : s->step > 0 && means[0] > LONGEST_RUN_NS) end_trial(s, 0);
  else if (s->run == TRIAL_RUNS) end_trial(s, 100 * means[1] < TRIAL_GAIN * means[0]);
}

#endif
