#include "embed/token_outputs.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "tensor/create.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr char kSparse[] = "sparse_linear", kColbert[] = "colbert_linear";

Error not_there(const Embedder& embedder, const char* name) {
  return {ErrorCode::kUnsupported, cat(embedder.name(), ": has no ", name, ".safetensors or .pt, which BGE-M3 has")};
}

Tensor rows_of(std::span<const float> rows, int64_t width) {
  return from_vector(std::vector<float>(rows.begin(), rows.end()), {std::ssize(rows) / width, width});
}

}  // namespace

TokenOutputs::TokenOutputs(const fs::path& model, std::shared_ptr<const Embedder> embedder)
    : embedder_(std::move(embedder)) {
  const fs::path folder = fs::is_directory(model) ? model : model.parent_path();
  sparse_ = load(folder, kSparse, 1);
  colbert_ = load(folder, kColbert, 0);
  if (!sparse_ && !colbert_) throw not_there(*embedder_, kSparse);
}

// `outputs` 0: any number.
std::optional<Linear> TokenOutputs::load(const fs::path& folder, const char* name, int64_t outputs) const {
  fs::path path = folder / cat(name, ".safetensors");
  if (!fs::exists(path)) path = folder / cat(name, ".pt");
  if (!fs::exists(path)) return std::nullopt;
  const Checkpoint file = Checkpoint::open(path);
  const auto floats = [&](const char* part) { return file.get(part).to_dtype(DType::kF32).contiguous().clone(); };
  Linear linear;
  linear.weight = floats("weight");
  linear.bias = floats("bias");
  const bool fits = linear.weight.rank() == 2 && linear.weight.dim(1) == embedder_->rows().hidden() &&
                    (outputs == 0 || linear.weight.dim(0) == outputs) &&
                    linear.bias.shape() == Shape{linear.weight.dim(0)};
  if (fits) return linear;
  throw Error(ErrorCode::kBadFile, cat(path, ": 'weight' is ", linear.weight.shape(), " and 'bias' ",
                                       linear.bias.shape(), ", the model has rows of ", embedder_->rows().hidden()));
}

std::vector<std::vector<TokenWeight>> TokenOutputs::weights(std::span<const EncoderInput> texts,
                                                            const std::function<void(int64_t)>& done) const {
  if (!sparse_) throw not_there(*embedder_, kSparse);
  const Tokenizer& tokenizer = embedder_->tokenizer();
  const auto unknown = tokenizer.special_ids().unk;
  std::vector<std::vector<TokenWeight>> found(texts.size());
  embedder_->rows().encode(
      texts,
      [&](size_t text, std::span<const float> rows) {
        const Tensor weights = (*sparse_)(rows_of(rows, embedder_->rows().hidden()));
        std::map<int32_t, float> largest;
        for (size_t i = 0; i < texts[text].tokens.size(); ++i) {
          const int32_t token = texts[text].tokens[i];
          const float weight = weights.data<float>()[i];
          if (tokenizer.is_special(token) || token == unknown || !(weight > 0)) continue;
          float& most = largest[token];
          most = std::max(most, weight);
        }
        for (const auto& [token, weight] : largest) found[text].push_back({token, weight});
      },
      done);
  return found;
}

std::vector<Tensor> TokenOutputs::vectors(std::span<const EncoderInput> texts,
                                          const std::function<void(int64_t)>& done) const {
  if (!colbert_) throw not_there(*embedder_, kColbert);
  std::vector<Tensor> made(texts.size());
  const int64_t hidden = embedder_->rows().hidden();
  embedder_->rows().encode(
      texts,
      [&](size_t text, std::span<const float> rows) {
        const Tensor vectors = (*colbert_)(rows_of(rows.subspan(static_cast<size_t>(hidden)), hidden));
        const auto width = static_cast<size_t>(vectors.dim(1));
        for (int64_t i = 0; i < vectors.dim(0); ++i) {
          normalize({vectors.mutable_data<float>() + static_cast<size_t>(i) * width, width});
        }
        made[text] = vectors;
      },
      done);
  for (const Tensor& vectors : made) check_finite(vectors, embedder_->name());
  return made;
}

}  // namespace wick
