#pragma once

#include <vector>

#include "engine/text/text_model.h"
#include "nn/recurrent_state.h"

namespace wick {

struct EngineRequest;

// The text that a model with an encoder reads before it generates; nothing for other models.
class TextSource {
 public:
  // Of a request to a model with an encoder, takes the prompt, and leaves what the generated text begins with in its
  // place. `dtype`: of what is encoded.
  TextSource(const TextModel& model, EngineRequest& request, DType dtype);
  // Throws Error(kInvalidArgument) for a request whose prompt the model does not take: see check_prompt().
  static void check(const TextModel& model, const EngineRequest& request, int64_t context);

  bool is_there() const { return !tokens_.empty(); }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  // The state of the sequences that look at it, computed when first asked for; null: there is no source.
  RecurrentState* encoded();

 private:
  const TextModel& model_;
  DType dtype_;
  std::vector<int32_t> tokens_;
  RecurrentState state_;
};

}  // namespace wick
