#include "tokenizer/sentencepiece_parts.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/models/merge_table.h"
#include "tokenizer/stages/charsmap.h"

namespace wick {
namespace {

constexpr const char* kMark = "\u2581";

// One blank for many, none at the ends.
class BlankNormalizer : public Normalizer {
 public:
  void apply(AlignedText& aligned) const override {
    const std::string& text = aligned.text();
    uint32_t begin = 0, end = static_cast<uint32_t>(text.size());
    while (begin < end && text[begin] == ' ') ++begin;
    while (end > begin && text[end - 1] == ' ') --end;
    AlignedText::Rewriter out(aligned);
    for (uint32_t at = begin; at < end; ++at) {
      if (text[at] == ' ' && text[at - 1] == ' ') continue;
      out.keep(at, at + 1);
    }
    out.finish();
  }
};

}  // namespace

NormalizerPtr sentencepiece_normalizer(const SentencePieceSettings& settings, const std::string& place) {
  std::vector<NormalizerPtr> steps;
  if (!settings.charsmap.empty()) {
    steps.push_back(
        charsmap_normalizer(Charsmap::from_bytes(settings.charsmap, place), CharsmapReading::kSentencePiece));
  }
  if (settings.remove_extra_whitespaces) steps.push_back(std::make_unique<BlankNormalizer>());
  if (settings.add_dummy_prefix) steps.push_back(prepend_normalizer(" "));
  steps.push_back(replace_normalizer(" ", kMark));
  return sequence_normalizer(std::move(steps));
}

NormalizerPtr marking_normalizer(bool add_prefix) {
  std::vector<NormalizerPtr> steps;
  if (add_prefix) steps.push_back(prepend_normalizer(kMark));
  steps.push_back(replace_normalizer(" ", kMark));
  return sequence_normalizer(std::move(steps));
}

std::vector<DecoderPtr> marked_decoders(bool prefix_was_added) {
  std::vector<DecoderPtr> decoders = {replace_text_decoder(kMark, " "), byte_fallback_decoder(), fuse_decoder()};
  if (prefix_was_added) decoders.push_back(strip_decoder(U' ', 1, 0));
  return decoders;
}

std::vector<uint32_t> ranks_of_scores(const std::vector<double>& scores) {
  std::vector<uint32_t> order;
  for (uint32_t id = 0; id < scores.size(); ++id) {
    if (!std::isnan(scores[id])) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  std::vector<uint32_t> ranks(scores.size(), MergeTable::kNoRank);
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<uint32_t>(i);
  return ranks;
}

}  // namespace wick
