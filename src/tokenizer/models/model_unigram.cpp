#include "tokenizer/models/model_unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/byte_tokens.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr double kUnknownPenalty = 10;

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, Options options,
                           const std::string& place)
    : scores_(std::move(scores)), options_(options) {
  if (options_.unknown_id != Vocabulary::kNone && !vocabulary.has(options_.unknown_id)) {
    throw Error(ErrorCode::kBadFile, cat(place, ": the id of the unknown token, ", options_.unknown_id,
                                         ", is not in the vocabulary of ", vocabulary.size()));
  }
  double lowest = std::numeric_limits<double>::infinity();
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id) || std::isnan(scores_[id])) continue;
    lowest = std::min(lowest, scores_[id]);
    if (!vocabulary.piece(id).empty() && !vocabulary.is_hidden(id)) trie_.add(vocabulary.piece(id), id);
  }
  unknown_score_ = (std::isfinite(lowest) ? lowest : 0) - kUnknownPenalty;
  byte_ids_ = byte_token_ids(vocabulary);
  has_all_bytes_ = std::find(byte_ids_.begin(), byte_ids_.end(), Vocabulary::kNone) == byte_ids_.end();
}

void UnigramModel::encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const {
  for (const Span range : pieces) encode_piece(text.substr(range.begin, range.size()), range.begin, sink);
}

void UnigramModel::encode_piece(std::string_view piece, uint32_t base, TokenSink& sink) const {
  struct Best {
    double score = 0;
    uint32_t begin = UINT32_MAX;
    int id = Vocabulary::kNone;
  };
  std::vector<Best> best(piece.size() + 1);  // of the ways to reach each byte
  const auto offer = [&](uint32_t begin, uint32_t end, double score, int id) {
    Best& target = best[end];
    if (target.begin == UINT32_MAX || score > target.score) target = {score, begin, id};
  };
  for (uint32_t at = 0; at < piece.size();) {
    const uint32_t next = at + code_point_at(piece, at).bytes;
    const double score = best[at].score;
    bool has_single = false;
    int node = ByteTrie::kRoot;
    for (uint32_t end = at; end < piece.size();) {
      node = trie_.step(node, static_cast<unsigned char>(piece[end++]));
      if (node == ByteTrie::kNone) break;
      const int id = trie_.value(node);
      if (id == ByteTrie::kNone) continue;
      offer(at, end, score + scores_[id], id);
      has_single |= end == next;
    }
    if (!has_single) offer(at, next, score + unknown_score_, Vocabulary::kNone);
    at = next;
  }
  std::vector<Span> cuts;
  for (auto end = static_cast<uint32_t>(piece.size()); end > 0; end = best[end].begin) {
    cuts.push_back({best[end].begin, end});
  }
  for (size_t i = cuts.size(); i-- > 0;) {
    const int id = best[cuts[i].end].id;
    if (id != Vocabulary::kNone && id != options_.unknown_id) {
      sink.add(id, base + cuts[i].begin, base + cuts[i].end);
      continue;
    }
    const uint32_t begin = cuts[i].begin;
    const auto is_unknown = [&](Span cut) {
      return best[cut.end].id == Vocabulary::kNone || best[cut.end].id == options_.unknown_id;
    };
    while (i > 0 && is_unknown(cuts[i - 1])) --i;
    add_unknown(piece, begin, cuts[i].end, base, sink);
  }
}

void UnigramModel::add_unknown(std::string_view piece, uint32_t begin, uint32_t end, uint32_t base,
                               TokenSink& sink) const {
  if (options_.byte_fallback && has_all_bytes_) {
    for (uint32_t at = begin; at < end; ++at) {
      sink.add(byte_ids_[static_cast<unsigned char>(piece[at])], base + begin, base + end);
    }
  } else if (options_.unknown_id != Vocabulary::kNone) {
    sink.add(options_.unknown_id, base + begin, base + end);
  } else {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the tokenizer has no tokens for ", in_quotes(piece.substr(begin, end - begin)),
                    " and none for the unknown"));
  }
}

}  // namespace wick
