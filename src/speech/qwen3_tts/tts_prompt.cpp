#include "speech/qwen3_tts/tts_prompt.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"

namespace wick {
namespace {

std::string names_of(const std::map<std::string, int32_t>& ids) {
  std::string names;
  for (const auto& [name, id] : ids) names += cat(names.empty() ? "" : ", ", name);
  return names;
}

Tensor repeated(const Tensor& row, int64_t count) { return broadcast_as(row, {count, row.dim(1)}).contiguous(); }

}  // namespace

std::string tts_speaker(const TtsConfig& config, std::string_view name) {
  std::string lower = lower_ascii(name);
  if (config.speakers.contains(lower)) return lower;
  throw Error(ErrorCode::kInvalidArgument,
              cat("there is no voice ", in_quotes(name), "; there are ", names_of(config.speakers)));
}

std::optional<int32_t> tts_language(const TtsConfig& config, std::string_view name, std::string_view speaker) {
  const std::string lower = lower_ascii(name);
  const bool is_auto = lower.empty() || lower == "auto";
  const auto dialect = config.dialects.find(std::string(speaker));
  if (dialect != config.dialects.end() && (is_auto || lower == "chinese")) return config.languages.at(dialect->second);
  if (is_auto) return std::nullopt;
  if (const auto found = config.languages.find(lower); found != config.languages.end()) return found->second;
  throw Error(ErrorCode::kInvalidArgument,
              cat("the language ", in_quotes(name), " is not one of those this voice speaks: auto, ",
                  names_of(config.languages)));
}

TtsPrompt make_tts_prompt(const Qwen3Tts& model, const TtsInput& input) {
  if (input.text.empty()) throw Error(ErrorCode::kInvalidArgument, "there is no text to say");
  const ArenaPause keep;
  const TtsIds& ids = model.config().ids;
  const auto text_row = [&](int32_t id) { return model.text_rows({&id, 1}); };
  const auto code_row = [&](int32_t id) { return model.code_rows({&id, 1}); };
  const Tensor pad = text_row(ids.text_pad), end = text_row(ids.text_eos), bos = code_row(ids.bos);
  std::vector<Tensor> rows;
  if (!input.instruction.empty()) rows.push_back(model.text_rows(input.instruction));
  rows.push_back(model.text_rows(input.role));
  std::vector<int32_t> tags = {ids.nothink, ids.think_bos, ids.think_eos};
  if (input.language) tags = {ids.think, ids.think_bos, *input.language, ids.think_eos};
  if (input.speaker) tags.push_back(*input.speaker);
  rows.push_back(add(model.code_rows(tags), pad));
  if (input.voice.defined()) rows.push_back(add(reshape(input.voice, {1, -1}), pad));
  rows.push_back(add(code_row(ids.pad), text_row(ids.text_bos)));

  TtsPrompt prompt;
  prompt.pad = prompt.trailing = pad;
  const bool continues = !input.reference_codes.empty();
  std::vector<int32_t> text = continues ? input.reference_text : std::vector<int32_t>();
  text.insert(text.end(), input.text.begin(), input.text.end());
  const Tensor line = concat({model.text_rows(text), end}, 0);
  const Tensor codes = continues ? concat({bos, model.frame_rows(input.reference_codes)}, 0) : bos;
  if (!input.streams_text) {
    rows.push_back(add(line, code_row(ids.pad)));
    rows.push_back(add(codes, pad));
  } else {
    // Text and codes side by side, as far as there are codes.
    const int64_t both = std::min(line.dim(0), codes.dim(0)), left = line.dim(0) - both;
    rows.push_back(add(narrow(line, 0, 0, both), narrow(codes, 0, 0, both)));
    if (codes.dim(0) > both) {
      rows.push_back(add(narrow(codes, 0, both, codes.dim(0) - both), repeated(pad, codes.dim(0) - both)));
    }
    if (left > 0) prompt.trailing = narrow(line, 0, both, left).contiguous();
  }
  prompt.rows = concat(rows, 0);
  return prompt;
}

}  // namespace wick
