#include "formats/gguf_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/pre_tokenizer.h"
#include "formats/tokenizer_files.h"
#include "formats/tokenizer_json.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

constexpr std::string_view kSpace = "\u2581";  // how SentencePiece writes a blank
constexpr float kNeverMerged = -1000;

struct Tokens {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::unordered_map<std::string, int64_t> ids;
};

// Added tokens that files forget to mark as special.
bool looks_special(std::string_view text) {
  const auto between = [&](std::string_view begin, std::string_view end) {
    return text.starts_with(begin) && text.ends_with(end);
  };
  return text == "<pad>" || text == "<mask>" || between("<|", "|>") || between("<｜", "｜>") || between("<unused", ">");
}

bool is_byte_token(std::string_view text) { return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">"); }

std::string with_blanks(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool blank = text.substr(at).starts_with(kSpace);
    out += blank ? ' ' : text[at];
    at += blank ? kSpace.size() : 1;
  }
  return out;
}

Tokens list_tokens(const TokenizerJson& tokenizer, const fs::path& path, int64_t vocab_size) {
  const int64_t needed = tokenizer.size();
  if (vocab_size > 0 && needed > vocab_size) {
    throw Error(ErrorCode::kBadFile,
                cat(path, ": has tokens up to id ", needed - 1, " but the model's vocab_size is ", vocab_size));
  }
  Tokens tokens;
  const int64_t count = std::max(needed, vocab_size);
  tokens.types.assign(count, kUnused);
  for (int64_t id = 0; id < count; ++id) tokens.texts.push_back(cat("[PAD", id, "]"));
  for (const auto& [id, text] : tokenizer.tokens) {
    if (tokens.types[id] != kUnused) {
      throw Error(ErrorCode::kBadFile, cat(path, ": the tokens ", in_quotes(tokens.texts[id]), " and ", in_quotes(text),
                                           " have the same id ", id));
    }
    tokens.texts[id] = text;
    tokens.types[id] = tokenizer.byte_fallback && is_byte_token(text) ? kByte : kNormal;
    tokens.ids.emplace(text, id);
  }
  for (const auto& [id, text, special] : tokenizer.added) {
    tokens.ids[text] = id;
    const bool control = special || looks_special(text);
    tokens.types[id] = control ? kControl : kUserDefined;
    tokens.texts[id] = control ? text : with_blanks(text);
  }
  const auto unknown = tokens.ids.find(tokenizer.unknown);
  if (tokenizer.byte_fallback && unknown != tokens.ids.end()) tokens.types[unknown->second] = kUnknown;
  return tokens;
}

// SentencePiece joins the two neighbours whose whole has the highest score; BPE those whose merge comes first.
std::vector<float> scores_of_merges(const TokenizerJson& tokenizer, const Tokens& tokens) {
  std::vector<float> scores(tokens.texts.size(), kNeverMerged);
  std::vector<bool> seen(scores.size(), false);
  float next = 0;
  for (const std::string& merge : tokenizer.merges) {
    const size_t middle = merge.find(' ', 1);
    if (middle == std::string::npos) continue;
    const auto whole = tokens.ids.find(merge.substr(0, middle) + merge.substr(middle + 1));
    if (whole == tokens.ids.end() || seen[whole->second]) continue;
    seen[whole->second] = true;
    scores[whole->second] = -next++;
  }
  for (size_t id = 0; id < scores.size(); ++id) {
    if (!seen[id] && tokens.types[id] == kNormal) scores[id] = -next++;
    if (tokens.types[id] == kByte || tokens.types[id] == kUnknown || tokens.types[id] == kControl) scores[id] = 0;
  }
  return scores;
}

// Which special tokens the tokenizer puts around a text.
struct Surroundings {
  bool known = false;
  std::string before, after;
};

std::string pair_text(const Json& processor, std::string_view name) {
  const Json* pair = processor.find(name);
  return pair && !pair->as_array().empty() ? pair->as_array().front().as_text() : "";
}

void read_surroundings(const Json& processor, Surroundings& out) {
  if (!processor.is_object()) return;
  const std::string& type = processor.at("type").as_text();
  if (type == "Sequence") {
    for (const Json& part : processor.at("processors").as_array()) read_surroundings(part, out);
  } else if (type == "TemplateProcessing") {
    out.known = true;
    bool behind = false;
    for (const Json& item : processor.at("single").as_array()) {
      if (item.find("Sequence")) {
        behind = true;
      } else {
        (behind ? out.after : out.before) = item.at("SpecialToken").at("id").as_text();
      }
    }
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    out = {true, pair_text(processor, "cls"), pair_text(processor, "sep")};
  }
}

class Converter {
 public:
  Converter(const fs::path& folder, const Json& config)
      : path_(folder / "tokenizer.json"),
        config_(config),
        tokenizer_(TokenizerJson::load(path_)),
        files_(TokenizerFiles::load(folder)),
        tokens_(list_tokens(tokenizer_, path_, config.is_object() ? config.get<int64_t>("vocab_size", 0) : 0)) {}

  Metadata convert() {
    if (tokenizer_.model == TokenizerJson::Model::kBpe) {
      tokenizer_.byte_fallback ? write_sentencepiece() : write_byte_level();
    } else if (tokenizer_.model == TokenizerJson::Model::kWordPiece) {
      write_wordpiece();
    } else {
      throw Error(ErrorCode::kUnsupported, cat(path_, ": tokenizers of the kind ", to_string(tokenizer_.model),
                                               " cannot be converted to GGUF yet, only BPE and WordPiece"));
    }
    write_special_tokens();
    write_templates();
    return std::move(out_);
  }

 private:
  void write_tokens(std::string model, std::string pre) {
    out_.set_text("tokenizer.ggml.model", std::move(model));
    out_.set_text("tokenizer.ggml.pre", std::move(pre));
    out_.set_texts("tokenizer.ggml.tokens", tokens_.texts);
  }

  void write_byte_level() {
    try {
      write_tokens("gpt2", std::string(gguf_pre_tokenizer(tokenizer_)));
    } catch (const Error& error) {
      throw Error(error.code(), cat(path_, ": ", error.what()));
    }
    out_.set_i32s("tokenizer.ggml.token_type", tokens_.types);
    out_.set_texts("tokenizer.ggml.merges", tokenizer_.merges);
  }

  void write_sentencepiece() {
    write_tokens("llama", "default");
    out_.set_f32s("tokenizer.ggml.scores", scores_of_merges(tokenizer_, tokens_));
    out_.set_i32s("tokenizer.ggml.token_type", tokens_.types);
    out_.set_bool("tokenizer.ggml.add_space_prefix", adds_space_prefix(tokenizer_));
  }

  // GGUF marks the beginning of a word where WordPiece marks the continuation.
  void write_wordpiece() {
    for (size_t id = 0; id < tokens_.texts.size(); ++id) {
      std::string& text = tokens_.texts[id];
      if (tokens_.types[id] != kNormal) continue;
      text = text.starts_with("##") ? text.substr(2) : cat(kSpace, text);
    }
    write_tokens("bert", "default");
    out_.set_i32s("tokenizer.ggml.token_type", tokens_.types);
    out_.set_u32("tokenizer.ggml.token_type_count",
                 config_.is_object() ? config_.get<uint32_t>("type_vocab_size", 1) : 1);
  }

  // From the tokenizer's settings, else from the model's; a list of several stands for its first.
  int64_t special_id(std::string_view name) const {
    const auto known = tokens_.ids.find(files_.special(cat(name, "_token")));
    if (known != tokens_.ids.end()) return known->second;
    const Json* id = config_.is_object() ? config_.find(cat(name, "_token_id")) : nullptr;
    if (id && id->is_array() && !id->as_array().empty()) id = &id->as_array().front();
    const auto count = static_cast<int64_t>(tokens_.texts.size());
    return id && id->is_int() && id->as_int() >= 0 && id->as_int() < count ? id->as_int() : -1;
  }

  bool configured(std::string_view name) const {
    return files_.tokenizer_config.is_object() && files_.tokenizer_config.get(name, false);
  }

  void write_special_tokens() {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"bos", "bos_token_id"},       {"eos", "eos_token_id"},     {"unk", "unknown_token_id"},
        {"sep", "seperator_token_id"}, {"pad", "padding_token_id"}, {"cls", "cls_token_id"},
        {"mask", "mask_token_id"},
    };
    for (const auto& [name, key] : kNames) {
      const int64_t id = special_id(name);
      if (id >= 0) out_.set_u32(cat("tokenizer.ggml.", key), static_cast<uint32_t>(id));
    }
    if (tokenizer_.model == TokenizerJson::Model::kWordPiece) return;  // [CLS] and [SEP] are always added
    Surroundings around;
    read_surroundings(tokenizer_.post_processor, around);
    const auto write = [&](std::string_view name, const std::string& text) {
      out_.set_bool(cat("tokenizer.ggml.add_", name, "_token"),
                    around.known ? !text.empty() : configured(cat("add_", name, "_token")));
      const auto id = tokens_.ids.find(text);
      if (id != tokens_.ids.end()) {
        out_.set_u32(cat("tokenizer.ggml.", name, "_token_id"), static_cast<uint32_t>(id->second));
      }
    };
    write("bos", around.before);
    write("eos", around.after);
  }

  void write_templates() {
    if (files_.chat_template) out_.set_text("tokenizer.chat_template", *files_.chat_template);
    std::vector<std::string> names;
    for (const auto& [name, text] : files_.other_templates) {
      names.push_back(name);
      out_.set_text(cat("tokenizer.chat_template.", name), text);
    }
    if (!names.empty()) out_.set_texts("tokenizer.chat_templates", names);
  }

  fs::path path_;
  const Json& config_;
  TokenizerJson tokenizer_;
  TokenizerFiles files_;
  Tokens tokens_;
  Metadata out_;
};

}  // namespace

bool has_tokenizer(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model"}) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return false;
}

Metadata gguf_tokenizer(const fs::path& folder, const Json& config) {
  std::error_code ignored;
  if (!fs::exists(folder / "tokenizer.json", ignored)) {
    throw Error(ErrorCode::kUnsupported, cat(folder,
                                             ": holds no tokenizer.json, the only form of tokenizer that Wick "
                                             "converts to GGUF"));
  }
  return Converter(folder, config).convert();
}

}  // namespace wick
