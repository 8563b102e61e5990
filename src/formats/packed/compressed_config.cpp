#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "formats/packed/quant_config.h"

namespace wick {
namespace {

// Whether an object, a list or a value says nothing.
bool is_nothing(const Json* value) {
  if (!value || value->is_null()) return true;
  if (value->is_object()) return value->as_object().empty();
  return value->is_array() && value->as_array().empty();
}

void check_format(const Json& settings) {
  constexpr std::string_view kFormats[] = {
      "dense",          "int-quantized",        "naive-quantized",      "float-quantized",
      "pack-quantized", "nvfp4-pack-quantized", "mxfp4-pack-quantized", "mixed-precision"};
  const std::string format = settings.get("format", "dense");
  if (std::find(std::begin(kFormats), std::end(kFormats), format) != std::end(kFormats)) return;
  std::string known;
  for (const std::string_view each : kFormats) known += cat(known.empty() ? "" : ", ", each);
  throw unsupported_setting(settings,
                            cat("compressed-tensors with format '", format, "' are not supported, only ", known));
}

// [128, 128] or "128x128".
std::optional<BlockShape> read_block(const Json& weights) {
  const Json* block = weights.find("block_structure");
  if (is_nothing(block)) return {};
  BlockShape shape;
  if (block->is_text()) {
    const std::string& text = block->as_text();
    const auto number = [&](size_t begin, size_t end) {
      int64_t value = 0;
      for (size_t i = begin; i < end; ++i) {
        if (text[i] < '0' || text[i] > '9' || value > 1 << 20) return int64_t{0};
        value = value * 10 + (text[i] - '0');
      }
      return value;
    };
    const size_t cross = std::min(text.find('x'), text.size());
    shape = {number(0, cross), number(std::min(cross + 1, text.size()), text.size())};
  } else if (block->is_array() && block->as_array().size() == 2) {
    shape = {block->as_array()[0].to<int64_t>(), block->as_array()[1].to<int64_t>()};
  }
  if (shape.rows <= 0 || shape.columns <= 0) throw unsupported_setting(*block, "this block_structure is not supported");
  return shape;
}

struct Scheme {
  int bits = 0;
  int64_t group_size = -1;
  std::optional<BlockShape> block;
};

Scheme read_scheme(const Json& weights) {
  check_settings_known(weights, {"num_bits", "type", "symmetric", "strategy", "group_size", "block_structure",
                                 "actorder", "dynamic", "observer", "observer_kwargs", "scale_dtype", "zp_dtype"});
  Scheme scheme{weights.get("num_bits", 8), weights.get<int64_t>("group_size", -1), read_block(weights)};
  const std::string type = weights.get("type", "int"), strategy = weights.get("strategy", "");
  if ((type != "int" && type != "float") || (scheme.bits != 4 && scheme.bits != 8)) {
    throw unsupported_setting(weights, cat("weights of ", scheme.bits, " bits and type '", type,
                                           "' are not supported, only int and float of 4 and 8"));
  }
  if (!strategy.empty() && strategy != "tensor" && strategy != "channel" && strategy != "group" &&
      strategy != "block" && strategy != "tensor_group") {
    throw unsupported_setting(weights, cat("the strategy '", strategy, "' of weights is not supported"));
  }
  if (scheme.group_size != -1 && (scheme.group_size <= 0 || scheme.group_size > 1 << 30)) {
    throw unsupported_setting(weights, cat("a group_size of ", scheme.group_size, " is not supported"));
  }
  const Json* dynamic = weights.find("dynamic");
  if (dynamic && dynamic->is_bool() && dynamic->as_bool()) {
    throw unsupported_setting(*dynamic, "weights that are quantised while they are used are not supported");
  }
  const Json* order = weights.find("actorder");
  if (order && order->is_text()) {
    const std::string& kind = order->as_text();
    if (kind != "weight" && kind != "static" && kind != "group" && kind != "dynamic") {
      throw unsupported_setting(*order, cat("the actorder '", kind, "' is not supported"));
    }
  }
  return scheme;
}

}  // namespace

QuantConfig read_compressed_tensors(const Json& settings) {
  check_settings_known(
      settings, {"quant_method", "format", "config_groups", "ignore", "kv_cache_scheme", "quantization_status",
                 "global_compression_ratio", "sparsity_config", "transform_config", "version", "run_compressed"});
  check_format(settings);
  if (const Json* sparsity = settings.find("sparsity_config"); !is_nothing(sparsity)) {
    const std::string format = sparsity->get("format", "dense");
    if (format != "dense")
      throw unsupported_setting(*sparsity, cat("the sparse format '", format, "' is not supported"));
  }
  if (const Json* transform = settings.find("transform_config"); !is_nothing(transform)) {
    if (!is_nothing(transform->find("config_groups"))) {
      throw unsupported_setting(*transform, "transforms of weights and activations are not supported");
    }
  }
  QuantConfig config{QuantConfig::Method::kCompressed, 8};
  const Json* groups = settings.find("config_groups");
  if (is_nothing(groups)) return config;
  std::set<int64_t> sizes;
  for (const auto& [name, group] : groups->as_object()) {
    check_settings_known(group, {"targets", "weights", "input_activations", "output_activations", "format"});
    check_format(group);
    const Json* weights = group.find("weights");
    if (is_nothing(weights)) continue;
    const Scheme scheme = read_scheme(*weights);
    config.bits = scheme.bits;
    sizes.insert(scheme.group_size);
    if (!scheme.block) continue;
    if (config.block && (config.block->rows != scheme.block->rows || config.block->columns != scheme.block->columns)) {
      throw unsupported_setting(*weights, "groups that differ in their block_structure are not supported");
    }
    config.block = scheme.block;
  }
  if (sizes.size() == 1) config.group_size = *sizes.begin();
  return config;
}

QuantConfig read_modelopt(const Json& settings) {
  check_settings_known(settings,
                       {"quant_method", "quant_algo", "kv_cache_quant_algo", "kv_cache_scheme", "group_size",
                        "exclude_modules", "ignore", "producer", "config_groups", "has_zero_point", "pre_quant_scale"});
  const std::string algorithm = settings.get("quant_algo", "");
  if (algorithm != "FP8" && algorithm != "NVFP4") {
    throw unsupported_setting(settings, cat("the quant_algo '", algorithm, "' is not supported, only FP8 and NVFP4"));
  }
  for (const std::string_view key : {"has_zero_point", "pre_quant_scale"}) {
    if (settings.get(key, false)) throw unsupported_setting(settings, cat("'", key, "' is not supported"));
  }
  return {QuantConfig::Method::kModelopt, algorithm == "FP8" ? 8 : 4};
}

}  // namespace wick
