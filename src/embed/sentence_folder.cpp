#include "embed/sentence_folder.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kNoPooling = 0;
struct PoolingName {
  std::string_view name, flag;
  Pooling pooling;
  int64_t gguf = -1;  // pooling_type; -1: there is none
};
constexpr PoolingName kPoolings[] = {
    {"cls", "pooling_mode_cls_token", Pooling::kCls, 2},
    {"mean", "pooling_mode_mean_tokens", Pooling::kMean, 1},
    {"max", "pooling_mode_max_tokens", Pooling::kMax},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::kMeanSqrt},
    {"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::kWeightedMean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::kLast, 3},
};

constexpr int64_t kMostWidth = int64_t{1} << 20;

std::string known_poolings() {
  std::string names;
  for (const PoolingName& one : kPoolings) names += cat(names.empty() ? "" : ", ", one.name);
  return names;
}

Pooling read_pooling(const Json& config) {
  std::optional<Pooling> found;
  const auto take = [&](Pooling pooling) {
    if (found) {
      throw Error(ErrorCode::kUnsupported, cat(config.place(), ": asks for more than one pooling, '", to_string(*found),
                                               "' and '", to_string(pooling), "'"));
    }
    found = pooling;
  };
  for (const auto& [name, value] : config.as_object()) {
    if (name == "pooling_mode" && value.is_text()) {
      const auto pooling = pooling_named(value.as_text());
      if (!pooling) {
        throw Error(ErrorCode::kUnsupported,
                    cat(value.place(), " is '", value.as_text(), "', expected one of ", known_poolings()));
      }
      take(*pooling);
    }
    if (!name.starts_with("pooling_mode_") || !value.is_bool() || !value.as_bool()) continue;
    const auto known = std::find_if(std::begin(kPoolings), std::end(kPoolings),
                                    [&name = name](const PoolingName& one) { return one.flag == name; });
    if (known == std::end(kPoolings)) {
      throw Error(ErrorCode::kUnsupported, cat(value.place(), " is a pooling that Wick does not know"));
    }
    take(known->pooling);
  }
  if (!config.get("include_prompt", true)) {
    throw Error(ErrorCode::kUnsupported, cat(config.place(), ": 'include_prompt' is false, which is not supported"));
  }
  return found.value_or(Pooling::kMean);
}

DenseModule read_dense(const fs::path& folder) {
  const Json config = Json::load(folder / "config.json");
  DenseModule dense{folder};
  for (const auto& [name, size] : {std::pair{"in_features", &dense.inputs}, {"out_features", &dense.outputs}}) {
    *size = config.at(name).as_int();
    if (*size < 1 || *size > kMostWidth) {
      throw Error(ErrorCode::kBadFile, cat(config.at(name).place(), " is ", *size, ", expected 1 to ", kMostWidth));
    }
  }
  dense.has_bias = config.get("bias", true);
  const std::string activation = config.get("activation_function", "torch.nn.modules.activation.Tanh");
  dense.has_tanh = activation.ends_with(".Tanh");
  if (!dense.has_tanh && !activation.ends_with(".Identity")) {
    throw Error(ErrorCode::kUnsupported,
                cat(config.place(), ": 'activation_function' is '", activation, "', expected Tanh or Identity"));
  }
  return dense;
}

std::optional<Json> load_if_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none) ? std::optional(Json::load(path)) : std::nullopt;
}

// A folder beside modules.json: never one elsewhere.
fs::path module_folder(const fs::path& folder, const Json& path) {
  const fs::path name = path.as_text();
  const auto is_up = [](const fs::path& part) { return part == ".."; };
  if (name.is_absolute() || std::any_of(name.begin(), name.end(), is_up)) {
    throw Error(ErrorCode::kBadFile, cat(path.place(), " leaves the folder: '", path.as_text(), "'"));
  }
  return folder / name;
}

}  // namespace

std::string_view to_string(Pooling pooling) {
  for (const PoolingName& one : kPoolings) {
    if (one.pooling == pooling) return one.name;
  }
  return "?";
}

std::optional<Pooling> pooling_named(std::string_view name) {
  for (const PoolingName& one : kPoolings) {
    if (one.name == name) return one.pooling;
  }
  return std::nullopt;
}

SentenceFolder SentenceFolder::read(const fs::path& folder) {
  SentenceFolder read;
  if (const auto modules = load_if_there(folder / "modules.json")) {
    read.is_plain = read.normalizes = false;
    for (const Json& module : modules->as_array()) {
      const std::string type = module.at("type").as_text();
      const std::string_view name = std::string_view(type).substr(type.rfind('.') + 1);
      const auto inside = [&] { return module_folder(folder, module.at("path")); };
      if (name == "Pooling") {
        read.pooling = read_pooling(Json::load(inside() / "config.json"));
      } else if (name == "Dense") {
        read.dense.push_back(read_dense(inside()));
      } else if (name == "Normalize") {
        read.normalizes = true;
      } else if (name != "Transformer" || !module.at("path").as_text().empty()) {
        throw Error(ErrorCode::kUnsupported, cat(module.at("type").place(), " is '", type,
                                                 "', expected a Transformer in the folder itself, Pooling, Dense or "
                                                 "Normalize"));
      }
    }
  }
  if (const auto limits = load_if_there(folder / "sentence_bert_config.json")) {
    if (const auto most = limits->get("max_seq_length", int64_t{0}); most > 0) read.most_tokens = most;
    if (limits->get("do_lower_case", false)) {
      throw Error(ErrorCode::kUnsupported,
                  cat(limits->place(), ": 'do_lower_case' is true, which is not supported beside a tokenizer"));
    }
  }
  if (const auto use = load_if_there(folder / "config_sentence_transformers.json")) {
    if (const Json* prompts = use->find("prompts"); prompts && prompts->is_object()) {
      for (const auto& [name, prompt] : prompts->as_object()) read.prompts[name] = prompt.as_text();
    }
    const Json* usual = use->find("default_prompt_name");
    if (usual && usual->is_text()) {
      const auto found = read.prompts.find(usual->as_text());
      if (found == read.prompts.end()) {
        throw Error(ErrorCode::kBadFile, cat(usual->place(), " is '", usual->as_text(), "', which is no prompt there"));
      }
      read.default_prompt = found->second;
    }
  }
  return read;
}

SentenceFolder SentenceFolder::of_gguf(const Checkpoint& gguf) {
  SentenceFolder read;
  const Metadata& metadata = gguf.metadata();
  const std::string key = cat(metadata.text("general.architecture"), ".pooling_type");
  if (!metadata.find(key)) return read;
  const int64_t number = metadata.integer(key);
  const auto known = std::find_if(std::begin(kPoolings), std::end(kPoolings),
                                  [&](const PoolingName& one) { return one.gguf == number; });
  if (number != kNoPooling && known == std::end(kPoolings)) {
    throw Error(ErrorCode::kUnsupported, cat("'", key, "' is ", number, ", expected 1 (mean), 2 (cls) or 3 (last)"));
  }
  if (number != kNoPooling) read.pooling = known->pooling;
  read.is_plain = number == kNoPooling;
  for (const char* name : {"dense_2", "dense_3"}) {  // EmbeddingGemma's
    const TensorEntry* weight = gguf.find(cat(name, ".weight"));
    if (!weight) continue;
    if (weight->shape.rank() != 2 || gguf.find(cat(name, ".bias"))) {
      throw Error(ErrorCode::kUnsupported, cat("tensor '", name, ".weight' is ", weight->shape, " or has a bias"));
    }
    read.dense.push_back(
        {gguf.files().front()->path(), weight->shape[1], weight->shape[0], false, false, weight->name});
  }
  return read;
}

std::optional<int64_t> gguf_pooling(Pooling pooling) {
  for (const PoolingName& one : kPoolings) {
    if (one.pooling == pooling && one.gguf > kNoPooling) return one.gguf;
  }
  return std::nullopt;
}

}  // namespace wick
