#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/span.h"

namespace wick {

// Where tokens go: their ids and, when wanted, the bytes of the text that they stand for.
struct TokenSink {
  std::vector<int>& ids;
  std::vector<Span>* spans = nullptr;

  void add(int id, uint32_t begin, uint32_t end) {
    ids.push_back(id);
    if (spans) spans->push_back({begin, end});
  }
};

// Turns pieces into tokens. Thread-safe.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Throws Error(kInvalidArgument) when a piece cannot be expressed and there is no token for the unknown.
  virtual void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const = 0;
};

using TokenModelPtr = std::unique_ptr<const TokenModel>;

}  // namespace wick
