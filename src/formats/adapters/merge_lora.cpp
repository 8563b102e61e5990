#include "formats/adapters/merge_lora.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/convert_weight.h"
#include "formats/empty_pages.h"
#include "formats/safetensors/safetensors_writer.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

using Parts = std::vector<std::pair<const LoraModule*, double>>;  // and their scales

// W [out, in] with what the modules add to it, one after the other.
Tensor merged(const Tensor& weight, const Parts& parts) {
  const Tensor from = convert_tensor(weight, DType::kF32).contiguous();
  Tensor to = empty_pages(from.shape(), DType::kF32);
  const int64_t out = from.dim(0), in = from.dim(1);
  auto* target = reinterpret_cast<float*>(to.raw());
  parallel_for(out, 8, [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(in));
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t i = 0; i < in; ++i) row[static_cast<size_t>(i)] = from.data<float>()[o * in + i];
      for (const auto& [module, scale] : parts) {
        const float* a = module->a.data<float>();
        for (int64_t r = 0; r < module->rank(); ++r) {
          const double factor = scale * module->b.data<float>()[o * module->rank() + r];
          for (int64_t i = 0; i < in; ++i) row[static_cast<size_t>(i)] += factor * a[r * in + i];
        }
        if (!module->magnitude.defined()) continue;
        double sum = 0;
        for (const double value : row) sum += value * value;
        const double gain = sum > 0 ? module->magnitude.data<float>()[o] / std::sqrt(sum) : 0;
        for (double& value : row) value *= gain;
      }
      for (int64_t i = 0; i < in; ++i) target[o * in + i] = static_cast<float>(row[static_cast<size_t>(i)]);
    }
  });
  return convert_tensor(to, weight.dtype());
}

// The modules that change a stored tensor; checks that the tensor can be changed.
Parts parts_of(const TensorEntry& entry, const std::vector<LoraToMerge>& adapters) {
  Parts parts;
  for (const LoraToMerge& adapter : adapters) {
    for (const LoraModule& module : adapter.modules) {
      if (module.name + ".weight" != entry.name) continue;
      const bool fits =
          entry.shape.rank() == 2 && entry.shape[0] == module.b.dim(0) && entry.shape[1] == module.a.dim(1);
      if (!fits || !entry.dtype || !is_float(*entry.dtype)) {
        throw Error(ErrorCode::kUnsupported,
                    cat("'", entry.name, "' is ", entry.type, " ", entry.shape, ", which an adapter for [",
                        module.b.dim(0), ", ", module.a.dim(1), "] cannot be merged into"));
      }
      if (module.magnitude.defined() && !parts.empty()) {
        throw Error(ErrorCode::kUnsupported, cat("'", module.name, "': several adapters with DoRA cannot be merged"));
      }
      parts.emplace_back(&module, static_cast<double>(module.scale) * adapter.scale);
    }
  }
  return parts;
}

void check_modules(const Checkpoint& file, const std::vector<LoraToMerge>& adapters) {
  for (const LoraToMerge& adapter : adapters) {
    for (const LoraModule& module : adapter.modules) {
      if (file.find(module.name + ".weight")) continue;
      throw Error(ErrorCode::kUnsupported,
                  cat("the adapter changes '", module.name, "', which is no weight that this checkpoint stores"));
    }
  }
}

bool is_weights_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".safetensors" || path.extension() == ".bin" || path.extension() == ".gguf" ||
         name.ends_with(".index.json") || name.starts_with(".");
}

}  // namespace

void merge_lora(const WeightSource& base, const std::vector<LoraToMerge>& adapters, const fs::path& out,
                const std::function<void(const std::string& name, int64_t bytes)>& done) {
  const Checkpoint& file = base.checkpoint();
  if (file.kind() != Checkpoint::Kind::kSafetensors || file.folder().empty()) {
    throw Error(ErrorCode::kUnsupported, "adapters are merged into Hugging Face folders only");
  }
  if (base.quant_config().method != QuantConfig::Method::kNone) {
    throw Error(ErrorCode::kUnsupported,
                cat(file.folder().string(), ": is quantised; adapters are merged into floats only"));
  }
  std::error_code ignored;
  if (fs::exists(out, ignored) && !fs::is_empty(out, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, cat(out.string(), ": exists already; name another folder"));
  }
  check_modules(file, adapters);
  std::vector<TensorSpec> specs;
  for (const TensorEntry& entry : file.entries()) {
    if (!entry.dtype) {
      throw Error(ErrorCode::kUnsupported,
                  cat("'", entry.name, "' has the type ", entry.type, ", which Wick does not read"));
    }
    parts_of(entry, adapters);
    specs.push_back({entry.name, *entry.dtype, entry.shape});
  }
  fs::create_directories(out);
  Metadata metadata;
  metadata.set_text("format", "pt");
  SafetensorsWriter writer(out / "model.safetensors", specs, metadata);
  for (const TensorEntry& entry : file.entries()) {
    if (done) done(entry.name, entry.bytes);
    const Parts parts = parts_of(entry, adapters);
    const Tensor stored = file.get(entry);
    writer.write(entry.name, parts.empty() ? stored : merged(stored, parts));
    file.forget(entry);
  }
  for (const auto& other : fs::directory_iterator(file.folder())) {
    if (!other.is_regular_file() || is_weights_file(other.path())) continue;
    fs::copy_file(other.path(), out / other.path().filename(), fs::copy_options::overwrite_existing);
  }
  writer.finish();
}

}  // namespace wick
