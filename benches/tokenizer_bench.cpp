#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

// WICK_BENCH_TOKENIZER: the tokenizer to measure, a file or a folder.
namespace wick {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

const Tokenizer* tokenizer() {
  static const auto loaded = []() -> std::unique_ptr<Tokenizer> {
    const auto path = env_text("WICK_BENCH_TOKENIZER");
    if (!path) return nullptr;
    return std::make_unique<Tokenizer>(Tokenizer::load(*path));
  }();
  return loaded.get();
}

// Words of a list with made-up endings, so that a table of recent words does not hold them all.
std::string words_of(const std::vector<std::string>& list) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < kBytes) {
    text += list[static_cast<size_t>(static_cast<double>(list.size()) * std::pow(random() / 4294967296.0, 2))];
    const unsigned ending = random() % 16;
    text += ending == 0 ? ".\n" : ending == 1 ? ", " : ending == 2 ? "s " : ending == 3 ? "'s " : " ";
    if (random() % 64 == 0) text += std::to_string(random() % 100000) + " ";
  }
  return text;
}

std::string english() {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"the", "of",  "and", "to",  "in",   "re",   "con", "pro", "ing", "tion",
                                          "er",  "est", "ly",  "al",  "men",  "ta",   "sta", "ver", "com", "pre",
                                          "dis", "ble", "ity", "ous", "ment", "ness", "ful", "for", "with"};
  std::vector<std::string> list(parts);
  for (int i = 0; i < 6000; ++i) {
    std::string word;
    for (unsigned n = 1 + random() % 3; n > 0; --n) word += parts[random() % parts.size()];
    list.push_back(word);
  }
  return words_of(list);
}

std::string mixed() {
  std::mt19937 random(4);
  const std::vector<std::pair<char32_t, char32_t>> scripts = {{'a', 'z'},       {0x410, 0x44F},   {0x4E00, 0x5200},
                                                              {0x3041, 0x3096}, {0xAC00, 0xB000}, {0x391, 0x3C9},
                                                              {0x5D0, 0x5EA},   {0x905, 0x939},   {0x1F600, 0x1F64F}};
  std::vector<std::string> list;
  for (int i = 0; i < 8000; ++i) {
    const auto [low, high] = scripts[random() % scripts.size()];
    std::string word;
    for (unsigned n = 1 + random() % 6; n > 0; --n) append_utf8(word, low + random() % (high - low + 1));
    list.push_back(word);
  }
  return words_of(list);
}

std::string random_bytes() {
  std::mt19937 random(6);
  std::string text(kBytes, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string random_letters() {
  std::mt19937 random(8);
  std::string text(kBytes, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

std::string real_text() {
  const auto path = env_text("WICK_BENCH_TEXT");
  if (!path) return english();
  std::string text;
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path->c_str(), "rb"), &fclose);
  if (!file) return english();
  std::vector<char> buffer(1 << 16);
  for (size_t read; (read = fread(buffer.data(), 1, buffer.size(), file.get())) > 0;) text.append(buffer.data(), read);
  return text;
}

void run(benchmark::State& state, const std::string& text) {
  if (!tokenizer()) {
    state.SkipWithError("WICK_BENCH_TOKENIZER names no tokenizer");
    return;
  }
  size_t tokens = 0;
  for (auto _ : state) tokens = tokenizer()->encode(text).size();
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
  state.counters["tokens"] = static_cast<double>(tokens);
}

void encode_real(benchmark::State& state) { run(state, real_text()); }
void encode_english(benchmark::State& state) { run(state, english()); }
void encode_mixed(benchmark::State& state) { run(state, mixed()); }
void encode_one_letter(benchmark::State& state) { run(state, std::string(kBytes, 'a')); }
void encode_blanks(benchmark::State& state) { run(state, std::string(kBytes, ' ')); }
void encode_digits(benchmark::State& state) { run(state, std::string(kBytes, '7')); }
void encode_signs(benchmark::State& state) { run(state, std::string(kBytes, '=')); }
void encode_lines(benchmark::State& state) { run(state, std::string(kBytes, '\n')); }
void encode_random_bytes(benchmark::State& state) { run(state, random_bytes()); }
void encode_random_letters(benchmark::State& state) { run(state, random_letters()); }
BENCHMARK(encode_real)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_english)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_mixed)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_one_letter)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_blanks)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_digits)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_signs)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_lines)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_random_bytes)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_random_letters)->Unit(benchmark::kMillisecond);

void decode_english(benchmark::State& state) {
  if (!tokenizer()) return state.SkipWithError("WICK_BENCH_TOKENIZER names no tokenizer");
  const auto ids = tokenizer()->encode(english());
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer()->decode(ids));
  state.SetItemsProcessed(static_cast<int64_t>(ids.size()) * state.iterations());
}
BENCHMARK(decode_english)->Unit(benchmark::kMillisecond);

void load(benchmark::State& state) {
  const auto path = env_text("WICK_BENCH_TOKENIZER");
  if (!path) return state.SkipWithError("WICK_BENCH_TOKENIZER names no tokenizer");
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::load(*path).vocab_size());
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wick
