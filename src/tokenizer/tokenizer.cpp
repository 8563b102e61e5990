#include "tokenizer/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/byte_level.h"
#include "tokenizer/stages/byte_tokens.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

constexpr size_t kMaxTextBytes = (size_t{1} << 31) - 1;  // tripled by U+FFFD, it still fits a Span
constexpr size_t kFrontBytes = 16;                       // per token, of which texts have 3 to 5
constexpr size_t kFrontTokens = 64;                      // and an eighth: more than a cut makes of one word

// One run over a text: cuts out added tokens, then normalises, splits and encodes what is left.
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, const EncodeOptions& options, bool offsets, Encoding& out)
      : parts_(parts),
        special_(options.special),
        breaks_(options.breaks),
        offsets_(offsets),
        out_(out),
        sink_{out.ids, offsets ? &spans_ : nullptr} {}

  void run(std::string_view text) {
    if (find_invalid_utf8(text) != std::string_view::npos) {
      run_repaired(text);
    } else {
      run_valid(text);
    }
  }

 private:
  void run_valid(std::string_view text) {
    const auto broken = [this](Span bytes) { return is_broken(bytes); };
    for (const AddedTokens::Part& part : parts_.added.cut(text, false, special_, broken)) {
      if (part.token) {
        add(part.token->id, part.bytes);
      } else {
        run_section(text.substr(part.bytes.begin, part.bytes.size()), part.bytes.begin);
      }
    }
  }

  // Whether one of the breaks lies inside.
  bool is_broken(Span bytes) const {
    const auto at = std::upper_bound(breaks_.begin(), breaks_.end(), bytes.begin);
    return at != breaks_.end() && *at < bytes.end;
  }

  void add(int id, Span bytes) {
    out_.ids.push_back(id);
    if (offsets_) out_.offsets.push_back(bytes);
  }

  // Encodes with U+FFFD for broken characters, then points the offsets back at the text as it was.
  void run_repaired(std::string_view text) {
    const size_t first = out_.offsets.size();
    const std::string repaired = replace_invalid_utf8(text);
    run_valid(repaired);
    if (!offsets_) return;
    std::vector<uint32_t> places(repaired.size() + 1);
    size_t at = 0, to = 0;
    while (at < text.size()) {
      const Utf8Part part = utf8_part_at(text, at);
      const size_t bytes = part.valid ? part.bytes : 3;
      for (size_t i = 0; i < bytes; ++i) places[to + i] = static_cast<uint32_t>(at + (part.valid ? i : 0));
      at += part.bytes;
      to += bytes;
    }
    places[to] = static_cast<uint32_t>(text.size());
    for (size_t i = first; i < out_.offsets.size(); ++i) {
      out_.offsets[i] = {places[out_.offsets[i].begin], places[out_.offsets[i].end]};
    }
  }

  void run_section(std::string_view text, uint32_t base) {
    const bool at_start = base == 0;
    const bool plain = !parts_.normalizer || parts_.normalizer->leaves_alone(text);
    if (plain && !offsets_ && !parts_.added.has_normalized()) {
      encode_pieces(Pieces(text, at_start));
      return;
    }
    AlignedText aligned(text, base, offsets_ || !breaks_.empty());
    if (!plain) parts_.normalizer->apply(aligned);
    if (!parts_.added.has_normalized()) {
      encode_pieces(Pieces(std::move(aligned), at_start));
      return;
    }
    const auto broken = [&](Span bytes) { return !breaks_.empty() && is_broken(aligned.original(bytes)); };
    for (const AddedTokens::Part& part : parts_.added.cut(aligned.text(), true, special_, broken)) {
      if (part.token) {
        add(part.token->id, offsets_ ? aligned.original(part.bytes) : Span{});
      } else {
        encode_pieces(Pieces(aligned.slice(part.bytes), at_start && part.bytes.begin == 0));
      }
    }
  }

  void encode_pieces(Pieces pieces) {
    if (parts_.pretokenizer) parts_.pretokenizer->split(pieces);
    std::erase_if(pieces.ranges, [](Span range) { return range.size() == 0; });
    if (!offsets_) {
      out_.ids.reserve(out_.ids.size() + pieces.ranges.size());
      parts_.model->encode(pieces.text(), pieces.ranges, sink_);
      return;
    }
    spans_.clear();
    parts_.model->encode(pieces.text(), pieces.ranges, sink_);
    for (const Span span : spans_) out_.offsets.push_back(pieces.aligned().original(span));
  }

  const TokenizerParts& parts_;
  SpecialTokens special_;
  std::span<const uint32_t> breaks_;
  bool offsets_;
  Encoding& out_;
  std::vector<Span> spans_;
  TokenSink sink_;
};

// Leaves the blanks that a piece starts or ends with out of its offsets.
void trim(Encoding& encoding, std::string_view text, const TokenizerParts& parts) {
  const auto is_blank = [](char32_t c) { return c == byte_letters()[' '] || (char_sets_of(c) & kSpaces); };
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const auto id = static_cast<size_t>(encoding.ids[i]);
    // An added token may have taken blanks along.
    const std::string_view piece = id < parts.is_added.size() && parts.is_added[id]
                                       ? text.substr(encoding.offsets[i].begin, encoding.offsets[i].size())
                                       : parts.vocabulary->piece(encoding.ids[i]);
    uint32_t leading = 0, trailing = 0;
    for (size_t at = 0; at < piece.size();) {
      const CodePoint c = code_point_at(piece, at);
      if (!is_blank(c.value)) break;
      ++leading;
      at += c.bytes;
    }
    for (size_t end = piece.size(); end > 0;) {
      end = previous_start(piece, end);
      if (!is_blank(code_point_at(piece, end).value)) break;
      ++trailing;
    }
    Span& bytes = encoding.offsets[i];
    const bool is_first = i == 0 || bytes.begin == 0;
    if (is_first && parts.postprocessor.add_prefix_space && leading == 1) leading = 0;
    for (; leading > 0 && bytes.begin < bytes.end; --leading) {
      do ++bytes.begin;
      while (bytes.begin < bytes.end && !is_utf8_start(text[bytes.begin]));
    }
    for (; trailing > 0 && bytes.end > bytes.begin; --trailing) {
      bytes.end = std::max(static_cast<uint32_t>(previous_start(text, bytes.end)), bytes.begin);
    }
  }
}

}  // namespace

void TokenizerParts::add_token(AddedToken token, const std::string& place) {
  if (token.content.empty()) return;
  const int known = vocabulary->find(token.content);
  if (known != Vocabulary::kNone) {
    token.id = known;
  } else {
    if (token.id >= 0 && vocabulary->has(token.id)) {
      throw Error(ErrorCode::kBadFile, cat(place, ": the added token ", in_quotes(token.content), " has the id ",
                                           token.id, " of ", in_quotes(vocabulary->piece(token.id))));
    }
    vocabulary->add(token.content, token.id);
  }
  std::string pattern = token.content;
  if (token.normalized && normalizer) {
    AlignedText normalized(token.content, 0, false);
    normalizer->apply(normalized);
    pattern = normalized.text();
    if (pattern != token.content) decoded_as[token.id] = pattern;
  }
  if (special.size() <= static_cast<size_t>(token.id)) {
    special.resize(static_cast<size_t>(token.id) + 1);
    is_added.resize(static_cast<size_t>(token.id) + 1);
  }
  is_added[static_cast<size_t>(token.id)] = true;
  if (token.special) {
    special[static_cast<size_t>(token.id)] = true;
    vocabulary->hide(token.id);
  }
  added.add(std::move(token), pattern);
}

Encoding Tokenizer::encode_text(std::string_view text, const EncodeOptions& options, bool offsets) const {
  if (text.size() > kMaxTextBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the text has ", text.size(), " bytes, at most ", kMaxTextBytes, " can be encoded at once"));
  }
  Encoding encoding;
  Encoder(*parts_, options, offsets, encoding).run(text);
  if (offsets && parts_->postprocessor.trim_offsets) trim(encoding, text, *parts_);
  return encoding;
}

Encoding Tokenizer::finish(Encoding first, Encoding* second, const EncodeOptions& options) const {
  const PostProcessor& post = parts_->postprocessor;
  if (options.truncation) {
    truncate(first, second, *options.truncation, options.add_special ? post.added(second != nullptr) : 0);
  }
  Encoding encoding = post.apply(std::move(first), second, options.add_special);
  if (options.padding)
    pad(encoding, static_cast<size_t>(std::max<int64_t>(options.padding->length, 0)), *options.padding);
  return encoding;
}

// The tokens of as much of the text's beginning as shows that the whole has more than options.most; empty when nothing
// less than the whole does.
std::optional<std::vector<int>> Tokenizer::encode_front(std::string_view text, const EncodeOptions& options) const {
  const size_t most = std::min(*options.most, kMaxTextBytes);
  for (size_t bytes = (most + kFrontTokens) * kFrontBytes; bytes < text.size(); bytes *= 4) {
    size_t end = bytes;
    while (end > 0 && !is_utf8_start(text[end])) --end;
    Encoding front = encode_text(text.substr(0, end), options, false);
    if (front.ids.size() > most + most / 8 + kFrontTokens) return std::move(front.ids);
  }
  return std::nullopt;
}

std::vector<int> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (options.most) {
    if (auto front = encode_front(text, options)) return *std::move(front);
  }
  Encoding encoding = encode_text(text, options, false);
  const bool plain =
      !options.truncation && !options.padding && (!options.add_special || !parts_->postprocessor.has_template);
  if (plain) return std::move(encoding.ids);
  return finish(std::move(encoding), nullptr, options).ids;
}

Encoding Tokenizer::encode_with_offsets(std::string_view text, const EncodeOptions& options) const {
  return finish(encode_text(text, options, true), nullptr, options);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  Encoding other = encode_text(second, options, true);
  return finish(encode_text(first, options, true), &other, options);
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string_view> texts,
                                              const EncodeOptions& options) const {
  EncodeOptions unpadded = options;
  unpadded.padding.reset();
  std::vector<Encoding> encodings;
  size_t longest = 0;
  for (const std::string_view text : texts) {
    encodings.push_back(encode_with_offsets(text, unpadded));
    longest = std::max(longest, encodings.back().ids.size());
  }
  if (options.padding) {
    const auto length = options.padding->length > 0 ? static_cast<size_t>(options.padding->length) : longest;
    for (Encoding& encoding : encodings) pad(encoding, length, *options.padding);
  }
  return encodings;
}

std::string Tokenizer::decode(std::span<const int> ids, bool skip_special) const {
  DecodeChain chain(parts_->decoders);
  std::string text;
  for (const int id : ids) {
    if (!has(id) || (skip_special && is_special(id))) continue;
    chain.push(decoded_piece(id), text);
  }
  chain.finish(text);
  return text;
}

std::string_view Tokenizer::decoded_piece(int id) const {
  if (!parts_->decoded_as.empty()) {
    if (const auto found = parts_->decoded_as.find(id); found != parts_->decoded_as.end()) return found->second;
  }
  return parts_->vocabulary->piece(id);
}

int Tokenizer::vocab_size() const { return parts_->vocabulary->size(); }
bool Tokenizer::has(int64_t id) const { return parts_->vocabulary->has(id); }

std::string_view Tokenizer::piece(int id) const { return has(id) ? parts_->vocabulary->piece(id) : std::string_view(); }

std::string Tokenizer::bytes(int id) const {
  if (!has(id)) return {};
  const std::string_view piece = decoded_piece(id);
  if (static_cast<size_t>(id) < parts_->is_added.size() && parts_->is_added[static_cast<size_t>(id)]) {
    return std::string(parts_->vocabulary->piece(id));
  }
  switch (parts_->piece_kind) {
    case TokenizerParts::PieceKind::kByteLetters: return letters_to_bytes(piece).value_or(std::string(piece));
    case TokenizerParts::PieceKind::kMarked: {
      if (const auto byte = byte_of_token(piece)) return std::string(1, static_cast<char>(*byte));
      constexpr std::string_view kMark = "\u2581";
      std::string text;
      for (size_t at = 0; at < piece.size();) {
        const bool marked = piece.substr(at).starts_with(kMark);
        text += marked ? ' ' : piece[at];
        at += marked ? kMark.size() : 1;
      }
      return text;
    }
    default: return std::string(piece);
  }
}

std::optional<int> Tokenizer::id_of(std::string_view piece) const {
  const int id = parts_->vocabulary->find(piece);
  return id == Vocabulary::kNone ? std::nullopt : std::optional<int>(id);
}

bool Tokenizer::is_special(int id) const {
  return id >= 0 && static_cast<size_t>(id) < parts_->special.size() && parts_->special[static_cast<size_t>(id)];
}

const SpecialIds& Tokenizer::special_ids() const { return parts_->special_ids; }
const std::vector<AddedToken>& Tokenizer::added_tokens() const { return parts_->added.all(); }
const std::optional<Truncation>& Tokenizer::truncation() const { return parts_->truncation; }
const std::optional<Padding>& Tokenizer::padding() const { return parts_->padding; }

}  // namespace wick
