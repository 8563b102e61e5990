#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wick {

// Sample rates and channels that are believed. Below the least rate there is no speech, and each sample would make
// many.
inline constexpr int kMinSampleRate = 1'000;
inline constexpr int kMaxSampleRate = 768'000;
inline constexpr int kMaxChannels = 256;
// Louder than this (full scale is 1) is damage: the squares of sums of such samples would leave the range of f32.
inline constexpr float kMaxSample = 1e9f;

// Uncompressed samples, little endian.
enum class SampleFormat : uint8_t { kU8, kS16, kS24, kS32, kF32, kF64 };

std::string_view to_string(SampleFormat format);  // "s16"
int bytes_per_sample(SampleFormat format);

// Integers are scaled to [-1, 1). `bytes` holds exactly out.size() samples.
void decode_pcm(SampleFormat format, std::span<const std::byte> bytes, std::span<float> out);

// The mean of the channels of each frame. `samples` are interleaved and hold exactly out.size() frames.
void mix_to_mono(std::span<const float> samples, int channels, std::span<float> out);

// Throws Error(kBadFile) naming what and where when a sample is NaN, infinite or beyond kMaxSample. `first` is the
// number of samples before these.
void check_samples(std::span<const float> samples, int64_t first, int sample_rate, const std::string& name);
// Throws Error(kBadFile) unless the rate is kMinSampleRate to kMaxSampleRate and there are 1 to kMaxChannels channels.
void check_audio_format(int64_t sample_rate, int64_t channels, const std::string& name);

}  // namespace wick
