#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model_bpe.h"
#include "tokenizer/models/model_unigram.h"
#include "tokenizer/models/model_wordlevel.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/tokenizer_marian.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

// One field of a protocol buffer message.
struct Field {
  uint64_t number = 0;
  uint64_t value = 0;      // of a varint; the bits of a 32-bit or 64-bit number
  std::string_view bytes;  // of text and nested messages
};

// Walks the fields of a message. Throws Error(kBadFile) when it does not end where it should.
class Message {
 public:
  Message(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  bool next(Field& field) {
    if (at_ == bytes_.size()) return false;
    const uint64_t key = varint();
    field = {key >> 3, 0, {}};
    switch (key & 7) {
      case 0: field.value = varint(); break;
      case 1: field.value = fixed(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5: field.value = fixed(4); break;
      default: throw bad(cat("has a field of the unknown kind ", key & 7));
    }
    return true;
  }

 private:
  Error bad(std::string_view what) const {
    return Error(ErrorCode::kBadFile, cat(place_, ": ", what, " near byte ", at_, ": no SentencePiece model"));
  }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_) throw bad("is cut off");
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }
  uint64_t fixed(size_t count) {
    uint64_t value = 0;
    std::memcpy(&value, take(count).data(), count);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) return value;
    }
    throw bad("has a number that is too long");
  }

  std::string_view bytes_;
  const std::string& place_;
  size_t at_ = 0;
};

float float_of(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

enum PieceType : uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
enum ModelType : uint64_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

// ModelProto: 1 pieces {1 text, 2 score, 3 type}, 2 trainer {3 model type, 40-43 ids of unk, bos, eos, pad},
// 3 normalizer {2 charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces}
class SentencePieceReader {
 public:
  explicit SentencePieceReader(const std::string& name) : name_(name) {
    parts_->vocabulary = std::make_shared<Vocabulary>(name);
    settings_.remove_extra_whitespaces = true;
  }

  std::shared_ptr<const TokenizerParts> read(std::string_view bytes) {
    read_message(bytes);
    for (size_t id = 0; id < types_.size(); ++id) add_role(static_cast<int>(id));
    parts_->normalizer = sentencepiece_normalizer(settings_, name_);
    parts_->decoders = marked_decoders(settings_.add_dummy_prefix);
    parts_->piece_kind = TokenizerParts::PieceKind::kMarked;
    add_model();
    SpecialIds& ids = parts_->special_ids;
    ids.unk = role(unk_);
    ids.bos = role(bos_);
    ids.eos = role(eos_);
    ids.pad = role(pad_);
    return parts_;
  }

  // Pieces get the ids of a vocabulary of their own; those of it that the model lacks are there for decoding alone.
  std::shared_ptr<const TokenizerParts> read_with_ids(std::string_view bytes, const Json& vocabulary) {
    read_message(bytes);
    if (model_ != kUnigram || byte_fallback_) {
      throw Error(ErrorCode::kUnsupported,
                  cat(name_, ": of a Marian a unigram model without byte fallback is expected"));
    }
    const std::shared_ptr<Vocabulary> pieces =
        std::exchange(parts_->vocabulary, std::make_shared<Vocabulary>(vocabulary.place()));
    const std::vector<double> scores = std::exchange(scores_, {});
    std::vector<std::pair<int64_t, std::string_view>> by_id;
    for (const auto& [piece, id] : vocabulary.as_object()) by_id.emplace_back(id.as_int(), piece);
    std::sort(by_id.begin(), by_id.end());
    for (const auto& [id, piece] : by_id) {
      parts_->vocabulary->add(piece, id);
      scores_.resize(static_cast<size_t>(id) + 1, std::numeric_limits<double>::quiet_NaN());
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      if (std::isnan(scores[i])) continue;
      const int id = parts_->vocabulary->find(pieces->piece(static_cast<int>(i)));
      if (id == Vocabulary::kNone) {
        throw Error(ErrorCode::kUnsupported, cat(name_, ": its piece ", in_quotes(pieces->piece(static_cast<int>(i))),
                                                 " has no id in vocab.json, and texts would be cut otherwise"));
      }
      scores_[static_cast<size_t>(id)] = scores[i];
    }
    const auto known = [&](std::string_view piece) {
      const int id = parts_->vocabulary->find(piece);
      if (id == Vocabulary::kNone) throw Error(ErrorCode::kBadFile, cat(vocabulary.place(), " has no ", piece));
      return id;
    };
    SpecialIds& ids = parts_->special_ids;
    ids.eos = known("</s>");
    ids.unk = known("<unk>");
    ids.pad = known("<pad>");
    unk_ = *ids.unk;
    for (const auto& [id, piece] : by_id) {
      const bool is_language = piece.size() > 4 && piece.starts_with(">>") && piece.ends_with("<<");
      const bool is_role = id == *ids.eos || id == *ids.unk || id == *ids.pad;
      if (!is_language && !is_role) continue;
      AddedToken token;
      token.content = piece;
      token.id = static_cast<int>(id);
      token.special = true;
      parts_->add_token(std::move(token), name_);
    }
    parts_->normalizer = sentencepiece_normalizer(settings_, name_);
    parts_->decoders = marked_decoders(settings_.add_dummy_prefix);
    parts_->piece_kind = TokenizerParts::PieceKind::kMarked;
    parts_->postprocessor = surround({}, {*ids.eos});
    add_model();
    return parts_;
  }

 private:
  void read_message(std::string_view bytes) {
    Message message(bytes, name_);
    for (Field field; message.next(field);) {
      if (field.number == 1) read_piece(field.bytes);
      if (field.number == 2) read_trainer(field.bytes);
      if (field.number == 3) read_normalizer_settings(field.bytes);
    }
    if (types_.empty()) throw Error(ErrorCode::kBadFile, cat(name_, ": holds no pieces"));
  }

  std::optional<int> role(int64_t id) const {
    return parts_->vocabulary->has(id) ? std::optional<int>(static_cast<int>(id)) : std::nullopt;
  }

  void read_piece(std::string_view bytes) {
    std::string_view piece;
    double score = 0;
    uint64_t type = kNormal;
    Message message(bytes, name_);
    for (Field field; message.next(field);) {
      if (field.number == 1) piece = field.bytes;
      if (field.number == 2) score = float_of(field.value);
      if (field.number == 3) type = field.value;
    }
    if (!is_utf8(piece)) throw Error(ErrorCode::kBadFile, cat(name_, ": piece ", types_.size(), " is not valid UTF-8"));
    parts_->vocabulary->add_duplicate(piece, static_cast<int64_t>(types_.size()));
    const bool used = type == kNormal || type == kUserDefined || type == kUnused;
    scores_.push_back(used ? score : std::numeric_limits<double>::quiet_NaN());
    types_.push_back(type);
  }

  void read_trainer(std::string_view bytes) {
    Message message(bytes, name_);
    for (Field field; message.next(field);) {
      const auto id = static_cast<int64_t>(field.value);
      if (field.number == 3) model_ = field.value;
      if (field.number == 35) byte_fallback_ = field.value != 0;
      if (field.number == 40) unk_ = id;
      if (field.number == 41) bos_ = id;
      if (field.number == 42) eos_ = id;
      if (field.number == 43) pad_ = id;
    }
  }

  void read_normalizer_settings(std::string_view bytes) {
    Message message(bytes, name_);
    for (Field field; message.next(field);) {
      if (field.number == 2) settings_.charsmap = field.bytes;
      if (field.number == 3) settings_.add_dummy_prefix = field.value != 0;
      if (field.number == 4) settings_.remove_extra_whitespaces = field.value != 0;
    }
  }

  void add_role(int id) {
    const uint64_t type = types_[static_cast<size_t>(id)];
    if (type != kControl && type != kUnknown && type != kUserDefined) return;
    AddedToken token;
    token.content = parts_->vocabulary->piece(id);
    token.id = id;
    token.special = type != kUserDefined;
    parts_->add_token(std::move(token), name_);
  }

  void add_model() {
    const int unknown = parts_->vocabulary->has(unk_) ? static_cast<int>(unk_) : Vocabulary::kNone;
    if (model_ == kUnigram) {
      parts_->model = std::make_unique<UnigramModel>(*parts_->vocabulary, scores_,
                                                     UnigramModel::Options{unknown, byte_fallback_}, name_);
    } else if (model_ == kBpe || model_ == kChar) {
      BpeModel::Options options;
      options.unknown_id = unknown;
      options.byte_fallback = byte_fallback_;
      options.fuse_unknown = !byte_fallback_;
      MergeTable merges;
      if (model_ == kBpe) merges = merges_of_pieces(*parts_->vocabulary, ranks_of_scores(scores_), false);
      parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, std::move(merges), options);
    } else if (model_ == kWord) {
      parts_->pretokenizer = split_pretokenizer({"\u2581[^\u2581]*"});
      parts_->model = std::make_unique<WordLevelModel>(parts_->vocabulary, unknown);
    } else {
      throw Error(ErrorCode::kUnsupported, cat(name_, ": SentencePiece has no model type ", model_));
    }
  }

  const std::string& name_;
  std::shared_ptr<TokenizerParts> parts_ = std::make_shared<TokenizerParts>();
  std::vector<double> scores_;
  std::vector<uint64_t> types_;
  SentencePieceSettings settings_;
  uint64_t model_ = kUnigram;
  bool byte_fallback_ = false;
  int64_t unk_ = 0, bos_ = 1, eos_ = 2, pad_ = -1;
};

}  // namespace

bool is_marian_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "source.spm", ignored) &&
         std::filesystem::is_regular_file(folder / "vocab.json", ignored);
}

Tokenizer load_marian(const std::filesystem::path& folder) {
  const std::string name = (folder / "source.spm").string();
  const auto file = MappedFile::open(name);
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  return Tokenizer(SentencePieceReader(name).read_with_ids(bytes, Json::load(folder / "vocab.json")));
}

Tokenizer Tokenizer::from_sentencepiece(std::string_view bytes, const std::string& name) {
  return Tokenizer(SentencePieceReader(name).read(bytes));
}

}  // namespace wick
