#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numbers>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "media/audio_reader.h"
#include "support/fixtures.h"

namespace wick {

template <typename T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A WAV file put together by hand, so that it can be wrong in every way.
class WavBytes {
 public:
  explicit WavBytes(const char* id = "RIFF") : bytes_(id) { add<uint32_t>(0).text("WAVE"); }

  template <typename T>
  WavBytes& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  WavBytes& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  WavBytes& format(uint16_t codec, uint16_t channels, uint32_t rate, uint16_t bits) {
    const auto frame = static_cast<uint16_t>(channels * ((bits + 7) / 8));
    text("fmt ").add<uint32_t>(16).add(codec).add(channels).add(rate).add(rate * frame).add(frame).add(bits);
    return *this;
  }
  WavBytes& extensible(uint16_t codec, uint16_t channels, uint32_t rate, uint16_t bits) {
    const auto frame = static_cast<uint16_t>(channels * bits / 8);
    text("fmt ").add<uint32_t>(40).add<uint16_t>(0xFFFE).add(channels).add(rate).add(rate * frame).add(frame).add(bits);
    add<uint16_t>(22).add(bits).add<uint32_t>(0).add(codec);
    return text(std::string_view("\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14));
  }
  WavBytes& chunk(const char* id, std::string_view content) { return chunk(id, content, content.size()); }
  WavBytes& chunk(const char* id, std::string_view content, size_t claimed) {
    text(id).add(static_cast<uint32_t>(claimed)).text(content);
    return content.size() & 1 ? add('\0') : *this;
  }
  // With the size of the whole in its place, or another.
  std::string bytes() const { return bytes(static_cast<uint32_t>(bytes_.size() - 8)); }
  std::string bytes(uint32_t size) const {
    std::string out = bytes_;
    std::memcpy(out.data() + 4, &size, 4);
    return out;
  }

 private:
  std::string bytes_;
};

inline std::unique_ptr<AudioReader> open_bytes(std::string bytes, const AudioOptions& options = {}) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return open_audio_in_memory("sound", std::as_bytes(std::span(*owner)), owner, options);
}

inline std::vector<float> samples_of(std::string bytes, const AudioOptions& options = {}) {
  return read_all(*open_bytes(std::move(bytes), options), int64_t{1} << 24);
}

inline std::vector<float> sine(double hz, double seconds, double loudness, int rate = 16000) {
  std::vector<float> out;
  for (int64_t i = 0; static_cast<double>(i) < seconds * rate; ++i) {
    const double time = static_cast<double>(i) / rate;
    out.push_back(static_cast<float>(loudness * std::sin(2 * std::numbers::pi * hz * time)));
  }
  return out;
}

// While it lives, no ffmpeg is found on the PATH: what it would make of damaged files is its own affair.
class NoPrograms {
 public:
  NoPrograms() : path_(std::getenv("PATH")) { setenv("PATH", "", 1); }
  ~NoPrograms() { setenv("PATH", path_.c_str(), 1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;

 private:
  std::string path_;
};

// tests/fixtures/audio: half a second of 0.5 * sin(2 pi 440 t) in several containers.
inline std::filesystem::path sound_file(const std::string& name) { return fixture_folders("audio").at(0) / name; }

inline std::string bytes_in(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// The amplitude and phase of 440 Hz between 0.1 and 0.4 s (132 periods) at 16 kHz, 0.5 and 0 in the original.
inline std::complex<double> tone_in(const std::vector<float>& samples) {
  std::complex<double> sum = 0;
  for (int i = 1600; i < 6400; ++i) {
    sum += double{samples.at(static_cast<size_t>(i))} * std::polar(1.0, -2 * std::numbers::pi * 440 * i / 16000);
  }
  return sum / 2400.0 * std::complex<double>(0, 1);
}

inline double energy(const std::vector<float>& samples) {
  double sum = 0;
  for (int i = 1600; i < 6400; ++i) sum += double{samples.at(static_cast<size_t>(i))} * samples[static_cast<size_t>(i)];
  return sum / 4800;
}

}  // namespace wick
