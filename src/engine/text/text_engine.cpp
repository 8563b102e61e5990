#include "engine/text/text_engine.h"

#include <utility>

#include "engine/beams/beam_task.h"
#include "engine/text/context.h"
#include "engine/text/text_task.h"

namespace wick {

TextEngine::TextEngine(std::shared_ptr<const TextModel> model, const EngineOptions& options)
    : Engine(model->model(), options, context_of(*model, options.context)), model_(std::move(model)) {
  if (options.drafter) drafter_ = options.drafter(*model_);
}

TextEngine::~TextEngine() { end_all(); }

std::optional<RequestId> TextEngine::submit(EngineRequest request, RequestListener listener) {
  const TextTools tools{*model_, context(), drafter_.get(), options().draft_tokens, options().joins_equal, kv_dtype()};
  if (request.params.beams.count != 1) {
    return submit(std::make_shared<BeamTask>(tools, std::move(request), std::move(listener)));
  }
  return submit(std::make_shared<TextTask>(tools, std::move(request), std::move(listener)));
}

}  // namespace wick
