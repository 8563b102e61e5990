#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/gguf_split.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/models/merge_finder.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model_bpe.h"
#include "tokenizer/models/model_rwkv.h"
#include "tokenizer/models/model_unigram.h"
#include "tokenizer/models/model_wordpiece.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/stages/charsmap.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

class GgufReader {
 public:
  explicit GgufReader(const GgufVocabulary& gguf) : gguf_(gguf) {
    parts_->vocabulary = std::make_shared<Vocabulary>(cat(gguf.source, ": 'tokenizer.ggml.tokens'"));
  }

  std::shared_ptr<const TokenizerParts> read() {
    check();
    if (gguf_.model == "gpt2") {
      read_gpt2();
    } else if (gguf_.model == "gemma4") {
      read_marked_bpe();
    } else if (gguf_.model == "llama") {
      read_llama();
    } else if (gguf_.model == "bert") {
      read_bert();
    } else if (gguf_.model == "t5") {
      read_t5();
    } else if (gguf_.model == "rwkv") {
      read_rwkv();
    } else {
      throw Error(ErrorCode::kUnsupported, cat(gguf_.source, ": there is no tokenizer ", in_quotes(gguf_.model)));
    }
    return parts_;
  }

 private:
  using Kind = TokenizerParts::PieceKind;

  Error bad(std::string_view what) const { return Error(ErrorCode::kBadFile, cat(gguf_.source, ": ", what)); }

  void check() const {
    const size_t count = gguf_.tokens.size();
    if (count == 0) throw bad("'tokenizer.ggml.tokens' is missing or empty");
    const auto check_size = [&](std::string_view key, size_t size) {
      if (size != 0 && size < count) {
        throw bad(cat("'tokenizer.ggml.", key, "' has ", size, " entries for ", count, " tokens"));
      }
    };
    check_size("scores", gguf_.scores.size());
    check_size("token_type", gguf_.token_types.size());
    for (size_t id = 0; id < count; ++id) {
      if (!is_utf8(gguf_.tokens[id])) throw bad(cat("token ", id, " is not valid UTF-8"));
    }
  }

  int type_of(size_t id) const { return gguf_.token_types.empty() ? GgufVocabulary::kNormal : gguf_.token_types[id]; }

  static bool is_control(int type) { return type == GgufVocabulary::kControl || type == GgufVocabulary::kUnknown; }

  // Pieces as the model spells them; the first of two equal ones is the one that text becomes.
  template <typename Spell>
  void add_pieces(const Spell& spell) {
    size_t bytes = 0;
    for (const std::string_view token : gguf_.tokens) bytes += token.size();
    parts_->vocabulary->reserve(gguf_.tokens.size(), bytes);
    for (size_t id = 0; id < gguf_.tokens.size(); ++id) {
      parts_->vocabulary->add_duplicate(spell(gguf_.tokens[id], type_of(id)), static_cast<int64_t>(id));
      if (is_control(type_of(id))) parts_->vocabulary->hide(static_cast<int>(id));
    }
  }
  void add_pieces() {
    add_pieces([](std::string_view token, int) { return token; });
  }

  // Control tokens and those the model's makers added.
  void add_tokens(bool user_defined) {
    for (size_t id = 0; id < gguf_.tokens.size(); ++id) {
      const int type = type_of(id);
      const bool wanted = is_control(type) || (user_defined && type == GgufVocabulary::kUserDefined);
      if (!wanted || parts_->vocabulary->piece(static_cast<int>(id)).empty()) continue;
      AddedToken token;
      token.content = parts_->vocabulary->piece(static_cast<int>(id));
      token.id = static_cast<int>(id);
      token.special = is_control(type);
      parts_->add_token(std::move(token), gguf_.source);
    }
  }

  std::optional<int> checked(std::optional<int64_t> id, std::string_view key) const {
    if (!id) return std::nullopt;
    if (!parts_->vocabulary->has(*id)) {
      throw bad(cat("'tokenizer.ggml.", key, "' is ", *id, ", but there are ", gguf_.tokens.size(), " tokens"));
    }
    return static_cast<int>(*id);
  }

  // The roles, and what is put around a text.
  void add_roles(bool bos_by_default, bool eos_by_default) {
    SpecialIds& ids = parts_->special_ids;
    ids.bos = checked(gguf_.bos_id, "bos_token_id");
    ids.eos = checked(gguf_.eos_id, "eos_token_id");
    ids.pad = checked(gguf_.pad_id, "padding_token_id");
    ids.unk = checked(gguf_.unk_id, "unknown_token_id");
    const std::optional<int> sep = checked(gguf_.sep_id, "seperator_token_id");
    std::vector<int> before, after;
    if (gguf_.add_bos.value_or(bos_by_default) && ids.bos) before.push_back(*ids.bos);
    if (gguf_.add_eos.value_or(eos_by_default) && ids.eos) after.push_back(*ids.eos);
    if (gguf_.add_sep.value_or(false) && sep) after.push_back(*sep);
    if (!before.empty() || !after.empty()) parts_->postprocessor = surround(before, after);
  }

  MergeTable read_merges() const {
    MergeTable table;
    table.reserve(gguf_.merges.size());
    const auto found = [&](const MergeFinder::Merge& merge) {
      // Some files list merges of pieces that were taken out of the vocabulary.
      if (std::min({merge.left_id, merge.right_id, merge.result}) == Vocabulary::kNone) return;
      if (merge.result == merge.left_id || merge.result == merge.right_id) {
        throw bad(cat("merge ", merge.rank, ": ", in_quotes(merge.left), " and ", in_quotes(merge.right), " make ",
                      in_quotes(cat(merge.left, merge.right)), " again, which never ends"));
      }
      table.add(merge.left_id, merge.right_id, merge.rank, merge.result, true);
    };
    MergeFinder finder(*parts_->vocabulary, "", found);
    for (size_t rank = 0; rank < gguf_.merges.size(); ++rank) {
      const std::string_view merge = gguf_.merges[rank];
      const size_t space = merge.find(' ', 1);
      if (space == std::string_view::npos) {
        throw bad(cat("merge ", rank, ": ", in_quotes(merge), " is not two pieces with a blank between them"));
      }
      finder.add(merge.substr(0, space), merge.substr(space + 1));
    }
    finder.finish();
    table.finish(parts_->vocabulary->size());
    return table;
  }

  void read_gpt2() {
    const auto split = gguf_split(gguf_.pre);
    if (!split) {
      throw Error(ErrorCode::kUnsupported,
                  cat(gguf_.source, ": 'tokenizer.ggml.pre' is ", in_quotes(gguf_.pre), ", which is not known"));
    }
    add_pieces();
    add_tokens(true);
    parts_->pretokenizer = split_pretokenizer(split->patterns);
    BpeModel::Options options;
    options.byte_letters = true;
    options.ignore_merges = split->ignore_merges;
    parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, read_merges(), options);
    parts_->decoders = {byte_level_decoder()};
    parts_->piece_kind = Kind::kByteLetters;
    add_roles(split->add_bos, false);
  }

  // Merges over text whose blanks are marks, with tokens for bytes.
  void read_marked_bpe() {
    add_pieces();
    add_tokens(true);
    parts_->normalizer = replace_normalizer(" ", "\u2581");
    BpeModel::Options options;
    options.byte_fallback = true;
    options.unknown_id = gguf_.unk_id ? *checked(gguf_.unk_id, "unknown_token_id") : Vocabulary::kNone;
    parts_->model = std::make_unique<BpeModel>(parts_->vocabulary, read_merges(), options);
    parts_->decoders = marked_decoders(false);
    parts_->piece_kind = Kind::kMarked;
    add_roles(true, false);
  }

  void read_llama() {
    add_pieces();
    add_tokens(true);
    const bool prefix = gguf_.add_space_prefix.value_or(true);
    parts_->normalizer = marking_normalizer(prefix);
    std::vector<double> scores(gguf_.scores.begin(), gguf_.scores.end());
    scores.resize(gguf_.tokens.size());
    for (size_t id = 0; id < gguf_.tokens.size(); ++id) {
      const int type = type_of(id);
      if (is_control(type) || type == GgufVocabulary::kByte) scores[id] = std::nan("");
    }
    BpeModel::Options options;
    options.byte_fallback = true;
    options.unknown_id = gguf_.unk_id ? *checked(gguf_.unk_id, "unknown_token_id") : Vocabulary::kNone;
    const auto ranks = ranks_of_scores(scores);
    parts_->model =
        std::make_unique<BpeModel>(parts_->vocabulary, merges_of_pieces(*parts_->vocabulary, ranks, false), options);
    parts_->decoders = marked_decoders(prefix);
    parts_->piece_kind = Kind::kMarked;
    add_roles(true, false);
  }

  // The files mark the start of words; the original marks continuations.
  void read_bert() {
    constexpr std::string_view kMark = "\u2581";
    std::string spelled;
    add_pieces([&](std::string_view token, int type) -> std::string_view {
      if (type != GgufVocabulary::kNormal && !token.starts_with(kMark)) return token;
      if (token.starts_with(kMark)) return token.substr(kMark.size());
      const bool is_bracketed = token.starts_with('[') && token.ends_with(']') && token.size() > 2;
      if (is_bracketed) return token;
      return spelled = cat("##", token);
    });
    add_tokens(true);
    const int unknown = gguf_.unk_id ? *checked(gguf_.unk_id, "unknown_token_id") : parts_->vocabulary->find("[UNK]");
    parts_->normalizer = bert_normalizer({});
    parts_->pretokenizer = bert_pretokenizer();
    parts_->model = std::make_unique<WordPieceModel>(*parts_->vocabulary, "##", unknown, 100);
    parts_->decoders = {wordpiece_decoder("##", true)};
    add_roles(true, false);
    if (!parts_->special_ids.unk && unknown != Vocabulary::kNone) parts_->special_ids.unk = unknown;
    // [CLS] text [SEP], whatever the flags say.
    const auto id_of = [&](std::optional<int> given, std::string_view piece) {
      return given ? *given : parts_->vocabulary->find(piece);
    };
    const int cls = id_of(parts_->special_ids.bos, "[CLS]");
    const int sep = id_of(checked(gguf_.sep_id, "seperator_token_id"), "[SEP]");
    if (cls != Vocabulary::kNone && sep != Vocabulary::kNone) parts_->postprocessor = surround({cls}, {sep});
  }

  void read_t5() {
    add_pieces();
    add_tokens(true);
    SentencePieceSettings settings;
    settings.charsmap = gguf_.precompiled_charsmap;
    settings.add_dummy_prefix = gguf_.add_space_prefix.value_or(true);
    settings.remove_extra_whitespaces = gguf_.remove_extra_whitespaces.value_or(false);
    parts_->normalizer = sentencepiece_normalizer(settings, gguf_.source);
    std::vector<double> scores(gguf_.scores.begin(), gguf_.scores.end());
    scores.resize(gguf_.tokens.size());
    for (size_t id = 0; id < gguf_.tokens.size(); ++id) {
      const int type = type_of(id);
      if (is_control(type) || type == GgufVocabulary::kByte) scores[id] = std::nan("");
      if (type == GgufVocabulary::kUserDefined) scores[id] = 0;
    }
    UnigramModel::Options options;
    options.unknown_id = static_cast<int>(gguf_.unk_id.value_or(2));
    parts_->model = std::make_unique<UnigramModel>(*parts_->vocabulary, std::move(scores), options, gguf_.source);
    parts_->decoders = marked_decoders(settings.add_dummy_prefix);
    parts_->piece_kind = Kind::kMarked;
    add_roles(false, true);
  }

  // Tokens are bytes, written with escapes as in Python.
  void read_rwkv() {
    std::string bytes;
    add_pieces([&](std::string_view token, int) -> std::string_view { return bytes = unescape(token); });
    add_tokens(false);
    const int unknown = gguf_.unk_id ? *checked(gguf_.unk_id, "unknown_token_id") : Vocabulary::kNone;
    parts_->model = std::make_unique<RwkvModel>(*parts_->vocabulary, unknown);
    parts_->decoders = {raw_bytes_decoder()};
    parts_->piece_kind = Kind::kRawBytes;
    add_roles(false, false);
  }

  static std::string unescape(std::string_view text) {
    const auto hex = [](char c) { return c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0'; };
    std::string bytes;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '\\' || at + 1 == text.size()) {
        bytes += text[at];
        continue;
      }
      const char c = text[++at];
      if (c == 'x' && at + 2 < text.size()) {
        bytes += static_cast<char>((hex(text[at + 1]) << 4 | hex(text[at + 2])) & 0xFF);
        at += 2;
      } else {
        bytes += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
      }
    }
    return bytes;
  }

  const GgufVocabulary& gguf_;
  std::shared_ptr<TokenizerParts> parts_ = std::make_shared<TokenizerParts>();
};

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufVocabulary& vocabulary) { return Tokenizer(GgufReader(vocabulary).read()); }

}  // namespace wick
