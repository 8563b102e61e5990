#include "models/random_model.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_export.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/names.h"
#include "models/decoder/decoder.h"
#include "models/registry.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr uint32_t kQuantizationVersion = 2;
constexpr size_t kPage = 4096;
constexpr double kSpread = 0.02;  // the standard deviation that most models start their training from

struct RandomTensor {
  std::string name;  // of GGUF
  Shape shape;
  std::vector<float> values;  // given ones; empty: random, or as norms and biases start
};

// The GGUF tensors that hold what the decoder asks for.
std::vector<RandomTensor> list_tensors(const Json& config, std::string_view architecture) {
  const ConfigReader reader(config);
  const DecoderConfig decoder = find_family(reader.text("model_type", ""))->decoder(reader);
  WeightLoader listing = WeightLoader::listing();
  ModelOptions options;
  options.context = 1;
  const Decoder lists(decoder, listing, options);
  std::vector<RandomTensor> tensors;
  std::unordered_map<std::string, size_t> known;
  for (const WantedTensor& wanted : listing.wanted()) {
    std::vector<NameMatch> matches = gguf_matches(architecture, wanted.name);
    for (const HfAlias& alias : hf_aliases(architecture, wanted.name)) {
      if (matches.empty()) matches = gguf_matches(architecture, alias.name);
    }
    if (matches.empty()) throw Error(ErrorCode::kUnsupported, cat("'", wanted.name, "' has no place in a GGUF file"));
    const NameMatch& match = matches.front();
    if (!known.emplace(match.name, tensors.size()).second) continue;  // another expert of a stack
    const bool stacked = match.expert.has_value();
    tensors.push_back(
        {match.name, stacked ? wanted.shape.inserted(0, decoder.moe->routing.experts) : wanted.shape, {}});
  }
  for (RopeTensor& rope : rope_tensors(config)) {
    const auto count = static_cast<int64_t>(rope.factors.size());
    tensors.push_back({rope.name, {count}, std::move(rope.factors)});
  }
  return tensors;
}

// Chunks of 256 random weights in one dtype, to be copied again and again.
class RandomChunks {
 public:
  static constexpr int64_t kCount = 512, kWeights = 256;

  explicit RandomChunks(DType dtype) : bytes_(bytes_of(dtype, kWeights)) {
    Tensor weights = randn({kCount, kWeights}, 1);
    float* values = weights.mutable_data<float>();
    for (int64_t i = 0; i < weights.numel(); ++i) values[i] *= static_cast<float>(kSpread);
    chunks_ = convert_tensor(weights, dtype);
  }

  void fill(std::span<std::byte> out, uint64_t seed) const {
    const auto size = static_cast<int64_t>(out.size());
    const std::byte* source = chunks_.storage()->data();
    parallel_for((size + bytes_ - 1) / bytes_, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto chunk = static_cast<int64_t>(mixed(seed + static_cast<uint64_t>(i)) % kCount);
        std::memcpy(out.data() + i * bytes_, source + chunk * bytes_,
                    static_cast<size_t>(std::min(bytes_, size - i * bytes_)));
      }
    });
  }

 private:
  static uint64_t mixed(uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  }

  int64_t bytes_;
  Tensor chunks_;
};

Metadata metadata_of(const ModelShape& shape, const Json& config, const QuantizePlan& plan, const Metadata& tokenizer) {
  const Metadata settings = gguf_from_config(config);
  Metadata metadata;
  metadata.set_text("general.architecture", settings.text("general.architecture"));
  metadata.set_text("general.type", "model");
  metadata.set_text("general.name", cat(shape.name, " with random weights"));
  metadata.set_u32("general.file_type", static_cast<uint32_t>(plan.gguf_file_type()));
  metadata.set_u32("general.quantization_version", kQuantizationVersion);
  for (const auto& [key, value] : settings.items()) metadata.set(key, value);
  const Metadata bytes = tokenizer.empty() ? byte_tokenizer(shape.vocabulary) : Metadata();
  for (const auto& [key, value] : (tokenizer.empty() ? bytes : tokenizer).items()) {
    if (key.starts_with("tokenizer.")) metadata.set(key, value);
  }
  return metadata;
}

}  // namespace

std::shared_ptr<const MappedFile> random_gguf(const ModelShape& shape, const QuantizePlan& plan,
                                              const Metadata& tokenizer) {
  if (plan.gguf_file_type() < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("random weights cannot be of type ", plan.name()));
  }
  const Json config = shape.config();
  const Metadata metadata = metadata_of(shape, config, plan, tokenizer);
  const std::string& architecture = metadata.text("general.architecture");
  const std::vector<RandomTensor> tensors = list_tensors(config, architecture);

  std::vector<PlannedTensor> planned;
  planned.reserve(tensors.size());
  for (const RandomTensor& tensor : tensors) planned.push_back({tensor.name, tensor.shape, DType::kBF16});
  PlanFacts facts{architecture, shape.layers, shape.heads, shape.kv_heads, expert_count(config), false, true};
  const std::vector<DType> types = plan.choose(planned, facts);
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < tensors.size(); ++i) {
    specs.push_back({tensors[i].name, gguf_dtype(types[i]), tensors[i].shape});
  }

  const std::filesystem::path name = cat(shape.name, "-", plan.name(), ".gguf");
  TensorPlan places(std::move(specs), name);
  const GgufLayout layout = lay_out_gguf(name, metadata, places);
  // Asking for too much would succeed, and writing to it end the process.
  const auto available = machine_info().memory_available;
  if (available && *available < layout.bytes) {
    throw Error(ErrorCode::kOutOfMemory, cat(name, ": needs ", bytes_text(layout.bytes), ", of which ",
                                             bytes_text(*available), " are free on this machine"));
  }
  const size_t size = (static_cast<size_t>(layout.bytes) + kPage - 1) / kPage * kPage;
  const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(kPage, size)), std::free);
  if (!memory) throw Error(ErrorCode::kOutOfMemory, cat(name, ": there is no room for ", bytes_text(layout.bytes)));
  std::memcpy(memory.get(), layout.header.data(), layout.header.size());

  std::map<DType, RandomChunks> chunks;
  int64_t end = static_cast<int64_t>(layout.header.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorPlan::Item& item = places.items()[i];
    std::memset(memory.get() + end, 0, static_cast<size_t>(item.offset - end));  // the padding
    end = item.offset + item.bytes;
    std::byte* place = memory.get() + item.offset;
    if (item.spec.shape.rank() > 1) {
      const auto known = chunks.try_emplace(item.spec.dtype, item.spec.dtype).first;
      known->second.fill({place, static_cast<size_t>(item.bytes)}, i << 32);
      continue;
    }
    std::vector<float> values = tensors[i].values;
    const bool is_norm = item.spec.name.find("norm") != std::string::npos;
    if (values.empty()) values.assign(static_cast<size_t>(item.spec.shape.numel()), is_norm ? 1.f : 0.f);
    std::memcpy(place, values.data(), static_cast<size_t>(item.bytes));
  }
  std::memset(memory.get() + end, 0, static_cast<size_t>(layout.bytes - end));
  return MappedFile::in_memory(name, {memory.get(), static_cast<size_t>(layout.bytes)}, memory);
}

Metadata byte_tokenizer(int64_t size) {
  enum TokenType : int32_t { kNormal = 1, kControl = 3, kUnused = 5 };
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  // Byte-level BPE writes bytes that print as themselves and the others as characters from U+0100 on.
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    std::string text;
    append_utf8(text, prints ? byte : next++);
    tokens.push_back(text);
    types.push_back(kNormal);
  }
  tokens.emplace_back("<|endoftext|>");
  types.push_back(kControl);
  for (auto id = static_cast<int64_t>(tokens.size()); id < size; ++id) {
    tokens.push_back(cat("[PAD", id, "]"));
    types.push_back(kUnused);
  }
  Metadata out;
  out.set_text("tokenizer.ggml.model", "gpt2");
  out.set_text("tokenizer.ggml.pre", "gpt-2");
  out.set_texts("tokenizer.ggml.tokens", tokens);
  out.set_i32s("tokenizer.ggml.token_type", types);
  out.set_texts("tokenizer.ggml.merges", {});
  out.set_u32("tokenizer.ggml.bos_token_id", 256);
  out.set_u32("tokenizer.ggml.eos_token_id", 256);
  out.set_bool("tokenizer.ggml.add_bos_token", false);
  return out;
}

}  // namespace wick
