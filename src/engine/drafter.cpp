#include "engine/drafter.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/generator.h"

namespace wick {

std::vector<int32_t> LookupDrafter::propose(std::span<const int32_t> text, int64_t most) {
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

ModelDrafter::ModelDrafter(std::shared_ptr<const TextModel> draft, const TextModel& target,
                           const GeneratorOptions& options) {
  const int mine = draft->tokenizer().vocab_size(), theirs = target.tokenizer().vocab_size();
  bool same = mine == theirs;
  for (int id = 0; same && id < mine; ++id) same = draft->tokenizer().piece(id) == target.tokenizer().piece(id);
  if (!same) {
    throw Error(ErrorCode::kInvalidArgument, cat("the draft model ", draft->name(), " and ", target.name(),
                                                 " have different vocabularies (", mine, " and ", theirs, " tokens)"));
  }
  generator_ = std::make_unique<Generator>(std::move(draft), options);
}

ModelDrafter::~ModelDrafter() = default;

std::vector<int32_t> ModelDrafter::propose(std::span<const int32_t> text, int64_t most) {
  const int64_t room = generator_->context() - static_cast<int64_t>(text.size());
  if (room < 1) return {};
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = std::min(most, room);
  params.ignore_end = true;
  return generator_->generate(text, params).tokens;
}

}  // namespace wick
