#include "engine/text_engine.h"

#include <utility>

#include "engine/context.h"
#include "engine/text_task.h"

namespace wick {

TextEngine::TextEngine(std::shared_ptr<const TextModel> model, const EngineOptions& options)
    : Engine(model->model(), options, context_of(*model, options.context)), model_(std::move(model)) {
  if (options.drafter) drafter_ = options.drafter(*model_);
}

TextEngine::~TextEngine() { end_all(); }

std::optional<RequestId> TextEngine::submit(EngineRequest request, RequestListener listener) {
  const TextTools tools{*model_, context(), drafter_.get(), options().draft_tokens, options().joins_equal};
  return submit(std::make_shared<TextTask>(tools, std::move(request), std::move(listener)));
}

}  // namespace wick
