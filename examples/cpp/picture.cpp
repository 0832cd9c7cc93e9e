#include "picture.hpp"

#include <stb_image.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

Picture read_picture(const std::string &path) {
  Picture p;
  std::unique_ptr<unsigned char, void (*)(void *)> data(stbi_load(path.c_str(), &p.width, &p.height, &p.channels, 3), stbi_image_free);
  if (!data) throw std::runtime_error("picture " + path + ": " + stbi_failure_reason());
  p.pixels.assign(data.get(), data.get() + std::size_t(3) * p.width * p.height);
  return p;
}

namespace {

// The pixels that one pixel of a resized line is made of.
struct Taps {
  int first;
  std::vector<double> weights;
};

// A triangle as wide as two pixels of the shorter line, around each target pixel's centre, cut at the edges.
std::vector<Taps> taps(int from, int to) {
  double scale = double(from) / to, radius = std::max(scale, 1.0);
  std::vector<Taps> all(to);
  for (int i = 0; i < to; i++) {
    double centre = (i + 0.5) * scale;
    int first = std::max(int(std::floor(centre - radius)), 0), last = std::min(int(std::ceil(centre + radius)), from);
    double sum = 0;
    for (int k = first; k < last; k++) {
      double w = std::max(0.0, 1 - std::abs(k + 0.5 - centre) / radius);
      all[i].weights.push_back(w);
      sum += w;
    }
    all[i].first = first;
    for (double &w : all[i].weights) w /= sum;
  }
  return all;
}

}  // namespace

Picture resized(const Picture &from, int width, int height) {
  if (width == from.width && height == from.height) return from;
  // First along x, then along y.
  Picture wide, to;
  to.width = wide.width = width;
  to.channels = wide.channels = from.channels;
  wide.height = from.height;
  to.height = height;
  wide.pixels.resize(std::size_t(3) * width * from.height);
  to.pixels.resize(std::size_t(3) * width * height);
  std::vector<Taps> across = taps(from.width, width), down = taps(from.height, height);
  for (int y = 0; y < from.height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < 3; c++) {
        double sum = 0;
        for (std::size_t k = 0; k < across[x].weights.size(); k++)
          sum += across[x].weights[k] * from.pixels[3 * (std::size_t(y) * from.width + across[x].first + k) + c];
        wide.pixels[3 * (std::size_t(y) * width + x) + c] = float(sum);
      }
  for (int y = 0; y < height; y++)
    for (int i = 0; i < 3 * width; i++) {
      double sum = 0;
      for (std::size_t k = 0; k < down[y].weights.size(); k++)
        sum += down[y].weights[k] * wide.pixels[(down[y].first + k) * 3 * width + i];
      to.pixels[std::size_t(y) * 3 * width + i] = float(sum);
    }
  return to;
}

Layout layout_of(const std::vector<std::int64_t> &shape) {
  if (shape.size() == 4 && shape[0] == 1 && shape[1] == 3) return {int(shape[3]), int(shape[2]), false};
  if (shape.size() == 4 && shape[0] == 1 && shape[3] == 3) return {int(shape[2]), int(shape[1]), true};
  throw std::runtime_error("is not for one colour picture: its shape is neither 1x3xHxW nor 1xHxWx3");
}

std::vector<float> tensor_of(const Picture &picture, const Layout &layout, const Normal &normal) {
  int left = int(std::nearbyint((picture.width - layout.width) / 2.0)), top = int(std::nearbyint((picture.height - layout.height) / 2.0));
  std::size_t plane = std::size_t(layout.width) * layout.height;
  std::vector<float> tensor(3 * plane);
  for (int y = 0; y < layout.height; y++)
    for (int x = 0; x < layout.width; x++)
      for (int c = 0; c < 3; c++) {
        std::size_t at = std::size_t(y) * layout.width + x;
        float p = picture.pixels[3 * (std::size_t(top + y) * picture.width + left + x) + c];
        tensor[layout.channels_last ? 3 * at + c : c * plane + at] = (p * normal.scale - normal.mean[c]) / normal.std[c];
      }
  return tensor;
}
