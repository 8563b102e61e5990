#include "speech/whisper/whisper_tokens.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf/ggml_bin.h"
#include "tokenizer/stages/split_pattern.h"

namespace wick {
namespace {

constexpr int64_t kTextTokens = 50257;  // of the released models; those for English have one less
constexpr int64_t kEnglishVocabulary = 51864, kVocabulary = 51865, kLargeV3Vocabulary = 51866;
constexpr int64_t kTimes = 1501;       // 0.00 to 30.00
constexpr int64_t kOtherControls = 8;  // end, start, and those from translate to notimestamps

std::string time_name(int64_t index) {
  char name[32];
  std::snprintf(name, sizeof(name), "<|%.2f|>", WhisperTokens::kSecondsPerTime * static_cast<double>(index));
  return name;
}

// Everything behind the text.
std::vector<std::string> control_names(int64_t languages) {
  std::vector<std::string> names = {"<|endoftext|>", "<|startoftranscript|>"};
  for (const Language& language : whisper_languages().first(static_cast<size_t>(languages))) {
    names.push_back(cat("<|", language.code, "|>"));
  }
  for (const char* name :
       {"<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"}) {
    names.emplace_back(name);
  }
  for (int64_t i = 0; i < kTimes; ++i) names.push_back(time_name(i));
  return names;
}

}  // namespace

bool is_english_vocabulary(int64_t vocabulary) { return vocabulary == kEnglishVocabulary; }

std::optional<int32_t> WhisperTokens::token_of(std::string_view code) const {
  for (const Spoken& spoken : languages) {
    if (spoken.language->code == code) return spoken.token;
  }
  return std::nullopt;
}

WhisperTokens WhisperTokens::find(const Tokenizer& tokenizer, int64_t vocabulary, int64_t most_times,
                                  bool english_only) {
  const auto optional = [&](std::string_view name) -> std::optional<int32_t> {
    const auto id = tokenizer.id_of(name);
    if (id && *id >= vocabulary) {
      throw Error(ErrorCode::kBadFile,
                  cat("the token ", name, " is ", *id, ", but the model's vocabulary has ", vocabulary));
    }
    return id;
  };
  const auto required = [&](std::string_view name) {
    if (const auto id = optional(name)) return *id;
    throw Error(ErrorCode::kBadFile, cat("the tokenizer has no ", name, ", which Whisper needs"));
  };
  WhisperTokens tokens;
  tokens.english_only = english_only;
  tokens.end = required("<|endoftext|>");
  tokens.start = required("<|startoftranscript|>");
  if (!english_only) {
    for (const Language& language : whisper_languages()) {
      if (const auto id = optional(cat("<|", language.code, "|>"))) tokens.languages.push_back({&language, *id});
    }
    if (tokens.languages.empty()) required("<|en|>");
    required("<|translate|>");
    required("<|transcribe|>");
  }
  tokens.translate = optional("<|translate|>").value_or(-1);
  tokens.transcribe = optional("<|transcribe|>").value_or(-1);
  tokens.start_of_lm = optional("<|startoflm|>");
  tokens.previous = required("<|startofprev|>");
  const auto no_captions = optional("<|nocaptions|>");  // its older name
  tokens.no_speech = no_captions ? *no_captions : required("<|nospeech|>");
  tokens.no_times = required("<|notimestamps|>");
  tokens.first_time = tokens.no_times + 1;  // older tokenizers do not list the times
  const int64_t times = std::min(vocabulary - tokens.first_time, most_times);
  const auto listed = optional("<|0.00|>");
  if (times < 2 || (listed && *listed != tokens.first_time)) {
    throw Error(ErrorCode::kBadFile, cat("<|notimestamps|> is token ", tokens.no_times, " of ", vocabulary,
                                         ", and the times do not follow it"));
  }
  tokens.times = static_cast<int32_t>(times);
  if (tokens.start < tokens.end || tokens.no_times < tokens.start) {
    throw Error(ErrorCode::kBadFile, "the control tokens do not follow the text in the vocabulary");
  }
  return tokens;
}

Tokenizer ggml_tokenizer(const MappedFile& file, int64_t vocabulary) {
  std::vector<std::string_view> text = read_ggml_vocabulary(file);
  const bool released = vocabulary >= kEnglishVocabulary && vocabulary <= kLargeV3Vocabulary;
  const int64_t wanted = !released                  ? static_cast<int64_t>(text.size())
                         : vocabulary < kVocabulary ? kTextTokens - 1
                                                    : kTextTokens;
  const int64_t languages = vocabulary - wanted - kOtherControls - kTimes;
  const auto most = static_cast<int64_t>(whisper_languages().size());
  if (static_cast<int64_t>(text.size()) < wanted || languages < most - 1 || languages > most) {
    throw Error(ErrorCode::kBadFile, cat(file.path(), ": has ", text.size(),
                                         " tokens, which do not make up a vocabulary of Whisper's ", vocabulary));
  }
  text.resize(static_cast<size_t>(wanted));  // some files list the end of a text, too
  std::vector<AddedToken> added;
  int id = static_cast<int>(wanted);
  for (std::string& name : control_names(languages)) {
    AddedToken token;
    token.content = std::move(name);
    token.id = id++;
    token.special = true;
    added.push_back(std::move(token));
  }
  return Tokenizer::from_ranks(text, std::move(added), kGpt2Pattern, file.path().string());
}

}  // namespace wick
