#include "server/api/microscope/inspect_request.h"

namespace wick {

const Fields<SteerRequest>& SteerRequest::fields() {
  using R = SteerRequest;
  static const Fields<R> fields =
      Fields<R>("Steer", BodyUse::kRequest)
          .add("vector", &R::vector, "A vector of the server's folder (--steering), by its name.")
          .add("point", &R::point, "Or where the given values are added: blocks.5.hook_resid_post.")
          .add("values", &R::values, "With point: one number for each of a row.")
          .add("layer", &R::layer, "Another layer than the vector's own.")
          .range(0, 1e6)
          .add("strength", &R::strength, "What the vector is multiplied by.")
          .range(-1e6, 1e6)
          .add("positions", &R::positions, "Tokens; below zero from the prompt's end. All when it is left out.");
  return fields;
}

const Fields<EditRequest>& EditRequest::fields() {
  using R = EditRequest;
  static const Fields<R> fields =
      Fields<R>("Edit", BodyUse::kRequest)
          .add("site", &R::site, "A hook point: blocks.3.attn.hook_z, blocks.*.hook_mlp_out.")
          .required()
          .add("kind", &R::kind, "patch (only in requests of /v1/wick/) takes the values of the source.")
          .required()
          .words({"zero", "scale", "add", "replace", "knockout", "patch"})
          .add("positions", &R::positions, "Tokens; below zero from the prompt's end. All when it is left out.")
          .add("heads", &R::heads, "Of points that have heads. All when it is left out.")
          .range(0, 1e6)
          .add("factor", &R::factor, "scale: what values are multiplied by.")
          .range(-1e6, 1e6)
          .add("values", &R::values, "add and replace: a row's selected part, or one such part per position.")
          .add("queries", &R::queries, "knockout: tokens that no longer see the keys. All behind a key when left out.")
          .add("keys", &R::keys, "knockout: tokens that are hidden. All when it is left out.");
  return fields;
}

const Fields<FeatureRequest>& FeatureRequest::fields() {
  using R = FeatureRequest;
  static const Fields<R> fields =
      Fields<R>("Features", BodyUse::kRequest)
          .add("autoencoder", &R::autoencoder, "A sparse autoencoder of the server's folder, by its name.")
          .required()
          .add("features", &R::features, "Which of its features.")
          .required()
          .range(0)
          .add("kind", &R::kind, "ablate takes away what they add; steer adds their directions.")
          .required()
          .words({"ablate", "steer"})
          .add("strength", &R::strength, "steer: what a direction is multiplied by.")
          .range(-1e6, 1e6)
          .add("positions", &R::positions, "Tokens; below zero from the prompt's end. All when it is left out.");
  return fields;
}

const Fields<ChangesRequest>& ChangesRequest::fields() {
  using R = ChangesRequest;
  static const Fields<R> fields =
      Fields<R>("Changes", BodyUse::kRequest)
          .add("steer", &R::steer, "Vectors that are added, in order.")
          .add("features", &R::features, "Features that are ablated or added, in order, after steering.")
          .add("edits", &R::edits, "Changes of what is computed, in order, after those.");
  return fields;
}

const Fields<InspectRequest>& InspectRequest::fields() {
  using R = InspectRequest;
  static const Fields<R> fields =
      Fields<R>("Inspect", BodyUse::kRequest)
          .add("capture", &R::capture, "Hook points whose values are kept for GET /v1/wick/captures/{id}.")
          .add("positions", &R::positions, "Tokens that are kept; below zero from the prompt's end. All when left out.")
          .add_all(ChangesRequest::fields());
  return fields;
}

}  // namespace wick
