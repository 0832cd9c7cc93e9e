#include "classes.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <regex>
#include <stdexcept>

std::vector<std::string> read_labels(const std::string &path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("labels " + path + ": cannot read the file");
  static const std::regex synset("^n[0-9]{8}\\s+");
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    labels.push_back(std::regex_replace(line, synset, ""));
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (labels.empty()) throw std::runtime_error("labels " + path + ": the file is empty");
  return labels;
}

std::vector<double> probabilities(const std::vector<float> &scores, bool *already) {
  std::vector<double> p(scores.begin(), scores.end());
  double sum = std::accumulate(p.begin(), p.end(), 0.0);
  *already = std::abs(sum - 1) < 1e-3 && std::all_of(p.begin(), p.end(), [](double v) { return v >= 0 && v <= 1; });
  if (*already) return p;
  double greatest = *std::max_element(p.begin(), p.end());
  sum = 0;
  for (double &v : p) sum += v = std::exp(v - greatest);
  for (double &v : p) v /= sum;
  return p;
}

std::vector<std::size_t> best(const std::vector<float> &scores, std::size_t n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(n, order.size()));
  return order;
}
