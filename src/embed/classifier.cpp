#include "embed/classifier.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/text/text_files.h"
#include "models/load_model.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "ops/index.h"
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

ModelOptions as_they_are(ModelOptions options) {  // heads are small
  options.quantize = "auto";
  options.device = Device::cpu();
  options.progress = nullptr;
  return options;
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
  const EncoderConfig& encoder = rows_->encoder()->config();
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
    if (pooling == "mean" && kind_ == Kind::kTexts) head.takes = Head::Takes::kMean;
    head.out = loader.linear("classifier", labels, hidden, true);
  } else if (kind_ == Kind::kTokens || is_bert) {
    head.pools = kind_ == Kind::kTexts;
    if (head.pools && !rows_->encoder()->has_pooler()) {
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
  made->name_ = (fs::is_directory(path) ? fs::canonical(path).filename() : path.stem()).string();
  made->tokenizer_ = load_tokenizer(path);
  if (!is_encoder_config(source.config())) {
    made->load_language_model(source, options);
    return made;
  }
  made->kind_ = kind_of(config);
  made->labels_ = read_labels(config);
  const std::string problem = config.text("problem_type", "");
  made->is_exclusive_ = made->labels_.size() > 1 && problem != "multi_label_classification";
  if (problem == "regression" && made->labels_.size() > 1) {
    throw Error(ErrorCode::kUnsupported, "config.json: problem_type = 'regression' of several numbers");
  }
  made->rows_ = rows_of(TextEncoder::load(source, options));
  load_parts(source, as_they_are(options), {},
             [&](WeightLoader& loader) { made->head_ = made->load_head(config, loader); });
  return made;
}

EncoderInput Classifier::read(const Text& text, bool truncates) const {
  const auto encode = [&](const EncodeOptions& options) {
    return text.second ? tokenizer_->encode_pair(text.first, *text.second, options)
                       : tokenizer_->encode_with_offsets(text.first, options);
  };
  if (question_) return read_question(text, truncates);
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
  if (rows_->encoder() && rows_->encoder()->config().types > 1)
    read.types.assign(all.type_ids.begin(), all.type_ids.end());
  return read;
}

// Language models judge by their last token.
void Classifier::load_language_model(const WeightSource& source, const ModelOptions& options) {
  const ConfigReader config(source.config());
  const std::vector<std::string> names = config.texts("architectures");
  const std::string architecture = names.empty() ? "" : names.front();
  const bool has_head = architecture.ends_with("ForSequenceClassification");
  const std::string type = config.text("model_type", "");
  if (!has_head && type != "qwen3") {
    throw Error(ErrorCode::kUnsupported, cat("config.json: of a '", architecture,
                                             "' nothing judges texts; of language models Wick reads Qwen3-Reranker and "
                                             "...ForSequenceClassification"));
  }
  rows_ = rows_of(load_model(source, options));
  head_.takes = Head::Takes::kLast;
  if (!has_head) return ask_yes_or_no(source);
  labels_ = read_labels(config);
  is_exclusive_ = labels_.size() > 1 && config.text("problem_type", "") != "multi_label_classification";
  load_parts(source, as_they_are(options), {}, [&](WeightLoader& loader) {
    head_.out = loader.linear("score", std::ssize(labels_), rows_->hidden(), false);
  });
}

// Qwen3-Reranker: one label, whose logit is that of "yes" less that of "no".
void Classifier::ask_yes_or_no(const WeightSource& source) {
  const auto yes = tokenizer_->id_of("yes"), no = tokenizer_->id_of("no");
  if (!yes || !no || !tokenizer_->id_of("<|im_start|>") || !tokenizer_->id_of("<think>")) {
    throw Error(ErrorCode::kUnsupported, cat(name_, ": its tokens are not those of Qwen3-Reranker"));
  }
  const std::string table = source.has("lm_head.weight") ? "lm_head.weight" : "model.embed_tokens.weight";
  const Tensor rows = take_rows(source.get(table).weight, from_vector(std::vector<int64_t>{*yes, *no}, {2}))
                          .to_device(Device::cpu())
                          .to_dtype(DType::kF32)
                          .contiguous();
  const int64_t width = rows_->hidden();
  if (rows.shape() != Shape{2, width}) {
    throw Error(ErrorCode::kBadFile, cat(name_, ": rows of '", table, "' are ", rows.shape()));
  }
  std::vector<float> difference;
  for (int64_t i = 0; i < width; ++i) difference.push_back(rows.data<float>()[i] - rows.data<float>()[width + i]);
  head_.out.weight = from_vector(difference, {1, width});
  labels_ = {"relevant"};
  is_exclusive_ = false;
  const EncodeOptions plain{.add_special = false};
  question_ = Question{
      tokenizer_->encode("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
                         "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
                         "<|im_start|>user\n",
                         plain),
      tokenizer_->encode("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", plain)};
}

EncoderInput Classifier::read_question(const Text& text, bool truncates) const {
  const std::string_view usual = "Given a web search query, retrieve relevant passages that answer the query";
  if (!text.second) throw Error(ErrorCode::kInvalidArgument, cat(name_, " judges a query and a document together"));
  if (trimmed(text.first).empty() || trimmed(*text.second).empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is nothing in the text");
  }
  const std::string asked = cat("<Instruct>: ", text.instruction.empty() ? usual : text.instruction,
                                "\n<Query>: ", text.first, "\n<Document>: ", *text.second);
  const size_t around = question_->before.size() + question_->behind.size();
  const auto most = static_cast<size_t>(most_tokens()) - std::min(around, static_cast<size_t>(most_tokens()));
  EncodeOptions options{.add_special = false, .special = SpecialTokens::kAsText};
  options.most = most;
  std::vector<int> inside = tokenizer_->encode(asked, options);
  EncoderInput read;
  if (inside.size() > most) {
    if (!truncates) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the texts have at least ", inside.size() + around, " tokens, the model takes ", most_tokens()));
    }
    options.most.reset();
    inside = tokenizer_->encode(asked, options);
    inside.resize(most);
    read.is_cut = true;
  }
  for (const std::vector<int>* part : {&question_->before, &std::as_const(inside), &question_->behind}) {
    read.tokens.insert(read.tokens.end(), part->begin(), part->end());
  }
  return read;
}

std::string_view Classifier::first_tokens(std::string_view text, int64_t most) const {
  const Encoding all = tokenizer_->encode_with_offsets(text, {.add_special = false});
  if (std::ssize(all.ids) <= most) return text;
  size_t end = all.offsets[static_cast<size_t>(most)].begin;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // inside a character
  return text.substr(0, end);
}

std::vector<Span> Classifier::places(std::string_view text, const EncoderInput& input) const {
  EncodeOptions options;
  if (input.is_cut) options.truncation = Truncation{most_tokens()};
  return tokenizer_->encode_with_offsets(text, options).offsets;
}

Tensor Classifier::head(Tensor rows) const {
  if (head_.pools) rows = rows_->encoder()->pool(rows);
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
  const auto width = static_cast<size_t>(rows_->hidden());
  const Tensor first = empty({std::ssize(texts), rows_->hidden()});
  rows_->encode(
      texts,
      [&](size_t text, std::span<const float> rows) {
        float* out = first.mutable_data<float>() + text * width;
        const size_t there = rows.size() / width, count = head_.takes == Head::Takes::kMean ? there : 1;
        if (head_.takes == Head::Takes::kLast) rows = rows.subspan((there - 1) * width);
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
  rows_->encode({&text, 1},
                [&](size_t, std::span<const float> values) {
                  rows = from_vector(std::vector<float>(values.begin(), values.end()),
                                     {std::ssize(text.tokens), rows_->hidden()});
                },
                {});
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
