// Token masks of realistic schemas against a vocabulary of 150,000 tokens. Each document is walked token by token with
// a grammar compiled for it, so that the first mask of every state is counted too ("cold"), and once more with what is
// then known ("warm"). Counters: median, 99th percentile and maximum in microseconds of the thread's own time per mask.
//
// The vocabulary is that of Qwen 3, when WICK_EXTRA_FIXTURES names a folder with tokenizers/qwen3.tokenizer.json.xz;
// else a made-up one of similar shape.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "benches/grammar_documents.h"
#include "benches/grammar_vocabulary.h"
#include "grammar/grammar.h"

namespace wick {
namespace {

// Time of this thread, not of others that share the machine.
double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

struct Vocabulary {
  std::shared_ptr<const TokenVocabulary> tokens;
  std::unordered_map<std::string, int> ids;
  size_t longest = 0;
};

const Vocabulary& vocabulary() {
  static const Vocabulary kVocabulary = [] {
    Vocabulary result;
    std::vector<std::string> tokens = bench_vocabulary();
    for (size_t i = 0; i < tokens.size(); ++i) {
      result.ids.emplace(tokens[i], static_cast<int>(i));
      result.longest = std::max(result.longest, tokens[i].size());
    }
    const int end = static_cast<int>(tokens.size());
    tokens.emplace_back();
    result.tokens =
        std::make_shared<const TokenVocabulary>(std::move(tokens), std::vector<int>{}, std::vector<int>{end});
    return result;
  }();
  return kVocabulary;
}

// The longest token first: close enough to what a model writes.
std::vector<int> tokenize(const std::string& text) {
  std::vector<int> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min(vocabulary().longest, text.size() - at);
    while (!vocabulary().ids.count(text.substr(at, length))) --length;
    tokens.push_back(vocabulary().ids.at(text.substr(at, length)));
    at += length;
  }
  return tokens;
}

// Microseconds of each mask along the document; empty when the document does not match.
std::vector<double> walk(GrammarState state, const std::vector<int>& tokens) {
  std::vector<uint32_t> bits((static_cast<size_t>(vocabulary().tokens->size()) + 31) / 32);
  std::vector<double> times;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const double start = thread_microseconds();
    state.mask(bits);
    times.push_back(thread_microseconds() - start);
    if (i == tokens.size()) break;
    const auto token = static_cast<uint32_t>(tokens[i]);
    if (!(bits[token / 32] >> (token % 32) & 1) || !state.accept(tokens[i])) return {};
  }
  return state.is_complete() ? times : std::vector<double>{};
}

double percentile(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, static_cast<size_t>(share * static_cast<double>(times.size())))];
}

// All documents, or one: each with its own grammar.
void measure(benchmark::State& state, const std::vector<GrammarDocument>& documents, bool is_warm) {
  std::vector<double> times;
  for (auto _ : state) {
    for (const GrammarDocument& document : documents) {
      const Grammar grammar = Grammar::from_json_schema(Json::parse(document.schema, document.name));
      const std::vector<int> tokens = tokenize(document.text);
      if (is_warm) walk(GrammarState(grammar, vocabulary().tokens), tokens);
      const std::vector<double> found = walk(GrammarState(grammar, vocabulary().tokens), tokens);
      if (found.empty())
        return state.SkipWithError((std::string(document.name) + ": the document was refused").c_str());
      times.insert(times.end(), found.begin(), found.end());
    }
  }
  state.counters["median_us"] = percentile(times, 0.5);
  state.counters["p99_us"] = percentile(times, 0.99);
  state.counters["max_us"] = percentile(times, 1.0);
  state.counters["masks"] = static_cast<double>(times.size());
}

void build_vocabulary(benchmark::State& state) {
  const std::vector<std::string> tokens = bench_vocabulary();
  for (auto _ : state) benchmark::DoNotOptimize(TokenVocabulary(tokens, {}, {}));
}

void compile_all(benchmark::State& state) {
  for (auto _ : state) {
    for (const GrammarDocument& document : grammar_documents()) {
      benchmark::DoNotOptimize(Grammar::from_json_schema(Json::parse(document.schema, document.name)));
    }
  }
  state.counters["schemas"] = static_cast<double>(grammar_documents().size());
}

const bool kRegistered = [] {
  for (const bool is_warm : {false, true}) {
    const std::string temperature = is_warm ? "/warm" : "/cold";
    benchmark::RegisterBenchmark(("grammar/mask/all" + temperature).c_str(),
                                 [is_warm](benchmark::State& state) { measure(state, grammar_documents(), is_warm); })
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
    for (const GrammarDocument& document : grammar_documents()) {
      benchmark::RegisterBenchmark(
          ("grammar/mask/" + std::string(document.name) + temperature).c_str(),
          [&document, is_warm](benchmark::State& state) { measure(state, {document}, is_warm); })
          ->Iterations(5)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("grammar/vocabulary/build", build_vocabulary)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("grammar/schema/compile", compile_all)->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
}  // namespace wick
