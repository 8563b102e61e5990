#include "speech/lfm2_audio/lfm2_audio.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "nn/kv_blocks_for.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr float kDepthEps = 1e-5f;
constexpr double kDepthTheta = 1e6;
constexpr int64_t kDepthHeads = 32, kDepthKvHeads = 8, kDepthMultiple = 256;

RopeConfig depth_rope(const Lfm2AudioConfig& config) {
  RopeConfig rope;
  rope.theta = kDepthTheta;
  rope.dim = config.depth_width / config.depth_heads;
  rope.interleaved = true;
  return rope;
}

Tensor rows_at(const Tensor& table, std::vector<int64_t> ids, Device device) {
  for (const int64_t id : ids) {
    if (id >= 0 && id < table.dim(0)) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("token or code ", id, " is none of ", table.dim(0)));
  }
  const auto count = static_cast<int64_t>(ids.size());
  return take_rows(table, from_vector(ids, {count}, device)).to_dtype(DType::kF32);
}

}  // namespace

bool is_lfm2_audio(const Json& config) {
  return config.is_object() && (config.get("model_type", std::string()) == "lfm2_audio" ||
                                (config.find("lfm") && config.find("depthformer") && config.find("encoder")));
}

Lfm2AudioConfig read_lfm2_audio_config(const Json& json) {
  Lfm2AudioConfig made;
  DecoderConfig& backbone = made.backbone = lfm2_config(ConfigReader(json.at("lfm")));
  backbone.family = "lfm2_audio";
  backbone.names.embed = backbone.names.head = "";
  backbone.names.layers = "lfm.layers.";
  backbone.names.final_norm = "lfm.embedding_norm";
  backbone.tied = false;
  check_decoder_config(backbone);
  made.encoder = read_fast_conformer_config(ConfigReader(json.at("encoder")), "conformer.");
  const ConfigReader config(json), depth(json.at("depthformer"));
  made.codebooks = read_count(config, "codebooks", 64);
  if (made.codebooks < 2) throw bad_setting("codebooks = 1, expected 2 or more");
  made.interleaved_text = read_count(config, "interleaved_n_text", 1 << 16);
  made.interleaved_audio = read_count(config, "interleaved_n_audio", 1 << 16);
  made.depth_layers = read_count(depth, "layers", 256);
  made.depth_width = read_count(depth, "dim");
  made.depth_heads = kDepthHeads;
  made.depth_kv_heads = kDepthKvHeads;
  made.depth_inner = (2 * 4 * made.depth_width / 3 + kDepthMultiple - 1) / kDepthMultiple * kDepthMultiple;
  if (made.depth_width % (2 * kDepthHeads) != 0) {
    throw bad_setting(cat("depthformer.dim = ", made.depth_width, ", expected a multiple of ", 2 * kDepthHeads));
  }
  const Json& mel = json.at("preprocessor");
  if (mel.get("sample_rate", int64_t{16000}) != 16000 || mel.get("n_fft", int64_t{512}) != 512 ||
      mel.get("features", made.encoder.bins) != made.encoder.bins || mel.get("window_size", 0.025) != 0.025 ||
      mel.get("window_stride", 0.01) != 0.01 || mel.get("normalize", std::string("per_feature")) != "per_feature") {
    throw Error(ErrorCode::kUnsupported, "config.json: preprocessor asks for features that are not made");
  }
  return made;
}

DepthDecoder::DepthDecoder(const Lfm2AudioConfig& config, WeightLoader& loader)
    : width_(config.depth_width), codebooks_(config.codebooks), device_(loader.device()), rope_(depth_rope(config), 1) {
  const int64_t size = width_ / config.depth_heads, kv_width = config.depth_kv_heads * size;
  in_ = loader.linear("depth_linear", codebooks_ * width_, config.backbone.hidden, true);
  const auto rms = [&](const std::string& name, int64_t count) {
    return loader.norm(name, NormKind::kRms, count, kDepthEps, true, false, 0);
  };
  for (int64_t i = 0; i < config.depth_layers; ++i) {
    const std::string prefix = cat("depthformer.layers.", i, "."), attend = prefix + "operator.";
    Layer layer;
    layer.attn_norm = rms(prefix + "operator_norm", width_);
    // Queries, keys and values lie together.
    const Tensor whole = loader.vector(attend + "qkv_proj.weight", {width_ + 2 * kv_width, width_});
    Attention& attention = layer.attention;
    if (whole.defined()) {
      attention.q.weight = narrow(whole, 0, 0, width_);
      attention.k.weight = narrow(whole, 0, width_, kv_width);
      attention.v.weight = narrow(whole, 0, width_ + kv_width, kv_width);
    }
    attention.out = loader.linear(attend + "out_proj", width_, width_, false);
    attention.heads = config.depth_heads;
    attention.kv_heads = config.depth_kv_heads;
    attention.head_dim = size;
    attention.q_norm = rms(attend + "bounded_attention.q_layernorm", size);
    attention.k_norm = rms(attend + "bounded_attention.k_layernorm", size);
    attention.options.scale = 1 / std::sqrt(static_cast<float>(size));
    layer.mlp_norm = rms(prefix + "ffn_norm", width_);
    layer.mlp.activation = Activation::kSilu;
    layer.mlp.gate = loader.linear(prefix + "feed_forward.w1", config.depth_inner, width_, false);
    layer.mlp.up = loader.linear(prefix + "feed_forward.w3", config.depth_inner, width_, false);
    layer.mlp.down = loader.linear(prefix + "feed_forward.w2", width_, config.depth_inner, false);
    layers_.push_back(std::move(layer));
  }
  for (int64_t i = 0; i < codebooks_; ++i) {
    const std::string prefix = cat("depth_embeddings.", i, ".");
    Book book;
    book.table = loader.table(prefix + "embedding", config.audio_entries, width_);
    book.norm = rms(prefix + "embedding_norm", width_);
    book.logits.weight = book.table;
    books_.push_back(std::move(book));
  }
}

Tensor DepthDecoder::run(const Tensor& in, int64_t position, const KvCache& cache, const RopeTable& table) const {
  const int64_t count = in.dim(0), blocks = kv_blocks_for(codebooks_);
  std::vector<int32_t> starts, firsts, own;
  for (int32_t i = 0; i < count; ++i) {
    starts.push_back(i);
    firsts.push_back(static_cast<int32_t>(position));
    for (int32_t j = 0; j < blocks; ++j) own.push_back(i * static_cast<int32_t>(blocks) + j);
  }
  starts.push_back(static_cast<int32_t>(count));
  const BatchHooks none;
  AttentionStep step;
  step.hooks = &none;
  step.rows = {from_vector(starts, {count + 1}, device_), from_vector(firsts, {count}, device_),
               from_vector(own, {count, blocks}, device_)};
  const RopeRows host = table.rows(std::vector<int64_t>(static_cast<size_t>(count), position));
  const RopeRows rope{host.cos.to_device(device_), host.sin.to_device(device_)};
  Tensor x = in;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    x = layer.attention(layer.attn_norm.input_for(x), x, rope, true, step, cache.layer(i), {}, index);
    x = layer.mlp(layer.mlp_norm.input_for(x), x, none, index);
  }
  return x;
}

std::vector<std::vector<int32_t>> DepthDecoder::operator()(const Tensor& thought, Draw draw) const {
  const int64_t count = thought.dim(0);
  const int64_t size = layers_.front().attention.head_dim, kv_heads = layers_.front().attention.kv_heads;
  const std::vector<KvShape> shapes(layers_.size(), KvShape{kv_heads, size, size});
  const KvCache cache(shapes, count * kv_blocks_for(codebooks_), DType::kF32, device_);
  const Tensor all = in_(thought);
  std::vector<std::vector<int32_t>> frames(static_cast<size_t>(count));
  for (int64_t book = 0; book < codebooks_; ++book) {
    Tensor x = narrow(all, 1, book * width_, width_).contiguous();
    if (book > 0) {
      std::vector<int64_t> last;
      for (const auto& frame : frames) last.push_back(frame.back());
      x = add(x, rows_at(books_[static_cast<size_t>(book - 1)].table, std::move(last), device_));
    }
    const Book& own = books_[static_cast<size_t>(book)];
    const Tensor logits =
        own.logits(own.norm.input_for(run(x, book, cache, rope_)), {}).to_device(Device::cpu()).contiguous();
    const auto width = static_cast<size_t>(logits.dim(1));
    for (size_t i = 0; i < frames.size(); ++i) {
      frames[i].push_back(draw(i, book, {logits.data<float>() + i * width, width}));
    }
  }
  return frames;
}

Lfm2Audio::Lfm2Audio(const Lfm2AudioConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      backbone_(config.backbone, loader, options),
      encoder_(config.encoder, loader),
      depth_(config, loader) {
  const int64_t hidden = config.backbone.hidden, heard = config.encoder.layer.width;
  text_table_ = loader.table("lfm.embed_tokens", config.backbone.vocabulary, hidden);
  audio_table_ = loader.table("audio_embedding.embedding", config.codebooks * config.audio_entries, hidden);
  adapter_norm_ = loader.norm("audio_adapter.model.0", NormKind::kLayer, heard, 1e-5f, true, true, 0);
  adapter_up_ = loader.linear("audio_adapter.model.1", hidden, heard, true);
  adapter_down_ = loader.linear("audio_adapter.model.3", hidden, hidden, true);
  parameters_ = loader.parameters();
  weight_bytes_ = loader.bytes();
}

std::unique_ptr<Lfm2Audio> Lfm2Audio::load(const WeightSource& source, const ModelOptions& options) {
  if (!is_lfm2_audio(source.config())) {
    throw Error(ErrorCode::kUnsupported,
                cat(file_name(source), ": the config.json beside it is not that of an lfm2_audio"));
  }
  Lfm2AudioConfig config = read_lfm2_audio_config(source.config());
  // No setting says how many codes there are.
  const auto stored = source.stored_shape("depth_embeddings.0.embedding.weight");
  if (stored && stored->rank() == 2 && (*stored)[0] > 1 && (*stored)[0] <= (1 << 20))
    config.audio_entries = (*stored)[0];
  std::unique_ptr<Lfm2Audio> model;
  const std::string stacks[] = {config.backbone.names.layers, "conformer.layers.", "depthformer.layers."};
  load_parts(source, options, stacks,
             [&](WeightLoader& loader) { model.reset(new Lfm2Audio(config, loader, options)); });
  return model;
}

std::unique_ptr<Lfm2Audio> Lfm2Audio::load(const std::filesystem::path& path, const ModelOptions& options) {
  return load(WeightSource(Checkpoint::open(path)), options);
}

Tensor Lfm2Audio::adapt(const Tensor& encoded) const {
  return adapter_down_(gelu(adapter_up_(adapter_norm_(encoded))));
}

Tensor Lfm2Audio::text_rows(std::span<const int32_t> tokens) const {
  return rows_at(text_table_, {tokens.begin(), tokens.end()}, device_);
}

Tensor Lfm2Audio::frame_rows(std::span<const int32_t> codes) const {
  const int64_t books = config_.codebooks, frames = std::ssize(codes) / books;
  std::vector<int64_t> ids;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 0 || codes[i] >= config_.audio_entries) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("code ", codes[i], " of a frame is none of ", config_.audio_entries));
    }
    ids.push_back(codes[i] + static_cast<int64_t>(i) % books * config_.audio_entries);
  }
  return sum(reshape(rows_at(audio_table_, std::move(ids), device_), {frames, books, -1}), {1});
}

Tensor Lfm2Audio::text_logits(const Tensor& thought) const {
  Linear head;
  head.weight = text_table_;
  return head(thought);
}

}  // namespace wick
