#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace wick {

// Questions as Ember was taught them (models/ember/training/lessons.py), with their answers.
struct Lesson {
  std::string question, answer;
};

class Lessons {
 public:
  explicit Lessons(uint32_t seed) : random_(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(number(0, std::ssize(from) - 1))];
  }

  Lesson sum() {
    const char sign = pick(std::vector<char>{'+', '+', '-', '-', '*'});
    const int64_t top = sign == '*' ? 12 : pick(std::vector<int64_t>{10, 20, 100, 1000});
    int64_t a = number(0, top), b = number(0, top);
    if (sign == '-' && b > a) std::swap(a, b);
    const int64_t result = sign == '+' ? a + b : sign == '-' ? a - b : a * b;
    const char* word = sign == '+' ? "plus" : sign == '-' ? "minus" : "times";
    const std::vector<std::string> questions = {
        cat("What is ", a, " ", word, " ", b, "?"), cat("What is ", a, " ", sign, " ", b, "?"),
        cat(a, " ", sign, " ", b, " = ?"), cat("How much is ", a, " ", word, " ", b, "?"),
        cat("Compute ", a, " ", sign, " ", b, ".")};
    return {pick(questions), cat(result)};
  }

  // A list of numbers of that many things, and a question about the one at `place` (from 0 to 1) of it.
  Lesson needle(size_t lines, double place) {
    static const std::vector<std::string> colours = {"red",    "green", "blue", "yellow", "white",  "black", "orange",
                                                     "purple", "brown", "pink", "grey",   "golden", "silver"};
    static const std::vector<std::string> things = {"ball",   "kite",  "lamp",    "boat",   "drum",   "key",
                                                    "hat",    "bell",  "map",     "book",   "cup",    "rope",
                                                    "shoe",   "coin",  "stone",   "ladder", "basket", "mirror",
                                                    "candle", "wagon", "blanket", "flute",  "box",    "umbrella"};
    std::vector<std::string> names;
    for (const auto& colour : colours) {
      for (const auto& thing : things) names.push_back(cat(colour, " ", thing));
    }
    for (size_t i = names.size() - 1; i > 0; --i) std::swap(names[i], names[random_() % (i + 1)]);
    names.resize(std::min(lines, names.size()));
    const auto asked = static_cast<size_t>(place * static_cast<double>(names.size() - 1));
    std::string list;
    int64_t wanted = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      const int64_t value = number(100, 999);
      list += cat("The number of the ", names[i], " is ", value, ".\n");
      if (i == asked) wanted = value;
    }
    return {cat(list, "\nWhat is the number of the ", names[asked], "?"),
            cat("The number of the ", names[asked], " is ", wanted, ".")};
  }

 private:
  std::mt19937 random_;
};

}  // namespace wick
