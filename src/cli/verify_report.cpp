#include "cli/verify_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(); }

std::string verdict(const ReferenceReport& check) {
  if (check.ok()) return "ok";
  std::string out = "failed: ";
  const TensorCheck* worst = nullptr;
  int64_t failed = 0;
  for (const TensorCheck& tensor : check.tensors) {
    if (tensor.ok) continue;
    ++failed;
    if (!worst || !(tensor.relative <= worst->relative)) worst = &tensor;
  }
  if (!worst) return out + "the tokens differ";
  const auto first = std::find_if(check.tensors.begin(), check.tensors.end(), [](const auto& t) { return !t.ok; });
  return out + cat(failed, " of ", check.tensors.size(), " tensors are out of tolerance; the first is ", first->name,
                   ", the worst ", worst->name);
}

}  // namespace

OrderedJson to_json(const VerifyReport& report) {
  const ReferenceReport& check = report.check;
  OrderedJson tensors = OrderedJson::array(), tokens = OrderedJson::array();
  for (const TensorCheck& tensor : check.tensors) {
    OrderedJson shape = OrderedJson::array();
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
    tensors.push_back({{"name", tensor.name},
                       {"shape", shape},
                       {"max_abs", number(tensor.max_abs)},
                       {"relative", number(tensor.relative)},
                       {"problem", tensor.problem.empty() ? OrderedJson() : OrderedJson(tensor.problem)},
                       {"ok", tensor.ok}});
  }
  for (const TokenCheck& token : check.tokens) {
    tokens.push_back({{"name", token.name},
                      {"same", token.same},
                      {"total", token.total},
                      {"note", token.note.empty() ? OrderedJson() : OrderedJson(token.note)},
                      {"ok", token.ok}});
  }
  return {{"model", report.model},
          {"reference", report.reference},
          {"family", check.family},
          {"inferred", check.inferred},
          {"weights", std::string(to_string(check.weights))},
          {"quantize", report.type},
          {"tolerance", check.tolerance},
          {"tensors", tensors},
          {"tokens", tokens},
          {"not_checked", check.not_checked},
          {"ok", check.ok()}};
}

std::string to_text(const VerifyReport& report, const Terminal& terminal) {
  const ReferenceReport& check = report.check;
  std::string out = cat(terminal.paint(printable(report.model), Colour::kBold), ": ", printable(check.family, 60),
                        check.inferred ? " (inferred from config.json and tensor names)" : "", ", weights in ",
                        check.weights, report.type == "auto" ? "" : cat(" as ", report.type), "\nagainst ",
                        printable(report.reference), fmt::format(", tolerance {:g}\n\n", check.tolerance));
  using enum Table::Align;
  Table table({kLeft, kLeft, kRight, kRight, kLeft});
  const auto dim = [](std::string_view text) { return Cell{std::string(text), Colour::kDim}; };
  table.add({dim("tensor"), dim("shape"), dim("max abs"), dim("relative"), dim("")});
  for (const TensorCheck& tensor : check.tensors) {
    const bool compared = tensor.problem.empty();
    table.add({{printable(tensor.name, 40)},
               {cat(tensor.shape)},
               {compared ? fmt::format("{:.2e}", tensor.max_abs) : "-"},
               {compared ? fmt::format("{:.2e}", tensor.relative) : "-"},
               {tensor.ok  ? "ok"
                : compared ? "out of tolerance"
                           : tensor.problem,
                tensor.ok ? Colour::kGood : Colour::kBad}});
  }
  out += table.text(terminal) + "\n";
  for (const TokenCheck& token : check.tokens) {
    out += cat(printable(token.name, 40), ": ", token.same, " of ", token.total, token.counts ? " tokens" : " rows",
               " the same", token.note.empty() ? "" : cat(" (", token.note, ")"), "\n");
  }
  if (!check.not_checked.empty()) {
    std::string names;
    for (const std::string& name : check.not_checked) names += cat(names.empty() ? "" : ", ", printable(name, 40));
    out += cat("not checked: ", names, "\n");
  }
  out += terminal.paint(verdict(check), check.ok() ? Colour::kGood : Colour::kBad) + "\n";
  return out;
}

}  // namespace wick
