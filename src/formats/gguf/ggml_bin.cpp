#include "formats/gguf/ggml_bin.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/checked.h"
#include "formats/byte_reader.h"
#include "formats/gguf/ggml_names.h"
#include "formats/gguf/gguf_types.h"

namespace wick {
namespace {

static_assert(std::endian::native == std::endian::little, "ggml data is little endian");

constexpr int32_t kFrequencies = 201;  // of a window of 400 samples
constexpr int32_t kMostOf = 1 << 24;   // of anything that the settings count
constexpr int32_t kTypeFactor = 1000;  // the file's type is that of its weights + 1000 * the version of the blocks
constexpr int32_t kBlockVersion = 2;   // since May 2023
constexpr int32_t kF32 = 0, kMostlyF16 = 1;  // types of a file that have no blocks

struct Settings {
  int32_t vocabulary, audio_positions, audio_width, audio_heads, audio_layers;
  int32_t text_positions, text_width, text_heads, text_layers, bins, type;
};

Settings read_settings(ByteReader& reader) {
  reader.skip(kGgmlMagic.size());
  const auto settings = reader.read<Settings>();
  const auto bins = reader.read<int32_t>(), frequencies = reader.read<int32_t>();
  if (bins != settings.bins || frequencies != kFrequencies) {
    throw bad_file(reader.path(), "is a ggml file from before GGUF and not one of Whisper; convert the model again");
  }
  const auto counts = std::bit_cast<std::array<int32_t, sizeof(Settings) / sizeof(int32_t)>>(settings);
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    if (counts[i] > 0 && counts[i] <= kMostOf) continue;
    throw reader.bad(cat("has ", counts[i], " as setting ", i + 1, ", expected 1 to ", kMostOf));
  }
  if (settings.audio_width != settings.text_width) {
    throw reader.bad(cat("has an encoder of width ", settings.audio_width, " and a decoder of ", settings.text_width));
  }
  const int32_t version = settings.type / kTypeFactor, type = settings.type % kTypeFactor;
  if (type != kF32 && type != kMostlyF16 && version != kBlockVersion) {
    throw reader.bad(
        cat("has blocks of version ", version, ", Wick reads version ", kBlockVersion, "; quantise the model again"));
  }
  reader.skip(uint64_t{sizeof(float)} * static_cast<uint64_t>(bins) * kFrequencies);
  return settings;
}

std::vector<std::string_view> read_vocabulary(ByteReader& reader, const Settings& settings) {
  const auto count = reader.read<int32_t>();
  if (count < 0 || count > settings.vocabulary || static_cast<size_t>(count) > reader.left() / sizeof(uint32_t)) {
    throw bad_file(reader.path(), cat("the vocabulary claims ", count, " tokens, the model has ", settings.vocabulary,
                                      " and the file ", reader.left(), " bytes left"));
  }
  std::vector<std::string_view> tokens;
  tokens.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    reader.set_place("token", i);
    const auto length = reader.read<uint32_t>();
    const size_t start = reader.position();
    reader.skip(length);
    const auto bytes = reader.since(start);
    tokens.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return tokens;
}

std::string read_name(ByteReader& reader, int32_t length) {
  if (length <= 0) throw reader.bad(cat("has a name of ", length, " bytes"));
  const size_t start = reader.position();
  reader.skip(static_cast<uint64_t>(length));
  const auto bytes = reader.since(start);
  std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!is_utf8(name)) throw reader.bad("has a name that is not valid UTF-8");
  return name;
}

Shape read_shape(ByteReader& reader, int32_t rank) {
  if (rank < 1 || rank > kMaxRank) throw reader.bad(cat("has ", rank, " dimensions, expected 1 to ", kMaxRank));
  int64_t sizes[kMaxRank] = {};
  for (int32_t d = rank; d-- > 0;) {
    sizes[d] = reader.read<int32_t>();
    if (sizes[d] < 0) throw reader.bad(cat("has a dimension of ", sizes[d], " elements"));
  }
  return Shape(std::span<const int64_t>(sizes, static_cast<size_t>(rank)));
}

TensorEntry read_tensor(ByteReader& reader, int64_t number) {
  reader.set_place("tensor", number);
  const auto rank = reader.read<int32_t>(), name_length = reader.read<int32_t>();
  const auto code = reader.read<uint32_t>();
  TensorEntry entry;
  try {
    entry.shape = read_shape(reader, rank);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadFile) throw;
    throw reader.bad(cat("has a bad ", error.what()));
  }
  const std::string name = read_name(reader, name_length);
  reader.set_place("tensor", name);
  entry.name = hugging_face_name(name);
  const GgufType* type = gguf_type(code);
  if (!type) throw reader.bad(cat("has the unknown type ", code));
  entry.type = type->name;
  entry.dtype = type->dtype;
  entry.bytes = gguf_bytes(reader, *type, entry.shape);
  // Biases of convolutions are columns.
  if (entry.name.ends_with(".bias")) entry.shape = Shape{entry.shape.numel()};
  entry.offset = static_cast<int64_t>(reader.position());
  reader.skip(static_cast<uint64_t>(entry.bytes));
  return entry;
}

// The width of a layer's MLP, which the settings do not tell; the released models have four times that of the layer.
int64_t mlp_width(const std::vector<TensorEntry>& entries, std::string_view stack, int64_t width) {
  const std::string bias = cat("model.", stack, ".layers.0.fc1.bias");
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == bias; });
  return found == entries.end() ? 4 * width : found->shape.numel();
}

Json config_of(const Settings& settings, const std::vector<TensorEntry>& entries, const std::filesystem::path& path) {
  const auto number = [](std::string_view name, int64_t value) { return cat(",\"", name, "\":", value); };
  const std::string text =
      cat(R"({"model_type":"whisper","architectures":["WhisperForConditionalGeneration"],"activation_function":"gelu")",
          number("vocab_size", settings.vocabulary), number("num_mel_bins", settings.bins),
          number("max_source_positions", settings.audio_positions),
          number("max_target_positions", settings.text_positions), number("d_model", settings.audio_width),
          number("encoder_layers", settings.audio_layers), number("encoder_attention_heads", settings.audio_heads),
          number("encoder_ffn_dim", mlp_width(entries, "encoder", settings.audio_width)),
          number("decoder_layers", settings.text_layers), number("decoder_attention_heads", settings.text_heads),
          number("decoder_ffn_dim", mlp_width(entries, "decoder", settings.text_width)), "}");
  return Json::parse(text, path.string());
}

}  // namespace

GgmlWhisper read_ggml_whisper(const MappedFile& file, int file_index) {
  ByteReader reader(file.bytes(), file.path());
  const Settings settings = read_settings(reader);
  read_vocabulary(reader, settings);
  GgmlWhisper whisper;
  std::vector<TensorEntry>& entries = whisper.contents.entries;
  while (reader.left() > 0) {
    entries.push_back(read_tensor(reader, static_cast<int64_t>(entries.size())));
    entries.back().file = file_index;
  }
  whisper.config = config_of(settings, entries, file.path());
  return whisper;
}

std::vector<std::string_view> read_ggml_vocabulary(const MappedFile& file) {
  ByteReader reader(file.bytes(), file.path());
  const Settings settings = read_settings(reader);
  return read_vocabulary(reader, settings);
}

}  // namespace wick
