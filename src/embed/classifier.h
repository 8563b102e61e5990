#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "embed/hidden_rows.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// A model with a head that gives labels to a text, to a pair of texts, or to each token: sentiment, language, relevance
// (cross-encoders), entailment, names. Most are encoders; language models judge by the row of their last token, and
// Qwen3-Reranker by whether it would go on with "yes" or "no". Immutable and thread-safe.
class Classifier {
 public:
  // A Hugging Face folder of ...ForSequenceClassification or ...ForTokenClassification, or a Qwen3-Reranker, also as
  // .gguf. Throws Error naming the file and the field at fault, Error(kUnsupported) for other heads.
  static std::shared_ptr<const Classifier> load(const std::filesystem::path& path, const ModelOptions& options = {});

  enum class Kind : uint8_t { kTexts, kTokens };
  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  const HiddenRows& rows() const { return *rows_; }
  const std::vector<std::string>& labels() const { return labels_; }
  // Labels that exclude each other share one softmax; else, and where there is only one, each has a sigmoid of its own.
  bool is_exclusive() const { return is_exclusive_; }
  int64_t most_tokens() const { return rows_->positions(); }

  struct Text {
    std::string_view first;
    std::optional<std::string_view> second = {};
    std::string_view instruction = {};  // what relevance means, for models that are told; empty: their own
  };
  // Throws Error(kInvalidArgument) for empty texts, and for long ones unless they are to be truncated: the longer of
  // two first.
  EncoderInput read(const Text& text, bool truncates = false) const;
  // The beginning of a text, as long as so many tokens.
  std::string_view first_tokens(std::string_view text, int64_t most) const;
  // Where each token of a text came from, in bytes; empty for those that were added.
  std::vector<Span> places(std::string_view text, const EncoderInput& input) const;

  // f32 [texts, labels] on the host, before softmax or sigmoid. A row depends on its text alone, bit for bit.
  Tensor logits(std::span<const EncoderInput> texts, const std::function<void(int64_t)>& done = {}) const;
  // Of one text [tokens, labels]; kTokens only.
  Tensor token_logits(const EncoderInput& text) const;
  // Of one row of logits.
  std::vector<double> probabilities(std::span<const float> logits) const;

 private:
  Classifier() = default;
  Tensor head(Tensor rows) const;

  // How a family makes labels of a row: a product with an activation behind it, a norm, and the last product.
  enum class Before : uint8_t { kNothing, kTanh, kRelu, kGelu };
  struct Head {
    bool pools = false;  // BERT's pooler comes first
    Linear dense;        // undefined: none
    Before activation = Before::kNothing;
    Norm norm;
    Linear out;
    enum class Takes : uint8_t { kFirst, kMean, kLast } takes = Takes::kFirst;  // of a text's rows
  };
  // Of a model that is asked, what stands before and behind a pair of texts.
  struct Question {
    std::vector<int> before, behind;
  };
  Head load_head(const ConfigReader& config, WeightLoader& loader) const;
  void load_language_model(const WeightSource& source, const ModelOptions& options);
  void ask_yes_or_no(const WeightSource& source);
  EncoderInput read_question(const Text& text, bool truncates) const;

  std::string name_;
  Kind kind_ = Kind::kTexts;
  std::unique_ptr<HiddenRows> rows_;
  std::optional<Tokenizer> tokenizer_;
  std::vector<std::string> labels_;
  bool is_exclusive_ = true;
  Head head_;
  std::optional<Question> question_;
};

}  // namespace wick
