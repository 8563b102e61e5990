#include "media/audio_reader.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg.h"
#include "media/ffmpeg_program.h"
#include "media/mono_reader.h"
#include "media/pcm_source.h"
#include "media/resampler.h"
#include "media/wav.h"

namespace wick {
namespace {

constexpr size_t kReadAtOnce = 16384;  // samples, between two looks at whether it is cancelled
// A recording may change its rate; each time costs as much as many seconds of sound.
constexpr int kMostRates = 64;

class MonoReader : public AudioReader {
 public:
  MonoReader(std::unique_ptr<SampleSource> source, std::string name, const AudioOptions& options)
      : source_(std::move(source)),
        name_(std::move(name)),
        sample_rate_(options.sample_rate),
        longest_(options.longest_seconds),
        is_cancelled_(options.is_cancelled) {}

  const AudioInfo& info() const override { return source_->info(); }

  int64_t read(std::span<float> out) override {
    int64_t filled = 0;
    while (filled < std::ssize(out)) {
      check_cancelled(is_cancelled_, name_);
      const auto wanted = out.subspan(static_cast<size_t>(filled));
      const auto piece = wanted.first(std::min(wanted.size(), kReadAtOnce));
      const int64_t got = resampler_ ? resampler_->read(piece) : 0;
      filled += got;
      count(got);
      if (got == std::ssize(piece)) continue;
      if (has_next_) {  // the old rate has been read to its end
        resampler_.emplace(next_rate_, sample_rate_);
        resampler_->push(mono_);
        has_next_ = false;
      } else if (is_over_) {
        break;
      } else {
        fetch();
      }
    }
    return filled;
  }

 private:
  void count(int64_t samples) {
    samples_out_ += samples;
    if (static_cast<double>(samples_out_) <= longest_ * sample_rate_) return;
    throw Error(ErrorCode::kBadFile, cat(name_, ": the sound is longer than ", longest_, " seconds"));
  }

  void fetch() {
    const AudioBlock block = source_->next();
    if (block.samples.empty()) {
      is_over_ = true;
      if (resampler_) resampler_->finish();
      return;
    }
    check_audio_format(block.sample_rate, block.channels, name_);
    mono_.resize(block.samples.size() / static_cast<size_t>(block.channels));
    mix_to_mono(block.samples, block.channels, mono_);
    check_samples(mono_, samples_before_, block.sample_rate, name_);
    samples_before_ += std::ssize(mono_);
    if (resampler_ && resampler_->from_rate() == block.sample_rate) {
      resampler_->push(mono_);
      return;
    }
    if (++rates_ > kMostRates) {
      throw Error(ErrorCode::kBadFile, cat(name_, ": the sample rate changes more than ", kMostRates, " times"));
    }
    if (resampler_) resampler_->finish();
    next_rate_ = block.sample_rate;
    has_next_ = true;
  }

  std::unique_ptr<SampleSource> source_;
  std::string name_;
  int sample_rate_;
  double longest_;
  std::function<bool()> is_cancelled_;
  std::optional<Resampler> resampler_;  // of the rate of the last block
  std::vector<float> mono_;
  int64_t samples_before_ = 0, samples_out_ = 0;
  int next_rate_ = 0, rates_ = 0;
  bool has_next_ = false;  // mono_ is of next_rate_ and waits for the resampler to be read to its end
  bool is_over_ = false;
};

// For messages when nothing can open it: what the first bytes say.
std::string kind_of(ByteInput& input) {
  const auto bytes = input.peek(12);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("fLaC")) return "FLAC";
  if (text.starts_with("OggS")) return "Ogg";
  if (text.starts_with("ID3") || text.starts_with("\xFF\xFB") || text.starts_with("\xFF\xF3")) return "MP3";
  if (text.starts_with("\x1A\x45\xDF\xA3")) return "WebM or Matroska";
  if (text.size() == 12 && text.substr(4, 4) == "ftyp") return "MP4";
  return "of another kind";
}

std::unique_ptr<AudioReader> open_input(ByteInput input, const AudioOptions& options) {
  if (options.sample_rate < kMinSampleRate || options.sample_rate > kMaxSampleRate) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a sample rate of ", options.sample_rate, " Hz was asked for, outside ", kMinSampleRate, " to ",
                    kMaxSampleRate));
  }
  std::string name = input.name();
  std::unique_ptr<SampleSource> source;
  if (options.raw) {
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    source = std::make_unique<PcmSource>(std::move(input), *options.raw, cat("raw ", options.raw->format), kAll);
  } else {
    if (input.peek(1).empty()) throw Error(ErrorCode::kBadFile, cat(name, ": the file is empty"));
    const bool wav = is_wav(input);
    if (wav) source = open_wav(input);
    if (!source) {
      const std::string kind = wav ? wav_codec_name(input) : kind_of(input);
      const auto program = has_ffmpeg() ? std::nullopt : find_ffmpeg_program();
      source = program ? open_with_ffmpeg_program(*program, std::move(input), options.is_cancelled)
                       : open_with_ffmpeg(std::move(input), kind, options.is_cancelled);
    }
  }
  return mono_reader(std::move(source), std::move(name), options);
}

}  // namespace

void check_cancelled(const std::function<bool()>& is_cancelled, const std::string& name) {
  if (is_cancelled && is_cancelled()) throw Error(ErrorCode::kIo, cat(name, ": reading it was cancelled"));
}

std::unique_ptr<AudioReader> mono_reader(std::unique_ptr<SampleSource> source, std::string name,
                                         const AudioOptions& options) {
  return std::make_unique<MonoReader>(std::move(source), std::move(name), options);
}

std::unique_ptr<AudioReader> open_audio(const std::filesystem::path& path, const AudioOptions& options) {
  return open_input(ByteInput::open(path), options);
}

std::unique_ptr<AudioReader> open_audio_in_memory(std::string name, std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner, const AudioOptions& options) {
  return open_input(ByteInput::in_memory(std::move(name), bytes, std::move(owner)), options);
}

std::unique_ptr<AudioReader> read_samples(std::span<const float> samples, std::string name) {
  AudioOptions options;
  options.raw = RawAudio{SampleFormat::kF32, options.sample_rate, 1};
  return open_audio_in_memory(std::move(name), std::as_bytes(samples), nullptr, options);
}

std::vector<float> read_all(AudioReader& reader, int64_t limit) {
  std::vector<float> all;
  std::array<float, 16384> piece;
  while (const int64_t got = reader.read(piece)) {
    if (got > limit - std::ssize(all)) {
      throw Error(ErrorCode::kInvalidArgument, cat("the sound is longer than ", limit, " samples"));
    }
    all.insert(all.end(), piece.begin(), piece.begin() + got);
  }
  return all;
}

}  // namespace wick
