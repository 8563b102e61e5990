#include "formats/adapters/lora_file.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "formats/byte_changes.h"
#include "formats/convert_weight.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRank = 1 << 16;

Error bad_file(const std::string& name, const std::string& what) {
  return {ErrorCode::kBadFile, cat("'", name, "' ", what)};
}

Tensor as_f32(const Checkpoint& file, const TensorEntry& entry) {
  if (!entry.dtype || !is_float(*entry.dtype)) throw bad_file(entry.name, cat("is ", entry.type, ", expected floats"));
  return convert_tensor(file.get(entry), DType::kF32);
}

std::vector<LoraModule> in_order(std::map<std::string, LoraModule>& modules, const std::string& path) {
  std::vector<LoraModule> result;
  for (auto& [name, module] : modules) {
    module.name = name;
    check_module(module, name);
    result.push_back(std::move(module));
  }
  if (result.empty()) throw Error(ErrorCode::kBadFile, cat(path, ": there are no tensors of an adapter"));
  return result;
}

std::vector<LoraModule> read_peft(const fs::path& folder) {
  const PeftConfig config(Json::load(folder / "adapter_config.json"));
  const fs::path path = folder / "adapter_model.safetensors";
  if (!fs::exists(path) && fs::exists(folder / "adapter_model.bin")) {
    throw Error(ErrorCode::kUnsupported, cat(folder.string(),
                                             ": adapter_model.bin is a pickle, which is not read; "
                                             "PEFT can save it as adapter_model.safetensors"));
  }
  const Checkpoint file = Checkpoint::open(path);
  std::map<std::string, LoraModule> modules;
  for (const TensorEntry& entry : file.entries()) {
    constexpr std::string_view kPrefix = "base_model.model.";
    std::string_view name = entry.name;
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    const auto take = [&](std::string_view part) -> Tensor* {
      for (const std::string_view end : {".weight", ".default.weight", ""}) {
        const std::string suffix = cat(part, end);
        if (!name.ends_with(suffix)) continue;
        LoraModule& module = modules[std::string(name.substr(0, name.size() - suffix.size()))];
        return part == ".lora_A" ? &module.a : part == ".lora_B" ? &module.b : &module.magnitude;
      }
      return nullptr;
    };
    Tensor* place = nullptr;
    for (const std::string_view part : {".lora_A", ".lora_B", ".lora_magnitude_vector"}) {
      if (!place) place = take(part);
    }
    if (!place) {
      throw Error(ErrorCode::kUnsupported,
                  cat("'", entry.name, "' of the adapter is not a part of LoRA or DoRA that is known"));
    }
    *place = as_f32(file, entry);
  }
  for (auto& [name, module] : modules) {
    if (module.magnitude.defined() != config.dora()) {
      throw bad_file(name, config.dora() ? "has no magnitudes, which DoRA needs" : "has magnitudes without use_dora");
    }
    if (module.a.defined() && module.a.rank() == 2 && module.a.dim(0) > 0) {
      module.scale = config.scale(name, module.a.dim(0));
    }
  }
  return in_order(modules, path.string());
}

// Rows of b as Hugging Face orders those of the weight.
Tensor rows_as_hf(const Tensor& b, const NameMatch& match, const HeadCounts& counts, const std::string& name) {
  switch (match.change) {
    case ByteChange::kSame: return b;
    case ByteChange::kRotaryQuery:
    case ByteChange::kRotaryKey:
      if (b.rank() == 2) return to_hf(b, match.change, counts, name);
      break;
    default: break;
  }
  throw Error(ErrorCode::kUnsupported, cat("'", name, "': an adapter of this tensor is not supported"));
}

std::vector<LoraModule> read_gguf(const Checkpoint& file, const fs::path& path, const WeightSource& base) {
  const auto text = [&](std::string_view key) {
    return file.metadata().find(key) ? file.metadata().text(key) : std::string();
  };
  if (text("general.type") != "adapter" || text("adapter.type") != "lora") {
    throw Error(ErrorCode::kUnsupported, cat(path.string(), ": is not a GGUF file of a LoRA adapter"));
  }
  if (text("general.architecture") != base.architecture()) {
    throw Error(ErrorCode::kBadFile,
                cat(path.string(), ": is an adapter for the architecture '", text("general.architecture"),
                    "', but the model is '", base.architecture(), "'"));
  }
  constexpr std::string_view kAlpha = "adapter.lora.alpha";
  const double alpha = file.metadata().find(kAlpha) ? file.metadata().number(kAlpha) : 0;
  std::map<std::string, LoraModule> modules;
  for (const TensorEntry& entry : file.entries()) {
    const std::string_view name = entry.name;
    const bool first = name.ends_with(".lora_a");
    if (!first && !name.ends_with(".lora_b")) {
      throw Error(ErrorCode::kUnsupported, cat("'", name, "' of the adapter is neither lora_a nor lora_b"));
    }
    const std::string stem(name.substr(0, name.size() - 7));
    const std::vector<NameMatch> matches = hf_matches(base.architecture(), stem);
    constexpr std::string_view kWeight = ".weight";
    if (matches.empty() || !matches.front().name.ends_with(kWeight)) {
      throw Error(ErrorCode::kUnsupported, cat("'", name, "' of the adapter belongs to no weight that is known"));
    }
    const std::string& weight = matches.front().name;
    LoraModule& module = modules[weight.substr(0, weight.size() - kWeight.size())];
    const Tensor values = as_f32(file, entry);
    if (first) {
      module.a = values;
      if (alpha != 0 && values.rank() == 2 && values.dim(0) > 0) {
        module.scale = static_cast<float>(alpha / static_cast<double>(values.dim(0)));
      }
    } else {
      module.b = rows_as_hf(values, matches.front(), base.counts(), entry.name);
    }
  }
  return in_order(modules, path.string());
}

}  // namespace

void check_module(const LoraModule& module, const std::string& name) {
  for (const Tensor* part : {&module.a, &module.b}) {
    const char* which = part == &module.a ? "lora_A" : "lora_B";
    if (!part->defined()) throw bad_file(name, cat("has no ", which));
    if (part->rank() != 2 || part->numel() == 0) throw bad_file(name, cat("has a ", which, " ", part->shape()));
  }
  if (module.b.dim(1) != module.rank() || module.rank() > kMostRank) {
    throw bad_file(name,
                   cat("has lora_A ", module.a.shape(), " and lora_B ", module.b.shape(), ", whose ranks differ"));
  }
  if (module.magnitude.defined() && module.magnitude.numel() != module.b.dim(0)) {
    throw bad_file(name, cat("has ", module.magnitude.numel(), " magnitudes for ", module.b.dim(0), " rows"));
  }
  for (const Tensor* part : {&module.a, &module.b, &module.magnitude}) {
    if (!part->defined()) continue;
    for (const float value : part->to_vector<float>()) {
      if (!std::isfinite(value)) throw bad_file(name, cat("has ", value, " in its adapter"));
    }
  }
  if (!std::isfinite(module.scale)) throw bad_file(name, "has an alpha that is not finite");
}

std::vector<LoraModule> read_lora(const fs::path& path, const WeightSource& base) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return read_peft(path);
  if (path.filename() == "adapter_model.safetensors" || path.filename() == "adapter_config.json") {
    return read_peft(path.parent_path());
  }
  const Checkpoint file = Checkpoint::open(path);
  if (file.kind() == Checkpoint::Kind::kGguf) return read_gguf(file, path, base);
  throw Error(ErrorCode::kUnsupported,
              cat(path.string(), ": an adapter is a folder with adapter_config.json, or a GGUF file"));
}

}  // namespace wick
