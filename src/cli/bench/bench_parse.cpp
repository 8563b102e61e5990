#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "cli/bench/bench_report.h"

namespace wick {
namespace {

using nlohmann::json;

// Components that Google Benchmark appends to names.
bool is_suffix(std::string_view part) {
  for (const char* exact : {"real_time", "process_time", "manual_time"}) {
    if (part == exact) return true;
  }
  for (const char* prefix : {"repeats:", "iterations:", "min_time:", "min_warmup_time:"}) {
    if (part.starts_with(prefix)) return true;
  }
  return false;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double seconds_per(const std::string& unit, const std::string& source) {
  if (unit == "ns") return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  throw Error(ErrorCode::kBadFile, cat(source, ": unknown time unit '", unit, "'"));
}

// Operations per second, under any of the names in use; 0 when there is none.
double flops_of(const json& entry) {
  for (const auto& [name, factor] : {std::pair{"flops", 1.0},
                                     {"FLOPS", 1.0},
                                     {"FLOP/s", 1.0},
                                     {"flop/s", 1.0},
                                     {"GFLOPS", 1e9},
                                     {"gflops", 1e9},
                                     {"GFLOP/s", 1e9}}) {
    if (entry.contains(name)) return entry.at(name).get<double>() * factor;
  }
  return 0;
}

struct Samples {
  std::vector<double> seconds, flops, bytes;
  std::string limit, error;
};

void add_sample(const json& entry, const std::string& source, Samples& samples) {
  if (entry.value("error_occurred", false)) {
    samples.error = entry.value("error_message", "failed without a message");
    return;
  }
  samples.seconds.push_back(entry.at("real_time").get<double>() * seconds_per(entry.value("time_unit", "ns"), source));
  samples.flops.push_back(flops_of(entry));
  samples.bytes.push_back(entry.value("bytes_per_second", 0.0));
  samples.limit = entry.value("label", "");
}

}  // namespace

BenchmarkName::BenchmarkName(std::string_view name) {
  int position = 0;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (position == 0) what = part;
    if (position == 1) who = part;
    if (position++ == 1 || is_suffix(part)) continue;
    if (part.starts_with("threads:")) std::from_chars(part.data() + 8, part.data() + part.size(), threads);
    key += key.empty() ? cat(part) : cat("/", part);
  }
}

std::vector<Measurement> parse_measurements(std::string_view text, const std::string& source) {
  std::vector<std::string> order;
  std::map<std::string, Samples> by_name;
  try {
    const json document = json::parse(text);
    for (const json& entry : document.at("benchmarks")) {
      if (entry.value("run_type", "iteration") != "iteration") continue;  // medians are taken here
      const std::string name = entry.contains("run_name") ? entry.at("run_name") : entry.at("name");
      if (!by_name.count(name)) order.push_back(name);
      add_sample(entry, source, by_name[name]);
    }
  } catch (const json::exception& problem) {
    throw Error(ErrorCode::kBadFile, cat(source, ": its benchmark results cannot be read: ", problem.what()));
  }
  std::vector<Measurement> result;
  for (const std::string& name : order) {
    const Samples& samples = by_name[name];
    result.push_back(
        {name, median(samples.seconds), median(samples.flops), median(samples.bytes), samples.limit, samples.error});
  }
  return result;
}

}  // namespace wick
