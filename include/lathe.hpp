// SPDX-License-Identifier: Apache-2.0
//
// lathe.hpp: lathe.h for C++17. Errors are exceptions, models close themselves, types and sizes are checked.
//
//   lathe::Model model("net.tar");
//   model.set_input("data", picture);                       // std::vector<float>, not copied
//   model.run();
//   lathe::Span<const float> scores = model.output<float>(0);
//
// What lathe.h says about threads and about the life of memory holds here too.
#ifndef LATHE_HPP
#define LATHE_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lathe.h"

namespace lathe {

// A failed call: what() is lathe_last_error(), code() says which kind of failure.
class Error : public std::runtime_error {
 public:
  explicit Error(lathe_status code) : Error(code, lathe_last_error()) {}
  Error(lathe_status code, const std::string &message) : std::runtime_error(message), code_(code) {}
  lathe_status code() const noexcept { return code_; }

 private:
  lathe_status code_;
};

inline void check(lathe_status status) {
  if (status != LATHE_OK) throw Error(status);
}

// A view of elements that somebody else owns.
template <class T>
class Span {
 public:
  Span() = default;
  Span(T *data, std::size_t size) : data_(data), size_(size) {}
  // A container is taken as a view of it.
  template <class Container, class = decltype(std::declval<Container &>().data())>
  Span(Container &c) : data_(c.data()), size_(c.size()) {}
  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](std::size_t i) const { return data_[i]; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// Whether elements of T hold a tensor's. float16 and bfloat16 are held as uint16_t, the 8-bit floats and bool as uint8_t too.
template <class T>
bool holds(std::int32_t dtype) {
  using U = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<U>, "an element is a number or a bool");
  if (std::is_same_v<U, bool>) return dtype == LATHE_BOOL && sizeof(bool) == 1;
  if (std::is_floating_point_v<U>) return dtype == (0x200 | static_cast<int>(8 * sizeof(U)));
  if (std::is_signed_v<U>) return dtype == static_cast<int>(8 * sizeof(U));
  bool bits = dtype == LATHE_BOOL || dtype == LATHE_FLOAT16 || dtype >> 8 > 2;  // no type of C++ is the same
  return dtype == (0x100 | static_cast<int>(8 * sizeof(U))) || (bits && lathe_dtype_size(dtype) == sizeof(U));
}

// An input or output.
struct TensorInfo {
  std::string name;
  std::int32_t dtype;
  std::vector<std::int64_t> shape;  // the greatest one where an extent depends on data
  std::size_t bytes;
  std::size_t elements() const { return bytes / lathe_dtype_size(dtype); }
};

// The time of a step.
struct StepTime {
  const char *name;
  const char *nodes;
  std::uint64_t nanoseconds;
};

class Model {
 public:
  // Opens a package: see lathe_open. workers 0 takes what the machine allows.
  explicit Model(const std::string &path, int workers = 0) {
    lathe_options o = {};
    o.workers = workers;
    check(lathe_open(path.c_str(), &o, &model_));
  }

  // Opens a library that is linked into the program, with its weights inside, or with those of mod.params.
  explicit Model(const lathe_library &library, int workers = 0) : Model(library, Span<const unsigned char>(), workers) {}
  Model(const lathe_library &library, Span<const unsigned char> params, int workers = 0) {
    lathe_options o = {};
    o.workers = workers;
    check(lathe_open_library(&library, params.data(), params.size(), &o, &model_));
  }

  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  Model(Model &&other) noexcept : model_(std::exchange(other.model_, nullptr)) {}
  Model &operator=(Model &&other) noexcept {
    std::swap(model_, other.model_);
    return *this;
  }
  ~Model() { lathe_close(model_); }

  // Compares all weights with the digest that was written with them.
  void check_weights() { check(lathe_check(model_)); }

  // A model for another thread, with the same weights and its own everything else.
  Model clone() const {
    Model m;
    check(lathe_clone(model_, &m.model_));
    return m;
  }

  std::int32_t input_count() const { return lathe_input_count(model_); }
  std::int32_t output_count() const { return lathe_output_count(model_); }
  TensorInfo input_info(std::int32_t index) const { return info(lathe_input_info(model_, index)); }
  TensorInfo output_info(std::int32_t index) const { return info(lathe_output_info(model_, index)); }
  std::int32_t input_index(const std::string &name) const { return found(lathe_input_index(model_, name.c_str())); }
  std::int32_t output_index(const std::string &name) const { return found(lathe_output_index(model_, name.c_str())); }
  int workers() const { return lathe_workers(model_); }
  std::int32_t region_count() const { return lathe_region_count(model_); }
  // Why the package's own steps compute a region of an external code generator; empty where its run-time module does.
  std::string region_note(std::int32_t index) const {
    const char *note = lathe_region_note(model_, index);
    return note == nullptr ? std::string() : note;
  }
  const lathe_library &library() const { return *lathe_model_library(model_); }
  lathe_model *get() const noexcept { return model_; }

  // Lets runs read an input from data, a container with data() and size(), which must stay in place until the input is set
  // again or the model is gone.
  template <class Container>
  void set_input(std::int32_t index, const Container &data) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(data.data())>>;
    expect<T>(lathe_input_info(model_, index), "input");
    check(lathe_set_input(model_, index, data.data(), data.size() * sizeof(T)));
  }
  template <class Container>
  void set_input(const std::string &name, const Container &data) {
    set_input(input_index(name), data);
  }
  template <class T>
  void set_input(std::int32_t index, std::vector<T> &&data) = delete;  // it would be gone before the run
  template <class T>
  void set_input(const std::string &name, std::vector<T> &&data) = delete;

  // The model's own memory for an input, to be filled in place.
  template <class T>
  Span<T> input(std::int32_t index) {
    const lathe_tensor_info &i = expect<T>(lathe_input_info(model_, index), "input");
    void *data = lathe_input_data(model_, index);
    if (data == nullptr) throw Error(LATHE_ERROR_ARGUMENT);
    return {static_cast<T *>(data), i.bytes / sizeof(T)};
  }
  template <class T>
  Span<T> input(const std::string &name) {
    return input<T>(input_index(name));
  }

  // Lets runs write an output to data, under the same conditions as set_input.
  template <class T>
  void bind_output(std::int32_t index, std::vector<T> &data) {
    bind_output(index, Span<T>(data));
  }
  template <class T>
  void bind_output(std::int32_t index, Span<T> data) {
    static_assert(!std::is_const_v<T>, "a run writes it");
    expect<T>(lathe_output_info(model_, index), "output");
    check(lathe_bind_output(model_, index, data.data(), data.size() * sizeof(T)));
  }

  void run() { check(lathe_run(model_)); }

  // What the last run wrote; the next one overwrites it.
  template <class T>
  Span<const T> output(std::int32_t index) const {
    expect<T>(lathe_output_info(model_, index), "output");
    std::size_t bytes = 0;
    check(lathe_output_bytes(model_, index, &bytes));
    return {static_cast<const T *>(lathe_output_data(model_, index)), bytes / sizeof(T)};
  }
  template <class T>
  Span<const T> output(const std::string &name) const {
    return output<T>(output_index(name));
  }

  // The shape of an output after the last run.
  std::vector<std::int64_t> output_shape(std::int32_t index) const {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(output_rank(index)));
    check(lathe_output_shape(model_, index, shape.data()));
    return shape;
  }

  // Runs step by step and returns the time of each.
  std::vector<StepTime> profile() {
    const lathe_library &l = library();
    std::vector<std::uint64_t> times(static_cast<std::size_t>(l.step_count));
    check(lathe_profile(model_, times.data()));
    std::vector<StepTime> steps;
    for (std::int32_t i = 0; i < l.step_count; i++)
      steps.push_back({lathe_step_name(&l, i), lathe_step_nodes(&l, i), times[static_cast<std::size_t>(i)]});
    return steps;
  }

 private:
  Model() = default;

  static TensorInfo info(const lathe_tensor_info *i) {
    if (i == nullptr) throw Error(LATHE_ERROR_ARGUMENT);
    return {i->name, i->dtype, {i->shape, i->shape + i->rank}, i->bytes};
  }

  static std::int32_t found(std::int32_t index) {
    if (index < 0) throw Error(LATHE_ERROR_ARGUMENT);
    return index;
  }

  std::int32_t output_rank(std::int32_t index) const {
    const lathe_tensor_info *i = lathe_output_info(model_, index);
    if (i == nullptr) throw Error(LATHE_ERROR_ARGUMENT);
    return i->rank;
  }

  template <class T>
  static const lathe_tensor_info &expect(const lathe_tensor_info *i, const char *what) {
    if (i == nullptr) throw Error(LATHE_ERROR_ARGUMENT);
    if (!holds<T>(i->dtype))
      throw Error(LATHE_ERROR_ARGUMENT, std::string("lathe: ") + what + " \"" + i->name + "\" holds " + lathe_dtype_name(i->dtype) + ", not the elements given");
    return *i;
  }

  lathe_model *model_ = nullptr;
};

}  // namespace lathe

#endif
