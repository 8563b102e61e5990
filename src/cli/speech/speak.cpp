#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/read_text.h"
#include "cli/shared_options.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_bar.h"
#include "media/audio_reader.h"
#include "media/sound_encoder.h"
#include "media/wav_writer.h"
#include "speech/voice.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kComment[] = "synthetic speech";
constexpr double kLongestClip = 120;
constexpr size_t kPiece = 4800;

struct SpeakArguments {
  std::vector<std::string> words;
  std::string model, file, output, voice, transcript, description, language, quantize = "auto", device = "cpu";
  uint64_t seed = 0;
  std::optional<float> temperature;
  std::optional<double> seconds;
  int threads = 0;
  bool stream = false, no_tag = false, stats = false;
};

std::shared_ptr<const SpeechSynthesizer> load(const SpeakArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  ModelOptions options;
  options.quantize = arguments.quantize;
  options.device = device_named(arguments.device);
  options.notice = warn;
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](int64_t done, int64_t total) {
    if (!bar) bar = std::make_unique<ProgressBar>(total, ProgressUnit::kBytes, ProgressBar::kQuiet);
    bar->show(done, "loading");
  };
  return load_voice(model_path(arguments.model), options);
}

std::string text_of(const SpeakArguments& arguments) {
  if (!arguments.file.empty()) return read_text(arguments.file);
  std::string text;
  for (const std::string& word : arguments.words) text += cat(text.empty() ? "" : " ", word);
  return text == "-" ? read_input() : text;
}

// A name, a clip, or what the voice is like.
void read_voice(const SpeechSynthesizer& voice, const SpeakArguments& arguments, SpeakOptions& options) {
  const VoiceFacts& facts = voice.facts();
  options.description = arguments.description;
  std::error_code ignored;
  if (!arguments.voice.empty() && fs::is_regular_file(arguments.voice, ignored)) {
    AudioOptions audio;
    audio.sample_rate = facts.sample_rate;
    audio.longest_seconds = kLongestClip;
    const auto clip = open_audio(arguments.voice, audio);
    const std::vector<float> samples = read_all(*clip, static_cast<int64_t>(kLongestClip) * facts.sample_rate);
    options.clone = voice.clone(samples, arguments.transcript);
    return;
  }
  if (!arguments.transcript.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--transcript says what is said in a clip, which --voice FILE gives");
  }
  if (facts.designs) {
    if (!arguments.voice.empty()) options.description = arguments.voice;
  } else {
    options.voice = arguments.voice;
  }
}

// Where the sound goes: a file that is there once it is complete, or standard output.
class SoundOutput {
 public:
  SoundOutput(const SpeakArguments& arguments, int sample_rate) : stream_(arguments.stream), rate_(sample_rate) {
    header_.sample_rate = sample_rate;
    if (!arguments.no_tag) header_.comment = kComment;
    if (stream_) return;  // samples alone
    if (arguments.output.empty() || arguments.output == "-") {
      to_stdout(wav_header(header_));
      return;
    }
    const std::string format = sound_format_of(arguments.output);
    if (format != "wav") encoder_ = make_sound_encoder(format, sample_rate, header_.comment);
    file_ = std::make_unique<OutputFile>(arguments.output);
    at_ = encoder_ ? 0 : std::ssize(wav_header(header_));
  }

  void write(std::span<const float> samples) {
    samples_ += std::ssize(samples);
    append(encoder_ ? encoder_->push(samples) : pcm16_bytes(samples));
  }
  void finish() {
    if (!file_) return;
    if (encoder_) {
      append(encoder_->finish());
    } else {
      header_.samples = samples_;
      const std::string header = wav_header(header_);
      file_->write_at(0, std::as_bytes(std::span(header)));
    }
    file_->finish();
  }
  double seconds() const { return static_cast<double>(samples_) / rate_; }

 private:
  void append(const std::string& bytes) {
    if (!file_) return to_stdout(bytes);
    if (!bytes.empty()) file_->write_at(at_, std::as_bytes(std::span(bytes)));
    at_ += std::ssize(bytes);
  }
  static void to_stdout(const std::string& bytes) {
    if (!std::cout.write(bytes.data(), std::ssize(bytes)).flush()) {
      throw Error(ErrorCode::kIo, "standard output: nobody takes the sound any more");
    }
  }

  bool stream_;
  int rate_;
  WavHeader header_;
  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<SoundEncoder> encoder_;  // null: WAV, whose length is known at the end
  int64_t at_ = 0, samples_ = 0;
};

int speak(const SpeakArguments& arguments) {
  const std::string text = text_of(arguments);
  if (text.find_first_not_of(" \n\t\r") == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, "there is nothing to say: the text is empty");
  }
  const auto voice = load(arguments);
  const InterruptWatch watch;
  SpeakOptions options;
  read_voice(*voice, arguments, options);
  options.language = arguments.language;
  options.seed = arguments.seed;
  options.temperature = arguments.temperature;
  const auto start = Clock::now();
  std::optional<double> first;
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const auto speech = voice->speak(text, options);
  SoundOutput output(arguments, voice->facts().sample_rate);
  {
    ProgressBar bar(static_cast<int64_t>(text.size()), ProgressUnit::kRuns, ProgressBar::kQuiet);
    while (watch.signal() == 0) {
      const std::vector<float> samples = speech->read(kPiece);
      if (samples.empty()) break;
      if (!first) first = passed();
      output.write(samples);
      bar.show(static_cast<int64_t>(speech->done() * static_cast<double>(text.size())),
               fmt::format("{:.1f} s of sound", output.seconds()));
    }
  }
  if (watch.signal()) return 128 + watch.signal();
  output.finish();
  if (arguments.stats || (isatty(STDERR_FILENO) && !arguments.output.empty())) {
    std::cerr << fmt::format("{:.1f} s of sound in {:.1f} s, {:.2f} times real time, the first of it after {:.0f} ms\n",
                             output.seconds(), passed(), output.seconds() / std::max(passed(), 1e-9),
                             1e3 * first.value_or(0));
  }
  return 0;
}

int list_voices(const std::string& model) {
  ModelOptions options;
  const auto voice = load_voice(model_path(model), options);
  const VoiceFacts& facts = voice->facts();
  for (const std::string& name : facts.voices) std::cout << name << "\n";
  if (facts.clones) std::cout << "the voice of a clip: --voice FILE\n";
  if (facts.designs) std::cout << "a voice as described: --voice \"a calm old man\"\n";
  std::string languages;
  for (const std::string& name : facts.languages) languages += cat(languages.empty() ? "" : ", ", name);
  std::cout << "languages: auto, " << languages << "\n";
  return 0;
}

}  // namespace

void add_speak(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("speak", "Speak a text");
  const auto arguments = std::make_shared<SpeakArguments>();
  command->add_option("TEXT", arguments->words, "What to say; - is standard input");
  command->add_option("--model", arguments->model, "A folder with Qwen3-TTS, or Org/Name")->required();
  command->add_option("--file", arguments->file, "Speak what this file holds, or standard input for -")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", arguments->output,
                   "A file: .wav, or with FFmpeg .mp3, .flac, .opus or .aac (default: WAV on standard output)")
      ->type_name("FILE");
  command->add_option("--voice", arguments->voice,
                      "A name (see wick voices), a clip of somebody who speaks, or what the voice is like");
  command
      ->add_option("--transcript", arguments->transcript,
                   "What is said in the clip: its way of speaking is taken over, too")
      ->type_name("TEXT");
  command->add_option("--instruction", arguments->description, "How to speak, with models that take it")
      ->type_name("TEXT");
  command->add_option("--language", arguments->language, "What is spoken, e.g. english (default: found out)");
  command->add_flag("--stream", arguments->stream,
                    "Write 16-bit samples without a header to standard output as they come");
  command->add_flag("--no-tag", arguments->no_tag, "Do not note in the file that the speech is synthetic");
  command->add_flag("--stats", arguments->stats, "Show how long it took on standard error");
  constexpr char kGroup[] = "Model";
  command->add_option("--temperature", arguments->temperature, "0: the likeliest sounds (default: the model's own)")
      ->check(CLI::Range(0.f, 2.f).description(""))
      ->group(kGroup);
  command->add_option("--seed", arguments->seed, "The same seed, the same speech")->group(kGroup);
  add_quantize_option(*command, arguments->quantize)->group(kGroup);
  add_threads_option(*command, arguments->threads)->group(kGroup);
  add_device_option(*command, arguments->device)->group(kGroup);
  command->footer(
      "Long texts are spoken sentence by sentence.\n\n"
      "Examples:\n"
      "  wick speak \"Hello.\" --model models/Qwen3-TTS-12Hz-0.6B-CustomVoice --voice ryan -o hello.wav\n"
      "  wick speak --file story.txt --model models/Qwen3-TTS-12Hz-1.7B-Base --voice me.wav -o story.wav\n"
      "  wick speak \"Good evening.\" --model models/Qwen3-TTS-12Hz-1.7B-VoiceDesign --voice \"a calm old man\" > "
      "evening.wav");
  command->callback([&action, arguments] {
    if (arguments->words.empty() == arguments->file.empty()) {
      throw CLI::ValidationError(
          "TEXT", arguments->words.empty() ? "is needed, or --file" : "is not taken together with --file");
    }
    if (arguments->stream && !arguments->output.empty()) throw CLI::ExcludesError("--stream", "--output");
    if (!arguments->stream && (arguments->output.empty() || arguments->output == "-") && isatty(STDOUT_FILENO)) {
      throw CLI::ValidationError("--output", "is needed where standard output is a terminal");
    }
    action = [arguments] { return speak(*arguments); };
  });
}

void add_voices(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("voices", "List the voices and languages of a model that speaks");
  const auto model = std::make_shared<std::string>();
  command->add_option("MODEL", *model, "A folder with Qwen3-TTS, or Org/Name")->required();
  command->callback([&action, model] { action = [model] { return list_voices(*model); }; });
}

}  // namespace wick
