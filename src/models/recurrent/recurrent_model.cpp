#include "models/recurrent/recurrent_model.h"

#include "base/error.h"
#include "base/text.h"
#include "models/decoder_step.h"
#include "models/logit_hooks.h"
#include "ops/embedding.h"
#include "ops/index_select.h"
#include "ops/kernel_table.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {

int64_t checked_setting(std::string_view name, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return value;
  throw Error(ErrorCode::kBadFile, cat("config.json: ", name, " is ", value, ", expected 1 to ", most));
}

RecurrentConfig read_recurrent_config(const ConfigReader& config, std::string_view family, bool tied) {
  RecurrentConfig read;
  read.family = family;
  read.layers = checked_setting("num_hidden_layers", config.integer("num_hidden_layers"), 4096);
  read.hidden = checked_setting("hidden_size", config.integer("hidden_size"));
  read.vocabulary = checked_setting("vocab_size", config.integer("vocab_size"));
  read.norm_eps = static_cast<float>(config.number("layer_norm_epsilon", 1e-5));
  if (!(read.norm_eps >= 0 && read.norm_eps < 1)) {
    throw Error(ErrorCode::kBadFile, cat("config.json: layer_norm_epsilon is ", read.norm_eps, ", expected 0 to 1"));
  }
  read.tied = config.flag("tie_word_embeddings", tied);
  return read;
}

RecurrentModel::RecurrentModel(RecurrentConfig config, std::vector<Shape> layer_state, WeightLoader& loader,
                               const ModelOptions& options)
    : config_(std::move(config)), layer_state_(std::move(layer_state)), device_(options.device) {
  if (!device_.is_host() && !device_.kernels().mamba_scan) {
    throw Error(ErrorCode::kUnsupported, cat(config_.family, " models do not run on ", device_));
  }
  facts_.family = config_.family;
  facts_.layers = config_.layers;
  facts_.hidden = config_.hidden;
  facts_.vocabulary = config_.vocabulary;
  facts_.max_context = options.context;
  facts_.recurrent = true;
  embedding_ = loader.table(config_.embed, config_.vocabulary, config_.hidden);
}

void RecurrentModel::load_head(WeightLoader& loader) {
  final_norm_ = loader.norm(config_.final_norm, config_.norm, config_.hidden, config_.norm_eps, true, true, 0);
  if (config_.tied) {
    head_.weight = embedding_;
  } else {
    head_ = loader.linear(config_.head, config_.vocabulary, config_.hidden, false);
  }
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
}

RecurrentState RecurrentModel::new_state() const {
  const ArenaPause keep;
  RecurrentState state;
  state.tensors.reserve(static_cast<size_t>(config_.layers) * layer_state_.size());
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const Shape& shape : layer_state_) state.tensors.push_back(zeros(shape, DType::kF32, device_));
  }
  return state;
}

void RecurrentModel::check_states(const ForwardBatch& batch) const {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, cat("forward: ", what)); };
  const size_t count = static_cast<size_t>(config_.layers) * layer_state_.size();
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const std::vector<Tensor>& tensors = batch.sequences[i].state->tensors;
    if (tensors.size() != count) {
      throw bad(
          cat("the state of sequence ", i, " has ", tensors.size(), " tensors, this ", config_.family, " has ", count));
    }
    for (size_t j = 0; j < count; ++j) {
      const Tensor& tensor = tensors[j];
      const Shape& expected = layer_state_[j % layer_state_.size()];
      if (!tensor.defined() || tensor.dtype() != DType::kF32 || !(tensor.shape() == expected) ||
          !tensor.is_contiguous()) {
        throw bad(cat("tensor ", j, " of the state of sequence ", i, " is not f32 ", expected));
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (batch.sequences[j].state->tensors.back().raw() != tensors.back().raw()) continue;
      throw bad(cat("sequences ", j, " and ", i, " have the same state"));
    }
  }
}

Tensor RecurrentModel::project_to_vocab(const Tensor& rows, bool final_norm) const {
  return head_(final_norm ? final_norm_(rows) : rows);
}

Tensor RecurrentModel::run(const ForwardBatch& batch, const KvCache&) const {
  check_states(batch);
  const RecurrentStep step(batch, layer_state_.size());
  const Tensor ids = from_vector(batch.tokens, {static_cast<int64_t>(batch.tokens.size())}).to_device(device_);
  Tensor x = step.hooks(HookPoint::kEmbed, -1, embedding(ids, embedding_).to_dtype(DType::kF32));
  x = embed_norm_(x);
  for (int layer = 0; layer < static_cast<int>(config_.layers); ++layer) x = run_layer(layer, x, step);

  // Only the rows with logits matter now, unless somebody is looking.
  const bool all = batch.logit_rows.size() == batch.tokens.size();
  const Tensor wanted = all ? Tensor() : index_tensor(batch.logit_rows, device_);
  if (!all && !step.hooks.active()) x = index_select(x, 0, wanted);
  x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(x));
  if (!all && step.hooks.active()) x = index_select(x, 0, wanted);
  x = head_(x);
  return step.hooks.active() ? hook_logits(batch, step.positions, x) : x;
}

}  // namespace wick
