#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling/sampling_params.h"
#include "ops/layers/token_draw.h"

namespace wick::sampling {

// The repetition penalty of CTRL (Keskar et al. 2019, as Hugging Face has it) over prompt and answer, and OpenAI's
// frequency and presence penalties over the answer. Counts follow the history, in constant time per token.
class Penalties {
 public:
  Penalties(const SamplingParams& params, int64_t vocabulary);

  void start(std::span<const int32_t> prompt);
  // After a token was put behind the history, and before it is taken away again.
  void push(std::span<const int32_t> history);
  void pop(std::span<const int32_t> history);

  bool is_needed() const { return is_needed_; }
  void add_edits(int32_t row, std::vector<LogitEdit>& to) const;

 private:
  struct Count {
    int32_t token = 0;
    int32_t seen = 0;       // for the repetition penalty
    int32_t generated = 0;  // for the other two
  };

  void add(std::span<const int32_t> history, size_t position, int32_t change);
  Count& count_of(int32_t token);
  void grow();

  float repetition_, frequency_, presence_;
  int64_t window_;
  bool penalize_prompt_;
  bool is_needed_;
  int64_t vocabulary_;
  size_t prompt_size_ = 0;
  std::vector<Count> counts_;    // one per token ever seen
  std::vector<uint32_t> slots_;  // an open hash table: 1 + index into counts_, or 0
};

}  // namespace wick::sampling
