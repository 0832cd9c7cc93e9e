// Names of classes, and the probabilities of a network's scores.
#ifndef CLASSES_HPP
#define CLASSES_HPP

#include <cstddef>
#include <string>
#include <vector>

// Reads a file with the name of a class in each line; the class is the number of the line, from 0 on. Identifiers of WordNet
// ("n02123045 tabby") in front of names are left out.
std::vector<std::string> read_labels(const std::string &path);

// The softmax of scores, or the scores themselves if they are probabilities already.
std::vector<double> probabilities(const std::vector<float> &scores, bool *already);

// The classes with the n greatest scores, best first.
std::vector<std::size_t> best(const std::vector<float> &scores, std::size_t n);

#endif
