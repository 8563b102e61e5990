#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace wick::jinja {

// Variables of a template, a loop's turn, a macro call or a block. Reads go outwards, writes stay here.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}

  const Value* find(std::string_view name) const {
    for (const auto& [key, value] : variables) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  void set(std::string_view name, Value value) {
    for (auto& [key, present] : variables) {
      if (key == name) {
        present = std::move(value);
        return;
      }
    }
    variables.emplace_back(name, std::move(value));
  }

  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> variables;
  bool kept = false;  // listed for the end of the render
  Charge charge{256};
};

}  // namespace wick::jinja
