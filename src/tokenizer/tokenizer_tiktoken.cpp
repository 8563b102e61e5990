#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model_bpe.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

// What follows from a vocabulary of bytes whose ids are ranks.
void use_ranks(TokenizerParts& parts, std::string_view pattern) {
  std::vector<uint32_t> ranks(static_cast<size_t>(parts.vocabulary->size()));
  for (size_t id = 0; id < ranks.size(); ++id) ranks[id] = static_cast<uint32_t>(id);
  BpeModel::Options options;
  options.raw_bytes = true;
  options.ignore_merges = true;
  parts.pretokenizer = split_pretokenizer({pattern.empty() ? kWords3Pattern : pattern});
  parts.model = std::make_unique<BpeModel>(parts.vocabulary, merges_of_pieces(*parts.vocabulary, ranks, true), options);
  parts.decoders = {raw_bytes_decoder()};
  parts.piece_kind = TokenizerParts::PieceKind::kRawBytes;
}

}  // namespace

// One line a token: its bytes in base64, a blank, its rank, which is its id.
Tokenizer Tokenizer::from_tiktoken(std::string_view text, std::string_view pattern, const std::string& name) {
  auto parts = std::make_shared<TokenizerParts>();
  parts->vocabulary = std::make_shared<Vocabulary>(name);
  parts->vocabulary->reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1, text.size());
  int64_t line_number = 0;
  const auto bad = [&](std::string_view what) {
    return Error(ErrorCode::kBadFile, cat(name, ": line ", line_number, " ", what));
  };
  while (!text.empty()) {
    ++line_number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    const auto bytes = decode_base64(line.substr(0, space));
    int64_t rank = -1;
    if (space != std::string_view::npos) {
      const std::string_view digits = line.substr(space + 1);
      const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
      if (error != std::errc() || rest != digits.data() + digits.size()) rank = -1;
    }
    if (!bytes || rank < 0) throw bad("is not a token in base64 and its rank");
    parts->vocabulary->add(*bytes, rank);
  }
  if (parts->vocabulary->size() == 0) throw Error(ErrorCode::kBadFile, cat(name, ": holds no tokens"));
  use_ranks(*parts, pattern);
  return Tokenizer(parts);
}

Tokenizer Tokenizer::from_ranks(std::span<const std::string_view> tokens, std::vector<AddedToken> added,
                                std::string_view pattern, const std::string& name) {
  auto parts = std::make_shared<TokenizerParts>();
  parts->vocabulary = std::make_shared<Vocabulary>(name);
  size_t bytes = 0;
  for (const std::string_view token : tokens) bytes += token.size();
  for (const AddedToken& token : added) bytes += token.content.size();
  parts->vocabulary->reserve(tokens.size() + added.size(), bytes);
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) parts->vocabulary->add(tokens[id], static_cast<int64_t>(id));
  }
  use_ranks(*parts, pattern);
  for (AddedToken& token : added) parts->add_token(std::move(token), name);
  return Tokenizer(parts);
}

}  // namespace wick
