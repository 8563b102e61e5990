#include "models/preflight.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "formats/fused_weights.h"
#include "formats/names.h"

namespace wick {
namespace {

// Tensors that files carry and no model computes with.
constexpr std::string_view kIgnored[] = {"rotary_emb.inv_freq",
                                         ".attn.bias",
                                         "attn.masked_bias",
                                         "attention.bias",
                                         "attention.masked_bias",
                                         ".inv_freq",
                                         ".g_idx",
                                         ".qzeros",
                                         ".scales",
                                         "_scale",
                                         "_scale_inv",
                                         "_zero_point",
                                         "_blocks",
                                         "_scales",
                                         ".weight_shape",
                                         ".attention.rotary",
                                         "shared_head.head.weight",
                                         ".num_batches_tracked"};

// "model.layers.12.mlp.up.weight" without the number and what stands before; empty outside the layers.
std::string_view within_layer(std::string_view name, std::string_view layers, int64_t* layer = nullptr) {
  if (!name.starts_with(layers)) return {};
  name.remove_prefix(layers.size());
  int64_t number = 0;
  size_t digits = 0;
  for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9' && digits < 9; ++digits) {
    number = number * 10 + (name[digits] - '0');
  }
  if (digits == 0 || digits >= name.size() || name[digits] != '.') return {};
  if (layer) *layer = number;
  return name.substr(digits + 1);
}

// Every form in which a file may hold a wanted tensor of layer 0.
void add_forms(std::set<std::string, std::less<>>& covered, const std::string& name, const WeightSource& source,
               std::string_view layers) {
  const auto add = [&](std::string_view form) { covered.emplace(within_layer(form, layers)); };
  add(name);
  for (const FusedPart& part : fused_wholes(name)) {
    add(part.whole);
    for (const HfAlias& alias : hf_aliases(source.architecture(), part.whole)) add(alias.name);
  }
  for (const std::string& part : fused_parts(name)) add(part);
  for (const HfAlias& alias : hf_aliases(source.architecture(), name)) add(alias.name);
}

bool is_ignored(std::string_view name) {
  return std::any_of(std::begin(kIgnored), std::end(kIgnored), [&](std::string_view part) {
    return name.ends_with(part) || (part.starts_with('_') && name.find(part) != std::string_view::npos);
  });
}

}  // namespace

std::string PreflightReport::sentence() const {
  const auto others = [](size_t count) { return count > 1 ? cat(" (and ", count - 1, " more)") : std::string(); };
  if (!missing.empty()) {
    const Missing& first = missing.front();
    return cat("tensor '", first.wanted.name, "' ", first.wanted.shape, " is missing", others(missing.size()),
               first.nearest.empty() ? std::string() : cat("; did you mean '", first.nearest, "'?"));
  }
  if (!mismatched.empty()) {
    const Mismatch& first = mismatched.front();
    return cat("tensor '", first.wanted.name, "' is ", first.found, ", but the settings make it ", first.wanted.shape,
               others(mismatched.size()));
  }
  if (!unused.empty()) {
    return cat("tensor '", unused.front(), "' is there, but nothing in the settings uses it", others(unused.size()));
  }
  return {};
}

PreflightReport preflight(const WeightSource& source, const std::vector<WantedTensor>& wanted,
                          const std::string& layers, bool is_inferred) {
  PreflightReport report;
  report.wanted = static_cast<int64_t>(wanted.size());
  const std::vector<std::string> names = source.names();
  std::set<std::string_view> asked;
  for (const WantedTensor& tensor : wanted) asked.insert(tensor.name);
  std::vector<std::string_view> candidates;  // that may be what is missing
  std::copy_if(names.begin(), names.end(), std::back_inserter(candidates),
               [&](const std::string& name) { return !asked.contains(name); });
  std::set<std::string, std::less<>> covered;
  int64_t layer_count = 0;
  for (const WantedTensor& tensor : wanted) {
    int64_t layer = -1;
    within_layer(tensor.name, layers, &layer);
    layer_count = std::max(layer_count, layer + 1);
    if (!source.has(tensor.name)) {
      const bool first = report.missing.size() < 8;  // looking is slow, and one hint is enough
      report.missing.push_back({tensor, first ? std::string(nearest(tensor.name, candidates)) : std::string()});
      continue;
    }
    const std::optional<Shape> shape = source.stored_shape(tensor.name);
    const bool same = !shape || shape->numel() == tensor.shape.numel();
    if (!same) report.mismatched.push_back({tensor, *shape});
  }
  std::set<std::string, std::less<>> forms_of;
  for (const WantedTensor& tensor : wanted) {
    const std::string_view rest = within_layer(tensor.name, layers);
    if (!rest.empty() && forms_of.emplace(rest).second) add_forms(covered, tensor.name, source, layers);
  }
  for (const std::string& name : names) {
    int64_t layer = 0;
    const std::string_view rest = within_layer(name, layers, &layer);
    if (rest.empty() && is_inferred && !asked.contains(name) && !is_ignored(name)) report.unused.push_back(name);
    if (rest.empty() || layer >= layer_count || covered.contains(rest) || is_ignored(name)) continue;
    // Experts may be stacked, numbered or fused: their forms are many, and their sizes are checked when they are read.
    if (rest.find("experts") != std::string_view::npos) continue;
    if (rest == "embed_tokens.weight") continue;  // the model's own once more, in layers that predict further
    report.unused.push_back(name);
  }
  return report;
}

}  // namespace wick
