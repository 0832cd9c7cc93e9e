/* Part of lathe.c: runs. */

/* check_ready checks that a run finds all its memory. */
static lathe_status check_ready(const lathe_model *m) {
  for (int32_t i = 0; m->unset > 0 && i < m->library->input_count; i++)
    if (!m->set[i]) return fail(LATHE_ERROR_STATE, m->name, "input %q was never set", m->library->inputs[i].name);
  for (int32_t i = 0; m->options.flags & LATHE_NO_BUFFERS && i < m->library->output_count; i++)
    if (!m->ctx.outputs[i])
      return fail(LATHE_ERROR_STATE, m->name, "output %q has no memory: call lathe_bind_output", m->library->outputs[i].name);
  return LATHE_OK;
}

#if __STDC_HOSTED__
static uint64_t now(void);
#endif

/* run_library runs steps of the package's own, a whole run's by as many workers as are the fastest. */
static lathe_status run_library(lathe_model *m, int32_t first, int32_t last) {
#ifndef LATHE_NO_THREADS
  if (m->workers > 1) {
    crew *c = &m->crew;
    int whole = first == 0 && last == m->library->step_count;
    uint64_t start = now();
    lathe_status status = run_crew(m->name, c, whole ? strength_of(&c->takes) : c->workers, first, last);
    if (whole) took(&c->takes, now() - start);
    return status;
  }
#endif
  m->library->run(&m->ctx, 0, 1, first, last);
  return LATHE_OK;
}

static lathe_status run_region(lathe_model *m, struct open_region *r);
static struct open_region *next_region(lathe_model *m, struct open_region *r);
static const lathe_region *region_of(const struct open_region *r);

/* run_range runs steps, each region that is whole among them by its module. A call of the library ends in front of a region and begins
 * behind it, so that all workers have met. */
static lathe_status run_range(lathe_model *m, int32_t first, int32_t last) {
  lathe_status status = LATHE_OK;
  for (struct open_region *r = next_region(m, NULL); r && status == LATHE_OK; r = next_region(m, r)) {
    int32_t from = region_of(r)->first, to = region_of(r)->last;
    if (from < first || to > last) continue;
    if (first < from) status = run_library(m, first, from);
    if (status == LATHE_OK && m->ctx.status != 0) return LATHE_OK; /* which the caller tells */
    if (status == LATHE_OK) status = run_region(m, r);
    first = to;
  }
  return status == LATHE_OK && first < last ? run_library(m, first, last) : status;
}

/* run_steps writes the nanoseconds of each step to times, which may be NULL. */
static lathe_status run_steps(lathe_model *m, int32_t first, int32_t last, uint64_t *times) {
  m->ctx.status = 0;
  lathe_status status = LATHE_OK;
#if __STDC_HOSTED__
  for (int32_t i = first; times && i < last && status == LATHE_OK; i++) {
    uint64_t start = now();
    status = run_range(m, i, i + 1);
    times[i] = now() - start;
  }
#endif
  if (!times) status = run_range(m, first, last);
  if (status != LATHE_OK) return status;
  m->ran = 1;
  if (m->ctx.status == 0) return LATHE_OK;
  return fail(LATHE_ERROR_RUN, m->name, "the model reports status %d: %s", m->ctx.status,
              m->ctx.status == 2 ? "a loop would run more often than its bound (--loop-bound)"
                                 : "an index or a size that depends on the input's values is out of range");
}

lathe_status lathe_run(lathe_model *model) { return lathe_run_steps(model, 0, model ? model->library->step_count : 0); }

lathe_status lathe_run_steps(lathe_model *model, int32_t first, int32_t last) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  if (first < 0 || last < first || last > model->library->step_count)
    status = fail(LATHE_ERROR_ARGUMENT, model->name, "steps %d to %d of a model with %d", first, last, model->library->step_count);
  if (status == LATHE_OK) status = check_ready(model);
  if (status == LATHE_OK) status = run_steps(model, first, last, NULL);
  return leave(model, status);
}

#if __STDC_HOSTED__

SMALL static uint64_t now(void) {
  struct timespec t;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &t);
#else
  timespec_get(&t, TIME_UTC);
#endif
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif

lathe_status lathe_profile(lathe_model *model, uint64_t *nanoseconds) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
#if __STDC_HOSTED__
  if (!nanoseconds) status = fail(LATHE_ERROR_ARGUMENT, model->name, "lathe_profile: no place for the times");
  if (status == LATHE_OK) status = check_ready(model);
  if (status == LATHE_OK) status = run_steps(model, 0, model->library->step_count, nanoseconds);
  return leave(model, status);
#else
  (void)nanoseconds;
  return leave(model, fail(LATHE_ERROR_STATE, model->name, "lathe_profile: this build of the runtime has no clock"));
#endif
}
