#include "speech/qwen3_asr/asr_prompt.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr std::string_view kBefore = "<|im_start|>system\n";
constexpr std::string_view kBetween = "<|im_end|>\n<|im_start|>user\n<|audio_start|>";
constexpr std::string_view kAfter = "<|audio_end|><|im_end|>\n<|im_start|>assistant\n";
constexpr std::string_view kTokens[] = {"<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>"};
constexpr std::string_view kTextTag = "<asr_text>";

void append_tokens(std::vector<int32_t>& tokens, const Tokenizer& tokenizer, std::string_view text,
                   std::span<const uint32_t> breaks = {}) {
  EncodeOptions options;
  options.add_special = false;
  options.breaks = breaks;
  const std::vector<int> ids = tokenizer.encode(text, options);
  tokens.insert(tokens.end(), ids.begin(), ids.end());
}

}  // namespace

AsrPrompt asr_prompt(const Tokenizer& tokenizer, int32_t audio_token, int64_t audio_tokens,
                     const AsrPromptOptions& options) {
  if (audio_tokens < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat("a prompt for ", audio_tokens, " audio tokens is asked for"));
  }
  for (const std::string_view token : kTokens) {
    if (!tokenizer.id_of(token)) {
      throw Error(ErrorCode::kBadFile, cat("the tokenizer has no token '", token, "', which prompts for speech need"));
    }
  }
  const std::string context =
      is_utf8(options.context) ? std::string(options.context) : replace_invalid_utf8(options.context);
  // The context is cut at every byte, so that no letter of it can be part of a control token.
  std::vector<uint32_t> breaks(context.empty() ? 0 : context.size() + 1);
  std::iota(breaks.begin(), breaks.end(), static_cast<uint32_t>(kBefore.size()));

  AsrPrompt prompt;
  append_tokens(prompt.tokens, tokenizer, cat(kBefore, context, kBetween), breaks);
  prompt.audio_position = static_cast<int64_t>(prompt.tokens.size());
  prompt.tokens.insert(prompt.tokens.end(), static_cast<size_t>(audio_tokens), audio_token);
  append_tokens(prompt.tokens, tokenizer,
                options.language ? cat(kAfter, "language ", options.language->name, kTextTag) : std::string(kAfter));
  return prompt;
}

}  // namespace wick
