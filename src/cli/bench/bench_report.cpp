#include "cli/bench/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace wick {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view first_word(std::string_view what) { return what.substr(0, what.find('_')); }

// The stream that moves memory as the op does, unless its label names another.
std::string stream_for(std::string_view what) {
  if (is_one_of(first_word(what), {"sum", "mean", "max", "min", "var", "argmax", "argmin"})) return "stream/read";
  if (is_one_of(what, {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"})) {
    return "stream/triad";
  }
  return "stream/copy";
}

// What Wick wants to reach, by what it is compared with. Ops that search or jump about in memory have no goal.
std::optional<double> goal_for(const std::string& peer, std::string_view what) {
  if (peer == "openblas") return 0.95;
  if (peer == "onednn") return 0.7;
  if (peer == "composed") return 1.0;
  if (peer == "wick f32") return 0.85;
  const bool jumps = is_one_of(first_word(what), {"sort", "topk", "index", "gather", "scatter"});
  if (peer.starts_with("stream/") && !jumps) return 0.85;
  return std::nullopt;
}

double amount(const Measurement& measurement, BenchUnit unit) {
  switch (unit) {
    case BenchUnit::kGigaflops: return measurement.flops / 1e9;
    case BenchUnit::kGigabytes: return measurement.bytes / 1e9;
    case BenchUnit::kMilliseconds: return measurement.seconds * 1e3;
  }
  return 0;
}

void compare(BenchRow& row, std::string_view what, const std::string& peer, double peer_value) {
  if (peer_value <= 0 || row.value <= 0) return;
  row.peer = peer;
  row.peer_value = peer_value;
  row.ratio = row.unit == BenchUnit::kMilliseconds ? peer_value / row.value : row.value / peer_value;
  row.goal = goal_for(peer, what);
}

// The limit of that kind a case is held against: the wanted one, else the fastest with as many threads.
const Measurement* find_limit(const std::vector<Measurement>& measurements, std::string_view kind, int threads,
                              const std::string& wanted) {
  const Measurement* best = nullptr;
  for (const Measurement& limit : measurements) {
    const BenchmarkName name(limit.name);
    if (!name.is_limit() || name.what != kind || name.threads != threads) continue;
    if (cat(name.what, "/", name.who) == wanted) return &limit;
    if (!best || limit.bytes + limit.flops > best->bytes + best->flops) best = &limit;
  }
  return best;
}

// matmul_bf16_nt, matmul_q4_k_nt and so on are held against Wick's own matmul_f32_nt of the same size.
const Measurement* find_f32_twin(const std::vector<Measurement>& measurements, const BenchmarkName& half) {
  for (const char* type : {"_bf16", "_f16", "_q8_0", "_q4_0", "_q4_k", "_q6_k"}) {
    const size_t place = half.key.find(type);
    if (place == std::string::npos) continue;
    const std::string_view tail = std::string_view(half.key).substr(place + std::string_view(type).size());
    for (const std::string& key :
         {cat(half.key.substr(0, place), "_f32", tail), cat(half.key.substr(0, place), tail)}) {
      for (const Measurement& other : measurements) {
        const BenchmarkName name(other.name);
        if (name.who == "wick" && name.key == key) return &other;
      }
    }
  }
  return nullptr;
}

// Numbers inside names count as numbers: 256 comes before 1024.
bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const size_t digits_a = std::min(a.find_first_not_of("0123456789"), a.size());
    const size_t digits_b = std::min(b.find_first_not_of("0123456789"), b.size());
    if (digits_a && digits_b) {
      if (digits_a != digits_b) return digits_a < digits_b;
      if (const int order = a.substr(0, digits_a).compare(b.substr(0, digits_b))) return order < 0;
      a.remove_prefix(digits_a);
      b.remove_prefix(digits_b);
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

std::vector<const Measurement*> find_peers(const std::vector<Measurement>& measurements, const BenchmarkName& wanted) {
  std::vector<const Measurement*> peers;
  for (const Measurement& other : measurements) {
    const BenchmarkName name(other.name);
    if (name.key == wanted.key && name.who != wanted.who && other.error.empty()) peers.push_back(&other);
  }
  return peers;
}

const char* unit_name(BenchUnit unit) {
  switch (unit) {
    case BenchUnit::kGigaflops: return "GFLOP/s";
    case BenchUnit::kGigabytes: return "GB/s";
    case BenchUnit::kMilliseconds: return "ms";
  }
  return "";
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace

std::vector<BenchRow> pair_measurements(const std::vector<Measurement>& measurements) {
  std::vector<BenchRow> rows;
  for (const Measurement& own : measurements) {
    const BenchmarkName name(own.name);
    if (name.who != "wick") continue;
    BenchRow row;
    row.name = name.key;
    row.error = own.error;
    const auto peers = find_peers(measurements, name);
    for (const Measurement* peer : peers) {
      BenchRow paired = row;
      if (own.flops > 0 && peer->flops > 0) {
        paired.unit = BenchUnit::kGigaflops;
      } else if (own.bytes > 0 && peer->bytes > 0) {
        paired.unit = BenchUnit::kGigabytes;
      }
      paired.value = amount(own, paired.unit);
      compare(paired, name.what, BenchmarkName(peer->name).who, amount(*peer, paired.unit));
      rows.push_back(paired);
    }
    if (!peers.empty()) continue;
    row.unit = own.bytes > 0 ? BenchUnit::kGigabytes : own.flops > 0 ? BenchUnit::kGigaflops : BenchUnit::kMilliseconds;
    row.value = amount(own, row.unit);
    if (const Measurement* twin = find_f32_twin(measurements, name); twin && row.unit == BenchUnit::kGigaflops) {
      compare(row, name.what, "wick f32", amount(*twin, row.unit));
    } else if (row.unit != BenchUnit::kMilliseconds) {
      const std::string wanted = own.limit.starts_with("stream/") ? own.limit : stream_for(name.what);
      const char* kind = row.unit == BenchUnit::kGigabytes ? "stream" : "limits";
      if (const Measurement* limit = find_limit(measurements, kind, name.threads, wanted)) {
        compare(row, name.what, cat(kind, "/", BenchmarkName(limit->name).who), amount(*limit, row.unit));
      }
    }
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return natural_less(a.name, b.name); });
  return rows;
}

std::vector<MachineLimit> machine_limits(const std::vector<Measurement>& measurements) {
  std::vector<MachineLimit> limits;
  for (const Measurement& measurement : measurements) {
    const BenchmarkName name(measurement.name);
    const double value = std::max(measurement.flops, measurement.bytes);
    if (!name.is_limit() || value <= 0) continue;
    const std::string kind = name.what == "limits" ? name.who : name.what;
    const auto same = [&](const MachineLimit& limit) { return limit.name == kind && limit.threads == name.threads; };
    const auto found = std::find_if(limits.begin(), limits.end(), same);
    if (found == limits.end()) {
      limits.push_back({kind, name.threads, value});
    } else {
      found->value = std::max(found->value, value);
    }
  }
  return limits;
}

nlohmann::ordered_json to_json(const BenchReport& report) {
  using nlohmann::ordered_json;
  ordered_json limits = ordered_json::array(), rows = ordered_json::array();
  for (const MachineLimit& limit : report.limits) {
    limits.push_back({{"name", limit.name}, {"threads", limit.threads}, {"per_second", limit.value}});
  }
  for (const BenchRow& row : report.rows) {
    ordered_json entry = {{"case", row.name}, {"unit", unit_name(row.unit)}, {"wick", row.value}};
    if (!row.peer.empty()) {
      entry["peer"] = row.peer;
      entry["peer_value"] = row.peer_value;
      entry["ratio"] = row.ratio;
    }
    if (row.goal) entry["goal"] = *row.goal;
    if (!row.error.empty()) entry["error"] = row.error;
    rows.push_back(entry);
  }
  return {{"version", report.version}, {"cpu", report.cpu}, {"cpus", report.cpus}, {"limits", limits}, {"rows", rows}};
}

std::string to_text(const BenchReport& report, const Terminal& terminal) {
  using Align = Table::Align;
  std::string out = cat("wick ", report.version, " on ", report.cpu, ", ", report.cpus, " CPUs\n");
  for (const MachineLimit& limit : report.limits) {
    const bool is_stream = limit.name == "stream";
    out += cat("  ", limit.name, ", ", limit.threads,
               limit.threads == 1 ? " thread: " : " threads: ", number(limit.value / 1e9),
               is_stream ? " GB/s\n" : " GFLOP/s\n");
  }
  Table table({Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight, Align::kRight});
  const auto head = [](const char* text) { return Cell{text, Colour::kBold}; };
  table.add({head("case"), head("wick"), head(""), head("peer"), head(""), head("ratio"), head("goal")});
  for (const BenchRow& row : report.rows) {
    if (!row.error.empty()) {
      table.add({{row.name}, {"-"}, {cat("error: ", row.error), Colour::kBad}});
      continue;
    }
    const Colour colour = !row.goal || row.peer.empty() ? Colour::kPlain
                          : row.ratio >= *row.goal      ? Colour::kGood
                                                        : Colour::kBad;
    table.add({{row.name},
               {number(row.value)},
               {unit_name(row.unit)},
               {row.peer.empty() ? "-" : number(row.peer_value)},
               {row.peer},
               {row.peer.empty() ? "-" : fmt::format("{:.2f}", row.ratio), colour},
               {row.goal ? fmt::format("{:.2f}", *row.goal) : ""}});
  }
  return out + "\n" + table.text(terminal);
}

}  // namespace wick
