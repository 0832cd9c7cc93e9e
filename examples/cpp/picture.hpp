// Pictures to input tensors, as classifiers that were trained on ImageNet expect them.
#ifndef PICTURE_HPP
#define PICTURE_HPP

#include <cstdint>
#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0;
  int channels = 0;           // of the file
  std::vector<float> pixels;  // red, green and blue from 0 to 255, row by row
};

// Decodes a file of any format that stb_image knows: JPEG, PNG, BMP, GIF, TGA, PSD, PNM. Transparency is dropped.
Picture read_picture(const std::string &path);

// Resizes with a triangle filter: shrinking averages over all pixels of the original.
Picture resized(const Picture &from, int width, int height);

// What becomes of a pixel value p from 0 to 255: (p * scale - mean) / std.
struct Normal {
  float scale = 1;
  float mean[3] = {0, 0, 0};
  float std[3] = {1, 1, 1};
};

// The size and order of axes of a model's input.
struct Layout {
  int width = 0, height = 0;
  bool channels_last = false;
};

// Finds the layout in a shape, 1x3xHxW or 1xHxWx3.
Layout layout_of(const std::vector<std::int64_t> &shape);

// Cuts the centre out of a picture and normalises it.
std::vector<float> tensor_of(const Picture &picture, const Layout &layout, const Normal &normal);

#endif
