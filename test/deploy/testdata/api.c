// Uses everything lathe.h declares on packages of the fixture: api FOLDER, where the folder has fixture.tar, unpacked/,
// fixture.so with fixture.params, fixture's other names, alone.so (with its weights inside), other.tar (EXTRA 7), and broken
// ones. Prints the number of workers it has tried.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char folder[512];

static const char *in(const char *name) {
  static char path[4][1024];
  static int next;
  char *p = path[next = (next + 1) % 4];
  snprintf(p, sizeof path[0], "%s/%s", folder, name);
  return p;
}

static lathe_model *open_model(const char *name, int workers) {
  lathe_options o = {.workers = workers};
  lathe_model *m;
  OK(lathe_open(in(name), &o, &m));
  return m;
}

static const int32_t no_fault;

static void run_once(lathe_model *m, int seed, float extra) {
  float x[N];
  fill(x, seed);
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input_by_name(m, "fault", &no_fault, sizeof no_fault));
  OK(lathe_run(m));
  check_fixture(m, x, extra);
}

static void test_open(void) {
  static const char *const names[] = {"fixture.tar", "unpacked",   "unpacked/mod.so",    "fixture.so",    "fixture",
                                      "fixture.params", "fixture.json", "fixture.lathe.json", "alone.so", "alone", "repacked.tar"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    for (int workers = 1; workers <= 3; workers++) {
      lathe_model *m = open_model(names[i], workers);
      CHECK(lathe_workers(m) == workers);
      run_once(m, workers, 0);
      run_once(m, workers + 50, 0);
      OK(lathe_close(m));
    }
  lathe_model *m;
  OK(lathe_open(in("fixture.tar"), NULL, &m));
  CHECK(lathe_workers(m) >= 1);
  OK(lathe_close(m));
  OK(lathe_close(NULL));
}

// Who takes part differs from run to run: trials find out how many are the fastest.
static void test_many_runs(void) {
  for (int workers = 2; workers <= 5; workers++) {
    lathe_model *m = open_model("fixture.tar", workers);
    for (int run = 0; run < 300; run++) run_once(m, run, 0);
    OK(lathe_close(m));
  }
}

static void test_open_errors(void) {
  static const struct {
    const char *name;
    lathe_status status;
    const char *text;
  } cases[] = {
      {"nothing.tar", LATHE_ERROR_FILE, "nothing.tar: no such file"},
      {"empty-folder", LATHE_ERROR_FILE, "the folder has no mod.so"},
      {"lonely.so", LATHE_ERROR_FILE, "lonely.params is missing: it holds the weights"},
      {"abi.tar", LATHE_ERROR_VERSION, "made for version 7 of the interface, this runtime has version 2: recompile the model"},
      {"features.tar", LATHE_ERROR_TARGET, "needs the CPU features made-up another-one, which this CPU does not have; recompile with --target"},
      {"machine.tar", LATHE_ERROR_TARGET, "compiled for loongarch64, this program runs on"},
      {"large.tar", LATHE_ERROR_MEMORY, "no memory for the model: 45035996"},
      {"absurd.tar", LATHE_ERROR_MEMORY, "no memory for the model: "},
      {"foreign.tar", LATHE_ERROR_PACKAGE, "not one of lathe compile"},
      {"tvm.tar", LATHE_ERROR_PACKAGE, "no lathe.json inside"},
      {"other-params", LATHE_ERROR_PACKAGE, "\"bias\" is missing: they belong to another model"},
      {"swapped-params", LATHE_ERROR_PACKAGE, "\"scale\" has 4 bytes, the library expects 4096"},
      {"more-params", LATHE_ERROR_PACKAGE, "the library has no constant \"third\""},
      {"net.tar.gz", LATHE_ERROR_PACKAGE, "is compressed with gzip"},
      {"net.onnx", LATHE_ERROR_PACKAGE, "is a model, not a package: compile it first"},
      {"empty.tar", LATHE_ERROR_PACKAGE, "is empty"},
      {"text.so", LATHE_ERROR_PACKAGE, "is not a package"},
      {"object.so", LATHE_ERROR_PACKAGE, "not a shared library"},
  };
  lathe_model *m = (lathe_model *)folder;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    FAILS(lathe_open(in(cases[i].name), NULL, &m), cases[i].status, cases[i].text);
    CHECK(m == NULL);
  }
  FAILS(lathe_open(NULL, NULL, &m), LATHE_ERROR_ARGUMENT, "no path");
  FAILS(lathe_open(in("fixture.tar"), NULL, NULL), LATHE_ERROR_ARGUMENT, "no place for the model");
  static char name[10000];
  memset(name, 'a', sizeof name - 1);
  FAILS(lathe_open(name, NULL, &m), LATHE_ERROR_FILE, "too long");
  lathe_options bad[] = {{.workers = -1}, {.workers = 2000}, {.flags = 4}, {.memory = folder + 1 + (-(uintptr_t)folder % 64), .memory_bytes = 100}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) FAILS(lathe_open(in("fixture.tar"), &bad[i], &m), LATHE_ERROR_ARGUMENT, "fixture.tar: ");
  setenv("LATHE_NUM_THREADS", "many", 1);
  FAILS(lathe_open(in("fixture.tar"), NULL, &m), LATHE_ERROR_ARGUMENT, "LATHE_NUM_THREADS=\"many\"");
  setenv("LATHE_NUM_THREADS", "5", 1);
  OK(lathe_open(in("fixture.tar"), NULL, &m));
  CHECK(lathe_workers(m) == 5);
  run_once(m, 3, 0);
  OK(lathe_close(m));
  unsetenv("LATHE_NUM_THREADS");
}

static void test_description(void) {
  lathe_model *m = open_model("fixture.tar", 1);
  const lathe_library *l = lathe_model_library(m);
  CHECK(strcmp(l->module, "fixture") == 0 && l->step_count == 4 && strcmp(lathe_step_nodes(l, 1), "flip\nadd") == 0);
  CHECK(strcmp(lathe_step_name(l, 3), "stress") == 0 && *lathe_step_nodes(l, 3) == 0 && strcmp(lathe_param_name(l, 1), "bias") == 0);
  CHECK(!lathe_step_name(l, 4) && !lathe_step_nodes(l, -1) && !lathe_param_name(l, 2) && !lathe_param_name(l, -1));
  CHECK(lathe_input_count(m) == 2 && lathe_output_count(m) == 2);
  const lathe_tensor_info *x = lathe_input_info(m, 0), *p = lathe_output_info(m, 1);
  CHECK(strcmp(x->name, "x") == 0 && x->rank == 2 && x->shape[1] == N && x->dtype == LATHE_FLOAT32 && x->bytes == 4 * N);
  CHECK(strcmp(p->name, "positive") == 0 && p->symbols[0] == 0 && strcmp(lathe_dtype_name(p->dtype), "int64") == 0);
  CHECK(lathe_input_info(m, 2) == NULL && lathe_output_info(m, -1) == NULL);
  CHECK(lathe_input_index(m, "fault") == 1 && lathe_output_index(m, "positive") == 1);
  CHECK(lathe_input_index(m, "Fault") == -1 && strstr(lathe_last_error(), "unknown input \"Fault\": the model has \"x\", \"fault\""));
  CHECK(lathe_dtype_size(LATHE_BFLOAT16) == 2 && lathe_dtype_size(LATHE_BOOL) == 1 && lathe_dtype_size(LATHE_FLOAT64) == 8);
  CHECK(lathe_dtype_size(99) == 0 && strcmp(lathe_dtype_name(99), "unknown") == 0 && lathe_dtype_size(LATHE_UINT8) == 1);
  CHECK(strcmp(lathe_status_text(LATHE_OK), "success") == 0 && strcmp(lathe_status_text((lathe_status)77), "unknown status") == 0);
  OK(lathe_close(m));
}

static void test_inputs(void) {
  lathe_model *m = open_model("fixture.tar", 2);
  float x[N + 1];
  int64_t shape[] = {1, N};
  fill(x, 9);
  CHECK(lathe_output_data(m, 0) == NULL && strstr(lathe_last_error(), "output \"y\": the model has not run yet"));
  FAILS(lathe_output_shape(m, 0, shape), LATHE_ERROR_STATE, "has not run yet");
  FAILS(lathe_run(m), LATHE_ERROR_STATE, "input \"x\" was never set");
  FAILS(lathe_set_input(m, 0, x, 4), LATHE_ERROR_ARGUMENT, "fixture.tar: input \"x\": 4 bytes given, 4096 wanted (float32[1,1024])");
  FAILS(lathe_set_input(m, 2, x, 4), LATHE_ERROR_ARGUMENT, "input 2: the model has 2 inputs");
  FAILS(lathe_set_input(m, 0, NULL, 4 * N), LATHE_ERROR_ARGUMENT, "no data");
  FAILS(lathe_set_input(m, 0, (char *)x + 1, 4 * N), LATHE_ERROR_ARGUMENT, "not aligned to its elements of 4 bytes");
  FAILS(lathe_set_input_by_name(m, "y", x, 4 * N), LATHE_ERROR_ARGUMENT, "unknown input \"y\"");
  FAILS(lathe_set_input_by_name(m, NULL, x, 4 * N), LATHE_ERROR_ARGUMENT, "unknown input");
  FAILS(lathe_set_input_tensor(m, 0, x, LATHE_FLOAT64, shape, 2), LATHE_ERROR_ARGUMENT, "float64[1,1024] given, float32[1,1024] wanted");
  FAILS(lathe_set_input_tensor(m, 0, x, LATHE_FLOAT32, shape + 1, 1), LATHE_ERROR_ARGUMENT, "float32[1024] given, float32[1,1024] wanted");
  FAILS(lathe_set_input_tensor(m, 0, x, LATHE_FLOAT32, NULL, 2), LATHE_ERROR_ARGUMENT, "wanted");
  FAILS(lathe_set_input_tensor(m, 0, x, 5, shape, 999999), LATHE_ERROR_ARGUMENT, "unknown[] given");
  FAILS(lathe_set_input(NULL, 0, x, 4), LATHE_ERROR_ARGUMENT, "no model");
  OK(lathe_set_input_tensor(m, 0, x, LATHE_FLOAT32, shape, 2));
  FAILS(lathe_run(m), LATHE_ERROR_STATE, "input \"fault\" was never set");
  OK(lathe_set_input_tensor(m, 1, &no_fault, LATHE_INT32, NULL, 0));
  OK(lathe_run(m));
  check_fixture(m, x, 0);
  x[3] = 100; // bound, not copied
  OK(lathe_run(m));
  check_fixture(m, x, 0);

  // Its own memory: filled in place, or by a copy from anywhere.
  float *own = lathe_input_data(m, 0);
  CHECK(own && (uintptr_t)own % 64 == 0 && lathe_input_data(m, 7) == NULL);
  fill(own, 10);
  OK(lathe_run(m));
  check_fixture(m, own, 0);
  char *odd = malloc(4 * N + 1);
  fill(x, 11);
  memcpy(odd + 1, x, 4 * N);
  OK(lathe_copy_input(m, 0, odd + 1, 4 * N));
  free(odd);
  FAILS(lathe_copy_input(m, 0, x, 8), LATHE_ERROR_ARGUMENT, "8 bytes given");
  OK(lathe_run(m));
  check_fixture(m, x, 0);

  // Outputs in the caller's memory, and back again.
  float y[N];
  OK(lathe_bind_output(m, 0, y, sizeof y));
  FAILS(lathe_bind_output(m, 0, y, 3), LATHE_ERROR_ARGUMENT, "output \"y\": 3 bytes given");
  FAILS(lathe_bind_output(m, 5, y, 3), LATHE_ERROR_ARGUMENT, "output 5: the model has 2 outputs");
  OK(lathe_run(m));
  CHECK(lathe_output_data(m, 0) == y);
  check_fixture(m, x, 0);
  OK(lathe_bind_output(m, 0, NULL, 0));
  OK(lathe_run(m));
  CHECK(lathe_output_data(m, 0) != y);
  check_fixture(m, x, 0);

  // A fault is reported, and the next run is clean.
  int32_t fault = 5;
  OK(lathe_set_input(m, 1, &fault, 4));
  FAILS(lathe_run(m), LATHE_ERROR_RUN, "the model reports status 5");
  fault = 0;
  OK(lathe_run(m));
  check_fixture(m, x, 0);

  FAILS(lathe_run_steps(m, 2, 1), LATHE_ERROR_ARGUMENT, "steps 2 to 1 of a model with 4");
  FAILS(lathe_run_steps(m, 0, 5), LATHE_ERROR_ARGUMENT, "steps 0 to 5");
  OK(lathe_run_steps(m, 0, 0));
  uint64_t times[4] = {0};
  OK(lathe_profile(m, times));
  for (int i = 0; i < 4; i++) CHECK(times[i] > 0);
  check_fixture(m, x, 0);
  FAILS(lathe_profile(m, NULL), LATHE_ERROR_ARGUMENT, "no place for the times");
  OK(lathe_close(m));
}

static void test_memory(void) {
  lathe_model *m, *clone;
  lathe_options o = {.workers = 2, .flags = LATHE_NO_BUFFERS};
  float x[N], y[N];
  int64_t positive[N];
  fill(x, 21);
  OK(lathe_open(in("alone.so"), &o, &m));
  CHECK(lathe_input_data(m, 0) == NULL && strstr(lathe_last_error(), "LATHE_NO_BUFFERS"));
  FAILS(lathe_copy_input(m, 0, x, sizeof x), LATHE_ERROR_ARGUMENT, "LATHE_NO_BUFFERS");
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input(m, 1, &no_fault, 4));
  FAILS(lathe_run(m), LATHE_ERROR_STATE, "output \"y\" has no memory: call lathe_bind_output");
  FAILS(lathe_bind_output(m, 0, NULL, 0), LATHE_ERROR_ARGUMENT, "LATHE_NO_BUFFERS");
  OK(lathe_bind_output(m, 0, y, sizeof y));
  OK(lathe_bind_output(m, 1, positive, sizeof positive));
  OK(lathe_run(m));
  check_fixture(m, x, 0);
  const lathe_library *l = lathe_model_library(m);

  // The caller's memory, exactly as much as is needed and no more touched.
  o.flags = 0;
  size_t need = lathe_memory_needed(l, NULL, 0, &o);
  CHECK(need > 4 * 4 * N && need % 64 == 0 && lathe_memory_needed(NULL, NULL, 0, NULL) == 0);
  unsigned char *block = aligned_alloc(64, need + 64);
  memset(block, 0xa5, need + 64);
  o.memory = block;
  o.memory_bytes = need - 1;
  lathe_model *small;
  FAILS(lathe_open_library(l, NULL, 0, &o, &small), LATHE_ERROR_ARGUMENT, "bytes, the model needs");
  o.memory_bytes = need;
  OK(lathe_open_library(l, NULL, 0, &o, &small));
  run_once(small, 22, 0);
  OK(lathe_clone(small, &clone));
  run_once(clone, 23, 0);
  OK(lathe_close(small));
  for (size_t i = need; i < need + 64; i++) CHECK(block[i] == 0xa5);
  memset(block, 0xa5, need);
  run_once(clone, 24, 0);
  OK(lathe_close(clone));
  free(block);
  OK(lathe_close(m));

  lathe_library wrong = {.abi = 3, .size = sizeof wrong};
  FAILS(lathe_open_library(NULL, NULL, 0, NULL, &m), LATHE_ERROR_ARGUMENT, "no library");
  FAILS(lathe_open_library(&wrong, NULL, 0, NULL, &m), LATHE_ERROR_VERSION, "version 3");
}

// Parameters in the caller's memory: used in place where they are aligned, copied where they are not.
static void test_params(void) {
  FILE *f = fopen(in("fixture.params"), "rb");
  CHECK(f != NULL);
  unsigned char *blob = aligned_alloc(64, 1 << 16);
  size_t bytes = fread(blob, 1, 1 << 16, f);
  fclose(f);
  lathe_model *owner = open_model("fixture.tar", 1), *m, *clone;
  const lathe_library *l = lathe_model_library(owner);
  FAILS(lathe_open_library(l, NULL, 0, NULL, &m), LATHE_ERROR_ARGUMENT, "give the content of mod.params");
  FAILS(lathe_open_library(l, blob, bytes - 1, NULL, &m), LATHE_ERROR_PACKAGE, "truncated");
  FAILS(lathe_open_library(l, blob, bytes + 1, NULL, &m), LATHE_ERROR_PACKAGE, "1 byte after the last one");
  for (int shift = 0; shift < 2; shift++) {
    memmove(blob + shift, blob, bytes);
    OK(lathe_open_library(l, blob + shift, bytes, NULL, &m));
    run_once(m, 31, 0);
    OK(lathe_clone(m, &clone));
    OK(lathe_close(m));
    run_once(clone, 32, 0);
    OK(lathe_close(clone));
  }
  free(blob);
  OK(lathe_close(owner));
}

typedef struct task {
  lathe_model *model;
  int seed;
  float extra;
} task;

static void *run_many(void *arg) {
  task *t = arg;
  for (int i = 0; i < 20; i++) run_once(t->model, t->seed + i, t->extra);
  return NULL;
}

// Several models in several threads: two packages, and clones that outlive what they were made from.
static void test_threads(void) {
  enum { TASKS = 6 };
  pthread_t threads[TASKS];
  task tasks[TASKS];
  lathe_model *a = open_model("fixture.tar", 2), *b = open_model("other.tar", 3);
  for (int i = 0; i < TASKS; i++) {
    tasks[i] = (task){NULL, 100 * i, i % 2 ? 7 : 0};
    OK(lathe_clone(i % 2 ? b : a, &tasks[i].model));
  }
  OK(lathe_close(a));
  OK(lathe_close(b));
  for (int i = 0; i < TASKS; i++) CHECK(pthread_create(&threads[i], NULL, run_many, &tasks[i]) == 0);
  for (int i = 0; i < TASKS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < TASKS; i++) OK(lathe_close(tasks[i].model));
}

// One model in several threads: every call succeeds or says that the model is busy.
static void *contend(void *arg) {
  lathe_model *m = arg;
  for (int i = 0; i < 50; i++) {
    lathe_status status = lathe_run(m);
    CHECK(status == LATHE_OK || (status == LATHE_ERROR_BUSY && strstr(lathe_last_error(), "lathe_clone")));
  }
  return NULL;
}

static void test_busy(void) {
  pthread_t threads[3];
  float x[N];
  lathe_model *m = open_model("fixture.tar", 2);
  fill(x, 1);
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input(m, 1, &no_fault, 4));
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, contend, m) == 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  check_fixture(m, x, 0);
  OK(lathe_close(m));
}

// What does not fit into a message is cut between characters, and the cause is there although the path is long.
static void test_messages(void) {
  char name[4 * 600 + 1] = "";
  lathe_model *m = open_model("fixture.tar", 1);
  for (int shift = 0; shift < 4; shift++) {
    for (int i = 0; i < shift; i++) name[i] = 'x';
    for (int i = 0; i < 500; i++) memcpy(name + shift + 4 * i, "\xf0\x9f\x90\x88", 5); // a cat
    CHECK(lathe_input_index(m, name) == -1);
    const char *message = lathe_last_error();
    size_t n = strlen(message);
    CHECK(n > 400 && strcmp(message + n - 3, "...") == 0);
    CHECK((message[n - 4] & 0xc0) == 0x80 && (message[n - 7] & 0xff) == 0xf0);
  }
  OK(lathe_close(m));
  memset(name, 'y', 1000);
  name[1000] = 0;
  FAILS(lathe_open(name, NULL, &m), LATHE_ERROR_FILE, "yyy: ");
}

static void *run_on(void *model) {
  for (;;) {
    lathe_status status = lathe_run(model);
    CHECK(status == LATHE_OK || status == LATHE_ERROR_BUSY);
  }
}

// A process forks while another of its threads runs the model: the child's model is its own, and that of the parent runs on.
static void test_fork_during_run(int workers) {
  lathe_model *m = open_model("fixture.tar", workers);
  float x[N];
  fill(x, 4);
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input(m, 1, &no_fault, sizeof no_fault));
  OK(lathe_run(m));
  pid_t parent = fork(); // the thread cannot be stopped: it runs in a process of its own
  if (parent == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_on, m) == 0);
    int busy = 0;
    for (int i = 0; i < 12; i++) {
      usleep((useconds_t)(500 * i));
      pid_t child = fork();
      if (child == 0) {
        alarm(60);
        lathe_model *other;
        OK(lathe_run(m));
        check_fixture(m, x, 0);
        run_once(m, i, 0);
        OK(lathe_clone(m, &other));
        run_once(other, i + 1, 0);
        OK(lathe_close(other));
        OK(lathe_close(m));
        _exit(0);
      }
      int status = 1;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
      busy += lathe_run(m) == LATHE_ERROR_BUSY;
    }
    CHECK(busy > 0); // the thread does run
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(parent, &status, 0) == parent && status == 0);
  OK(lathe_close(m));
}

// A child of fork has none of its parent's threads, and runs all the same.
static void test_fork(void) {
  lathe_model *m = open_model("fixture.tar", 3);
  run_once(m, 1, 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    run_once(m, 2, 0);
    OK(lathe_close(m));
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  run_once(m, 3, 0);
  OK(lathe_close(m));
}

int main(int argc, char **argv) {
  CHECK(argc >= 2 && lathe_last_error()[0] == 0);
  alarm(300); // a hang is a failure
  snprintf(folder, sizeof folder, "%s", argv[1]);
  test_open();
  test_many_runs();
  test_open_errors();
  test_description();
  test_inputs();
  test_memory();
  test_params();
  test_threads();
  test_busy();
  test_messages();
  if (argc == 2) { // not under tools that do not follow a fork
    test_fork();
    for (int workers = 1; workers <= 3; workers++) test_fork_during_run(workers);
  }
  puts("ok");
  return 0;
}
