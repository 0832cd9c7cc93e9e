// Uses lathe.hpp on the fixture: api-cpp FOLDER, with fixture.tar and alone.so.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "lathe.hpp"

static_assert(!std::is_copy_constructible_v<lathe::Model> && !std::is_copy_assignable_v<lathe::Model>, "a model has one owner");
static_assert(std::is_nothrow_move_constructible_v<lathe::Model> && std::is_nothrow_move_assignable_v<lathe::Model>, "and may change it");

namespace {

constexpr int N = 1024;

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

// throws calls f and checks what it throws.
template <class F>
void throws(lathe_status code, const std::string &text, F f) {
  try {
    f();
  } catch (const lathe::Error &e) {
    if (e.code() == code && std::string(e.what()).find(text) != std::string::npos) return;
    std::fprintf(stderr, "threw %d, %s; want %d, %s\n", e.code(), e.what(), code, text.c_str());
    std::exit(1);
  }
  std::fprintf(stderr, "threw nothing; want %s\n", text.c_str());
  std::exit(1);
}

std::vector<float> picture(int seed) {
  std::vector<float> x(N);
  for (int i = 0; i < N; i++) x[static_cast<std::size_t>(i)] = static_cast<float>((i * 31 + seed) % 101) / 8 - 6;
  return x;
}

void check_outputs(const lathe::Model &m, const std::vector<float> &x) {
  lathe::Span<const float> y = m.output<float>(0);
  lathe::Span<const std::int64_t> positive = m.output<std::int64_t>("positive");
  CHECK(y.size() == N && m.output_shape(0) == (std::vector<std::int64_t>{1, N}));
  std::size_t n = 0;
  for (std::size_t i = 0; i < N; i++) {
    std::size_t j = N - 1 - i;
    CHECK(y[i] == x[j] * static_cast<float>(static_cast<int>(j % 7) - 3) + 0.5f);
    if (y[i] > 0) CHECK(positive[n++] == static_cast<std::int64_t>(i));
  }
  CHECK(positive.size() == n && m.output_shape(1) == std::vector<std::int64_t>{static_cast<std::int64_t>(n)});
}

const std::array<std::int32_t, 1> no_fault = {0};

void run(lathe::Model &m, int seed) {
  std::vector<float> x = picture(seed);
  m.set_input(0, x);
  m.set_input("fault", no_fault);
  m.run();
  check_outputs(m, x);
}

}  // namespace

int main(int, char **argv) {
  const std::string folder = argv[1];
  throws(LATHE_ERROR_FILE, "no such file", [&] { lathe::Model m(folder + "/nothing"); });
  throws(LATHE_ERROR_ARGUMENT, "5000 workers", [&] { lathe::Model m(folder + "/fixture.tar", 5000); });

  lathe::Model m(folder + "/fixture.tar", 2);
  CHECK(m.workers() == 2 && m.input_count() == 2 && m.output_count() == 2 && m.output_index("positive") == 1);
  CHECK(m.input_info(0).name == "x" && m.input_info(0).elements() == N && m.output_info(1).dtype == LATHE_INT64);
  CHECK(std::string(m.library().module) == "fixture");
  throws(LATHE_ERROR_ARGUMENT, "output 9: the model has 2 outputs", [&] { m.output_info(9); });
  throws(LATHE_ERROR_ARGUMENT, "unknown input \"X\"", [&] { m.input_index("X"); });
  throws(LATHE_ERROR_STATE, "never set", [&] { m.run(); });
  throws(LATHE_ERROR_STATE, "has not run yet", [&] { m.output<float>(0); });
  std::vector<double> wrong(N);
  std::vector<float> small(3);
  throws(LATHE_ERROR_ARGUMENT, "input \"x\" holds float32", [&] { m.set_input(0, wrong); });
  throws(LATHE_ERROR_ARGUMENT, "12 bytes given, 4096 wanted", [&] { m.set_input("x", small); });
  run(m, 1);
  throws(LATHE_ERROR_ARGUMENT, "output \"y\" holds float32", [&] { m.output<std::int32_t>("y"); });

  // Filled in place; written to the caller's memory.
  std::vector<float> x = picture(2), y(N);
  lathe::Span<float> own = m.input<float>("x");
  std::copy(x.begin(), x.end(), own.begin());
  m.bind_output(0, y);
  m.run();
  CHECK(m.output<float>(0).data() == y.data());
  check_outputs(m, x);
  CHECK(m.profile().size() == 4 && std::string(m.profile()[1].nodes) == "flip\nadd");

  // A clone outlives what it was made from; a model moves, and runs in another thread.
  lathe::Model clone = m.clone(), moved(std::move(m));
  m = lathe::Model(folder + "/alone.so", 1);
  run(m, 3);
  moved = std::move(m);
  run(moved, 4);
  std::thread other([&] { run(clone, 5); });
  run(moved, 6);
  other.join();
  lathe::Model linked(moved.library());
  run(linked, 7);

  CHECK(lathe::holds<std::uint16_t>(LATHE_FLOAT16) && lathe::holds<std::uint16_t>(LATHE_BFLOAT16) && lathe::holds<std::uint16_t>(LATHE_UINT16));
  CHECK(!lathe::holds<std::uint32_t>(LATHE_FLOAT32) && !lathe::holds<std::uint64_t>(LATHE_FLOAT64) && !lathe::holds<std::uint8_t>(LATHE_INT8));
  CHECK(lathe::holds<bool>(LATHE_BOOL) && lathe::holds<std::uint8_t>(LATHE_BOOL) && lathe::holds<std::uint8_t>(LATHE_FLOAT8_E5M2));
  CHECK(lathe::holds<double>(LATHE_FLOAT64) && lathe::holds<std::int8_t>(LATHE_INT8) && !lathe::holds<std::int8_t>(LATHE_UINT8));
  std::puts("ok");
}
