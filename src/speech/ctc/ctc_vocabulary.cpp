#include "speech/ctc/ctc_vocabulary.h"

#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

Json load_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? Json::load(path) : Json::parse("{}", path.string());
}

// A token is named by its text, or by an object that holds it.
std::string token_named(const Json& config, std::string_view name, const char* fallback) {
  const Json* token = config.find(name);
  if (!token || token->is_null()) return fallback;
  return token->is_object() ? token->at("content").as_text() : token->as_text();
}

std::string lower(const std::string& text) {
  std::u32string points;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    append_lower(points, point.value);
    at += point.bytes;
  }
  std::string out;
  for (const char32_t point : points) append_utf8(out, point);
  return out;
}

// Models for many languages have a vocabulary for each.
const Json& of_language(const Json& vocabulary, const Json& config) {
  const auto& members = vocabulary.as_object();
  if (members.empty() || !members.front().second.is_object()) return vocabulary;
  return vocabulary.at(config.get("target_lang", "eng"));
}

}  // namespace

CtcVocabulary CtcVocabulary::load(const fs::path& folder, int64_t tokens, int32_t blank) {
  const fs::path path = folder / "vocab.json";
  const Json document = Json::load(path), config = load_if_there(folder / "tokenizer_config.json");
  const Json sound = load_if_there(folder / "preprocessor_config.json");
  CtcVocabulary vocabulary;
  vocabulary.normalizes = sound.get("do_normalize", true);
  vocabulary.pieces.resize(static_cast<size_t>(tokens));
  const std::string delimiter = token_named(config, "word_delimiter_token", "|");
  const bool lowers = config.get("do_lower_case", false);
  for (const auto& [piece, number] : of_language(document, config).as_object()) {
    const int64_t id = number.as_int();
    if (id < 0 || id >= tokens) {
      throw Error(ErrorCode::kBadFile,
                  cat(path, ": ", in_quotes(piece), " has the id ", id, " of ", tokens, " tokens"));
    }
    vocabulary.pieces[static_cast<size_t>(id)] = lowers ? lower(piece) : piece;
    if (piece == delimiter) vocabulary.delimiter = static_cast<int32_t>(id);
  }
  const auto leave_out = [&](const std::string& text) {
    for (std::string& piece : vocabulary.pieces) {
      if (piece == text) piece.clear();
    }
  };
  vocabulary.pieces[static_cast<size_t>(blank)].clear();
  leave_out(token_named(config, "pad_token", "<pad>"));
  leave_out(token_named(config, "bos_token", "<s>"));
  leave_out(token_named(config, "eos_token", "</s>"));
  leave_out(token_named(config, "unk_token", "<unk>"));
  return vocabulary;
}

}  // namespace wick
