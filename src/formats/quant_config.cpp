#include "formats/quant_config.h"

#include "base/ascii.h"
#include "base/text.h"

namespace wick {
namespace {

Error unsupported(const Json& place, std::string_view what) {
  return {ErrorCode::kUnsupported, cat(place.place(), ": ", what)};
}

int64_t read_group_size(const Json& settings) {
  const auto size = settings.get<int64_t>("group_size", settings.get<int64_t>("q_group_size", 128));
  if (size != -1 && (size <= 0 || size % 32 != 0)) {
    throw unsupported(settings, cat("a group_size of ", size, " is not supported, only -1 and multiples of 32"));
  }
  return size;
}

QuantConfig read_gptq(const Json& settings) {
  QuantConfig config{QuantConfig::Method::kGptq, settings.get("bits", 4), read_group_size(settings), true};
  if (config.bits != 4 && config.bits != 8) {
    throw unsupported(settings, cat("GPTQ with ", config.bits, " bits is not supported, only 4 and 8"));
  }
  const std::string layout = lower_ascii(settings.get("checkpoint_format", settings.get("format", "gptq")));
  if (layout != "gptq" && layout != "gptq_v2") {
    throw unsupported(settings,
                      cat("the GPTQ checkpoint_format '", layout, "' is not supported, only gptq and gptq_v2"));
  }
  config.zero_offset = layout == "gptq";
  return config;
}

QuantConfig read_awq(const Json& settings) {
  QuantConfig config{QuantConfig::Method::kAwq, settings.get("bits", settings.get("w_bit", 4)),
                     read_group_size(settings)};
  if (config.bits != 4) throw unsupported(settings, cat("AWQ with ", config.bits, " bits is not supported, only 4"));
  const std::string version = lower_ascii(settings.get("version", "gemm"));
  if (version != "gemm")
    throw unsupported(settings, cat("the AWQ version '", version, "' is not supported, only gemm"));
  return config;
}

QuantConfig read_compressed(const Json& settings) {
  const std::string format = settings.get("format", "int-quantized");
  if (format != "int-quantized" && format != "naive-quantized") {
    throw unsupported(settings,
                      cat("compressed-tensors with format '", format, "' are not supported, only int-quantized"));
  }
  return {QuantConfig::Method::kInt8, 8};
}

}  // namespace

QuantConfig read_quant_config(const Json& config) {
  if (!config.is_object()) return {};
  const Json* settings = config.find("quantization_config");
  if (!settings) settings = config.find("compression_config");
  if (!settings || settings->is_null()) return {};
  const std::string method = lower_ascii(settings->at("quant_method").as_text());
  if (method == "gptq") return read_gptq(*settings);
  if (method == "awq") return read_awq(*settings);
  if (method == "compressed-tensors") return read_compressed(*settings);
  if (method == "mxfp4") return {QuantConfig::Method::kMxfp4, 4, 32};
  throw unsupported(
      *settings, cat("the quant_method '", method, "' is not supported, only gptq, awq, compressed-tensors and mxfp4"));
}

}  // namespace wick
