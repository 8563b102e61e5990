#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/models/merge_finder.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model_bpe.h"
#include "tokenizer/models/model_unigram.h"
#include "tokenizer/models/model_wordlevel.h"
#include "tokenizer/models/model_wordpiece.h"
#include "tokenizer/tokenizer_document.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

class DocumentReader {
 public:
  explicit DocumentReader(const TokenizerDocument& document)
      : document_(document), name_(document.source()), settings_(document.settings()) {}

  std::shared_ptr<const TokenizerParts> read() {
    parts_->vocabulary = std::make_shared<Vocabulary>(cat(name_, ": 'model.vocab'"));
    const Json pretokenizer = document_.part("pre_tokenizer");
    const bool is_bpe = document_.model() == TokenizerDocument::Model::kBpe;
    const bool byte_letters = is_bpe && !pretokenizer.is_null() && ends_in_byte_level(pretokenizer);
    if (!pretokenizer.is_null()) parts_->pretokenizer = read_pretokenizer(pretokenizer, byte_letters);
    if (const Json normalizer = document_.part("normalizer"); !normalizer.is_null()) {
      parts_->normalizer = read_normalizer(normalizer);
    }

    std::vector<AddedToken> added = document_.added_tokens();
    read_vocabulary(added);
    switch (document_.model()) {
      case TokenizerDocument::Model::kBpe: read_bpe(byte_letters); break;
      case TokenizerDocument::Model::kUnigram: read_unigram(); break;
      case TokenizerDocument::Model::kWordPiece: read_wordpiece(); break;
      case TokenizerDocument::Model::kWordLevel: read_wordlevel(); break;
    }
    for (AddedToken& token : added) parts_->add_token(std::move(token), name_);

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

  void read_vocabulary(const std::vector<AddedToken>& added) {
    Vocabulary& vocabulary = *parts_->vocabulary;
    const size_t count = document_.piece_count();
    const bool is_unigram = document_.model() == TokenizerDocument::Model::kUnigram;
    vocabulary.reserve(count, count * 8);
    document_.each_piece([&](std::string_view piece, int64_t id, double score) {
      if (is_unigram) {
        vocabulary.add_duplicate(piece, id);
        scores_.push_back(score);
      } else {
        vocabulary.add(piece, id);
      }
    });
    // Models are built next, and must not see control tokens.
    for (const AddedToken& token : added) {
      const int id = token.special ? vocabulary.find(token.content) : Vocabulary::kNone;
      if (id != Vocabulary::kNone) vocabulary.hide(id);
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

  void read_wordpiece() {
    const std::string unknown = settings_.get("unk_token", "[UNK]");
    parts_->model = std::make_unique<WordPieceModel>(
        *parts_->vocabulary, settings_.get("continuing_subword_prefix", "##"), parts_->vocabulary->find(unknown),
        settings_.get("max_input_chars_per_word", int64_t{100}));
    note_unknown(unknown);
  }

  void read_wordlevel() {
    const std::string unknown = settings_.get("unk_token", "<unk>");
    parts_->model = std::make_unique<WordLevelModel>(parts_->vocabulary, parts_->vocabulary->find(unknown));
    note_unknown(unknown);
  }

  void read_bpe(bool byte_letters) {
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
    options.byte_fallback = document_.byte_fallback();
    options.ignore_merges = document_.ignore_merges();
    options.byte_letters = byte_letters;
    options.continuing_prefix = settings_.get("continuing_subword_prefix", "");
    options.end_of_word_suffix = settings_.get("end_of_word_suffix", "");
    parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, read_merges(options.continuing_prefix), options);
  }

  MergeTable read_merges(std::string_view continuing_prefix) {
    MergeTable table;
    table.reserve(document_.merge_count());
    const auto found = [&](const MergeFinder::Merge& merge) { add_merge(table, merge, continuing_prefix); };
    MergeFinder finder(*parts_->vocabulary, continuing_prefix, found);
    document_.each_merge([&](std::string_view left, std::string_view right) { finder.add(left, right); });
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

  void check_piece_of_merge(std::string_view piece, int id, uint32_t rank) const {
    if (id == Vocabulary::kNone) throw bad(cat("merge ", rank, ": ", in_quotes(piece), " is not in the vocabulary"));
  }

  void read_unigram() {
    UnigramModel::Options options;
    options.unknown_id = settings_.get("unk_id", Vocabulary::kNone);
    options.byte_fallback = document_.byte_fallback();
    parts_->model =
        std::make_unique<UnigramModel>(*parts_->vocabulary, std::move(scores_), options, cat(name_, ": 'model'"));
    if (options.unknown_id != Vocabulary::kNone) parts_->special_ids.unk = options.unknown_id;
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

  const TokenizerDocument& document_;
  const std::string& name_;
  const Json& settings_;
  std::vector<double> scores_;  // of Unigram models
  std::shared_ptr<TokenizerParts> parts_ = std::make_shared<TokenizerParts>();
};

}  // namespace

std::shared_ptr<const TokenizerParts> tokenizer_parts(const TokenizerDocument& document) {
  return DocumentReader(document).read();
}

Tokenizer Tokenizer::from_json(std::string_view json, const std::string& name) {
  return Tokenizer(tokenizer_parts(TokenizerDocument(json, name)));
}

}  // namespace wick
