#include "server/api/microscope/inside_request.h"

#include "server/api/microscope/inspect_hooks.h"

namespace wick {
namespace {

constexpr int64_t kMostTop = 50;

}  // namespace

const Fields<TextRequest>& TextRequest::fields() {
  using R = TextRequest;
  static const Fields<R> fields = Fields<R>("InsideText", BodyUse::kRequest)
                                      .add("prompt", &R::prompt, "A text.")
                                      .add("tokens", &R::tokens, "Or its tokens.")
                                      .range(0)
                                      .add("messages", &R::messages, "Or a conversation, through the chat template.");
  return fields;
}

const Fields<InsideRequest>& InsideRequest::fields() {
  using R = InsideRequest;
  static const Fields<R> fields =
      Fields<R>("InsideRequest", BodyUse::kRequest)
          .add("model", &R::model, "Which model is looked into; the first one when it is left out.")
          .add_all(TextRequest::fields())
          .add_all(ChangesRequest::fields())
          .add("source", &R::source, "Where edits of kind patch take their values; of as many tokens.");
  return fields;
}

const Fields<LensRequest>& LensRequest::fields() {
  using R = LensRequest;
  static const Fields<R> fields =
      Fields<R>("LensRequest", BodyUse::kRequest)
          .add_all(InsideRequest::fields())
          .add("positions", &R::positions, "Tokens that are looked at; below zero from the end. All when left out.")
          .add("follow", &R::follow, "Tokens whose probability and rank each cell gives; at most 16.")
          .range(0)
          .add("top", &R::top, "How many tokens each cell gives.")
          .range(1, 20)
          .add("stream", &R::stream, "Answer with events: how far it is, then the lens.");
  return fields;
}

const Fields<AttentionRequest>& AttentionRequest::fields() {
  using R = AttentionRequest;
  static const Fields<R> fields = Fields<R>("AttentionRequest", BodyUse::kRequest)
                                      .add_all(InsideRequest::fields())
                                      .add("layer", &R::layer, "Whose patterns.")
                                      .range(0)
                                      .add("heads", &R::heads, "Of these heads; of all when it is left out.")
                                      .range(0);
  return fields;
}

const Fields<ProbeRequest>& ProbeRequest::fields() {
  using R = ProbeRequest;
  static const Fields<R> fields = Fields<R>("ProbeRequest", BodyUse::kRequest)
                                      .add_all(InsideRequest::fields())
                                      .add("probe", &R::probe, "A probe of the server's folder, by its name.")
                                      .required();
  return fields;
}

const Fields<FeaturesRequest>& FeaturesRequest::fields() {
  using R = FeaturesRequest;
  static const Fields<R> fields =
      Fields<R>("FeaturesRequest", BodyUse::kRequest)
          .add_all(InsideRequest::fields())
          .add("autoencoder", &R::autoencoder, "A sparse autoencoder of the server's folder, by its name.")
          .required()
          .add("top", &R::top, "How many of the strongest features each token gives.")
          .range(1, kMostTop)
          .add("follow", &R::follow, "Features whose value each token gives; at most 16.")
          .range(0);
  return fields;
}

const Fields<MetricRequest>& MetricRequest::fields() {
  using R = MetricRequest;
  static const Fields<R> fields =
      Fields<R>("PatchMetric", BodyUse::kRequest)
          .add("kind", &R::kind, "By what number the answer is judged.")
          .words({"logit_difference", "logit", "probability", "log_probability", "kl"})
          .add("token", &R::token, "The answer of the clean text; its likeliest when it is left out.")
          .range(0)
          .add("other", &R::other, "logit_difference: the corrupted text's answer; its likeliest when left out.")
          .range(0)
          .add("position", &R::position, "Where the answer is looked at; below zero from the end.");
  return fields;
}

const Fields<PatchRequest>& PatchRequest::fields() {
  using R = PatchRequest;
  static const Fields<R> fields =
      Fields<R>("PatchRequest", BodyUse::kRequest)
          .add("model", &R::model, "Which model is looked into; the first one when it is left out.")
          .add("clean", &R::clean, "The text whose values are put in.")
          .required()
          .add("corrupted", &R::corrupted, "The text that runs again and again; of as many tokens.")
          .required()
          .add("point", &R::point, "What is put in, one cell at a time.")
          .words({"hook_resid_pre", "hook_resid_mid", "hook_resid_post", "hook_attn_out", "hook_mlp_out", "attn.hook_z",
                  "attn.hook_q", "attn.hook_k", "attn.hook_v"})
          .add("by", &R::by, "What a cell is: a position of a layer, or a head of a layer at all positions.")
          .words({"position", "head"})
          .add("layers", &R::layers, "Those that are tried; all when it is left out.")
          .range(0)
          .add("positions", &R::positions, "Those that are tried; below zero from the end. All when it is left out.")
          .add("metric", &R::metric, "By what the result is judged.");
  return fields;
}

const Fields<RunRequest>& RunRequest::fields() {
  using R = RunRequest;
  static const Fields<R> fields =
      Fields<R>("RunRequest", BodyUse::kRequest)
          .add_all(InsideRequest::fields())
          .add("max_tokens", &R::max_tokens, "How far the text is continued, always by the likeliest token.")
          .range(0, static_cast<double>(InspectLimits::kContinue))
          .add("top", &R::top, "How many of the likeliest next tokens to give.")
          .range(1, kMostTop);
  return fields;
}

}  // namespace wick
