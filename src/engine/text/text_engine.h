#pragma once

#include <memory>
#include <optional>

#include "engine/engine.h"
#include "engine/request.h"
#include "engine/text/text_model.h"

namespace wick {

// An engine of a text model: requests for texts, and whatever other tasks its language model runs.
class TextEngine final : public Engine {
 public:
  // Throws as Engine does.
  explicit TextEngine(std::shared_ptr<const TextModel> model, const EngineOptions& options = {});
  ~TextEngine() override;

  const TextModel& model() const { return *model_; }

  using Engine::submit;
  // Thread-safe. Empty when the queue is full. Throws Error(kInvalidArgument) for what can never be answered: an empty
  // prompt, one longer than the context (with both numbers), tokens outside the vocabulary, parameters out of range.
  std::optional<RequestId> submit(EngineRequest request, RequestListener listener);

 private:
  void settle_in() const override { model_->use_large_pages(); }

  std::shared_ptr<const TextModel> model_;
  std::unique_ptr<Drafter> drafter_;
};

}  // namespace wick
