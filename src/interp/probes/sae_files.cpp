// Files of sparse autoencoders, as SAELens lays them out.
#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/output_file.h"
#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_writer.h"
#include "interp/probes/sparse_autoencoder.h"

namespace wick {
namespace {

// Settings stand at the top or, in newer files, under "metadata".
const Json* setting(const Json& config, std::string_view name) {
  const Json* own = config.find(name);
  const Json* metadata = config.find("metadata");
  if ((!own || own->is_null()) && metadata && metadata->is_object()) own = metadata->find(name);
  return own && !own->is_null() ? own : nullptr;
}

std::string text_setting(const Json& config, std::string_view name, std::string fallback) {
  const Json* value = setting(config, name);
  return value ? value->as_text() : std::move(fallback);
}

Error unsupported(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kUnsupported, cat(path, ": ", what)};
}

SparseAutoencoder::Kind kind_of(const std::filesystem::path& path, const Json& config) {
  const std::string architecture = text_setting(config, "architecture", "standard");
  if (architecture == "jumprelu") return SparseAutoencoder::Kind::kJumpRelu;
  if (architecture == "topk") return SparseAutoencoder::Kind::kTopK;
  if (architecture != "standard") {
    throw unsupported(path, cat("the architecture is '", architecture, "'; standard, jumprelu and topk are read"));
  }
  const std::string activation =
      text_setting(config, "activation_fn_str", text_setting(config, "activation_fn", "relu"));
  if (activation == "topk") return SparseAutoencoder::Kind::kTopK;
  if (activation != "relu")
    throw unsupported(path, cat("the activation is '", activation, "'; relu and topk are read"));
  return SparseAutoencoder::Kind::kRelu;
}

int64_t top_of(const Json& config) {
  const Json* k = setting(config, "k");
  const Json* more = setting(config, "activation_fn_kwargs");
  if (!k && more && more->is_object()) k = more->find("k");
  return k ? k->as_int() : 0;
}

}  // namespace

SparseAutoencoder SparseAutoencoder::load(const std::filesystem::path& folder) {
  const std::filesystem::path config_path = folder / "cfg.json", weights_path = folder / "sae_weights.safetensors";
  const Json config = Json::load(config_path);
  const Kind kind = kind_of(config_path, config);
  const std::string normalised = text_setting(config, "normalize_activations", "none");
  if (normalised != "none") {
    throw unsupported(config_path, cat("inputs are normalised by '", normalised, "'; only 'none' is read"));
  }
  const Json* scaled = setting(config, "finetuning_scaling_factor");
  if (scaled && scaled->as_bool()) throw unsupported(config_path, "features are rescaled, which is not read");
  const Json* name = setting(config, "hook_name");
  if (!name) name = setting(config, "hook_point");
  if (!name) throw Error(ErrorCode::kBadFile, cat(config_path, ": there is no 'hook_name'"));
  const Json* centred = setting(config, "apply_b_dec_to_input");

  const Checkpoint file = Checkpoint::open(weights_path);
  const auto read = [&](const char* tensor) {
    const TensorEntry* entry = file.find(tensor);
    if (!entry) throw Error(ErrorCode::kBadFile, cat(weights_path, ": there is no '", tensor, "'"));
    if (!entry->dtype || !is_float(*entry->dtype)) {
      throw Error(ErrorCode::kBadFile, cat(weights_path, ": '", tensor, "' is ", entry->type, ", expected floats"));
    }
    return file.get(*entry).to_dtype(DType::kF32).contiguous();
  };
  Weights weights{read("W_enc"), read("b_enc"), read("W_dec"), read("b_dec"), {}};
  if (kind == Kind::kJumpRelu) weights.threshold = read("threshold");
  try {
    SparseAutoencoder sae(kind, std::move(weights), name->as_text(), centred ? centred->as_bool() : true,
                          top_of(config));
    const Json *d_in = setting(config, "d_in"), *d_sae = setting(config, "d_sae");
    if ((d_in && d_in->as_int() != sae.inputs()) || (d_sae && d_sae->as_int() != sae.features())) {
      throw Error(ErrorCode::kBadFile,
                  cat(config_path, ": d_in and d_sae do not fit W_enc [", sae.inputs(), ", ", sae.features(), "]"));
    }
    return sae;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    throw Error(ErrorCode::kBadFile, cat(folder, ": ", error.what()));
  }
}

void SparseAutoencoder::save(const std::filesystem::path& folder) const {
  constexpr const char* kArchitectures[] = {"standard", "jumprelu", "topk"};
  std::string config = cat("{\"architecture\": \"", kArchitectures[static_cast<size_t>(kind())],
                           "\", \"d_in\": ", inputs(), ", \"d_sae\": ", features(), ", \"dtype\": \"float32\", ",
                           "\"normalize_activations\": \"none\", \"apply_b_dec_to_input\": ", apply_b_dec_to_input());
  if (kind() == Kind::kTopK) config += cat(", \"k\": ", k());
  config += ", \"hook_name\": ";
  append_json_text(config, hook_name());
  config += "}\n";
  OutputFile file(folder / "cfg.json");
  file.write_at(0, std::as_bytes(std::span(config)));
  file.finish();

  std::vector<std::pair<std::string, Tensor>> tensors = {
      {"W_enc", weights().w_enc}, {"b_enc", weights().b_enc}, {"W_dec", weights().w_dec}, {"b_dec", weights().b_dec}};
  if (kind() == Kind::kJumpRelu) tensors.emplace_back("threshold", weights().threshold);
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, DType::kF32, tensor.shape()});
  SafetensorsWriter writer(folder / "sae_weights.safetensors", std::move(specs));
  for (const auto& [name, tensor] : tensors) writer.write(name, tensor);
  writer.finish();
}

}  // namespace wick
