#include "media/microphone.h"

#include "base/error.h"
#include "base/shared_library.h"
#include "base/text.h"
#include "media/mono_reader.h"
#include "media/sample_source.h"

namespace wick {
namespace {

// What is used of libasound, as its documentation declares it.
struct AlsaLibrary {
  struct Pcm;
  int (*open)(Pcm** pcm, const char* name, int stream, int mode) = nullptr;
  int (*set_params)(Pcm* pcm, int format, int access, unsigned channels, unsigned rate, int resample,
                    unsigned latency) = nullptr;
  long (*readi)(Pcm* pcm, void* buffer, unsigned long frames) = nullptr;
  int (*recover)(Pcm* pcm, int error, int silent) = nullptr;
  int (*close)(Pcm* pcm) = nullptr;
  const char* (*strerror)(int error) = nullptr;
  using Complain = void (*)(const char* file, int line, const char* function, int error, const char* format, ...);
  int (*set_complain)(Complain complain) = nullptr;
};
constexpr int kCapture = 1, kS16 = 2, kInterleaved = 3;
constexpr unsigned kRate = 16000, kLatency = 200'000;  // microseconds
constexpr size_t kFrames = kRate / 10;

// The library would print; its errors are reported once, by check().
void say_nothing(const char* /*file*/, int /*line*/, const char* /*function*/, int /*error*/, const char* /*format*/,
                 ...) {}

const AlsaLibrary& alsa() {
  static const AlsaLibrary alsa_functions = [] {
    const SharedLibrary library({"libasound.so.2"}, "the microphone is read with libasound");
    AlsaLibrary functions;
    library.find("snd_pcm_open", functions.open);
    library.find("snd_pcm_set_params", functions.set_params);
    library.find("snd_pcm_readi", functions.readi);
    library.find("snd_pcm_recover", functions.recover);
    library.find("snd_pcm_close", functions.close);
    library.find("snd_strerror", functions.strerror);
    library.find("snd_lib_error_set_handler", functions.set_complain);
    functions.set_complain(say_nothing);
    return functions;
  }();
  return alsa_functions;
}

class Microphone : public SampleSource {
 public:
  Microphone() {
    check(alsa().open(&pcm_, "default", kCapture, 0), "there is no microphone");
    const int code = alsa().set_params(pcm_, kS16, kInterleaved, 1, kRate, 1, kLatency);
    if (code < 0) alsa().close(pcm_);
    check(code, "the microphone does not give 16-bit sound at 16 kHz");
    info_ = {"microphone", static_cast<int>(kRate), 1, {}};
  }
  ~Microphone() override { alsa().close(pcm_); }
  Microphone(const Microphone&) = delete;
  Microphone& operator=(const Microphone&) = delete;

  AudioBlock next() override {
    long got = alsa().readi(pcm_, raw_.data(), raw_.size());
    if (got < 0) {  // sound was lost, or the machine slept
      check(alsa().recover(pcm_, static_cast<int>(got), 1), "the microphone has gone");
      got = alsa().readi(pcm_, raw_.data(), raw_.size());
      if (got < 0) check(static_cast<int>(got), "the microphone has gone");
    }
    const auto count = static_cast<size_t>(got);
    decode_pcm(SampleFormat::kS16, std::as_bytes(std::span(raw_).first(count)), std::span(samples_).first(count));
    return {std::span(samples_).first(count), 1, static_cast<int>(kRate)};
  }

 private:
  static void check(int code, const char* what) {
    if (code < 0) throw Error(ErrorCode::kIo, cat(what, ": ", alsa().strerror(code)));
  }

  AlsaLibrary::Pcm* pcm_ = nullptr;
  std::vector<int16_t> raw_ = std::vector<int16_t>(kFrames);
  std::vector<float> samples_ = std::vector<float>(kFrames);
};

}  // namespace

std::unique_ptr<AudioReader> open_microphone(const AudioOptions& options) {
  return mono_reader(std::make_unique<Microphone>(), "the microphone", options);
}

}  // namespace wick
