#include "engine/speech/whisper_recognizer.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/speech/whisper_alignment.h"
#include "engine/speech/whisper_segments.h"
#include "engine/speech/whisper_window.h"
#include "engine/speech/whisper_words.h"
#include "media/energy_scorer.h"
#include "media/log_mel.h"
#include "media/voice_activity.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kSamplesPerSecond = kMelSampleRate;
constexpr int64_t kMostBeams = 16;
constexpr int64_t kDraws = 5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Does a piece of work and adds the time it took.
template <typename Body>
auto timed(double& seconds, const Body& body) {
  const Clock::time_point start = Clock::now();
  auto result = body();
  seconds += seconds_since(start);
  return result;
}

Json load_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? Json::load(path) : Json();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

WhisperTokens tokens_of(const Tokenizer& tokenizer, const Whisper& model, const Json& generation) {
  const int64_t vocabulary = model.config().vocabulary;
  const bool english = is_english_vocabulary(vocabulary);
  const bool one_language = generation.is_object() ? !generation.get("is_multilingual", !english) : english;
  return WhisperTokens::find(tokenizer, vocabulary, model.config().source_positions + 1, one_language);
}

// Heads that follow the sound. Where nobody says which: all of the upper half.
std::vector<WhisperDecoder::Head> alignment_heads_of(const Whisper& model, const Json& generation) {
  const WhisperConfig& config = model.config();
  std::vector<WhisperDecoder::Head> heads;
  const Json* given = generation.is_object() ? generation.find("alignment_heads") : nullptr;
  if (given && !given->is_null()) {
    for (const auto& pair : given->to<std::vector<std::vector<int64_t>>>()) {
      const bool is_head = pair.size() == 2 && pair[0] >= 0 && pair[0] < config.decoder_layers && pair[1] >= 0 &&
                           pair[1] < config.decoder_heads;
      if (!is_head) throw Error(ErrorCode::kBadFile, cat(given->place(), " names a head that the model does not have"));
      heads.push_back({pair[0], pair[1]});
    }
  }
  for (int64_t layer = config.decoder_layers / 2; heads.empty() && layer < config.decoder_layers; ++layer) {
    for (int64_t head = 0; head < config.decoder_heads; ++head) heads.push_back({layer, head});
  }
  return heads;
}

}  // namespace

std::shared_ptr<const SpeechRecognizer> WhisperRecognizer::load(const fs::path& path, const ModelOptions& options) {
  const WeightSource source(Checkpoint::open(path));
  const Checkpoint& checkpoint = source.checkpoint();
  std::unique_ptr<const Whisper> model = Whisper::load(source, options);
  const fs::path named = fs::weakly_canonical(path);
  std::string label = fs::is_directory(path) ? named.filename().string() : named.stem().string();
  const bool ggml = checkpoint.kind() == Checkpoint::Kind::kGgmlWhisper;
  Tokenizer tokenizer = ggml ? ggml_tokenizer(*checkpoint.files().front(), model->config().vocabulary)
                             : Tokenizer::load(checkpoint.folder());
  const Json generation = ggml ? Json() : load_if_there(checkpoint.folder() / "generation_config.json");
  std::vector<std::shared_ptr<const MappedFile>> files;
  if (options.quantize == "auto" && options.device == Device::cpu()) files = checkpoint.files();
  return std::make_shared<WhisperRecognizer>(std::move(label), std::move(model), std::move(tokenizer), generation,
                                             std::move(files));
}

WhisperRecognizer::WhisperRecognizer(std::string label, std::unique_ptr<const Whisper> model, Tokenizer tokenizer,
                                     const Json& generation, std::vector<std::shared_ptr<const MappedFile>> files)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      rules_(tokens_of(tokenizer_, *model_, generation), tokenizer_, model_->config().vocabulary, generation),
      files_(std::move(files)) {
  alignment_heads_ = alignment_heads_of(*model_, generation);
  facts_.label = std::move(label);
  facts_.family = "whisper";
  facts_.parameters = model_->parameters();
  facts_.weight_bytes = model_->weight_bytes();
  facts_.tells_words = true;
  facts_.translates = !rules_.tokens().english_only;
  if (rules_.tokens().english_only) facts_.languages.emplace_back("en");
  for (const WhisperTokens::Spoken& spoken : rules_.tokens().languages) {
    facts_.languages.emplace_back(spoken.language->code);
  }
}

WhisperRecognizer::~WhisperRecognizer() {
  is_ending_ = true;
  if (large_pages_.joinable()) large_pages_.join();
}

void WhisperRecognizer::use_large_pages() const {
  if (files_.empty() || !kHasThreads) return;
  std::call_once(large_pages_once_, [this] {
    large_pages_ = std::thread([this] {
      try {
        for (const auto& file : files_) file->use_large_pages(&is_ending_);
      } catch (const Error&) {
        // Slower, not wrong: weights that were not moved are where they were.
      }
    });
  });
}

// One recording, from beginning to end.
class WhisperRecognizer::Run {
 public:
  Run(const WhisperRecognizer& on, AudioReader& sound, const RecognizeOptions& options, RecognizeCallback callback)
      : on_(on),
        tokens_(on.rules_.tokens()),
        sound_(sound),
        options_(options),
        callback_(callback),
        language_(checked_language()),
        window_samples_(on.model_->config().frames() * kMelHop),
        search_(*on.model_, on.rules_, std::max(options.beams, kDraws)) {
    if (!trimmed(options.context).empty()) {
      EncodeOptions plain;
      plain.add_special = false;
      plain.special = SpecialTokens::kAsText;
      const std::vector<int> ids = on.tokenizer_.encode(cat(" ", trimmed(options.context)), plain);
      said_.assign(ids.begin(), ids.end());
    }
  }

  Recognition run() {
    while (wanted_ && fill()) hear_window();
    result_.seconds = static_cast<double>(begin_) / kSamplesPerSecond;
    result_.tokens = static_cast<int64_t>(written_);
    if (language_ && (!result_.text.empty() || !options_.language.empty())) result_.language = language_->code;
    return std::move(result_);
  }

 private:
  const WhisperLanguage* checked_language() const {
    const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, what); };
    if (options_.beams < 1 || options_.beams > kMostBeams) {
      throw bad(cat("beams = ", options_.beams, ", expected 1 to ", kMostBeams));
    }
    if (!(options_.temperature >= 0 && options_.temperature <= 2)) {
      throw bad(cat("temperature = ", options_.temperature, ", expected 0 to 2"));
    }
    if (tokens_.english_only && options_.task == SpeechTask::kTranslate) {
      throw bad("this whisper was made for English alone and does not translate");
    }
    const WhisperLanguage* english = find_whisper_language("en");
    if (options_.language.empty()) return tokens_.english_only ? english : nullptr;
    const WhisperLanguage* language = find_whisper_language(options_.language);
    const bool known = language && (tokens_.english_only ? language == english
                                                         : tokens_.token_of(language->code).has_value());
    if (known) return language;
    std::string codes;
    for (const std::string& code : on_.facts_.languages) codes += cat(codes.empty() ? "" : ", ", code);
    throw bad(cat("the language '", options_.language, "' is not one of those this whisper knows: ", codes));
  }

  // Reads until the window is full or the sound is over; false when nothing is left.
  bool fill() {
    const size_t there = window_.size();
    if (!over_ && there < static_cast<size_t>(window_samples_)) {
      window_.resize(static_cast<size_t>(window_samples_));
      const int64_t got = sound_.read(std::span(window_).subspan(there));
      window_.resize(there + static_cast<size_t>(got));
      over_ = window_.size() < static_cast<size_t>(window_samples_);
    }
    return !window_.empty();
  }

  // The window moves on.
  void advance(int64_t samples) {
    samples = std::clamp<int64_t>(samples, 1, static_cast<int64_t>(window_.size()));
    window_.erase(window_.begin(), window_.begin() + samples);
    begin_ += samples;
  }

  void pass_over_silence() {
    advance(static_cast<int64_t>(window_.size()));
    wanted_ = callback_({.done = static_cast<double>(begin_) / kSamplesPerSecond});
  }

  bool somebody_speaks() const {
    return !find_speech(window_, std::make_unique<EnergyScorer>(), SegmentOptions::for_energy()).empty();
  }

  void hear_window() {
    if (options_.skips_silence && !somebody_speaks()) return pass_over_silence();
    if (windows_ > 0) on_.use_large_pages();
    listen();
    size_t start = 0;
    const std::vector<int32_t> prompt = make_prompt(start);
    const float no_speech = timed(result_.took.prompt, [&] { return search_.read_prompt(prompt, start); });
    WhisperSearchOptions how;
    how.temperature = options_.temperature;
    how.beams = options_.beams;
    how.draws = kDraws;
    how.seed = options_.seed;
    how.stream = windows_++;
    const WhisperDecision made = timed(result_.took.decoder, [&] {
      return write_window(search_, on_.tokenizer_, tokens_, no_speech, how);
    });
    const bool guesses = made.text.mean_logprob() <= WhisperLimits::kMeanLogprob;
    if (made.no_speech > WhisperLimits::kNoSpeech && guesses) return pass_over_silence();
    take_text(made);
  }

  void listen() {
    const WhisperConfig& config = on_.model_->config();
    const Tensor mel = timed(result_.took.mel, [&] {
      return log_mel(window_, {static_cast<int>(config.bins), window_samples_});
    });
    const Tensor heard = timed(result_.took.encoder, [&] { return on_.model_->encoder().encode(mel); });
    search_.hear(timed(result_.took.prompt, [&] { return on_.model_->decoder().state_for(heard, DType::kF16); }));
    if (!language_) language_ = tokens_.languages[search_.detect_language()].language;
  }

  size_t most_told() const { return static_cast<size_t>(on_.model_->decoder().facts().max_context / 2 - 1); }

  std::vector<int32_t> start_tokens() const {
    if (tokens_.english_only) return {tokens_.start};
    return {tokens_.start, *tokens_.token_of(language_->code),
            options_.task == SpeechTask::kTranslate ? tokens_.translate : tokens_.transcribe};
  }

  // What was said before, then what to do.
  std::vector<int32_t> make_prompt(size_t& start) const {
    std::vector<int32_t> prompt;
    const size_t count = std::min(said_.size(), most_told());
    if (count > 0) {
      prompt.push_back(tokens_.previous);
      prompt.insert(prompt.end(), said_.end() - static_cast<ptrdiff_t>(count), said_.end());
    }
    start = prompt.size();
    const std::vector<int32_t> begin = start_tokens();
    prompt.insert(prompt.end(), begin.begin(), begin.end());
    const bool fits = begin_ == 0 && over_;  // longer sound needs times to go from window to window
    if (options_.times == TimeDetail::kNone && fits) prompt.push_back(tokens_.no_times);
    return prompt;
  }

  void take_text(const WhisperDecision& made) {
    const double window_seconds = static_cast<double>(window_.size()) / kSamplesPerSecond;
    const double window_begin = static_cast<double>(begin_) / kSamplesPerSecond;
    const WhisperCut cut = cut_at_times(made.text.tokens, tokens_, window_seconds);
    written_ += made.text.tokens.size();
    std::vector<TimedWord> words;
    if (options_.times == TimeDetail::kWords) words = timed(result_.took.decoder, [&] { return words_of(made.text); });
    for (const WhisperSegment& part : cut.segments) {
      const std::string text = text_of(part.tokens, on_.tokenizer_, tokens_);
      if (part.begin >= part.end || trimmed(text).empty()) continue;
      said_.insert(said_.end(), part.tokens.begin(), part.tokens.end());
      if (wanted_) wanted_ = tell(made, part, window_begin, text, words);
    }
    if (made.temperature > WhisperLimits::kForgetsAbove) said_.clear();
    const auto told = static_cast<ptrdiff_t>(most_told());
    if (std::ssize(said_) > told) said_.erase(said_.begin(), said_.end() - told);
    advance(static_cast<int64_t>(cut.next * kSamplesPerSecond + 0.5));
  }

  struct TimedWord {
    RecognizedWord word;  // within the window
    size_t token;         // of the text, its first
  };

  // The words of a text, by where its tokens look when the model reads it without times.
  std::vector<TimedWord> words_of(const WhisperText& text) const {
    std::vector<int32_t> said;
    std::vector<float> logprobs;
    std::vector<size_t> places;
    std::vector<WhisperWord> split;
    const auto end_run = [&](size_t begin) {  // of text between times, where no word goes on
      for (WhisperWord& word : split_words(std::span(said).subspan(begin), on_.tokenizer_, writes_blanks(language_->code))) {
        word.first += begin;
        split.push_back(std::move(word));
      }
    };
    size_t run = 0;
    for (size_t i = 0; i < text.tokens.size(); ++i) {
      if (!tokens_.is_text(text.tokens[i])) {
        end_run(run);
        run = said.size();
        continue;
      }
      said.push_back(text.tokens[i]);
      logprobs.push_back(text.logprobs[i]);
      places.push_back(i);
    }
    end_run(run);
    if (said.empty()) return {};
    std::vector<int32_t> read = start_tokens();
    const auto first = static_cast<int64_t>(read.size());
    read.push_back(tokens_.no_times);
    read.insert(read.end(), said.begin(), said.end());
    read.push_back(tokens_.end);
    constexpr int64_t kSamplesPerPosition = 2 * kMelHop;
    const auto positions = std::max<int64_t>(static_cast<int64_t>(window_.size()) / kSamplesPerPosition, 1);
    // The row of a token tells where the next one is: rows from the one before the text on.
    const Tensor looks = on_.model_->decoder().look_at_heard(read, search_.heard(), on_.alignment_heads_, positions);
    const std::vector<int64_t> begins = align_rows(looks, first, static_cast<int64_t>(read.size()) - 1);
    const auto words = time_words(split, begins, logprobs, WhisperTokens::kSecondsPerTime);
    std::vector<TimedWord> made;
    for (size_t i = 0; i < words.size(); ++i) {
      if (!words[i].text.empty()) made.push_back({words[i], places[split[i].first]});
    }
    return made;
  }

  bool tell(const WhisperDecision& made, const WhisperSegment& part, double window_begin, const std::string& text,
            std::span<const TimedWord> words) {
    RecognizedSegment segment;
    segment.begin = window_begin + part.begin;
    segment.end = window_begin + part.end;
    segment.text = trimmed(text);
    segment.tokens.assign(part.tokens.begin(), part.tokens.end());
    segment.temperature = made.temperature;
    segment.mean_logprob = made.text.mean_logprob();
    segment.no_speech = made.no_speech;
    segment.compression = static_cast<float>(made.compression);
    for (const TimedWord& timed : words) {
      if (timed.token < part.first || timed.token >= part.first + part.tokens.size()) continue;
      segment.words.push_back(timed.word);
      segment.words.back().begin += window_begin;
      segment.words.back().end += window_begin;
    }
    // Words are apart by the blank that the next text begins with.
    const size_t first = text.find(segment.text);
    const std::string_view shown =
        std::string_view(text).substr(result_.text.empty() ? first : 0, (result_.text.empty() ? 0 : first) + segment.text.size());
    result_.text += shown;
    result_.segments.push_back(std::move(segment));
    return callback_({result_.segments.back().end, shown, &result_.segments.back()});
  }

  const WhisperRecognizer& on_;
  const WhisperTokens& tokens_;
  AudioReader& sound_;
  const RecognizeOptions& options_;
  RecognizeCallback callback_;
  const WhisperLanguage* language_;  // null: not known yet
  int64_t window_samples_;
  WhisperSearch search_;

  std::vector<float> window_;  // of sound, from sample begin_ on
  int64_t begin_ = 0;
  bool over_ = false, wanted_ = true;
  std::vector<int32_t> said_;  // tokens of the windows before
  uint64_t windows_ = 0;
  size_t written_ = 0;
  Recognition result_;
};

Recognition WhisperRecognizer::recognize(AudioReader& sound, const RecognizeOptions& options,
                                         RecognizeCallback callback) const {
  return Run(*this, sound, options, callback).run();
}

}  // namespace wick
