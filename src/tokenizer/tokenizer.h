#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/encoding.h"

namespace wick {

struct GgufVocabulary;
struct TokenizerParts;
class DecodeChain;

struct EncodeOptions {
  bool add_special = true;  // the tokens that the model wants around a text
  SpecialTokens special = SpecialTokens::kAllow;
  // Rising byte positions of the text, which is then valid UTF-8: letters on both sides of one never spell a control
  // token together.
  std::span<const uint32_t> breaks;
  std::optional<Truncation> truncation;  // empty: never
  std::optional<Padding> padding;        // empty: never
  // encode() may stop once a text has more tokens than this: what it returns is then longer than `most`, too. It costs
  // what `most` tokens cost, however long the text is.
  std::optional<size_t> most;
};

// Tokens that have a role; empty where the files name none.
struct SpecialIds {
  std::optional<int> bos, eos, pad, unk;
};

// Text to tokens and back, exactly as the model's own files say. A value: copies share the vocabulary. Thread-safe.
//
// Any bytes can be encoded: what is not UTF-8 is read as U+FFFD. With the byte-level kinds, decode(encode(text)) ==
// text for valid UTF-8.
class Tokenizer {
 public:
  // A tokenizer.json, a tokenizer.model of SentencePiece, a tiktoken file, or a folder that holds one of them (with its
  // tokenizer_config.json beside it). Throws Error(kBadFile) naming the field at fault, Error(kIo) when it cannot be
  // read.
  static Tokenizer load(const std::filesystem::path& path);
  // The same from memory; `name` stands in messages.
  static Tokenizer from_json(std::string_view json, const std::string& name = "tokenizer.json");
  static Tokenizer from_sentencepiece(std::string_view bytes, const std::string& name = "tokenizer.model");
  // `pattern`: the expression that splits text; empty: GPT-4's.
  static Tokenizer from_tiktoken(std::string_view text, std::string_view pattern, const std::string& name = "tiktoken");
  // The same from the tokens' bytes, by id; empty ones are holes. `added` are cut out of texts before.
  static Tokenizer from_ranks(std::span<const std::string_view> tokens, std::vector<AddedToken> added,
                              std::string_view pattern, const std::string& name);
  // The vocabulary inside a GGUF file.
  static Tokenizer from_gguf(const GgufVocabulary& vocabulary);

  std::vector<int> encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_with_offsets(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;
  // Several texts; with padding to the longest, all get the same length.
  std::vector<Encoding> encode_batch(std::span<const std::string_view> texts, const EncodeOptions& options = {}) const;

  // Ids without a piece are left out.
  std::string decode(std::span<const int> ids, bool skip_special = false) const;

  int vocab_size() const;  // the largest id plus one
  bool has(int64_t id) const;
  // As the vocabulary spells it, e.g. "Ġthe"; empty when there is no such id.
  std::string_view piece(int id) const;
  // The bytes that the token stands for in text, e.g. " the".
  std::string bytes(int id) const;
  std::optional<int> id_of(std::string_view piece) const;
  bool is_special(int id) const;  // a control token
  const SpecialIds& special_ids() const;
  const std::vector<AddedToken>& added_tokens() const;

  // What the file asks for; encode() does neither unless asked to.
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

 private:
  friend class Detokenizer;
  std::string_view decoded_piece(int id) const;  // as it enters the decoders
  Encoding encode_text(std::string_view text, const EncodeOptions& options, bool offsets) const;
  std::optional<std::vector<int>> encode_front(std::string_view text, const EncodeOptions& options) const;
  Encoding finish(Encoding first, Encoding* second, const EncodeOptions& options) const;

  std::shared_ptr<const TokenizerParts> parts_;
};

}  // namespace wick
