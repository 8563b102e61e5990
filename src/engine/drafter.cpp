#include "engine/drafter.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "engine/text_engine.h"

namespace wick {

std::vector<int32_t> LookupDrafter::find(std::span<const int32_t> text, int64_t most) const {
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t length = std::min(longest_, size - 1); length >= shortest_; --length) {
    const auto end = text.subspan(static_cast<size_t>(size - length));
    for (int64_t at = size - length - 1; at >= 0; --at) {
      if (!std::equal(end.begin(), end.end(), text.begin() + at)) continue;
      const int64_t next = at + length, count = std::min(most, size - next);
      return {text.begin() + next, text.begin() + next + count};
    }
  }
  return {};
}

void LookupDrafter::propose(std::span<Draft> drafts) {
  for (Draft& draft : drafts) draft.tokens = find(draft.text, draft.most);
}

ModelDrafter::ModelDrafter(std::shared_ptr<const TextModel> draft, const TextModel& target,
                           const EngineOptions& options) {
  const int mine = draft->tokenizer().vocab_size(), theirs = target.tokenizer().vocab_size();
  bool same = mine == theirs;
  for (int id = 0; same && id < mine; ++id) same = draft->tokenizer().piece(id) == target.tokenizer().piece(id);
  if (!same) {
    throw Error(ErrorCode::kInvalidArgument, cat("the draft model ", draft->name(), " and ", target.name(),
                                                 " have different vocabularies (", mine, " and ", theirs, " tokens)"));
  }
  EngineOptions draft_options = options;  // as many sequences, as long
  draft_options.drafter = nullptr;
  draft_options.kv_bytes = 0;
  draft_options.first_token_seconds = draft_options.next_token_seconds = 0;
  draft_options.joins_equal = draft_options.takes_turns = false;
  const int64_t context = draft->model().facts().max_context;
  if (context > 0) draft_options.context = std::min(options.context, context);
  engine_ = std::make_unique<TextEngine>(std::move(draft), draft_options);
}

ModelDrafter::~ModelDrafter() = default;

void ModelDrafter::propose(std::span<Draft> drafts) {
  std::optional<Error> error;
  for (Draft& draft : drafts) {
    const int64_t room = engine_->context() - static_cast<int64_t>(draft.text.size());
    if (room < 1) continue;
    EngineRequest request;
    request.prompt.assign(draft.text.begin(), draft.text.end());
    request.params.sampling.temperature = 0;
    request.params.max_new_tokens = std::min(draft.most, room);
    request.params.ignore_end = true;
    engine_->submit(std::move(request), [&draft, &error](const RequestEvent& event) {
      if (event.error) error = *event.error;
      if (event.result) draft.tokens = event.result->tokens;
    });
  }
  while (engine_->step()) {
  }
  if (error) throw *error;
}

}  // namespace wick
