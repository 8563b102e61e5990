#include "embed/classifier.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "engine/text/text_files.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "ops/unary.h"
#include "tensor/create.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMostLabels = int64_t{1} << 16;

Classifier::Kind kind_of(const ConfigReader& config) {
  const std::vector<std::string> names = config.texts("architectures");
  const std::string name = names.empty() ? "" : names.front();
  if (name.ends_with("ForSequenceClassification")) return Classifier::Kind::kTexts;
  if (name.ends_with("ForTokenClassification")) return Classifier::Kind::kTokens;
  throw Error(ErrorCode::kUnsupported,
              cat("config.json: architectures is '", name,
                  "', expected one that ends in ForSequenceClassification or ForTokenClassification"));
}

// By id2label, else their numbers.
std::vector<std::string> read_labels(const ConfigReader& config) {
  const Json* named = config.find("id2label");
  const bool has_names = named && named->is_object() && !named->as_object().empty();
  const int64_t count = has_names ? std::ssize(named->as_object()) : config.integer("num_labels", 2);
  if (count < 1 || count > kMostLabels) throw bad_setting(cat(count, " labels, expected 1 to ", kMostLabels));
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    labels.push_back(has_names ? named->at(std::to_string(i)).as_text() : cat("LABEL_", i));
  }
  return labels;
}

}  // namespace

Classifier::Head Classifier::load_head(const ConfigReader& config, WeightLoader& loader) const {
  const EncoderConfig& encoder = encoder_->config();
  const int64_t hidden = encoder.hidden, labels = std::ssize(labels_);
  const bool is_distil = encoder.family == "distilbert", is_modern = encoder.family == "modernbert";
  const bool is_bert = encoder.family == "bert";
  Head head;
  if (is_modern) {
    const bool bias = config.flag("classifier_bias", false);
    head.dense = loader.linear("head.dense", hidden, hidden, bias);
    const std::string activation = config.text("classifier_activation", "gelu");
    if (activation != "gelu") {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: classifier_activation = '", activation, "', expected gelu"));
    }
    head.activation = Before::kGelu;
    head.norm = loader.norm("head.norm", NormKind::kLayer, hidden, encoder.eps, true, encoder.norm_bias, 0);
    const std::string pooling = config.text("classifier_pooling", "cls");
    if (pooling != "cls" && pooling != "mean") {
      throw Error(ErrorCode::kUnsupported,
                  cat("config.json: classifier_pooling = '", pooling, "', expected cls or mean"));
    }
    head.takes_mean = pooling == "mean" && kind_ == Kind::kTexts;
    head.out = loader.linear("classifier", labels, hidden, true);
  } else if (kind_ == Kind::kTokens || is_bert) {
    head.pools = kind_ == Kind::kTexts;
    if (head.pools && !encoder_->has_pooler()) {
      throw Error(ErrorCode::kBadFile, "the file has no pooler, which a classifier of texts needs");
    }
    head.out = loader.linear("classifier", labels, hidden, true);
  } else {
    head.dense = loader.linear(is_distil ? "pre_classifier" : "classifier.dense", hidden, hidden, true);
    head.activation = is_distil ? Before::kRelu : Before::kTanh;
    head.out = loader.linear(is_distil ? "classifier" : "classifier.out_proj", labels, hidden, true);
  }
  return head;
}

std::shared_ptr<const Classifier> Classifier::load(const fs::path& path, const ModelOptions& options) {
  std::shared_ptr<Classifier> made(new Classifier());
  const WeightSource source(Checkpoint::open(path));
  if (!source.config().is_object()) {
    throw Error(ErrorCode::kBadFile, cat(file_name(source), ": there is no config.json beside it"));
  }
  const ConfigReader config(source.config());
  made->kind_ = kind_of(config);
  made->name_ = (fs::is_directory(path) ? fs::canonical(path).filename() : path.stem()).string();
  made->labels_ = read_labels(config);
  const std::string problem = config.text("problem_type", "");
  made->is_exclusive_ = made->labels_.size() > 1 && problem != "multi_label_classification";
  if (problem == "regression" && made->labels_.size() > 1) {
    throw Error(ErrorCode::kUnsupported, "config.json: problem_type = 'regression' of several numbers");
  }
  made->encoder_ = TextEncoder::load(source, options);
  ModelOptions as_they_are = options;  // heads are small
  as_they_are.quantize = "auto";
  as_they_are.device = Device::cpu();
  as_they_are.progress = nullptr;
  load_parts(source, as_they_are, {}, [&](WeightLoader& loader) { made->head_ = made->load_head(config, loader); });
  made->tokenizer_ = load_tokenizer(path);
  return made;
}

EncoderInput Classifier::read(const Text& text, bool truncates) const {
  const auto encode = [&](const EncodeOptions& options) {
    return text.second ? tokenizer_->encode_pair(text.first, *text.second, options)
                       : tokenizer_->encode_with_offsets(text.first, options);
  };
  Encoding all = encode({});
  const auto has_none = [&](std::string_view part) { return tokenizer_->encode(part, {.add_special = false}).empty(); };
  if (has_none(text.first) || (text.second && has_none(*text.second))) {
    throw Error(ErrorCode::kInvalidArgument, "there is nothing in the text");
  }
  EncoderInput read;
  if (std::ssize(all.ids) > most_tokens()) {
    if (!truncates) {
      throw Error(ErrorCode::kInvalidArgument, cat(text.second ? "the texts have " : "the text has ", all.ids.size(),
                                                   " tokens, the model takes ", most_tokens()));
    }
    EncodeOptions options;
    options.truncation = Truncation{most_tokens()};
    all = encode(options);
    read.is_cut = true;
  }
  read.tokens.assign(all.ids.begin(), all.ids.end());
  if (encoder_->config().types > 1) read.types.assign(all.type_ids.begin(), all.type_ids.end());
  return read;
}

std::vector<Span> Classifier::places(std::string_view text, const EncoderInput& input) const {
  EncodeOptions options;
  if (input.is_cut) options.truncation = Truncation{most_tokens()};
  return tokenizer_->encode_with_offsets(text, options).offsets;
}

Tensor Classifier::head(Tensor rows) const {
  if (head_.pools) rows = encoder_->pool(rows);
  if (head_.dense.defined()) rows = head_.dense(rows);
  switch (head_.activation) {
    case Before::kTanh: rows = tanh(rows); break;
    case Before::kRelu: rows = relu(rows); break;
    case Before::kGelu: rows = gelu(rows); break;
    case Before::kNothing: break;
  }
  return head_.out(head_.norm.present() ? head_.norm(rows) : rows);
}

Tensor Classifier::logits(std::span<const EncoderInput> texts, const std::function<void(int64_t)>& done) const {
  if (kind_ != Kind::kTexts)
    throw Error(ErrorCode::kInvalidArgument, cat(name_, " gives labels to tokens, not to texts"));
  const auto width = static_cast<size_t>(encoder_->config().hidden);
  const Tensor first = empty({std::ssize(texts), encoder_->config().hidden});
  encode_texts(
      *encoder_, texts,
      [&](size_t text, std::span<const float> rows) {
        float* out = first.mutable_data<float>() + text * width;
        const size_t count = head_.takes_mean ? rows.size() / width : 1;
        for (size_t i = 0; i < width; ++i) {
          double sum = 0;
          for (size_t row = 0; row < count; ++row) sum += rows[row * width + i];
          out[i] = static_cast<float>(sum / static_cast<double>(count));
        }
      },
      done);
  if (texts.empty()) return {};
  const Tensor logits = head(first);
  check_finite(logits, name_);
  return logits;
}

Tensor Classifier::token_logits(const EncoderInput& text) const {
  if (kind_ != Kind::kTokens)
    throw Error(ErrorCode::kInvalidArgument, cat(name_, " gives labels to texts, not to tokens"));
  Tensor rows;
  encode_texts(*encoder_, {&text, 1}, [&](size_t, std::span<const float> values) {
    rows = from_vector(std::vector<float>(values.begin(), values.end()),
                       {std::ssize(text.tokens), encoder_->config().hidden});
  });
  const Tensor logits = head(rows);
  check_finite(logits, name_);
  return logits;
}

std::vector<double> Classifier::probabilities(std::span<const float> logits) const {
  std::vector<double> out(logits.begin(), logits.end());
  if (!is_exclusive_) {
    for (double& x : out) x = 1 / (1 + std::exp(-x));
    return out;
  }
  const double most = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (double& x : out) sum += x = std::exp(x - most);
  for (double& x : out) x /= sum;
  return out;
}

}  // namespace wick
