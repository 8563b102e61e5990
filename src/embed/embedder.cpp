#include "embed/embedder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/text/text_files.h"
#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/load_model.h"
#include "models/load_parts.h"
#include "ops/unary.h"
#include "tensor/create.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// The rows [count, width] of one text, as one.
void pool_rows(Pooling pooling, std::span<const float> rows, std::span<float> out) {
  const size_t width = out.size(), count = rows.size() / width;
  if (pooling == Pooling::kCls || pooling == Pooling::kLast) {
    std::copy_n(rows.begin() + static_cast<ptrdiff_t>(pooling == Pooling::kCls ? 0 : (count - 1) * width), width,
                out.begin());
    return;
  }
  if (pooling == Pooling::kMax) {
    std::copy_n(rows.begin(), width, out.begin());
    for (size_t i = width; i < rows.size(); ++i) out[i % width] = std::max(out[i % width], rows[i]);
    return;
  }
  std::vector<double> sums(width);
  double weights = 0;
  for (size_t row = 0; row < count; ++row) {
    const double weight = pooling == Pooling::kWeightedMean ? static_cast<double>(row + 1) : 1;
    weights += weight;
    for (size_t i = 0; i < width; ++i) sums[i] += weight * rows[row * width + i];
  }
  if (pooling == Pooling::kMeanSqrt) weights = std::sqrt(weights);
  for (size_t i = 0; i < width; ++i) out[i] = static_cast<float>(sums[i] / weights);
}

fs::path folder_of(const fs::path& path) { return fs::is_directory(path) ? path : path.parent_path(); }

std::unique_ptr<HiddenRows> load_rows(const WeightSource& source, const SentenceFolder& settings,
                                      const ModelOptions& options) {
  const Json& config = source.config();
  if (is_encoder_config(config)) {
    return rows_of(TextEncoder::load(source, options));
  }
  if (is_encoder_decoder(source)) {
    throw Error(ErrorCode::kUnsupported, cat(file_name(source), ": of a '", config.get("model_type", ""),
                                             "' nothing makes vectors; it generates text, with `wick run`"));
  }
  if (settings.is_plain) {
    throw Error(ErrorCode::kUnsupported,
                cat(file_name(source),
                    ": is no encoder, and there is no modules.json that says how its rows become a "
                    "vector"));
  }
  return rows_of(load_model(source, options));
}

Linear load_dense(const DenseModule& module, int64_t inputs, const ModelOptions& options) {
  if (module.inputs != inputs) {
    throw Error(ErrorCode::kBadFile, cat(module.folder / "config.json", ": 'in_features' is ", module.inputs,
                                         ", and the vectors before it have ", inputs));
  }
  if (!module.tensor.empty()) {
    Linear linear;
    linear.weight = Checkpoint::open(module.folder).get(module.tensor);
    return linear;
  }
  const WeightSource source(Checkpoint::open(module.folder));
  ModelOptions as_they_are = options;
  as_they_are.quantize = "auto";
  as_they_are.device = Device::cpu();  // where the pooled rows are
  as_they_are.progress = nullptr;
  Linear linear;
  load_parts(source, as_they_are, {}, [&](WeightLoader& loader) {
    linear = loader.linear("linear", module.outputs, module.inputs, module.has_bias);
  });
  return linear;
}

}  // namespace

std::shared_ptr<const Embedder> Embedder::load(const fs::path& path, const ModelOptions& options) {
  std::shared_ptr<Embedder> made(new Embedder());
  const fs::path folder = folder_of(path);
  made->name_ = (fs::is_directory(path) ? fs::canonical(path).filename() : path.stem()).string();
  const Checkpoint checkpoint = Checkpoint::open(path);
  const bool is_gguf = checkpoint.kind() == Checkpoint::Kind::kGguf;
  made->settings_ = is_gguf ? SentenceFolder::of_gguf(checkpoint) : SentenceFolder::read(folder);
  made->rows_ = load_rows(WeightSource(checkpoint), made->settings_, options);
  made->tokenizer_ = load_tokenizer(path);
  const HiddenRows& rows = *made->rows_;
  if (made->tokenizer_->vocab_size() > rows.vocabulary()) {
    throw Error(ErrorCode::kBadFile, cat(folder, ": the tokenizer has ", made->tokenizer_->vocab_size(),
                                         " tokens, the model has ", rows.vocabulary()));
  }
  made->most_tokens_ = std::min(rows.positions(), made->settings_.most_tokens.value_or(rows.positions()));
  int64_t width = rows.hidden();
  for (const DenseModule& module : made->settings_.dense) {
    made->dense_.push_back(load_dense(module, width, options));
    width = module.outputs;
  }
  return made;
}

int64_t Embedder::dimensions() const {
  return settings_.dense.empty() ? rows_->hidden() : settings_.dense.back().outputs;
}

const std::string& Embedder::prompt(const std::string& name) const {
  if (const auto found = settings_.prompts.find(name); found != settings_.prompts.end()) return found->second;
  std::string known;
  for (const auto& [one, text] : settings_.prompts) known += cat(known.empty() ? "" : ", ", "'", one, "'");
  throw Error(ErrorCode::kInvalidArgument,
              cat("there is no prompt '", name, "'; known are: ", known.empty() ? "none" : known));
}

EncoderInput Embedder::read(std::string_view text, const EmbedOptions& options) const {
  const std::string whole = cat(options.prompt.empty() ? settings_.default_prompt : options.prompt, text);
  EncodeOptions encode;
  encode.most = static_cast<size_t>(most_tokens_);
  EncoderInput read;
  read.tokens = tokenizer_->encode(whole, encode);
  const auto count = std::ssize(read.tokens);
  const auto around = std::ssize(tokenizer_->encode("", encode));
  if (count <= around) throw Error(ErrorCode::kInvalidArgument, "there is nothing in the text");
  if (count <= most_tokens_) return read;
  if (!options.truncates) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the text has at least ", count, " tokens, the model takes ", most_tokens_));
  }
  encode.most.reset();
  encode.truncation = Truncation{most_tokens_};
  read.tokens = tokenizer_->encode(whole, encode);
  read.is_cut = true;
  return read;
}

Tensor Embedder::embed(std::span<const EncoderInput> texts, const std::function<void(int64_t)>& done) const {
  const auto width = static_cast<size_t>(rows_->hidden());
  Tensor vectors = empty({std::ssize(texts), rows_->hidden()});
  rows_->encode(
      texts,
      [&](size_t text, std::span<const float> rows) {
        pool_rows(settings_.pooling, rows, {vectors.mutable_data<float>() + text * width, width});
      },
      done);
  for (size_t i = 0; i < dense_.size(); ++i) {
    vectors = dense_[i](vectors);
    if (settings_.dense[i].has_tanh) vectors = tanh(vectors);
  }
  check_finite(vectors, name_);
  const auto size = static_cast<size_t>(vectors.dim(1));
  for (size_t i = 0; settings_.normalizes && i < texts.size(); ++i) {
    normalize({vectors.mutable_data<float>() + i * size, size});
  }
  return vectors;
}

std::vector<EncoderInput> Embedder::read_parts(std::string_view text, const EmbedOptions& options) const {
  EmbedOptions one = options;
  one.in_parts = one.truncates = false;
  if (!options.in_parts) return {read(text, options)};
  const std::string prompt = options.prompt.empty() ? settings_.default_prompt : options.prompt;
  const auto around = std::ssize(tokenizer_->encode(prompt));
  const int64_t room = most_tokens_ - around - 1;  // a word may be cut otherwise at the end of a part
  if (room < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the prompt has ", around, " tokens and leaves no room for the text, of ", most_tokens_));
  }
  EncodeOptions plain;
  plain.add_special = false;
  const Encoding all = tokenizer_->encode_with_offsets(text, plain);
  if (std::ssize(all.ids) <= room) return {read(text, one)};
  std::vector<EncoderInput> parts;
  size_t from = 0;  // bytes
  for (size_t begin = 0; begin < all.ids.size();) {
    // As many tokens as there is room for; fewer where the part, read alone, has more of them.
    for (auto count = static_cast<size_t>(room);; count -= (count + 7) / 8) {
      if (count == 0) throw Error(ErrorCode::kInvalidArgument, "the text cannot be taken in parts");
      const size_t end = std::min(all.ids.size(), begin + count);
      size_t to = end < all.ids.size() ? std::max<size_t>(from, all.offsets[end].begin) : text.size();
      while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xC0) == 0x80) ++to;  // inside a character
      const std::string_view part = text.substr(from, to - from);
      EncoderInput read;
      if (!trimmed(part).empty()) read.tokens = tokenizer_->encode(cat(prompt, part));
      if (std::ssize(read.tokens) > most_tokens_) continue;
      if (!read.tokens.empty()) parts.push_back(std::move(read));
      begin = end;
      from = to;
      break;
    }
  }
  if (parts.empty()) throw Error(ErrorCode::kInvalidArgument, "there is nothing in the text");
  return parts;
}

Tensor Embedder::embed_parts(std::span<const std::vector<EncoderInput>> texts,
                             const std::function<void(int64_t)>& done) const {
  std::vector<EncoderInput> all;
  for (const auto& parts : texts) all.insert(all.end(), parts.begin(), parts.end());
  const Tensor vectors = embed(all, done);
  if (all.size() == texts.size()) return vectors;
  const auto width = static_cast<size_t>(vectors.dim(1));
  const Tensor means = empty({std::ssize(texts), vectors.dim(1)});
  const float* from = vectors.data<float>();
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::span mean(means.mutable_data<float>() + i * width, width);
    std::vector<double> sum(width);
    double tokens = 0;
    for (const EncoderInput& part : texts[i]) {
      const auto weight = static_cast<double>(part.tokens.size());
      tokens += weight;
      for (double& x : sum) x += weight * *from++;
    }
    if (texts[i].size() == 1) {
      std::copy_n(from - width, width, mean.begin());
      continue;
    }
    for (size_t j = 0; j < width; ++j) mean[j] = static_cast<float>(sum[j] / tokens);
    if (settings_.normalizes) normalize(mean);
  }
  return means;
}

Tensor Embedder::embed(std::span<const std::string> texts, const EmbedOptions& options) const {
  std::vector<EncoderInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) {
    try {
      inputs.push_back(read(texts[i], options));
    } catch (const Error& error) {
      if (texts.size() == 1) throw;
      throw Error(error.code(), cat("text ", i, ": ", error.what()));
    }
  }
  return embed(inputs);
}

void normalize(std::span<float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  const double length = std::max(std::sqrt(sum), 1e-12);
  for (float& x : vector) x = static_cast<float>(x / length);
}

Tensor shortened(const Tensor& vectors, int64_t dimensions) {
  if (dimensions < 1 || dimensions > vectors.dim(1)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(dimensions, " dimensions are asked for, there are 1 to ", vectors.dim(1)));
  }
  if (dimensions == vectors.dim(1)) return vectors;
  const Tensor out = empty({vectors.dim(0), dimensions});
  for (int64_t i = 0; i < vectors.dim(0); ++i) {
    const std::span row(out.mutable_data<float>() + i * dimensions, static_cast<size_t>(dimensions));
    std::copy_n(vectors.data<float>() + i * vectors.dim(1), row.size(), row.begin());
    normalize(row);
  }
  return out;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return aa == 0 || bb == 0 ? 0 : product / std::sqrt(aa * bb);
}

}  // namespace wick
