#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "media/audio_reader.h"
#include "support/places.h"

namespace wick {

// A recording of models/ember-asr with what was said and what the reference hears.
struct SpeechSample {
  std::filesystem::path file;
  std::string said, heard;

  std::vector<float> samples() const { return read_all(*open_audio(file), 16000 * 60); }
};

inline std::vector<SpeechSample> speech_samples() {
  const std::filesystem::path folder = std::filesystem::path(WICK_SOURCE_DIR) / "models/ember-asr/samples";
  std::ifstream table(folder / "transcripts.tsv");
  std::vector<SpeechSample> samples;
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    std::string file, said, heard;
    std::getline(cells, file, '\t');
    std::getline(cells, said, '\t');
    std::getline(cells, heard, '\t');
    samples.push_back({folder / file, said, heard});
  }
  return samples;
}

// The first of them in a row, with silence of so many seconds before each.
inline std::vector<float> some_speech(double pause, size_t count = 12) {
  std::vector<float> sound;
  for (const SpeechSample& sample : speech_samples()) {
    if (count-- == 0) break;
    sound.resize(sound.size() + static_cast<size_t>(pause * 16000));
    const std::vector<float> samples = sample.samples();
    sound.insert(sound.end(), samples.begin(), samples.end());
  }
  return sound;
}

inline std::vector<std::string> words_of(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    plain += std::isalnum(byte) || byte >= 128 ? static_cast<char>(std::tolower(byte)) : ' ';
  }
  std::istringstream in(plain);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Words that are wrong, missing or too many, by the least changes that make one text of the other.
inline int64_t word_errors(const std::string& heard, const std::string& said) {
  const std::vector<std::string> a = words_of(heard), b = words_of(said);
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace wick
