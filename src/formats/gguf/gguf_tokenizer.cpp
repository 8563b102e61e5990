#include "formats/gguf/gguf_tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/gguf_split.h"
#include "tokenizer/tokenizer_document.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

using Model = TokenizerDocument::Model;

constexpr std::string_view kSpace = "\u2581";  // how SentencePiece writes a blank
constexpr float kNeverMerged = -1000;

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

// True when the tokenizer puts SentencePiece's blank in front of a text.
bool adds_space_prefix(const TokenizerParts& parts) {
  AlignedText text("a", 0, false);
  if (parts.normalizer) parts.normalizer->apply(text);
  Pieces pieces(std::move(text), true);
  if (parts.pretokenizer) parts.pretokenizer->split(pieces);
  return pieces.text().starts_with(kSpace);
}

class Converter {
 public:
  Converter(const fs::path& folder, const Json& config)
      : config_(config),
        document_(TokenizerDocument::load(folder / "tokenizer.json")),
        files_(TokenizerFiles::load(folder)) {}

  Metadata convert() {
    const Model model = document_.model();
    if (model != Model::kBpe && model != Model::kWordPiece) {
      throw Error(ErrorCode::kUnsupported, cat(document_.source(), ": tokenizers of the kind ", to_string(model),
                                               " cannot be converted to GGUF yet, only BPE and WordPiece"));
    }
    parts_ = tokenizer_parts(document_);
    list_tokens();
    if (model == Model::kWordPiece) {
      write_wordpiece();
    } else {
      document_.byte_fallback() ? write_marked() : write_byte_level();
    }
    write_special_tokens();
    write_templates();
    return std::move(out_);
  }

 private:
  using Type = GgufVocabulary::TokenType;

  // The texts and kinds of all ids; what the model has room for beyond the tokenizer becomes "[PADn]".
  void list_tokens() {
    const Vocabulary& vocabulary = *parts_->vocabulary;
    const int64_t room = config_.is_object() ? config_.get<int64_t>("vocab_size", 0) : 0;
    if (room > 0 && vocabulary.size() > room) {
      throw Error(ErrorCode::kBadFile, cat(document_.source(), ": has tokens up to id ", vocabulary.size() - 1,
                                           " but the model's vocab_size is ", room));
    }
    const int64_t count = std::max<int64_t>(vocabulary.size(), room);
    for (int64_t id = 0; id < count; ++id) {
      const bool used = vocabulary.has(id);
      texts_.push_back(used ? std::string(vocabulary.piece(static_cast<int>(id))) : cat("[PAD", id, "]"));
      const bool is_byte = used && document_.byte_fallback() && is_byte_token(texts_.back());
      types_.push_back(is_byte ? Type::kByte : used ? Type::kNormal : Type::kUnused);
    }
    for (const AddedToken& token : parts_->added.all()) {
      const bool control = token.special || looks_special(token.content);
      types_[token.id] = control ? Type::kControl : Type::kUserDefined;
      texts_[token.id] = control ? token.content : with_blanks(token.content);
    }
    const std::optional<int> unknown = parts_->special_ids.unk;
    if (document_.byte_fallback() && unknown) types_[*unknown] = Type::kUnknown;
  }

  void write_tokens(std::string model, std::string pre) {
    out_.set_text("tokenizer.ggml.model", std::move(model));
    out_.set_text("tokenizer.ggml.pre", std::move(pre));
    out_.set_texts("tokenizer.ggml.tokens", texts_);
  }

  std::string split_name() const {
    std::vector<std::string> patterns;
    if (parts_->pretokenizer) parts_->pretokenizer->list_patterns(patterns);
    if (const auto name = gguf_split_name(patterns, document_.ignore_merges())) return std::string(*name);
    std::string shown;
    for (const std::string& pattern : patterns) shown += cat(shown.empty() ? "" : ", then ", in_quotes(pattern));
    throw Error(ErrorCode::kUnsupported,
                cat(document_.source(), ": the tokenizer cuts words by ", shown.empty() ? "nothing" : shown,
                    document_.ignore_merges() ? " (with ignore_merges)" : "", ", which GGUF has no name for"));
  }

  void write_byte_level() {
    write_tokens("gpt2", split_name());
    write_merges();
  }

  // Blanks are marks. Gemma 4's files keep the merges, older ones have scores in their place.
  void write_marked() {
    const std::string type = config_.is_object() ? config_.get("model_type", "") : "";
    if (!type.starts_with("gemma4")) return write_sentencepiece();
    write_tokens("gemma4", "gemma4");
    write_merges();
    out_.set_bool("tokenizer.ggml.add_space_prefix", adds_space_prefix(*parts_));
  }

  void write_merges() {
    std::vector<std::string> merges;
    document_.each_merge([&](std::string_view left, std::string_view right) {
      if (left.find(' ') != std::string_view::npos || right.find(' ') != std::string_view::npos) {
        throw Error(ErrorCode::kUnsupported, cat(document_.source(), ": merge ", merges.size(), " of ", in_quotes(left),
                                                 " and ", in_quotes(right), " has a blank, which GGUF cannot express"));
      }
      merges.push_back(cat(left, " ", right));
    });
    out_.set_i32s("tokenizer.ggml.token_type", types_);
    out_.set_texts("tokenizer.ggml.merges", merges);
  }

  void write_sentencepiece() {
    write_tokens("llama", "default");
    out_.set_f32s("tokenizer.ggml.scores", scores_of_merges());
    out_.set_i32s("tokenizer.ggml.token_type", types_);
    out_.set_bool("tokenizer.ggml.add_space_prefix", adds_space_prefix(*parts_));
  }

  // SentencePiece joins the two neighbours whose whole has the highest score; BPE those whose merge comes first.
  std::vector<float> scores_of_merges() const {
    std::vector<float> scores(texts_.size(), kNeverMerged);
    std::vector<bool> seen(scores.size(), false);
    float next = 0;
    document_.each_merge([&](std::string_view left, std::string_view right) {
      const int whole = parts_->vocabulary->find(cat(left, right));
      if (whole == Vocabulary::kNone || seen[whole]) return;
      seen[whole] = true;
      scores[whole] = -next++;
    });
    for (size_t id = 0; id < scores.size(); ++id) {
      if (!seen[id] && types_[id] == Type::kNormal) scores[id] = -next++;
      if (types_[id] == Type::kByte || types_[id] == Type::kUnknown || types_[id] == Type::kControl) scores[id] = 0;
    }
    return scores;
  }

  // GGUF marks the beginning of a word where WordPiece marks the continuation.
  void write_wordpiece() {
    for (size_t id = 0; id < texts_.size(); ++id) {
      std::string& text = texts_[id];
      if (types_[id] != Type::kNormal) continue;
      text = text.starts_with("##") ? text.substr(2) : cat(kSpace, text);
    }
    write_tokens("bert", "default");
    out_.set_i32s("tokenizer.ggml.token_type", types_);
    out_.set_u32("tokenizer.ggml.token_type_count",
                 config_.is_object() ? config_.get<uint32_t>("type_vocab_size", 1) : 1);
  }

  // From the tokenizer's settings, else from the model's; a list of several stands for its first.
  int64_t special_id(std::string_view name) const {
    const std::string piece = files_.special(cat(name, "_token"));
    const int known = piece.empty() ? Vocabulary::kNone : parts_->vocabulary->find(piece);
    if (known != Vocabulary::kNone) return known;
    const Json* id = config_.is_object() ? config_.find(cat(name, "_token_id")) : nullptr;
    if (id && id->is_array() && !id->as_array().empty()) id = &id->as_array().front();
    const auto count = static_cast<int64_t>(texts_.size());
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
    if (document_.model() == Model::kWordPiece) return;  // [CLS] and [SEP] are always added
    // The last token before the text, and the last one behind it.
    int before = Vocabulary::kNone, after = Vocabulary::kNone;
    bool behind = false;
    for (const TemplatePart& part : parts_->postprocessor.single) {
      if (part.kind != TemplatePart::Kind::kTokens) {
        behind = true;
      } else if (!part.ids.empty()) {
        (behind ? after : before) = part.ids.back();
      }
    }
    const auto write = [&](std::string_view name, int id) {
      out_.set_bool(cat("tokenizer.ggml.add_", name, "_token"), parts_->postprocessor.has_template
                                                                    ? id != Vocabulary::kNone
                                                                    : configured(cat("add_", name, "_token")));
      if (id != Vocabulary::kNone) out_.set_u32(cat("tokenizer.ggml.", name, "_token_id"), static_cast<uint32_t>(id));
    };
    write("bos", before);
    write("eos", after);
  }

  void write_templates() {
    if (const TemplateSource* main = files_.find_template("default"))
      out_.set_text("tokenizer.chat_template", main->text);
    std::vector<std::string> names;
    for (const TemplateSource& each : files_.templates) {
      if (each.name == "default") continue;
      names.push_back(each.name);
      out_.set_text(cat("tokenizer.chat_template.", each.name), each.text);
    }
    if (!names.empty()) out_.set_texts("tokenizer.chat_templates", names);
  }

  const Json& config_;
  TokenizerDocument document_;
  TokenizerFiles files_;
  std::shared_ptr<const TokenizerParts> parts_;
  std::vector<std::string> texts_;  // by id
  std::vector<int32_t> types_;
  Metadata out_;
};

}  // namespace

GgufVocabulary gguf_vocabulary_of(const Metadata& metadata, const std::string& source) {
  const auto key = [](std::string_view name) { return cat("tokenizer.ggml.", name); };
  const auto has = [&](std::string_view name) { return metadata.find(key(name)) != nullptr; };
  const auto integer = [&](std::string_view name) -> std::optional<int64_t> {
    return has(name) ? std::optional<int64_t>(metadata.integer(key(name))) : std::nullopt;
  };
  const auto boolean = [&](std::string_view name) -> std::optional<bool> {
    return has(name) ? std::optional<bool>(metadata.boolean(key(name))) : std::nullopt;
  };
  GgufVocabulary vocabulary;
  vocabulary.source = source;
  vocabulary.model = metadata.text(key("model"));
  if (has("pre")) vocabulary.pre = metadata.text(key("pre"));
  vocabulary.tokens = metadata.array(key("tokens")).texts(key("tokens"));
  if (has("scores")) {
    for (const double score : metadata.array(key("scores")).numbers(key("scores"))) {
      vocabulary.scores.push_back(static_cast<float>(score));
    }
  }
  if (has("token_type")) {
    for (const int64_t type : metadata.array(key("token_type")).integers(key("token_type"))) {
      vocabulary.token_types.push_back(static_cast<int32_t>(type));
    }
  }
  if (has("merges")) vocabulary.merges = metadata.array(key("merges")).texts(key("merges"));
  if (has("precompiled_charsmap")) {
    for (const int64_t byte : metadata.array(key("precompiled_charsmap")).integers(key("precompiled_charsmap"))) {
      vocabulary.precompiled_charsmap += static_cast<char>(byte);
    }
  }
  vocabulary.bos_id = integer("bos_token_id");
  vocabulary.eos_id = integer("eos_token_id");
  vocabulary.unk_id = integer("unknown_token_id");
  vocabulary.sep_id = integer("seperator_token_id");  // as the format spells it
  vocabulary.pad_id = integer("padding_token_id");
  vocabulary.add_bos = boolean("add_bos_token");
  vocabulary.add_eos = boolean("add_eos_token");
  vocabulary.add_sep = boolean("add_sep_token");
  vocabulary.add_space_prefix = boolean("add_space_prefix");
  vocabulary.remove_extra_whitespaces = boolean("remove_extra_whitespaces");
  return vocabulary;
}

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
