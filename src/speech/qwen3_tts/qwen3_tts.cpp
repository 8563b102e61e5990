#include "speech/qwen3_tts/qwen3_tts.h"

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/unary.h"
#include "tensor/create.h"

namespace wick {
namespace {

ModelOptions with_context(const ModelOptions& options, int64_t context) {
  ModelOptions made = options;
  made.context = context;
  return made;
}

}  // namespace

Qwen3Tts::Qwen3Tts(const TtsConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      talker_(config.talker, loader, options),
      predictor_(config.predictor, loader, with_context(options, config.code_groups)) {
  const int64_t hidden = config.talker.hidden, inner = config.predictor.hidden, width = config.text_width;
  text_table_ = loader.table("talker.model.text_embedding", config.text_vocabulary, width);
  text_in_ = loader.linear("talker.text_projection.linear_fc1", width, width, true);
  text_out_ = loader.linear("talker.text_projection.linear_fc2", hidden, width, true);
  code_table_ = loader.table("talker.model.codec_embedding", config.codes, hidden);
  head_ = loader.linear("talker.codec_head", config.codes, hidden, false);
  const std::string stem = "talker.code_predictor.";
  if (inner != hidden) narrow_ = loader.linear(stem + "small_to_mtp_projection", inner, hidden, true);
  for (int64_t i = 0; i + 1 < config.code_groups; ++i) {
    group_tables_.push_back(loader.table(cat(stem, "model.codec_embedding.", i), config.group_entries, hidden));
    heads_.push_back(loader.linear(cat(stem, "lm_head.", i), config.group_entries, inner, false));
  }
  if (config.speaker) speaker_.emplace(*config.speaker, loader);
  parameters_ = loader.parameters();
  weight_bytes_ = loader.bytes();
}

std::unique_ptr<Qwen3Tts> Qwen3Tts::load(const WeightSource& source, std::unique_ptr<const Codec> codec,
                                         const ModelOptions& options) {
  if (!is_qwen3_tts(source.config())) {
    throw Error(ErrorCode::kUnsupported,
                cat(file_name(source), ": the config.json beside it is not that of a qwen3_tts"));
  }
  if (options.context < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " positions is asked for"));
  }
  const TtsConfig config = read_tts_config(source.config());
  const CodecFacts& facts = codec->facts();
  if (facts.codebooks != config.code_groups || facts.codebook_size > config.group_entries ||
      facts.codebook_size > config.codes - 1024) {
    throw Error(ErrorCode::kBadFile,
                cat(file_name(source), ": its codec has ", facts.codebooks, " codebooks of ", facts.codebook_size,
                    ", the talker makes ", config.code_groups, " of ", config.group_entries));
  }
  std::unique_ptr<Qwen3Tts> model;
  const std::string stacks[] = {config.talker.names.layers, config.predictor.names.layers};
  load_parts(source, options, stacks,
             [&](WeightLoader& loader) { model.reset(new Qwen3Tts(config, loader, options)); });
  model->codec_ = std::move(codec);
  return model;
}

std::unique_ptr<Qwen3Tts> Qwen3Tts::load(const std::filesystem::path& path, const ModelOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  if (!is_qwen3_tts(checkpoint.config())) {
    throw Error(ErrorCode::kUnsupported, cat(path, ": the config.json is not that of a qwen3_tts"));
  }
  const std::filesystem::path codec = checkpoint.folder() / "speech_tokenizer";
  if (!is_directory(codec)) {
    throw Error(ErrorCode::kIo, cat(path, ": there is no folder speech_tokenizer, which makes sound of the codes"));
  }
  ModelOptions plain = options;  // small, and sensitive to rounding
  plain.quantize = "auto";
  plain.progress = {};
  return load(WeightSource(checkpoint), load_codec(codec, plain), options);
}

Tensor Qwen3Tts::rows_of(const Tensor& table, std::span<const int32_t> ids) const {
  std::vector<int64_t> index(ids.begin(), ids.end());
  for (const int64_t id : index) {
    if (id >= 0 && id < table.dim(0)) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("code or token ", id, " is none of ", table.dim(0)));
  }
  const auto count = static_cast<int64_t>(index.size());
  return take_rows(table, from_vector(index, {count}, device_)).to_dtype(DType::kF32);
}

Tensor Qwen3Tts::text_rows(std::span<const int32_t> tokens) const {
  return text_out_(silu(text_in_(rows_of(text_table_, tokens))));
}

Tensor Qwen3Tts::code_rows(std::span<const int32_t> codes) const { return rows_of(code_table_, codes); }

Tensor Qwen3Tts::frame_rows(std::span<const int32_t> frames) const {
  const auto groups = static_cast<size_t>(config_.code_groups);
  const size_t count = frames.size() / groups;
  Tensor sum;
  std::vector<int32_t> codes(count);
  for (size_t group = 0; group < groups; ++group) {
    for (size_t i = 0; i < count; ++i) codes[i] = frames[i * groups + group];
    const Tensor rows = rows_of(group == 0 ? code_table_ : group_tables_[group - 1], codes);
    sum = sum.defined() ? add(sum, rows) : rows;
  }
  return sum;
}

Tensor Qwen3Tts::predictor_rows(const Tensor& thought) const { return narrow_.defined() ? narrow_(thought) : thought; }

Tensor Qwen3Tts::group_rows(int64_t group, std::span<const int32_t> codes) const {
  return predictor_rows(rows_of(group == 0 ? code_table_ : group_tables_[static_cast<size_t>(group - 1)], codes));
}

}  // namespace wick
