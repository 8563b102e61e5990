#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "formats/safetensors/safetensors_writer.h"
#include "media/audio_reader.h"
#include "media/wav_writer.h"
#include "models/codecs/codec.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr char kCodes[] = "codes";
constexpr int64_t kPieceFrames = 64;

struct CodecArguments {
  std::string model, input, output, device = "cpu";
  int64_t codebooks = 0;
  std::optional<double> bandwidth;
  int threads = 0;
};

std::unique_ptr<Codec> load(const CodecArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.device = device_named(arguments.device);
  return load_codec(model_path(arguments.model), options);
}

int encode(const CodecArguments& arguments) {
  const auto codec = load(arguments);
  const CodecFacts& facts = codec->facts();
  int64_t books = arguments.codebooks;
  if (arguments.bandwidth) books = codec->codebooks_for(*arguments.bandwidth);
  const auto stream = codec->encoder(books);
  if (books == 0) books = facts.codebooks;
  AudioOptions audio;
  audio.sample_rate = facts.sample_rate;
  const auto sound = open_audio(arguments.input, audio);
  std::vector<int32_t> codes;
  std::vector<float> piece(static_cast<size_t>(facts.sample_rate));
  int64_t samples = 0;
  const auto append = [&](const std::vector<int32_t>& more) { codes.insert(codes.end(), more.begin(), more.end()); };
  while (const int64_t got = sound->read(piece)) {
    samples += got;
    append(stream->push(std::span(piece).first(static_cast<size_t>(got))));
  }
  if (samples == 0) throw Error(ErrorCode::kInvalidArgument, cat(arguments.input, ": there is no sound in it"));
  append(stream->finish());
  const int64_t frames = std::ssize(codes) / books;
  const Tensor values = from_vector(codes, {frames, books});
  Metadata metadata;
  metadata.set_text("codec", facts.family);
  metadata.set_text("sample_rate", std::to_string(facts.sample_rate));
  metadata.set_text("samples", std::to_string(samples));
  SafetensorsWriter out(arguments.output, {{kCodes, values.dtype(), values.shape()}}, metadata);
  out.write(kCodes, values);
  out.finish();
  std::cout << fmt::format("{} frames of {} codes from {:.2f} s of sound\n", frames, books,
                           static_cast<double>(samples) / facts.sample_rate);
  return 0;
}

int decode(const CodecArguments& arguments) {
  const Checkpoint file = Checkpoint::open(arguments.input);
  const TensorEntry* entry = file.find(kCodes);
  if (!entry || entry->shape.rank() != 2 || (entry->dtype != DType::kI32 && entry->dtype != DType::kI64)) {
    throw Error(ErrorCode::kBadFile,
                cat(arguments.input, ": expected a tensor 'codes' of i32 or i64 [frames, codebooks]"));
  }
  const auto codec = load(arguments);
  const CodecFacts& facts = codec->facts();
  const int64_t frames = entry->shape[0], books = entry->shape[1];
  if (books < 1) throw Error(ErrorCode::kBadFile, cat(arguments.input, ": its frames have no codes"));
  const auto stream = codec->decoder(books);
  const std::vector<int64_t> wide = file.get(kCodes).to_vector<int64_t>();
  std::vector<int32_t> codes;
  codes.reserve(wide.size());
  for (const int64_t code : wide) codes.push_back(std::in_range<int32_t>(code) ? static_cast<int32_t>(code) : -1);
  WavHeader header;
  header.sample_rate = facts.sample_rate;
  OutputFile out(arguments.output);
  auto at = std::ssize(wav_header(header));
  header.samples = 0;
  const auto write = [&](const std::vector<float>& samples) {
    const std::string bytes = pcm16_bytes(samples);
    out.write_at(at, std::as_bytes(std::span(bytes)));
    at += std::ssize(bytes);
    header.samples += std::ssize(samples);
  };
  for (int64_t frame = 0; frame < frames; frame += kPieceFrames) {
    const auto count = static_cast<size_t>(std::min(kPieceFrames, frames - frame) * books);
    write(stream->push(std::span(codes).subspan(static_cast<size_t>(frame * books), count)));
  }
  write(stream->finish());
  const std::string front = wav_header(header);
  out.write_at(0, std::as_bytes(std::span(front)));
  out.finish();
  std::cout << fmt::format("{:.2f} s of sound from {} frames\n",
                           static_cast<double>(header.samples) / facts.sample_rate, frames);
  return 0;
}

void add_shared(CLI::App& command, const std::shared_ptr<CodecArguments>& arguments) {
  command.add_option("-o,--output", arguments->output, "Where to write it")->required()->type_name("FILE");
  add_threads_option(command, arguments->threads);
  add_device_option(command, arguments->device);
}

}  // namespace

void add_codec(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("codec", "Sound to the codes of an audio codec, and back");
  command->require_subcommand(1);
  constexpr char kModel[] = "A folder with Encodec, Mimi, the tokenizer of Qwen3-TTS or the detokenizer of LFM2-Audio";
  {
    CLI::App* sub = command->add_subcommand("encode", "Make codes of a sound file");
    const auto arguments = std::make_shared<CodecArguments>();
    sub->add_option("MODEL", arguments->model, kModel)->required();
    sub->add_option("SOUND", arguments->input, "A sound or video file; - is standard input")->required();
    sub->add_option("--codebooks", arguments->codebooks, "Codes of a frame (default: all there are)")
        ->check(count_from(1, 1024))
        ->type_name("COUNT");
    sub->add_option("--bandwidth", arguments->bandwidth, "With Encodec: kbit/s instead")
        ->check(CLI::Range(0.001, 1e4).description(""))
        ->type_name("KBPS")
        ->excludes("--codebooks");
    add_shared(*sub, arguments);
    sub->footer(
        "The codes are a tensor of i32 [frames, codebooks] in a .safetensors file.\n\n"
        "Example:\n  wick codec encode models/mimi speech.wav -o codes.safetensors");
    sub->callback([&action, arguments] { action = [arguments] { return encode(*arguments); }; });
  }
  CLI::App* sub = command->add_subcommand("decode", "Make sound of codes");
  const auto arguments = std::make_shared<CodecArguments>();
  sub->add_option("MODEL", arguments->model, kModel)->required();
  sub->add_option("CODES", arguments->input, "A .safetensors file with codes")->required();
  add_shared(*sub, arguments);
  sub->footer("Example:\n  wick codec decode models/mimi codes.safetensors -o speech.wav");
  sub->callback([&action, arguments] { action = [arguments] { return decode(*arguments); }; });
}

}  // namespace wick
