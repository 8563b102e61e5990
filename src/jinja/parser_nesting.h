#pragma once

#include "jinja/parser.h"

namespace wick::jinja {

class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    constexpr int kMost = 120;
    if (++parser_.nesting_ > kMost) {
      --parser_.nesting_;
      throw parser_.fail(cat("the template is nested deeper than ", kMost, " levels"));
    }
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

}  // namespace wick::jinja
