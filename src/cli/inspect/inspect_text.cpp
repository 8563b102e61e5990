#include <fmt/core.h>

#include <algorithm>

#include "base/machine.h"
#include "base/text.h"
#include "cli/inspect/inspect_report.h"
#include "cli/inspect/inspect_values.h"

namespace wick {
namespace {

using Align = Table::Align;

constexpr int kMostText = 100;  // columns of a value when the terminal is not known

std::string percent(int64_t part, int64_t whole) {
  return whole ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "";
}

// Builds the pages of the report one under the other.
class Printer {
 public:
  Printer(const InspectReport& report, const Terminal& terminal) : report_(report), terminal_(terminal) {}

  std::string text(const InspectOptions& options) {
    title();
    model();
    shares("types", "type", report_.types, true);
    shares("tensors by group", "group", report_.groups, false);
    memory();
    out_ += cat("\n", terminal_.paint("loading", Colour::kBold), "\n", to_text(report_.loading, terminal_));
    if (options.metadata) metadata();
    if (options.tensors) tensors();
    problems();
    return std::move(out_);
  }

 private:
  void section(std::string_view name, const Table& table) {
    out_ += cat("\n", terminal_.paint(name, Colour::kBold), "\n", table.text(terminal_));
  }

  void title() {
    const auto& files = report_.checkpoint.files();
    int64_t bytes = 0;
    for (const auto& file : files) bytes += static_cast<int64_t>(file->bytes().size());
    out_ = cat(terminal_.paint(printable(report_.path), Colour::kBold), " (", report_.format, ", ",
               files.size() == 1 ? std::string("1 file") : cat(files.size(), " files"), ", ", bytes_text(bytes), ")\n");
  }

  void model() {
    const InspectFacts& facts = report_.facts;
    Table table({Align::kLeft, Align::kLeft});
    const auto row = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) table.add({{cat("  ", name)}, {value}});
    };
    const auto number = [](const std::optional<int64_t>& value) {
      return value ? grouped_digits(*value) : std::string();
    };
    row("name", printable(facts.name, width()));
    std::string architecture = printable(facts.architecture, width());
    if (!facts.model_class.empty()) {
      architecture += architecture.empty() ? facts.model_class : cat(" (", printable(facts.model_class, width()), ")");
    }
    row("architecture", architecture.empty() ? "not known: there are no settings beside the weights" : architecture);
    row("parameters", cat(count_text(report_.total.weights), " (", grouped_digits(report_.total.weights), ") in ",
                          report_.total.tensors, report_.total.tensors == 1 ? " tensor" : " tensors"));
    row("layers", number(facts.layers));
    row("hidden size", number(facts.hidden));
    row("feed-forward", number(facts.feed_forward));
    row("heads", heads());
    if (facts.experts && *facts.experts > 0) {
      row("experts", cat(*facts.experts, facts.experts_used ? cat(", ", *facts.experts_used, " per token") : ""));
    }
    row("vocabulary", number(facts.vocabulary));
    row("context", context());
    for (const auto& [part, about] : facts.parts) row(part, printable(about, width()));
    row("quantisation", quantisation());
    row("tokenizer", tokenizer());
    row("chat template", chat_template());
    section("model", table);
  }

  std::string heads() const {
    const InspectFacts& facts = report_.facts;
    if (!facts.heads || *facts.heads == 0) return "";
    std::string out = cat(*facts.heads);
    if (facts.kv_heads && *facts.kv_heads != *facts.heads) out += cat(", ", *facts.kv_heads, " for keys and values");
    if (facts.head_dim) out += cat(", of ", *facts.head_dim);
    return out;
  }

  std::string context() const {
    const InspectFacts& facts = report_.facts;
    if (!facts.context) return "";
    return cat(grouped_digits(*facts.context), " tokens",
               facts.window ? cat(", windows of ", grouped_digits(*facts.window)) : "");
  }

  std::string quantisation() const {
    const Json& settings = report_.quantization;
    if (!settings.is_object()) return "";
    std::string out;
    for (const auto& [name, value] : settings.as_object()) {
      std::string shown;
      if (value.is_text()) shown = value.as_text();
      if (value.is_bool()) shown = value.as_bool() ? "yes" : "no";
      if (value.is_int()) shown = cat(value.as_int());
      if (shown.empty()) continue;
      out += out.empty() ? "" : ", ";
      out += name == "quant_method" ? shown : cat(name, " ", shown);
    }
    return printable(out, width());
  }

  std::string tokenizer() const {
    if (!report_.tokenizer) return "none";
    const std::string kind = printable(report_.tokenizer->kind, width());
    return report_.tokenizer->size ? cat(kind, ", ", grouped_digits(report_.tokenizer->size), " tokens") : kind;
  }

  std::string chat_template() const {
    if (!report_.chat_template) return "none";
    const std::string_view text = *report_.chat_template;
    const size_t start = std::min(text.find_first_not_of(" \r\n\t"), text.size());
    const std::string_view first = text.substr(start, text.find('\n', start) - start);
    const std::string size = cat(" (", grouped_digits(static_cast<int64_t>(text.size())), " bytes)");
    return printable(first, width() - display_width(size)) + size;
  }

  void shares(std::string_view title, std::string_view column, const std::vector<Share>& shares, bool with_total) {
    Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
    const auto dim = [](std::string_view text) { return Cell{std::string(text), Colour::kDim}; };
    table.add(
        {dim(cat("  ", column)), dim("tensors"), dim("parameters"), dim("size"), dim("share"), dim("bits/weight")});
    const auto row = [&](const Share& share, std::string_view name) {
      table.add({{cat("  ", printable(name, 40))},
                 {grouped_digits(share.tensors)},
                 {count_text(share.weights)},
                 {bytes_text(share.bytes)},
                 {percent(share.bytes, report_.total.bytes)},
                 {share.weights ? fmt::format("{:.2f}", share.bits_per_weight()) : "-"}});
    };
    for (const Share& share : shares) row(share, share.name);
    if (with_total && shares.size() > 1) row(report_.total, "all");
    section(title, table);
  }

  void memory() {
    const MemoryNeed& need = report_.memory;
    Table table({Align::kLeft, Align::kRight, Align::kLeft});
    table.add({{"  weights"}, {bytes_text(need.weights)}, {""}});
    if (need.kv_cache) {
      table.add({{"  KV cache"},
                 {bytes_text(*need.kv_cache)},
                 {cat("for ", grouped_digits(need.context), " tokens in 16 bits"), Colour::kDim}});
      table.add({{"  together"}, {bytes_text(need.weights + *need.kv_cache), Colour::kBold}, {""}});
    }
    section("memory", table);
  }

  void metadata() {
    Table table({Align::kLeft, Align::kLeft, Align::kLeft});
    int used = 8;
    for (const auto& [key, value] : report_.checkpoint.metadata().items()) {
      used = std::max(used, 8 + display_width(printable(key, kMostText)) + display_width(type_text(value)));
    }
    for (const auto& [key, value] : report_.checkpoint.metadata().items()) {
      table.add({{cat("  ", printable(key, kMostText))},
                 {type_text(value), Colour::kDim},
                 {value_text(key, value, terminal_.colour ? std::max(terminal_.width - used, 24) : kMostText)}});
    }
    section("metadata", table);
  }

  void tensors() {
    Table table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
    const auto dim = [](std::string_view text) { return Cell{std::string(text), Colour::kDim}; };
    table.add({dim("  name"), dim("type"), dim("shape"), dim("bytes")});
    for (const TensorEntry& entry : report_.checkpoint.entries()) {
      table.add({{cat("  ", printable(entry.name, 120))},
                 {printable(entry.type, 40)},
                 {cat(entry.shape)},
                 {grouped_digits(entry.bytes)}});
    }
    section("tensors", table);
  }

  void problems() {
    if (report_.problems.empty()) return;
    Table table({Align::kLeft});
    for (const std::string& problem : report_.problems) table.add({{cat("  ", printable(problem)), Colour::kWarn}});
    section("not understood", table);
  }

  // Columns left for a value beside its name.
  int width() const { return std::max(40, terminal_.colour ? terminal_.width - 18 : kMostText); }

  const InspectReport& report_;
  const Terminal& terminal_;
  std::string out_;
};

}  // namespace

std::string to_text(const InspectReport& report, const InspectOptions& options, const Terminal& terminal) {
  return Printer(report, terminal).text(options);
}

}  // namespace wick
