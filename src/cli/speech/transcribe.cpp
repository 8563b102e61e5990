#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <future>
#include <iostream>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/models/named_model.h"
#include "cli/shared_options.h"
#include "cli/speech/live_transcript.h"
#include "cli/speech/transcribe_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_bar.h"
#include "media/microphone.h"
#include "speech/recognizer.h"
#include "speech/subtitles.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kFilesTogether = 4;
constexpr double kUnsure = -0.35;  // mean log-probability; of voices that Ember-ASR knows it is above -0.1

struct TranscribeArguments {
  std::vector<std::string> files;
  std::string model, aligner, quantize = "auto", device = "cpu", format = "text", output, raw;
  RecognizeOptions options;
  int threads = 0;
  bool microphone = false, timestamps = false, words = false, translate = false, keep_silence = false, stream = false,
       stats = false, json = false;

  AudioOptions audio() const;
};

// "s16", "f32@44100", "s16@48000x2".
AudioOptions TranscribeArguments::audio() const {
  AudioOptions options;
  if (raw.empty()) return options;
  RawAudio form;
  const size_t at = raw.find('@'), x = raw.find('x', at == std::string::npos ? raw.size() : at);
  const std::string type = raw.substr(0, at);
  bool is_right = type == "s16" || type == "f32";
  form.format = type == "f32" ? SampleFormat::kF32 : SampleFormat::kS16;
  const auto number = [&](size_t from, size_t to, int& value) {
    const std::string digits = raw.substr(from, to == std::string::npos ? to : to - from);
    is_right = is_right && !digits.empty() && digits.size() <= 6 &&
               digits.find_first_not_of("0123456789") == std::string::npos;
    if (is_right) value = std::stoi(digits);
  };
  if (at != std::string::npos) number(at + 1, x, form.sample_rate);
  if (x != std::string::npos) number(x + 1, std::string::npos, form.channels);
  if (!is_right) {
    throw Error(
        ErrorCode::kInvalidArgument,
        cat("--raw ", in_quotes(raw), ": expected s16 or f32, then @RATE and xCHANNELS if they are not 16000 and 1"));
  }
  check_audio_format(form.sample_rate, form.channels, "--raw");
  options.raw = form;
  return options;
}

struct Heard {
  Recognition recognition;
  double wall_seconds = 0;
};

std::shared_ptr<const SpeechRecognizer> load(const TranscribeArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  RecognizerOptions options;
  if (!arguments.aligner.empty()) options.aligner = model_path(arguments.aligner);
  options.quantize = arguments.quantize;
  options.device = device_named(arguments.device);
  std::unique_ptr<ProgressBar> bar;
  options.progress = [&](int64_t done, int64_t total) {
    if (!bar) bar = std::make_unique<ProgressBar>(total, ProgressUnit::kBytes, ProgressBar::kQuiet);
    bar->show(done, "loading");
  };
  std::error_code ignored;
  const bool is_ember =
      arguments.model.empty() || (arguments.model == "ember-asr" && !fs::exists("ember-asr", ignored));
  if (is_ember) return load_recognizer({}, options);
  return load_recognizer(model_path(arguments.model, "; without --model, Ember-ASR listens"), options);
}

// Progress over all files, in milliseconds of sound; files whose length is not known count as nothing.
class SoundProgress {
 public:
  void expect(const AudioInfo& info) {
    const std::lock_guard lock(mutex_);
    if (info.seconds) total_ += *info.seconds;
  }
  void add(double seconds, const std::string& what) {
    const std::lock_guard lock(mutex_);
    done_ += seconds;
    if (total_ <= 0) return;
    if (!bar_) bar_ = std::make_unique<ProgressBar>(0, ProgressUnit::kSeconds, ProgressBar::kQuiet);
    bar_->set_total(static_cast<int64_t>(total_));
    bar_->show(static_cast<int64_t>(done_), what);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    bar_.reset();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<ProgressBar> bar_;
  double done_ = 0, total_ = 0;
};

Heard transcribe_file(const SpeechRecognizer& recognizer, const TranscribeArguments& arguments, const std::string& file,
                      SoundProgress& progress, const InterruptWatch& watch) {
  const auto start = Clock::now();
  AudioOptions audio = arguments.audio();
  audio.is_cancelled = [&] { return watch.signal() != 0; };
  double done = 0;
  Heard heard;
  try {
    const auto reader = open_audio(file, audio);
    progress.expect(reader->info());
    Recognition whole = recognizer.recognize(*reader, arguments.options, [&](const RecognizeEvent& event) {
      progress.add(std::max(event.done - done, 0.0), file);
      done = std::max(done, event.done);
      heard.recognition.text += event.text;
      if (event.segment) heard.recognition.segments.push_back(*event.segment);
      return watch.signal() == 0;
    });
    heard.recognition = std::move(whole);
  } catch (const Error&) {
    if (watch.signal() == 0) throw;  // else what was heard by then counts
  }
  heard.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return heard;
}

std::string in_format(const TranscribeArguments& arguments, const std::string& file, const Heard& heard,
                      const SpeechRecognizer& recognizer) {
  const Recognition& recognition = heard.recognition;
  if (arguments.format == "json") {
    const bool is_one_of_many = arguments.files.size() > 1 && arguments.output.empty();  // then a line each
    return to_json(recognition, file, recognizer.facts(), heard.wall_seconds)
               .dump(is_one_of_many ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  }
  const bool timed = arguments.format == "text" && arguments.timestamps;
  return transcript_text(recognition, timed ? "timed" : arguments.format);
}

void write(const TranscribeArguments& arguments, const std::string& file, const std::string& text) {
  if (arguments.output.empty()) {
    if (arguments.files.size() > 1 && arguments.format == "text" && !arguments.timestamps) std::cout << file << ": ";
    if (arguments.files.size() > 1 && arguments.timestamps) std::cout << file << ":\n";
    std::cout << text << (arguments.files.size() > 1 && text.empty() ? "\n" : "") << std::flush;
    return;
  }
  const std::string extension = arguments.format == "text" ? "txt" : arguments.format;
  const fs::path name = file == "-" ? fs::path("stdin") : fs::path(file).filename();
  const fs::path path = fs::path(arguments.output) / cat(name.string(), ".", extension);
  std::error_code problem;
  fs::create_directories(arguments.output, problem);
  if (problem) throw Error(ErrorCode::kIo, cat(arguments.output, ": cannot be made: ", problem.message()));
  OutputFile out(path);
  out.write_at(0, std::as_bytes(std::span(text)));
  out.finish();
}

// Whether the small model inside this program has heard something that it was not made for.
bool is_beyond_ember(const Recognition& recognition, const RecognizerFacts& facts) {
  if (facts.label != "Ember-ASR") return false;
  double sum = 0, tokens = 0;
  for (const RecognizedSegment& segment : recognition.segments) {
    if (!segment.mean_logprob) continue;
    const auto count = static_cast<double>(segment.tokens.size());
    sum += *segment.mean_logprob * count;
    tokens += count;
  }
  return tokens > 0 && sum / tokens < kUnsure;
}

int transcribe(const TranscribeArguments& arguments) {
  const auto recognizer = load(arguments);
  const InterruptWatch watch;
  if (arguments.stream) {
    AudioOptions audio = arguments.audio();
    audio.longest_seconds = std::numeric_limits<double>::infinity();
    const auto sound = arguments.microphone ? open_microphone(audio) : open_audio(arguments.files.front(), audio);
    return transcribe_live(recognizer, arguments.options, *sound, watch);
  }
  const Terminal err = Terminal::of_stderr();
  SoundProgress progress;
  std::deque<std::future<Heard>> running;
  size_t begun = 0;
  int failed = 0;
  const bool tells_speed =
      arguments.stats || (isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) && arguments.format == "text");
  for (const std::string& file : arguments.files) {
    while (begun < arguments.files.size() && running.size() < kFilesTogether) {
      running.push_back(std::async(std::launch::async, [&, name = arguments.files[begun]] {
        return transcribe_file(*recognizer, arguments, name, progress, watch);
      }));
      ++begun;
    }
    std::future<Heard> next = std::move(running.front());
    running.pop_front();
    try {
      const Heard heard = next.get();
      progress.clear();
      write(arguments, file, in_format(arguments, file, heard, *recognizer));
      if (heard.recognition.segments.empty() && isatty(STDERR_FILENO)) {
        std::cerr << err.paint(cat(file, ": nobody speaks"), Colour::kDim) << "\n";
      }
      if (is_beyond_ember(heard.recognition, recognizer->facts())) {
        std::cerr << err.paint(cat(file,
                                   ": Ember-ASR cannot follow this voice well, it knows synthetic English ones. For "
                                   "people: wick pull whisper-base, and --model whisper-base"),
                               Colour::kWarn)
                  << "\n";
      }
      if (tells_speed) std::cerr << err.paint(speed_text(heard.recognition, heard.wall_seconds), Colour::kDim) << "\n";
    } catch (const Error& error) {
      progress.clear();
      if (arguments.files.size() == 1) throw;
      std::cerr << "wick: " << error.what() << "\n";  // the others are still written down
      failed = 1;
    }
    if (watch.signal()) return 128 + watch.signal();
  }
  return failed;
}

void check(TranscribeArguments& arguments) {
  if (arguments.json) {
    if (arguments.format != "text" && arguments.format != "json") throw CLI::ExcludesError("--json", "--format");
    arguments.format = "json";
  }
  if (arguments.files.empty() != arguments.microphone) {
    throw CLI::ValidationError("FILE", arguments.microphone
                                           ? "is not taken together with --microphone"
                                           : "is needed: a sound or video file, or - for standard input");
  }
  if (arguments.files.size() > 1 && arguments.stream) throw CLI::ValidationError("--stream", "takes one FILE");
  if (arguments.stream && arguments.format != "text") throw CLI::ValidationError("--stream", "writes text alone");
  const bool takes_folder = arguments.format != "text" && arguments.format != "json";
  if (arguments.files.size() > 1 && takes_folder && arguments.output.empty()) {
    throw CLI::ValidationError("--format", cat(arguments.format, " of several files needs --output FOLDER"));
  }
}

}  // namespace

void add_transcribe(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("transcribe", "Write down what is said in sound files or videos");
  const auto arguments = std::make_shared<TranscribeArguments>();
  command->add_option("FILE", arguments->files, "Sound or video files; - is standard input");
  command->add_flag("--microphone", arguments->microphone,
                    "Listen to the default microphone until Ctrl-C, as --stream");
  command->add_option(
      "--model", arguments->model,
      "A folder with Qwen3-ASR, Whisper or wav2vec2, a ggml-*.bin, or Org/Name (default: Ember-ASR, built in)");
  command->add_option("--language", arguments->options.language,
                      "What is spoken, e.g. en (default: the model finds out)");
  command->add_option("--context", arguments->options.context, "Names and rare words that are likely to be said")
      ->type_name("TEXT");
  command->add_flag("--translate", arguments->translate, "Write it in English, with models that can");
  command->add_option("--format", arguments->format, "text (default), srt, vtt, tsv or json")
      ->check(CLI::IsMember({"text", "srt", "vtt", "tsv", "json"}).description(""))
      ->type_name("FORMAT");
  command->add_flag("--json", arguments->json, "The same as --format json");
  command->add_flag("--timestamps", arguments->timestamps, "Text with the times of its segments");
  command->add_flag("--words", arguments->words, "With --format json: the times of words, with models that tell them");
  command
      ->add_option("--aligner", arguments->aligner, "A folder with Qwen3-ForcedAligner, for Qwen3-ASR's times of words")
      ->type_name("MODEL");
  command
      ->add_option("--output", arguments->output,
                   "Write FILE.txt, FILE.srt, ... into this folder, which is made if need be")
      ->type_name("FOLDER");
  command->add_flag("--stream", arguments->stream, "Show text while the sound comes in");
  command->add_option("--raw", arguments->raw, "The input has no header: s16 or f32, with @RATE and xCHANNELS")
      ->type_name("FORM");
  command->add_flag("--stats", arguments->stats, "Show how long each stage took on standard error");

  constexpr char kGroup[] = "Model";
  command->add_option("--temperature", arguments->options.temperature, "Draw words instead of taking the likeliest")
      ->check(CLI::Range(0.f, 2.f).description(""))
      ->group(kGroup);
  command->add_option("--seed", arguments->options.seed, "For drawing: the same seed, the same text")->group(kGroup);
  command->add_option("--beams", arguments->options.beams, "Ways to follow at once, with models that search")
      ->check(count_from(1, 64))
      ->type_name("COUNT")
      ->group(kGroup);
  command
      ->add_option("--piece-seconds", arguments->options.piece_seconds, "The longest piece given to the model at once")
      ->check(CLI::Range(1.0, 1200.0).description(""))
      ->type_name("SECONDS")
      ->group(kGroup);
  command->add_flag("--keep-silence", arguments->keep_silence, "Give the model pauses, too")->group(kGroup);
  add_quantize_option(*command, arguments->quantize)->group(kGroup);
  add_threads_option(*command, arguments->threads)->group(kGroup);
  add_device_option(*command, arguments->device)->group(kGroup);
  command->footer(
      "The text goes to standard output. Ember-ASR knows synthetic English voices; for people, give a Qwen3-ASR or\n"
      "Whisper model.\n\n"
      "Examples:\n"
      "  espeak-ng --stdout \"hello there\" | wick transcribe -\n"
      "  wick transcribe interview.mp4 --model models/Qwen3-ASR-0.6B --format srt > interview.srt\n"
      "  wick transcribe *.wav --format json --output transcripts\n"
      "  wick transcribe --microphone");
  command->callback([&action, arguments] {
    check(*arguments);
    arguments->stream = arguments->stream || arguments->microphone;
    arguments->options.task = arguments->translate ? SpeechTask::kTranslate : SpeechTask::kTranscribe;
    arguments->options.times = arguments->words ? TimeDetail::kWords : TimeDetail::kSegments;
    arguments->options.skips_silence = !arguments->keep_silence;
    action = [arguments] { return transcribe(*arguments); };
  });
}

}  // namespace wick
