#pragma once

#include <string>
#include <vector>

#include "embed/classifier.h"

namespace wick {

struct Labelled {
  std::string label;
  double probability = 0;
};

// The labels of one row of logits, the likeliest first.
std::vector<Labelled> ranked_labels(const Classifier& classifier, std::span<const float> logits);

// How relevant each document is to a query, 0 to 1. `instruction`: see Classifier::Text. Throws Error(kInvalidArgument)
// for a model of more than one label, and for texts that cannot be read; the message names the document.
std::vector<double> relevance(const Classifier& classifier, std::string_view query,
                              std::span<const std::string> documents, bool truncates,
                              const std::function<void(int64_t)>& done = {}, std::string_view instruction = {});

// Labels that the model was not trained for, by entailment: how far the text entails "This example is <label>." as the
// pattern says, where {} stands for the label. Exclusive ones add up to 1. Throws Error(kInvalidArgument) for a model
// that has no label called entailment, or a pattern without {}.
struct ZeroShotOptions {
  std::string pattern = "This example is {}.";
  bool is_exclusive = true;
  bool truncates = false;
};
std::vector<Labelled> zero_shot(const Classifier& classifier, std::string_view text,
                                std::span<const std::string> labels, const ZeroShotOptions& options = {});

// A stretch of a text that tokens of one label make up.
struct NamedSpan {
  std::string label;       // without "B-" and "I-"
  Span place;              // bytes of the text
  double probability = 0;  // the mean over its tokens
};
std::vector<NamedSpan> named_spans(const Classifier& classifier, std::string_view text, bool truncates = false);

}  // namespace wick
