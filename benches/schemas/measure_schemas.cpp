// How much of a collection of JSON Schemas can be enforced, how exactly, and how fast: reads a folder of JSON files,
// each {"schema": ..., "tests": [{"data": ..., "valid": true}, ...]} as in JSONSchemaBench, or a list of such groups as
// in JSON-Schema-Test-Suite, and walks every instance token by token under the mask. See --help.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/text.h"
#include "benches/grammar_vocabulary.h"
#include "grammar/grammar.h"

namespace wick {
namespace {

// Time of this thread, not of others that share the machine.
double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void append_json(std::string& out, const Json& json) {
  if (json.is_null()) {
    out += "null";
  } else if (json.is_bool()) {
    out += json.as_bool() ? "true" : "false";
  } else if (json.is_number()) {
    std::string text;
    const bool is_small = json.is_int() && std::abs(json.as_number()) < 9e18;
    is_small ? append_number(text, json.as_int()) : append_number(text, json.as_number());
    // 1.0 is not written like 1.
    if (!json.is_int() && text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    out += text;
  } else if (json.is_text()) {
    append_json_text(out, json.as_text());
  } else if (json.is_array()) {
    out += '[';
    for (size_t i = 0; i < json.as_array().size(); ++i) {
      if (i > 0) out += ", ";
      append_json(out, json.as_array()[i]);
    }
    out += ']';
  } else {
    out += '{';
    bool is_first = true;
    for (const auto& [name, value] : json.as_object()) {
      if (!std::exchange(is_first, false)) out += ", ";
      append_json_text(out, name);
      out += ": ";
      append_json(out, value);
    }
    out += '}';
  }
}

struct Options {
  std::filesystem::path folder, tokenizer;
  MemberOrder order = MemberOrder::kSchema;
  bool lists_all = false;
};

struct Times {
  std::vector<double> values;

  void print(const char* what, const char* unit) {
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
    };
    double sum = 0;
    for (const double value : values) sum += value;
    std::printf("%-10s %9zu  mean %8.3f  p50 %8.3f  p99 %8.3f  p99.9 %8.3f  max %8.3f %s\n", what, values.size(),
                sum / static_cast<double>(values.size()), at(0.5), at(0.99), at(0.999), values.back(), unit);
  }
};

class Measurement {
 public:
  explicit Measurement(const Options& options) : options_(options) {
    std::vector<std::string> tokens = real_vocabulary(options.tokenizer);
    if (tokens.empty()) throw Error(ErrorCode::kBadFile, cat(options.tokenizer.string(), ": no tokenizer.json"));
    for (size_t i = 0; i < tokens.size(); ++i) {
      ids_.emplace(tokens[i], static_cast<int>(i));
      if (tokens[i].empty()) continue;
      size_t& longest = longest_[static_cast<uint8_t>(tokens[i][0])];
      longest = std::max(longest, tokens[i].size());
    }
    const int end = static_cast<int>(tokens.size());
    tokens.emplace_back();
    vocabulary_ = std::make_shared<const TokenVocabulary>(std::move(tokens), std::vector<int>{}, std::vector<int>{end});
    bits_.resize((static_cast<size_t>(vocabulary_->size()) + 31) / 32);
  }

  void measure_file(const std::filesystem::path& file) {
    file_ = std::filesystem::relative(file, options_.folder).string();
    std::optional<Json> json;
    try {
      json = Json::load(file);
    } catch (const Error& error) {
      ++unreadable_;
      if (options_.lists_all) std::printf("unreadable: %s\n", error.what());
      return;
    }
    if (json->is_array()) {
      for (const Json& group : json->as_array()) measure_group(group);
    } else {
      measure_group(*json);
    }
  }

  void print() {
    std::printf("schemas %zu (%zu files unreadable), compiled %zu (%.2f %%)\n", schemas_, unreadable_, compiled_,
                100.0 * static_cast<double>(compiled_) / static_cast<double>(std::max<size_t>(schemas_, 1)));
    std::printf("valid instances of these: %zu, refused %zu; invalid: %zu, accepted %zu; ended in an error: %zu\n",
                valid_, wrongly_refused_, invalid_, wrongly_accepted_, failed_);
    compile_times_.print("compile", "ms");
    mask_times_.print("masks", "us");
    std::vector<std::pair<size_t, std::string>> reasons;
    for (const auto& [reason, files] : refusals_) reasons.emplace_back(files.size(), reason);
    std::sort(reasons.rbegin(), reasons.rend());
    for (const auto& [count, reason] : reasons) {
      std::printf("%6zu  %s  (%s)\n", count, reason.c_str(), refusals_[reason][0].c_str());
    }
  }

 private:
  void measure_group(const Json& group) {
    const Json* schema = group.find("schema");
    if (!schema) return;
    ++schemas_;
    std::optional<Grammar> grammar;
    const double start = thread_milliseconds();
    try {
      grammar = Grammar::from_json_schema(*schema, JsonLayout::kOneLine, options_.order);
    } catch (const Error& error) {
      refusals_[reason_of(error)].push_back(cat(file_, " ", group.get("description", "")));
      refused_times_.values.push_back(thread_milliseconds() - start);
      if (options_.lists_all) {
        std::printf("refused: %s: %s: %s (%.1f ms)\n", file_.c_str(), group.get("description", "").c_str(),
                    error.what(), thread_milliseconds() - start);
      }
      return;
    }
    const double time = thread_milliseconds() - start;
    compile_times_.values.push_back(time);
    if (options_.lists_all && time > 20) std::printf("slow to compile: %s: %.1f ms\n", file_.c_str(), time);
    ++compiled_;
    if (const Json* tests = group.find("tests")) {
      for (const Json& test : tests->as_array()) measure_instance(*grammar, group, test);
    }
  }

  void measure_instance(const Grammar& grammar, const Json& group, const Json& test) {
    const bool is_valid = test.at("valid").as_bool();
    ++(is_valid ? valid_ : invalid_);
    std::string text;
    append_json(text, test.at("data"));
    const char* verdict = nullptr;
    size_t stop = 0;
    try {
      const bool is_accepted = walk(grammar, text, stop);
      if (is_accepted == is_valid) return;
      ++(is_valid ? wrongly_refused_ : wrongly_accepted_);
      verdict = is_valid ? "wrongly refused" : "WRONGLY ACCEPTED";
    } catch (const Error& error) {
      ++failed_;
      verdict = error.what();
    }
    if (options_.lists_all) {
      std::printf("%s: %s: %s / %s: %s<<here>>%s\n", verdict, file_.c_str(), group.get("description", "").c_str(),
                  test.get("description", "").c_str(), text.substr(0, stop).c_str(), text.substr(stop, 60).c_str());
    }
  }

  // The longest token first: close enough to what a model writes.
  bool walk(const Grammar& grammar, const std::string& text, size_t& at) {
    GrammarState state(grammar, vocabulary_);
    for (at = 0; at < text.size();) {
      size_t length = std::min(longest_[static_cast<uint8_t>(text[at])], text.size() - at);
      auto token = ids_.find(text.substr(at, length));
      while (token == ids_.end()) token = ids_.find(text.substr(at, --length));
      const double start = thread_milliseconds();
      state.mask(bits_);
      const double time = (thread_milliseconds() - start) * 1e3;
      mask_times_.values.push_back(time);
      if (options_.lists_all && time > 5000) {
        std::printf("slow mask: %s: %.0f us behind %s\n", file_.c_str(), time, text.substr(0, at).c_str());
      }
      const auto id = static_cast<uint32_t>(token->second);
      if (!(bits_[id / 32] >> (id % 32) & 1) || !state.accept(token->second)) return false;
      at += length;
    }
    return state.is_complete();
  }

  // The message without the place, and with what differs from schema to schema left out.
  static std::string reason_of(const Error& error) {
    std::string text = error.what();
    if (const size_t place = text.find(": "); place != std::string::npos) text.erase(0, place + 2);
    std::string reason;
    bool is_quoted = false;
    for (size_t i = 0; i < text.size() && reason.size() < 160; ++i) {
      if (text[i] == '\'' && (is_quoted || i == 0 || text[i - 1] == ' ')) {
        is_quoted = !is_quoted;
        reason += is_quoted ? "'..." : "'";
      } else if (is_quoted) {
        continue;
      } else if (std::isdigit(static_cast<unsigned char>(text[i]))) {
        if (!reason.ends_with('#')) reason += '#';
      } else {
        reason += text[i];
      }
    }
    return reason;
  }

  const Options& options_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  std::unordered_map<std::string, int> ids_;
  std::array<size_t, 256> longest_{};  // by first byte
  std::vector<uint32_t> bits_;
  std::string file_;
  size_t schemas_ = 0, unreadable_ = 0, compiled_ = 0;
  size_t valid_ = 0, invalid_ = 0, wrongly_refused_ = 0, wrongly_accepted_ = 0, failed_ = 0;
  Times compile_times_, refused_times_, mask_times_;
  std::map<std::string, std::vector<std::string>> refusals_;
};

constexpr const char* kHelp =
    "usage: measure_schemas FOLDER TOKENIZER [--any-order] [--list]\n"
    "FOLDER holds files of JSONSchemaBench (maskbench/data) or JSON-Schema-Test-Suite (tests/draft2020-12), TOKENIZER "
    "is\n"
    "a tokenizer.json of a byte-level BPE, also compressed (.xz). --list names every schema and instance at fault.\n";

int run(const std::vector<std::string_view>& arguments) {
  Options options;
  std::vector<std::string_view> paths;
  for (const std::string_view argument : arguments) {
    if (argument == "--any-order") {
      options.order = MemberOrder::kAny;
    } else if (argument == "--list") {
      options.lists_all = true;
    } else {
      paths.push_back(argument);
    }
  }
  if (paths.size() != 2) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  options.folder = paths[0];
  options.tokenizer = paths[1];
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Measurement measurement(options);
  for (const auto& file : files) measurement.measure_file(file);
  measurement.print();
  return 0;
}

}  // namespace
}  // namespace wick

int main(int count, char** values) {
  try {
    return wick::run({values + 1, values + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "measure_schemas: %s\n", error.what());
    return 1;
  }
}
