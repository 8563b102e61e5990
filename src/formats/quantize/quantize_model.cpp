#include "formats/quantize/quantize_model.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "formats/gguf/gguf_writer.h"

namespace wick {
namespace {

constexpr uint32_t kQuantizationVersion = 2;

std::string model_name(const WeightSource& source) {
  std::error_code ignored;
  const auto folder = std::filesystem::weakly_canonical(source.checkpoint().folder(), ignored);
  return folder.filename().string();
}

// Metadata of a GGUF file stays; what speaks of its parts goes.
Metadata metadata_of_gguf(const Checkpoint& file) {
  Metadata metadata = file.metadata();
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) metadata.erase(key);
  return metadata;
}

Metadata metadata_of_folder(const WeightSource& source, std::vector<std::string>& notes) {
  const Checkpoint& file = source.checkpoint();
  if (!source.config().is_object()) {
    throw Error(ErrorCode::kUnsupported,
                cat(file.folder(), ": holds no config.json, so the architecture of the model is not known"));
  }
  const Metadata settings = gguf_from_config(source.config());
  Metadata metadata;
  metadata.set_text("general.architecture", settings.text("general.architecture"));
  metadata.set_text("general.type", "model");
  metadata.set_text("general.name", model_name(source));
  for (const auto& [key, value] : settings.items()) metadata.set(key, value);
  if (!has_tokenizer(file.folder())) {
    notes.push_back(cat(file.folder(), " holds no tokenizer, so the GGUF file has none either"));
    metadata.set_text("tokenizer.ggml.model", "none");
    return metadata;
  }
  const Metadata tokenizer = gguf_tokenizer(file.folder(), text_config(source.config()));
  for (const auto& [key, value] : tokenizer.items()) metadata.set(key, value);
  return metadata;
}

// Throws for a matrix that was made for another model; says which tensors it leaves out.
void check_importance(const GgufModel& model, const Importance& importance, std::vector<std::string>& notes) {
  std::unordered_set<std::string_view> names;
  int64_t packed = 0;
  std::vector<std::string> without;
  for (const GgufModel::Item& item : model.items) {
    names.insert(item.tensor.name);
    if (!is_packed(item.dtype) || item.dtype == item.tensor.dtype) continue;
    ++packed;
    if (importance.of(item.tensor.name, item.tensor.shape).empty()) without.push_back(item.tensor.name);
  }
  for (const std::string& name : importance.names()) {
    if (names.count(name)) continue;
    throw Error(ErrorCode::kBadFile, cat(importance.path(), ": holds ", in_quotes(name),
                                         ", which this model does not have: it was measured on another model"));
  }
  if (!without.empty()) {
    notes.push_back(cat(importance.path(), " has nothing for ", without.size(), " of ", packed,
                        " tensors, which are quantised without it: ", without.front(),
                        without.size() > 1 ? ", ..." : ""));
  }
}

}  // namespace

int64_t GgufModel::weights() const {
  int64_t count = 0;
  for (const Item& item : items) count += item.tensor.shape.numel();
  return count;
}

GgufModel plan_gguf_model(const WeightSource& source, const QuantizePlan& plan, const Importance* importance) {
  GgufModel model;
  const bool from_gguf = source.checkpoint().kind() == Checkpoint::Kind::kGguf;
  model.metadata = from_gguf ? metadata_of_gguf(source.checkpoint()) : metadata_of_folder(source, model.notes);

  std::vector<GgufTensor> tensors = gguf_tensors(source);
  std::vector<PlannedTensor> planned;
  planned.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) planned.push_back({tensor.name, tensor.shape, tensor.dtype});
  PlanFacts facts = plan_facts(source);
  facts.has_importance = importance != nullptr;
  facts.kept_in_f32 = true;
  const std::vector<DType> types = plan.choose(planned, facts);
  bool any_packed = false;
  std::string replaced;  // the first type that GGUF lacks
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DType type = gguf_dtype(types[i]);
    if (type != types[i] && replaced.empty()) {
      replaced = cat("GGUF has no type ", types[i], ": such weights become ", type, ", '", tensors[i].name, "' first");
    }
    any_packed = any_packed || is_packed(type);
    const int64_t bytes = bytes_of(type, tensors[i].shape.numel());
    model.bytes += bytes;
    model.items.push_back({std::move(tensors[i]), type, bytes});
  }
  if (!replaced.empty()) model.notes.push_back(std::move(replaced));
  if (importance) check_importance(model, *importance, model.notes);
  if (plan.gguf_file_type() >= 0) {
    model.metadata.set_u32("general.file_type", static_cast<uint32_t>(plan.gguf_file_type()));
  }
  if (any_packed) model.metadata.set_u32("general.quantization_version", kQuantizationVersion);
  return model;
}

void write_gguf_model(const GgufModel& model, const WeightSource& source, const Importance* importance,
                      const std::filesystem::path& path, const QuantizeProgress& progress) {
  std::vector<TensorSpec> specs;
  for (const GgufModel::Item& item : model.items) specs.push_back({item.tensor.name, item.dtype, item.tensor.shape});
  GgufWriter writer(path, model.metadata, std::move(specs));
  for (const GgufModel::Item& item : model.items) {
    progress(item, 0);
    const Tensor loaded = item.tensor.load();
    std::vector<float> weights;
    if (importance && is_packed(item.dtype)) weights = importance->of(item.tensor.name, item.tensor.shape);
    int64_t done = 0;
    const Tensor converted = convert_tensor(loaded, item.dtype, weights, [&](int64_t bytes) {
      done += bytes;
      progress(item, done);
    });
    writer.write(item.tensor.name, converted);
    source.forget_bytes(loaded);
  }
  writer.finish();
}

}  // namespace wick
