#include "formats/packed/packed_weight.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "formats/packed/awq.h"
#include "formats/packed/bitsandbytes.h"
#include "formats/packed/float_blocks.h"
#include "formats/packed/gptq.h"
#include "formats/packed/int_codes.h"

namespace wick {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kNf4State = ".weight.quant_state.bitsandbytes__nf4",
                           kFp4State = ".weight.quant_state.bitsandbytes__fp4";

// Parts that stand beside codes.
constexpr std::string_view kParts[] = {".qzeros", ".scales", ".g_idx", "_scales", ".weight_scale", ".weight_scale_inv",
                                       ".weight_scale_2", ".weight_global_scale", ".weight_zero_point", ".weight_shape",
                                       ".weight_g_idx", ".weight_format", ".SCB", ".weight.absmax", ".weight.quant_map",
                                       ".weight.nested_absmax", ".weight.nested_quant_map", kNf4State, kFp4State,
                                       // Of activations and of the KV cache, which are not rounded.
                                       ".input_scale", ".input_scale_ub", ".input_global_scale", ".input_zero_point",
                                       ".output_scale", ".activation_scale", ".q_scale", ".k_scale", ".v_scale"};

// The tensors around one name.
class Parts {
 public:
  Parts(const Checkpoint& file, const QuantConfig& config, std::string_view name)
      : file_(&file), config_(&config), name_(name) {
    if (name.ends_with(kWeight)) stem_ = name.substr(0, name.size() - kWeight.size());
  }

  std::optional<PackedWeight> find() const;

 private:
  const TensorEntry* entry(std::string_view suffix) const { return file_->find(cat(stem_, suffix)); }
  Tensor part(std::string_view suffix) const {
    const TensorEntry* found = entry(suffix);
    return found ? file_->get(*found) : Tensor();
  }
  Tensor needed(std::string_view suffix) const {
    const TensorEntry* found = entry(suffix);
    if (!found) throw Error(ErrorCode::kBadFile, cat("'", stem_, suffix, "' is missing"));
    return file_->get(*found);
  }
  IntSettings int_settings() const {
    return {config_->bits == 4 ? 4 : 8, std::max<int64_t>(config_->group_size, 0), config_->block};
  }
  std::string scale_suffix() const { return entry(".weight_scale_inv") ? ".weight_scale_inv" : ".weight_scale"; }
  PackedWeight refused(const TensorEntry& codes, std::string why) const {
    return {codes.shape, codes.dtype.value_or(DType::kF32), {}, [why]() -> LoadedWeight {
              throw Error(ErrorCode::kUnsupported, why);
            }};
  }

  std::optional<PackedWeight> find_blocks() const;
  std::optional<PackedWeight> find_words() const;
  std::optional<PackedWeight> find_compressed() const;
  std::optional<PackedWeight> find_bnb() const;
  std::optional<PackedWeight> find_scaled() const;

  const Checkpoint* file_;
  const QuantConfig* config_;
  std::string name_, stem_;
};

Shape rows_and_columns(const Shape& shape, int64_t times) {
  return shape.rank() == 2 ? Shape{shape[0], shape[1] * times} : shape;
}

// Experts of MXFP4.
std::optional<PackedWeight> Parts::find_blocks() const {
  const TensorEntry *blocks = file_->find(cat(name_, "_blocks")), *scales = file_->find(cat(name_, "_scales"));
  if (!blocks || !scales) return {};
  const Shape& s = blocks->shape;
  return PackedWeight{s.rank() == 4 ? Shape{s[0], s[2] * 32, s[1]} : s,
                      DType::kMXFP4,
                      {blocks->name},
                      [self = *this, blocks, scales]() -> LoadedWeight {
                        const Tensor packed =
                            assemble_mxfp4(self.file_->get(*blocks), self.file_->get(*scales), self.name_);
                        // gpt-oss keeps its experts transposed when they are not quantised; this is the same shape.
                        const int rank = packed.rank();
                        return {packed.with_layout(packed.layout().transpose(rank - 2, rank - 1)), {}};
                      }};
}

// GPTQ and AWQ.
std::optional<PackedWeight> Parts::find_words() const {
  const TensorEntry* words = entry(".qweight");
  if (!words) return {};
  using Method = QuantConfig::Method;
  const bool awq = config_->method == Method::kAwq;
  if (!awq && config_->method != Method::kGptq) {
    return PackedWeight{words->shape, DType::kGroup4, {}, [words]() -> LoadedWeight {
                          throw Error(ErrorCode::kBadFile,
                                      cat("'", words->name,
                                          "' is quantised, but config.json has no quantization_config of gptq or awq"));
                        }};
  }
  Shape shape = words->shape;
  const int64_t per_word = 32 / config_->bits;
  if (shape.rank() == 2) shape = awq ? Shape{shape[1] * per_word, shape[0]} : Shape{shape[1], shape[0] * per_word};
  return PackedWeight{shape,
                      config_->bits == 8 ? DType::kGroup8 : DType::kGroup4,
                      {words->name, stem_ + ".qzeros", stem_ + ".scales"},
                      [self = *this, awq] {
                        const Tensor codes = self.part(".qweight"), zeros = self.part(".qzeros");
                        const Tensor scales = self.part(".scales");
                        if (awq) return assemble_awq({codes, zeros, scales}, *self.config_, self.stem_);
                        return assemble_gptq({codes, zeros, scales, self.part(".g_idx")}, *self.config_, self.stem_);
                      }};
}

std::optional<PackedWeight> Parts::find_compressed() const {
  const TensorEntry* codes = entry(".weight_packed");
  if (!codes) return {};
  if (codes->dtype == DType::kI32) {
    const bool four = config_->bits == 4;
    return PackedWeight{packed_ints_shape(part(".weight_shape"), stem_),
                        four ? DType::kGroup4 : DType::kI8Channel,
                        {codes->name},
                        [self = *this] {
                          return assemble_packed_ints(
                              {self.needed(".weight_packed"), self.part(".weight_shape"), self.part(".weight_scale"),
                               self.part(".weight_zero_point"), self.part(".weight_g_idx")},
                              self.int_settings(), self.stem_);
                        }};
  }
  const Shape shape = rows_and_columns(codes->shape, 2);
  if (entry(".weight_global_scale")) {
    return PackedWeight{shape, DType::kNVFP4, {codes->name}, [self = *this, codes]() -> LoadedWeight {
                          return {assemble_nvfp4(self.needed(".weight_packed"), self.needed(".weight_scale"),
                                                 self.needed(".weight_global_scale"), true, codes->name),
                                  {}};
                        }};
  }
  const TensorEntry* scale = entry(".weight_scale");
  if (codes->dtype == DType::kU8 && scale && scale->dtype == DType::kU8) {
    return PackedWeight{
        shape, DType::kMXFP4, {codes->name}, [self = *this, codes]() -> LoadedWeight {
          return {assemble_mxfp4_rows(self.needed(".weight_packed"), self.needed(".weight_scale"), codes->name), {}};
        }};
  }
  return refused(*codes, cat("'", codes->name, "' is ", codes->type, " with scales of ",
                             scale ? scale->type : std::string("no type"), ", a layout that is not known"));
}

std::optional<PackedWeight> Parts::find_bnb() const {
  const TensorEntry* codes = file_->find(name_);
  if (!codes) return {};
  for (const std::string_view suffix : {kNf4State, kFp4State}) {
    const TensorEntry* found = entry(suffix);
    if (!found) continue;
    if (found->dtype != DType::kU8 || found->bytes > 1 << 16) {
      throw Error(ErrorCode::kBadFile,
                  cat("'", found->name, "' is ", found->type, " ", found->shape, ", expected text"));
    }
    const Tensor text = file_->get(*found);
    const Json state =
        Json::parse({reinterpret_cast<const char*>(text.raw()), static_cast<size_t>(found->bytes)}, found->name);
    return PackedWeight{bnb4_shape(state), DType::kNF4, {codes->name}, [self = *this, codes, state] {
                          return assemble_bnb4(
                              {self.file_->get(*codes), self.part(".weight.absmax"), self.part(".weight.quant_map"),
                               self.part(".weight.nested_absmax"), self.part(".weight.nested_quant_map")},
                              state, self.name_);
                        }};
  }
  if (codes->dtype != DType::kI8 || !entry(".SCB")) return {};
  return PackedWeight{codes->shape, DType::kI8Channel, {codes->name}, [self = *this, codes] {
                        const Tensor format = self.part(".weight_format");
                        if (format.defined() &&
                            (format.numel() != 1 || format.dtype() != DType::kU8 || format.data<uint8_t>()[0] != 0)) {
                          throw Error(ErrorCode::kUnsupported,
                                      cat("'", self.stem_, ".weight_format' is not 0, which stands for whole rows"));
                        }
                        return assemble_bnb8(self.file_->get(*codes), self.needed(".SCB"), self.stem_);
                      }};
}

// Weights under their own name, with scales.
std::optional<PackedWeight> Parts::find_scaled() const {
  const TensorEntry* codes = file_->find(name_);
  if (!codes) return {};
  const bool eight_bit_float = codes->dtype == DType::kF8E4M3 || codes->dtype == DType::kF8E5M2;
  if (stem_.empty()) {
    const bool scaled = file_->find(cat(name_, "_scale")) || file_->find(cat(name_, "_scale_inv"));
    if (!scaled || !(eight_bit_float || codes->dtype == DType::kI8 || codes->dtype == DType::kU8)) return {};
    return refused(*codes, cat("'", name_, "' is ", codes->type, " ", codes->shape,
                               " with a scale of its own, which is supported for matrices named .weight only"));
  }
  const std::string suffix = scale_suffix();
  if (!entry(suffix)) {
    // Without settings, small floats stand for themselves.
    if (!eight_bit_float || config_->method == QuantConfig::Method::kNone) return {};
    return PackedWeight{codes->shape, DType::kF8Channel, {}, [self = *this, suffix]() -> LoadedWeight {
                          return {self.needed(suffix), {}};
                        }};
  }
  if (entry(".pre_quant_scale")) {
    return refused(*codes, cat("'", stem_, ".pre_quant_scale' scales activations, which is not supported"));
  }
  if (codes->dtype == DType::kI8) {
    return PackedWeight{codes->shape, DType::kI8Channel, {codes->name}, [self = *this, codes, suffix] {
                          return assemble_int8(self.file_->get(*codes), self.needed(suffix),
                                               self.part(".weight_zero_point"), self.int_settings(), self.stem_);
                        }};
  }
  if (codes->dtype == DType::kF8E4M3) {
    return PackedWeight{
        codes->shape, DType::kF8Channel, {codes->name}, [self = *this, codes, suffix]() -> LoadedWeight {
          const Tensor weight = self.file_->get(*codes);
          check_matrix(codes->name, weight);
          const ScaleGrid scales = read_scales(self.stem_ + suffix, self.needed(suffix), weight.dim(0), weight.dim(1),
                                               self.int_settings().group_size, self.config_->block);
          return {assemble_f8(weight, scales, codes->name), {}};
        }};
  }
  if (codes->dtype == DType::kU8 && entry(".weight_scale_2")) {
    return PackedWeight{
        rows_and_columns(codes->shape, 2), DType::kNVFP4, {codes->name}, [self = *this, codes]() -> LoadedWeight {
          return {assemble_nvfp4(self.file_->get(*codes), self.needed(".weight_scale"), self.needed(".weight_scale_2"),
                                 false, codes->name),
                  {}};
        }};
  }
  return refused(*codes, cat("'", codes->name, "' is ", codes->type,
                             " with a scale of its own, which is not a layout that is known"));
}

std::optional<PackedWeight> Parts::find() const {
  if (auto found = find_blocks()) return found;
  if (!stem_.empty()) {
    if (auto found = find_compressed()) return found;
    if (auto found = find_words()) return found;
    if (auto found = find_bnb()) return found;
  }
  return find_scaled();
}

}  // namespace

std::optional<PackedWeight> find_packed_weight(const Checkpoint& file, const QuantConfig& config,
                                               std::string_view name) {
  return Parts(file, config, name).find();
}

std::optional<PartOfWeight> part_of_weight(const Checkpoint& file, const QuantConfig& config, std::string_view stored) {
  const auto without = [&](std::string_view end) { return stored.substr(0, stored.size() - end.size()); };
  for (const std::string_view codes : {".qweight", ".weight_packed"}) {
    if (stored.ends_with(codes)) return PartOfWeight{cat(without(codes), kWeight), true};
  }
  constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
  if (stored.ends_with(kBlocks) && file.find(cat(without(kBlocks), kScales))) {
    return PartOfWeight{std::string(without(kBlocks)), true};
  }
  if (config.method == QuantConfig::Method::kNone) return {};
  for (const std::string_view part : kParts) {
    if (!stored.ends_with(part)) continue;
    if (part == kScales) return PartOfWeight{std::string(without(part))};
    return PartOfWeight{cat(without(part), kWeight)};
  }
  return {};
}

}  // namespace wick
