#include "embed/labelled.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

std::span<const float> row_of(const Tensor& logits, size_t row) {
  const auto width = static_cast<size_t>(logits.dim(1));
  return {logits.data<float>() + row * width, width};
}

std::optional<size_t> label_named(const Classifier& classifier, std::string_view name) {
  const auto is_same = [&](const std::string& label) {
    return std::equal(label.begin(), label.end(), name.begin(), name.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  };
  const auto found = std::find_if(classifier.labels().begin(), classifier.labels().end(), is_same);
  if (found == classifier.labels().end()) return std::nullopt;
  return static_cast<size_t>(found - classifier.labels().begin());
}

void sort_likeliest_first(std::vector<Labelled>& labels) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const Labelled& a, const Labelled& b) { return a.probability > b.probability; });
}

// "B-PER": the part of a name behind it, and whether a name begins there.
std::pair<std::string_view, bool> without_mark(std::string_view label) {
  const bool is_marked = label.starts_with("B-") || label.starts_with("I-");
  return {is_marked ? label.substr(2) : label, label.starts_with("B-")};
}

}  // namespace

std::vector<Labelled> ranked_labels(const Classifier& classifier, std::span<const float> logits) {
  const std::vector<double> probabilities = classifier.probabilities(logits);
  std::vector<Labelled> labels;
  for (size_t i = 0; i < probabilities.size(); ++i) labels.push_back({classifier.labels()[i], probabilities[i]});
  sort_likeliest_first(labels);
  return labels;
}

std::vector<double> relevance(const Classifier& classifier, std::string_view query,
                              std::span<const std::string> documents, bool truncates,
                              const std::function<void(int64_t)>& done, std::string_view instruction) {
  if (classifier.labels().size() != 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(classifier.name(), " has ", classifier.labels().size(), " labels; one that ranks has one"));
  }
  std::vector<EncoderInput> pairs;
  for (size_t i = 0; i < documents.size(); ++i) {
    try {
      pairs.push_back(classifier.read({query, documents[i], instruction}, truncates));
    } catch (const Error& error) {
      throw Error(error.code(), cat("document ", i, ": ", error.what()));
    }
  }
  const Tensor logits = classifier.logits(pairs, done);
  std::vector<double> scores;
  for (size_t i = 0; i < documents.size(); ++i) scores.push_back(classifier.probabilities(row_of(logits, i)).front());
  return scores;
}

std::vector<Labelled> zero_shot(const Classifier& classifier, std::string_view text,
                                std::span<const std::string> labels, const ZeroShotOptions& options) {
  const auto entailment = label_named(classifier, "entailment");
  if (!entailment) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(classifier.name(), " has no label 'entailment', by which labels of one's own are judged"));
  }
  const size_t place = options.pattern.find("{}");
  if (place == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, cat("the pattern '", options.pattern, "' has no {} for the label"));
  }
  const size_t against = label_named(classifier, "contradiction").value_or(*entailment == 0 ? 1 : 0);
  std::vector<EncoderInput> pairs;
  for (const std::string& label : labels) {
    const std::string claim = cat(options.pattern.substr(0, place), label, options.pattern.substr(place + 2));
    pairs.push_back(classifier.read({text, claim}, options.truncates));
  }
  const Tensor logits = classifier.logits(pairs);
  std::vector<Labelled> found;
  double most = -INFINITY, sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) most = std::max<double>(most, row_of(logits, i)[*entailment]);
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = row_of(logits, i);
    const double alone = 1 / (1 + std::exp(static_cast<double>(row[against]) - row[*entailment]));
    found.push_back({labels[i], options.is_exclusive ? std::exp(row[*entailment] - most) : alone});
    sum += found.back().probability;
  }
  for (Labelled& label : found) label.probability /= options.is_exclusive ? sum : 1;
  sort_likeliest_first(found);
  return found;
}

std::vector<NamedSpan> named_spans(const Classifier& classifier, std::string_view text, bool truncates) {
  const EncoderInput input = classifier.read({text}, truncates);
  const std::vector<Span> places = classifier.places(text, input);
  const Tensor logits = classifier.token_logits(input);
  std::vector<NamedSpan> spans;
  std::vector<int64_t> tokens;  // of each span
  bool goes_on = false;
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    const Labelled best = ranked_labels(classifier, row_of(logits, i)).front();
    const auto [label, begins] = without_mark(best.label);
    if (places[i].size() == 0 || label == "O") {
      goes_on = false;
      continue;
    }
    if (!goes_on || begins || spans.back().label != label) {
      spans.push_back({std::string(label), places[i], 0});
      tokens.push_back(0);
    }
    spans.back().place.end = places[i].end;
    spans.back().probability += best.probability;
    ++tokens.back();
    goes_on = true;
  }
  for (size_t i = 0; i < spans.size(); ++i) spans[i].probability /= static_cast<double>(tokens[i]);
  return spans;
}

}  // namespace wick
