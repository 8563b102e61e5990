#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/json_document.h"
#include "text/merge_finder.h"
#include "text/merge_table.h"
#include "text/model_bpe.h"
#include "text/model_unigram.h"
#include "text/model_wordlevel.h"
#include "text/model_wordpiece.h"
#include "text/tokenizer_parts.h"

namespace wick {
namespace {

using simdjson::dom::element;

constexpr size_t kMaxTokenBytes = size_t{1} << 20;

class Reader {
 public:
  Reader(const JsonDocument& document) : document_(document), name_(document.source()) {}

  std::shared_ptr<const TokenizerParts> read() {
    if (document_.root()["model"].get(model_) || !model_.is_object()) throw bad("'model' is missing or no object");
    read_settings();
    parts_->vocabulary = std::make_shared<Vocabulary>(cat(name_, ": 'model.vocab'"));

    const Json pretokenizer = document_.part("pre_tokenizer");
    const std::string type = model_type();
    const bool is_bpe = type == "BPE";
    const bool byte_letters = is_bpe && !pretokenizer.is_null() && ends_in_byte_level(pretokenizer);
    if (!pretokenizer.is_null()) parts_->pretokenizer = read_pretokenizer(pretokenizer, byte_letters);
    if (const Json normalizer = document_.part("normalizer"); !normalizer.is_null()) {
      parts_->normalizer = read_normalizer(normalizer);
    }

    if (type == "BPE") {
      read_bpe(byte_letters);
    } else if (type == "Unigram") {
      read_unigram();
    } else if (type == "WordPiece") {
      read_vocabulary();
      const std::string unknown = settings_.get("unk_token", "[UNK]");
      parts_->model = std::make_unique<WordPieceModel>(
          *parts_->vocabulary, settings_.get("continuing_subword_prefix", "##"), parts_->vocabulary->find(unknown),
          settings_.get("max_input_chars_per_word", int64_t{100}));
      note_unknown(unknown);
    } else if (type == "WordLevel") {
      read_vocabulary();
      const std::string unknown = settings_.get("unk_token", "<unk>");
      parts_->model = std::make_unique<WordLevelModel>(parts_->vocabulary, parts_->vocabulary->find(unknown));
      note_unknown(unknown);
    } else {
      throw Error(ErrorCode::kUnsupported, cat(name_, ": there is no tokenizer model ", in_quotes(type)));
    }

    read_added_tokens();
    if (const Json post = document_.part("post_processor"); !post.is_null()) {
      parts_->postprocessor = read_postprocessor(post, *parts_->vocabulary);
    }
    if (const Json decoder = document_.part("decoder"); !decoder.is_null()) {
      parts_->decoders = read_decoders(decoder);
      note_piece_kind(decoder);
    } else {
      parts_->decoders = {spaced_decoder()};
    }
    if (byte_letters) parts_->piece_kind = TokenizerParts::PieceKind::kByteLetters;
    read_truncation();
    read_padding();
    return parts_;
  }

 private:
  Error bad(std::string_view what) const { return Error(ErrorCode::kBadFile, cat(name_, ": ", what)); }

  // The small members of 'model'.
  void read_settings() {
    std::string json = "{";
    const simdjson::dom::object members = model_.get_object().value_unsafe();
    for (const auto& [key, value] : members) {
      if (value.is_array() || value.is_object()) continue;
      if (json.size() > 1) json += ',';
      json += cat("\"", key, "\":", simdjson::minify(value));
    }
    settings_ = Json::parse(json + "}", cat(name_, ": 'model'"));
  }

  std::string model_type() const {
    if (const Json* type = settings_.find("type")) return type->as_text();
    element member;
    if (!model_["merges"].get(member)) return "BPE";
    if (!model_["vocab"].get(member) && member.is_array()) return "Unigram";
    return settings_.find("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
  }

  void read_vocabulary() {
    simdjson::dom::object entries;
    if (model_["vocab"].get(entries)) throw bad("'model.vocab' is missing or no object");
    const size_t count = entries.size();
    parts_->vocabulary->reserve(count, count * 8);  // simdjson counts up to 16 million
    for (const auto& [piece, value] : entries) {
      int64_t id = 0;
      if (value.get(id)) throw bad(cat("'model.vocab': the id of ", in_quotes(piece), " is no whole number"));
      parts_->vocabulary->add(piece, id);
    }
    hide_special_tokens();
  }

  // Models are built next, and must not see control tokens.
  void hide_special_tokens() {
    simdjson::dom::array tokens;
    if (document_.root()["added_tokens"].get(tokens)) return;
    for (const element token : tokens) {
      std::string_view content;
      bool special = false;
      if (token["content"].get(content) || token["special"].get(special) || !special) continue;
      if (const int id = parts_->vocabulary->find(content); id != Vocabulary::kNone) parts_->vocabulary->hide(id);
    }
  }

  int read_unknown(std::string_view key) {
    const Json* unknown = settings_.find(key);
    if (!unknown || unknown->is_null()) return Vocabulary::kNone;
    note_unknown(unknown->as_text());
    return parts_->vocabulary->find(unknown->as_text());
  }

  void note_unknown(const std::string& piece) {
    const int id = parts_->vocabulary->find(piece);
    if (id != Vocabulary::kNone) parts_->special_ids.unk = id;
  }

  void read_bpe(bool byte_letters) {
    read_vocabulary();
    if (const Json* dropout = settings_.find("dropout"); dropout && !dropout->is_null() && dropout->as_number() != 0) {
      throw Error(ErrorCode::kUnsupported, cat(dropout->place(), ": dropout is for training"));
    }
    BpeModel::Options options;
    options.unknown_id = read_unknown("unk_token");
    if (options.unknown_id == Vocabulary::kNone && settings_.find("unk_token") &&
        !settings_.at("unk_token").is_null()) {
      throw bad(cat("'model.unk_token' ", in_quotes(settings_.at("unk_token").as_text()), " is not in the vocabulary"));
    }
    options.fuse_unknown = settings_.get("fuse_unk", false);
    options.byte_fallback = settings_.get("byte_fallback", false);
    options.ignore_merges = settings_.get("ignore_merges", false);
    options.byte_letters = byte_letters;
    options.continuing_prefix = settings_.get("continuing_subword_prefix", "");
    options.end_of_word_suffix = settings_.get("end_of_word_suffix", "");
    parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, read_merges(options.continuing_prefix), options);
  }

  MergeTable read_merges(std::string_view continuing_prefix) {
    simdjson::dom::array merges;
    if (model_["merges"].get(merges)) throw bad("'model.merges' is missing or no list");
    MergeTable table;
    table.reserve(merges.size() == 0xFFFFFF ? 0 : merges.size());  // simdjson counts no further
    const auto found = [&](const MergeFinder::Merge& merge) { add_merge(table, merge, continuing_prefix); };
    MergeFinder finder(*parts_->vocabulary, continuing_prefix, found);
    uint32_t rank = 0;
    for (const element item : merges) {
      const auto [left, right] = read_merge(item, rank++);
      finder.add(left, right);
    }
    finder.finish();
    table.finish(parts_->vocabulary->size());
    return table;
  }

  void add_merge(MergeTable& table, const MergeFinder::Merge& merge, std::string_view continuing_prefix) {
    const auto& [left, right, rank, left_id, right_id, result] = merge;
    check_piece_of_merge(left, left_id, rank);
    check_piece_of_merge(right, right_id, rank);
    if (!right.starts_with(continuing_prefix)) {
      throw bad(cat("merge ", rank, ": ", in_quotes(right), " does not start with ", in_quotes(continuing_prefix)));
    }
    const std::string_view added = right.substr(continuing_prefix.size());
    if (result == Vocabulary::kNone) check_piece_of_merge(cat(left, added), result, rank);
    if (result == left_id || result == right_id) {
      throw bad(cat("merge ", rank, ": ", in_quotes(left), " and ", in_quotes(right), " make ",
                    in_quotes(cat(left, added)), " again, which never ends"));
    }
    table.add(left_id, right_id, rank, result);
  }

  std::pair<std::string_view, std::string_view> read_merge(element item, uint32_t rank) const {
    std::string_view text;
    if (!item.get(text)) {
      const size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
        throw bad(cat("merge ", rank, ": ", in_quotes(text), " is not two pieces with a blank between them"));
      }
      return {text.substr(0, space), text.substr(space + 1)};
    }
    simdjson::dom::array pair;
    std::string_view left, right;
    if (item.get(pair) || pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
      throw bad(cat("merge ", rank, " is not two pieces"));
    }
    return {left, right};
  }

  void check_piece_of_merge(std::string_view piece, int id, uint32_t rank) const {
    if (id == Vocabulary::kNone) throw bad(cat("merge ", rank, ": ", in_quotes(piece), " is not in the vocabulary"));
  }

  void read_unigram() {
    simdjson::dom::array entries;
    if (model_["vocab"].get(entries)) throw bad("'model.vocab' is missing or no list");
    std::vector<double> scores;
    parts_->vocabulary->reserve(entries.size(), entries.size() * 8);
    for (const element item : entries) {
      simdjson::dom::array pair;
      std::string_view piece;
      double score = 0;
      if (item.get(pair) || pair.size() != 2 || pair.at(0).get(piece) || pair.at(1).get(score)) {
        throw bad(cat("'model.vocab': entry ", scores.size(), " is not a piece and its score"));
      }
      parts_->vocabulary->add_duplicate(piece, static_cast<int64_t>(scores.size()));
      scores.push_back(score);
    }
    hide_special_tokens();
    UnigramModel::Options options;
    options.unknown_id = settings_.get("unk_id", Vocabulary::kNone);
    options.byte_fallback = settings_.get("byte_fallback", false);
    parts_->model =
        std::make_unique<UnigramModel>(*parts_->vocabulary, std::move(scores), options, cat(name_, ": 'model'"));
    if (options.unknown_id != Vocabulary::kNone) parts_->special_ids.unk = options.unknown_id;
  }

  void read_added_tokens() {
    const Json list = document_.part("added_tokens");
    if (list.is_null()) return;
    for (const Json& item : list.as_array()) {
      AddedToken token;
      token.content = item.at("content").as_text();
      if (token.content.size() > kMaxTokenBytes) throw bad(cat(item.place(), ": the content is too long"));
      const int64_t id = item.at("id").as_int();
      // Leaves room for holes, but not for an id that would fill the memory.
      const int64_t limit = 2 * static_cast<int64_t>(parts_->vocabulary->count()) + 65536;
      if (id < 0 || id >= limit) {
        throw Error(ErrorCode::kBadFile, cat(item.at("id").place(), ": the id ", id, " of ", in_quotes(token.content),
                                             " is far beyond the vocabulary of ", parts_->vocabulary->size()));
      }
      token.id = static_cast<int>(id);
      token.single_word = item.get("single_word", false);
      token.lstrip = item.get("lstrip", false);
      token.rstrip = item.get("rstrip", false);
      token.special = item.get("special", false);
      token.normalized = item.get("normalized", !token.special);
      parts_->add_token(std::move(token), name_);
    }
  }

  // "▁the" is " the" when something on the way back replaces the mark.
  void note_piece_kind(const Json& decoder) {
    const std::string type = decoder.get("type", "");
    if (type == "Sequence") {
      for (const Json& step : decoder.at("decoders").as_array()) note_piece_kind(step);
    } else if (type == "ByteLevel") {
      parts_->piece_kind = TokenizerParts::PieceKind::kByteLetters;
    } else if (type == "Metaspace" || type == "ByteFallback") {
      parts_->piece_kind = TokenizerParts::PieceKind::kMarked;
    }
  }

  void read_truncation() {
    const Json json = document_.part("truncation");
    if (json.is_null()) return;
    Truncation truncation;
    truncation.max_length = json.at("max_length").as_int();
    if (truncation.max_length < 0) throw bad(cat("'truncation.max_length' is ", truncation.max_length));
    const std::string strategy = json.get("strategy", "LongestFirst");
    truncation.strategy = strategy == "OnlyFirst"    ? Truncation::Strategy::kOnlyFirst
                          : strategy == "OnlySecond" ? Truncation::Strategy::kOnlySecond
                                                     : Truncation::Strategy::kLongestFirst;
    truncation.from_left = json.get("direction", "Right") == "Left";
    parts_->truncation = truncation;
  }

  void read_padding() {
    constexpr int64_t kMostPadding = 1 << 24;
    const Json json = document_.part("padding");
    if (json.is_null()) return;
    Padding padding;
    if (const Json* strategy = json.find("strategy"); strategy && strategy->is_object()) {
      padding.length = strategy->at("Fixed").as_int();
    }
    padding.multiple_of = json.get("pad_to_multiple_of", int64_t{0});
    if (padding.length < 0 || padding.length > kMostPadding || padding.multiple_of < 0 ||
        padding.multiple_of > kMostPadding) {
      throw bad(cat("'padding' asks for a length of ", padding.length, " in steps of ", padding.multiple_of));
    }
    padding.pad_id = json.get("pad_id", 0);
    padding.pad_type_id = json.get("pad_type_id", 0);
    padding.on_left = json.get("direction", "Right") == "Left";
    if (!parts_->vocabulary->has(padding.pad_id)) {
      throw bad(cat("'padding.pad_id' ", padding.pad_id, " is not in the vocabulary of ", parts_->vocabulary->size()));
    }
    parts_->special_ids.pad = padding.pad_id;
    parts_->padding = padding;
  }

  const JsonDocument& document_;
  const std::string& name_;
  element model_;
  Json settings_;
  std::shared_ptr<TokenizerParts> parts_ = std::make_shared<TokenizerParts>();
};

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view json, const std::string& name) {
  const JsonDocument document(json, name);
  return Tokenizer(Reader(document).read());
}

}  // namespace wick
