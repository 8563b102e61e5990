#include "server/api/microscope/inspect_hooks.h"

#include <algorithm>

#include "interp/knockout.h"
#include "interp/patching.h"
#include "tensor/create.h"

namespace wick {
namespace {

Tensor row_of(const std::vector<float>& values, const std::string& place) {
  if (values.empty()) throw RequestError(place, cat(place, " is missing"), "missing_required_parameter");
  return from_vector(values, {static_cast<int64_t>(values.size())});
}

// What the library refuses is the request's fault, in this field.
template <typename Run>
void with_place(const std::string& place, const Run& run) {
  try {
    run();
  } catch (const RequestError&) {
    throw;
  } catch (const Error& error) {
    throw RequestError(place, cat(place, ": ", error.what()));
  }
}

class Changes {
 public:
  Changes(HookSpec& spec, const InterpModel& model, const ChangedText& text, const InsideShelf& shelf)
      : spec_(spec), model_(model), text_(text), shelf_(shelf) {}

  void steer(const SteerRequest& wanted, const std::string& place) {
    if (wanted.vector.has_value() == wanted.point.has_value()) {
      throw RequestError(place, cat(place, " needs either vector or point and values"));
    }
    SteeringVector vector = wanted.vector
                                ? named(shelf_.steering(), *wanted.vector, "steering vector", place + ".vector")
                                : SteeringVector{*wanted.point, row_of(wanted.values, place + ".values"), {}, {}};
    HookSite site = checked_site(vector.point, model_, place + ".point");
    if (wanted.layer) {
      if (!is_per_layer(site.point)) {
        throw RequestError(place + ".layer",
                           cat(place, ".layer is set, but ", in_quotes(vector.point), " has no layer"));
      }
      vector.point = hook_name(site.point, *wanted.layer);
      site = checked_site(vector.point, model_, place + ".layer");
    }
    if (is_per_layer(site.point) && site.layer == HookSite::kEveryLayer) {
      throw RequestError(place + ".point", cat(place, ".point is of every layer, expected one"));
    }
    with_place(place, [&] { check_steering(model_, vector); });
    vector.apply(spec_, wanted.strength, positions(wanted.positions, place));
  }

  void features(const FeatureRequest& wanted, const std::string& place) {
    const SparseAutoencoder& sae =
        named(shelf_.autoencoders(), wanted.autoencoder, "autoencoder", place + ".autoencoder");
    if (wanted.features.empty() || std::ssize(wanted.features) > InspectLimits::kFeatures) {
      throw RequestError(place + ".features", cat(place, ".features has ", wanted.features.size(),
                                                  ", allowed are 1 to ", InspectLimits::kFeatures));
    }
    with_place(place + ".autoencoder", [&] { check_steering(model_, {sae.hook_name(), sae.direction(0), {}, {}}); });
    const std::vector<int64_t> at = positions(wanted.positions, place);
    with_place(place + ".features", [&] {
      if (wanted.kind == "ablate") {
        sae.ablate(spec_, wanted.features, at);
      } else {
        for (const int64_t feature : wanted.features) sae.steer(spec_, feature, wanted.strength, at);
      }
    });
  }

  void edit(const EditRequest& wanted, const std::string& place) {
    const HookSite site = checked_site(wanted.site, model_, place + ".site");
    if (site.point == HookPoint::kState) {
      throw RequestError(place + ".site", cat(place, ".site is a state, which has no rows to change"));
    }
    if (std::ssize(wanted.heads) > InspectLimits::kHeads) {
      throw RequestError(place + ".heads",
                         cat(place, ".heads has ", wanted.heads.size(), ", allowed are ", InspectLimits::kHeads));
    }
    HookPart part{positions(wanted.positions, place), wanted.heads};
    if (wanted.kind == "zero") {
      spec_.zero(wanted.site, std::move(part));
    } else if (wanted.kind == "scale") {
      if (!wanted.factor) {
        throw RequestError(place + ".factor", cat(place, ".factor is missing"), "missing_required_parameter");
      }
      spec_.scale(wanted.site, *wanted.factor, std::move(part));
    } else if (wanted.kind == "add") {
      spec_.add(wanted.site, row_of(wanted.values, place + ".values"), std::move(part));
    } else if (wanted.kind == "replace") {
      spec_.replace(wanted.site, row_of(wanted.values, place + ".values"), std::move(part));
    } else if (wanted.kind == "knockout") {
      cut(wanted, site, place);
    } else {
      patch(site, std::move(part), place);
    }
  }

 private:
  std::vector<int64_t> positions(const std::vector<int64_t>& wanted, const std::string& place) const {
    return positions_from_start(wanted, text_, place + ".positions");
  }

  void cut(const EditRequest& wanted, const HookSite& site, const std::string& place) {
    if (site.point != HookPoint::kAttnScores) {
      throw RequestError(place + ".site", cat(place, ".site is ", in_quotes(wanted.site),
                                              ", knockout needs blocks.N.attn.hook_attn_scores"));
    }
    Knockout edges;
    edges.queries = positions_from_start(wanted.queries, text_, place + ".queries");
    edges.keys = positions_from_start(wanted.keys, text_, place + ".keys");
    edges.heads = wanted.heads;
    if (site.layer != HookSite::kEveryLayer) edges.layers = {site.layer};
    const int64_t queries = edges.queries.empty() ? text_.most_tokens : std::ssize(edges.queries);
    const int64_t keys = edges.keys.empty() ? text_.most_tokens : std::ssize(edges.keys);
    if (queries * keys > InspectLimits::kEdges) {
      throw RequestError(place, cat(place, " cuts up to ", queries * keys, " edges, allowed are ",
                                    InspectLimits::kEdges, "; name queries and keys, or ask for a shorter answer"));
    }
    with_place(place, [&] { knock_out(spec_, model_, edges, static_cast<size_t>(text_.most_tokens)); });
  }

  void patch(const HookSite& site, HookPart part, const std::string& place) {
    if (!text_.source) {
      throw RequestError(place + ".kind",
                         cat(place, ".kind is patch, which is for requests of /v1/wick/ with a source"));
    }
    const bool every = is_per_layer(site.point) && site.layer == HookSite::kEveryLayer;
    for (int layer = every ? 0 : site.layer; layer < (every ? model_.facts().layers : site.layer + 1); ++layer) {
      const std::string name = hook_name(site.point, layer);
      if (every && !text_.source->has(name)) continue;
      with_place(place, [&] { patch_from(spec_, *text_.source, name, part); });
    }
  }

  HookSpec& spec_;
  const InterpModel& model_;
  const ChangedText& text_;
  const InsideShelf& shelf_;
};

}  // namespace

std::vector<int64_t> positions_from_start(const std::vector<int64_t>& positions, const ChangedText& text,
                                          const std::string& place) {
  if (std::ssize(positions) > text.most_tokens) {
    throw RequestError(place,
                       cat(place, " has ", positions.size(), " tokens, and there are ", text.most_tokens, " at most"));
  }
  std::vector<int64_t> result;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t position = positions[i] < 0 ? text.tokens + positions[i] : positions[i];
    if (positions[i] < -text.tokens || position >= text.most_tokens) {
      throw RequestError(place, cat(place, "[", i, "] is ", positions[i], ", and there are ", text.tokens,
                                    " tokens in the prompt and ", text.most_tokens, " at most"));
    }
    result.push_back(position);
  }
  return result;
}

HookSite checked_site(const std::string& name, const InterpModel& model, const std::string& place) {
  HookSite site;
  with_place(place, [&] {
    site = HookSite::parse(name);
    if (site.point == HookPoint::kCustom)
      throw RequestError(place, cat(place, " is ", in_quotes(name), ", which is no hook point"));
    if (is_per_layer(site.point) && site.layer != HookSite::kEveryLayer) check_layer(model, site.layer);
  });
  return site;
}

std::vector<std::string> patched_sites(const ChangesRequest& changes) {
  std::vector<std::string> sites;
  for (const EditRequest& edit : changes.edits) {
    if (edit.kind == "patch") sites.push_back(edit.site);
  }
  return sites;
}

void add_changes(HookSpec& spec, const ChangesRequest& wanted, const InterpModel& model, const ChangedText& text,
                 const InsideShelf& shelf, const std::string& place) {
  const int64_t count = std::ssize(wanted.steer) + std::ssize(wanted.features) + std::ssize(wanted.edits);
  if (count > InspectLimits::kEdits) {
    throw RequestError(place + "edits", cat(count, " changes are asked for, allowed are ", InspectLimits::kEdits));
  }
  const auto ablations = std::count_if(wanted.features.begin(), wanted.features.end(),
                                       [](const auto& one) { return one.kind == "ablate"; });
  if (ablations > InspectLimits::kAblations) {
    throw RequestError(place + "features", cat(ablations, " changes of features ablate, allowed are ",
                                               InspectLimits::kAblations, ", each of several features"));
  }
  Changes changes(spec, model, text, shelf);
  for (size_t i = 0; i < wanted.steer.size(); ++i) changes.steer(wanted.steer[i], cat(place, "steer[", i, "]"));
  for (size_t i = 0; i < wanted.features.size(); ++i) {
    changes.features(wanted.features[i], cat(place, "features[", i, "]"));
  }
  for (size_t i = 0; i < wanted.edits.size(); ++i) changes.edit(wanted.edits[i], cat(place, "edits[", i, "]"));
  require_points(model, spec);
}

}  // namespace wick
