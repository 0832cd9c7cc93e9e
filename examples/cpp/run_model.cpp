// run_model NAME ARTIFACTS PICTURE LABELS INPUT [--preprocess unit|signed|imagenet] [--normalize] [--threads N]
//
// Names what is in a picture with a classifier that 'lathe compile' wrote to ARTIFACTS/NAME.so, NAME_tvm.so, NAME.tar or
// NAME_tvm.tar. The program needs no compiler and no framework: include/lathe.hpp, src/lathe.c and stb_image are all.

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "classes.hpp"
#include "lathe.hpp"
#include "picture.hpp"
#ifdef LINKED_HEADER
#include LINKED_HEADER
#endif

namespace {

// How a picture becomes the input, as the presets of 'lathe run --preprocess'.
struct Preset {
  const char *name;
  double margin;  // the shorter side becomes so many times the input's, and the centre is cut out
  Normal normal;
};

const Preset presets[] = {
    {"unit", 1, {1 / 255.0f, {0, 0, 0}, {1, 1, 1}}},
    {"signed", 1, {1 / 255.0f, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}}},
    {"imagenet", 256.0 / 224, {1 / 255.0f, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}},
};
const Preset &imagenet = presets[2];

// Without a preset: the cut of imagenet, pixels from 0 to 1.
const Preset plain_cut = {"", 256.0 / 224, {1 / 255.0f, {0, 0, 0}, {1, 1, 1}}};

struct Arguments {
  std::string name, artifacts, picture, labels, input;
  Preset preset = plain_cut;
  int threads = 0;  // 0: what the machine allows
};

const char usage[] =
    "usage: run_model NAME ARTIFACTS PICTURE LABELS INPUT [--preprocess unit|signed|imagenet] [--normalize] [--threads N]\n"
    "  run_model digits artifacts sample.png labels.txt data --preprocess signed\n"
    "  run_model resnet18 artifacts cat.png labels.txt input0 --normalize\n";

struct WrongUse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Arguments parse(int argc, char **argv) {
  Arguments a;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; i++) {
    std::string arg = argv[i];
    if (arg == "--normalize") {
      a.preset = imagenet;
    } else if (arg == "--preprocess") {
      std::string name = i + 1 < argc ? argv[++i] : "";
      auto found = std::find_if(std::begin(presets), std::end(presets), [&](const Preset &p) { return p.name == name; });
      if (found == std::end(presets)) throw WrongUse("--preprocess must be unit, signed or imagenet");
      a.preset = *found;
    } else if (arg == "--threads") {
      char *end = nullptr;
      long n = i + 1 < argc ? std::strtol(argv[++i], &end, 10) : 0;
      if (n < 1 || n > 1024 || *end) throw WrongUse("--threads must be a number from 1 to 1024");
      a.threads = int(n);
    } else if (arg.rfind("--", 0) == 0) {
      throw WrongUse("unknown flag " + arg);
    } else {
      plain.push_back(arg);
    }
  }
  if (plain.size() != 5) throw WrongUse("five arguments are wanted, there are " + std::to_string(plain.size()));
  a.name = plain[0], a.artifacts = plain[1], a.picture = plain[2], a.labels = plain[3], a.input = plain[4];
  return a;
}

lathe::Model open_model(const Arguments &a) {
#ifdef LINKED_NAME
  if (a.name == LINKED_NAME) return lathe::Model(LINKED_LIBRARY, a.threads);
#endif
  std::string tried;
  for (const char *suffix : {".so", "_tvm.so", ".tar", "_tvm.tar"}) {
    std::string path = a.artifacts + "/" + a.name + suffix;
    struct stat st;
    if (stat(path.c_str(), &st) == 0) return lathe::Model(path, a.threads);
    tried += (tried.empty() ? "" : ", ") + path;
  }
  throw std::runtime_error("there is no model: none of " + tried + " exists (lathe compile -o writes it)");
}

// The lowest and the highest value, and the mean.
template <class Values>
std::string range(const Values &values, const char *what) {
  double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  char text[200];
  std::snprintf(text, sizeof text, "%s range: [%g, %g], mean: %g", what, double(*low), double(*high), mean);
  return text;
}

// Reads the picture and makes it the model's input, saying what happens on the way.
std::vector<float> prepare(const Arguments &a, const lathe::TensorInfo &input) {
  if (input.dtype != LATHE_FLOAT32)
    throw std::runtime_error("input \"" + input.name + "\" takes " + lathe_dtype_name(input.dtype) + ", and this program makes float32");
  Layout layout;
  try {
    layout = layout_of(input.shape);
  } catch (const std::exception &e) {
    throw std::runtime_error("input \"" + input.name + "\" " + e.what());
  }

  Picture picture = read_picture(a.picture);
  std::cout << "Original image: " << picture.width << "x" << picture.height << "x" << picture.channels << "\n";

  int wanted = int(std::lround(std::max(layout.width, layout.height) * a.preset.margin)), shorter = std::min(picture.width, picture.height);
  picture = resized(picture, int(std::int64_t(wanted) * picture.width / shorter), int(std::int64_t(wanted) * picture.height / shorter));
  std::cout << "Resized to: " << picture.width << "x" << picture.height << "\n";
  std::cout << "Final image size: " << layout.width << "x" << layout.height << "x3\n";
  std::cout << "Color order: RGB\n";

  const Normal &normal = a.preset.normal;
  std::cout << "Pixel scaling: 0.0 to 1.0 (PyTorch-style)\n";
  std::cout << "Mean (R,G,B): [" << normal.mean[0] << ", " << normal.mean[1] << ", " << normal.mean[2] << "]\n";
  std::cout << "Std (R,G,B):  [" << normal.std[0] << ", " << normal.std[1] << ", " << normal.std[2] << "]\n";
  std::vector<float> tensor = tensor_of(picture, layout, normal);
  std::cout << range(tensor, "Input tensor") << "\n";
  return tensor;
}

// Refuses names that are another network's: their number is not that of the classes.
void fit(const Arguments &a, const std::vector<std::string> &labels, std::size_t classes) {
  if (labels.size() == classes) return;
  throw std::runtime_error("labels " + a.labels + ": the file has " + std::to_string(labels.size()) + " names, the output has " +
                           std::to_string(classes) + " classes (name the list of this network)");
}

// Prints the classes that the first output names.
void report(const Arguments &a, const lathe::Model &model, const std::vector<std::string> &labels) {
  lathe::Span<const float> output = model.output<float>(0);
  std::vector<float> scores(output.begin(), output.end());
  if (scores.empty()) throw std::runtime_error("the model's output is empty");
  fit(a, labels, scores.size());
  std::cout << "Output shape: ";
  for (std::int64_t d : model.output_shape(0)) std::cout << d << " ";
  bool already = false;
  std::vector<double> p = probabilities(scores, &already);
  std::cout << "\n" << range(scores, already ? "Probabilities" : "Logits") << "\n";

  auto label = [&](std::size_t i) { return i < labels.size() ? labels[i] : "class " + std::to_string(i); };
  std::vector<std::size_t> top = best(scores, 5);
  std::cout << "\n===== Running " << a.name << " =====\nTop-" << top.size() << " Predictions:\n";
  for (std::size_t rank = 0; rank < top.size(); rank++)
    std::cout << "  " << rank + 1 << ") id=" << top[rank] << "  p=" << p[top[rank]] << "  " << label(top[rank]) << "\n";
  std::cout << "Predicted class: " << top[0] << " (" << label(top[0]) << ")\n";
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && (std::string(argv[1]) == "--help" || std::string(argv[1]) == "-h")) return std::cout << usage, 0;
  try {
    Arguments a = parse(argc, argv);
    std::vector<std::string> labels = read_labels(a.labels);
    lathe::Model model = open_model(a);
    std::int32_t index = model.input_index(a.input);
    std::vector<float> tensor = prepare(a, model.input_info(index));
    model.set_input(index, tensor);
    model.run();
    report(a, model, labels);
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("the output could not be written");
    return 0;
  } catch (const WrongUse &e) {
    std::cerr << "run_model: " << e.what() << "\n" << usage;
    return 2;
  } catch (const std::exception &e) {
    std::cerr << "run_model: " << e.what() << "\n";
    return 1;
  }
}
