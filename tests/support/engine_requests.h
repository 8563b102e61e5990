#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/generator.h"
#include "engine/text/text_engine.h"

namespace wick {

// What a listener heard of one request.
struct Heard {
  std::map<int64_t, std::vector<int32_t>> tokens;  // by choice
  std::map<int64_t, std::string> text;
  std::map<int64_t, GenerateResult> results;
  std::vector<SampledToken> prompt;
  int64_t prompt_done = 0;
  std::optional<std::string> error;

  bool is_over(int64_t choices = 1) const { return error || static_cast<int64_t>(results.size()) == choices; }
};

// The listener must not outlive `heard`.
inline RequestListener listen(Heard& heard) {
  return [&heard](const RequestEvent& event) {
    if (event.kind == RequestEvent::Kind::kPrompt) {
      heard.prompt_done = event.done;
      if (event.prompt) heard.prompt = *event.prompt;
    } else if (event.kind == RequestEvent::Kind::kToken) {
      heard.tokens[event.choice].push_back(event.token->token);
      heard.text[event.choice] += event.text;
    } else if (event.kind == RequestEvent::Kind::kEnd) {
      heard.text[event.choice] += event.text;
      heard.results[event.choice] = *event.result;
    } else {
      heard.error = event.error->what();
    }
  };
}

// What the model answers when nobody else is there.
inline GenerateResult alone(const std::shared_ptr<const TextModel>& model, const EngineRequest& request,
                            int64_t choice = 0, DType kv_dtype = DType::kF16, int64_t context = 0) {
  Generator generator(model, {.context = context, .kv_dtype = kv_dtype});
  GenerateParams params;
  static_cast<GenerationParams&>(params) = request.params;
  params.sampling.seed += static_cast<uint64_t>(choice);
  return generator.generate(request.prompt, params);
}

inline void run_to_end(TextEngine& engine) {
  while (engine.step()) {
  }
}

}  // namespace wick
