// Looking into models: captures and changes of answers, and the endpoints of the page's tab Inside.
#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/json_copy.h"
#include "server/api/microscope/inside_answers.h"
#include "server/api/microscope/inside_work.h"
#include "server/api/microscope/inspect_hooks.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

constexpr char kCapture[] = "/v1/wick/captures/{id}";

OrderedJson shape_json(const Shape& shape) {
  OrderedJson list = OrderedJson::array();
  for (int d = 0; d < shape.rank(); ++d) list.push_back(shape[d]);
  return list;
}

template <typename Thing>
OrderedJson names_of(const InsideShelf::Named<Thing>& things) {
  OrderedJson names = OrderedJson::array();
  for (const auto& [name, thing] : things) names.push_back(name);
  return names;
}

}  // namespace

void Api::add_inside_routes(Router& router) {
  add(router, "GET", "/v1/wick", &Api::about_inspect);
  add(router, "POST", "/v1/wick/lens", &Api::lens);
  add(router, "POST", "/v1/wick/attention", &Api::attention);
  add(router, "POST", "/v1/wick/norms", &Api::norms);
  add(router, "POST", "/v1/wick/heads", &Api::head_scores);
  add(router, "POST", "/v1/wick/patch", &Api::patch);
  add(router, "POST", "/v1/wick/run", &Api::run_edited);
  add(router, "POST", "/v1/wick/probe", &Api::probe);
  add(router, "POST", "/v1/wick/features", &Api::sae_features);
  add(router, "GET", kCapture, &Api::capture);
  add(router, "DELETE", kCapture, &Api::delete_capture);
}

void Api::check_may_inspect() const {
  if (inspector_) return;
  throw RequestError("wick", "this server does not let clients look into its models: it was started without --inspect",
                     "inspect_disabled", 403);
}

InspectEnd Api::inspect(const InspectRequest& wanted, EngineRequest& job, const std::string& id,
                        const std::string& owner, const EngineRef& engine) {
  check_may_inspect();
  if (std::ssize(wanted.capture) > InspectLimits::kPoints) {
    throw RequestError("wick.capture",
                       cat("wick.capture has ", wanted.capture.size(), " names, allowed are ", InspectLimits::kPoints));
  }
  const LanguageInterp model = inspector_->model_of(engine);
  const auto tokens = static_cast<int64_t>(job.prompt.size());
  const int64_t most = job.params.max_new_tokens < 0 ? engine->context() - tokens : job.params.max_new_tokens;
  const ChangedText text{tokens, std::min(engine->context(), tokens + std::min(most, engine->context()))};
  add_changes(job.hooks, wanted, model, text, inspector_->shelf(), "wick.");
  if (wanted.capture.empty()) return {};
  if (job.choices != 1) {
    throw RequestError("wick.capture", cat("wick.capture is for one answer, and n is ", job.choices));
  }
  for (size_t i = 0; i < wanted.capture.size(); ++i) {
    checked_site(wanted.capture[i], model, cat("wick.capture[", i, "]"));
  }
  const auto log =
      std::make_shared<CaptureLog>(wanted.capture, positions_from_start(wanted.positions, text, "wick.positions"),
                                   inspector_->captures().limits().bytes_each);
  log->watch(job.hooks);
  return [store = &inspector_->captures(), log, id, owner, prompt = job.prompt](const std::vector<int32_t>& answer) {
    StoredCapture capture{log, prompt};
    capture.tokens.insert(capture.tokens.end(), answer.begin(), answer.end());
    OrderedJson tensors = OrderedJson::object();
    for (const std::string& name : log->names()) tensors[name] = shape_json(log->shape(name));
    OrderedJson told = {{"id", id},
                        {"url", cat("/v1/wick/captures/", id)},
                        {"bytes", log->bytes()},
                        {"seconds", store->limits().kept.count()},
                        {"tensors", std::move(tensors)},
                        {"missing", log->missing()}};
    store->put(id, owner, std::move(capture));
    return OrderedJson{{"capture", std::move(told)}};
  };
}

void Api::about_inspect(const HttpRequest& request, const Exchange& exchange) {
  std::string name;
  for (const auto& [key, value] : request.query) {
    if (key == "model") name = value;
  }
  OrderedJson answer = {{"inspect", inspector_ != nullptr}};
  if (!inspector_) {
    answer["message"] = "Start the server with --inspect to look into its models.";
    return exchange->send(json_response(answer));
  }
  const CaptureStore::Limits& limits = inspector_->captures().limits();
  const InsideShelf& shelf = inspector_->shelf();
  answer["steering"] = names_of(shelf.steering());
  answer["probes"] = OrderedJson::array();
  for (const auto& [probe_name, probe] : shelf.probes()) {
    answer["probes"].push_back({{"name", probe_name}, {"point", probe.point}, {"labels", labels_of(probe)}});
  }
  answer["autoencoders"] = OrderedJson::array();
  for (const auto& [sae_name, sae] : shelf.autoencoders()) {
    answer["autoencoders"].push_back({{"name", sae_name}, {"point", sae.hook_name()}, {"features", sae.features()}});
  }
  answer["limits"] = {{"tokens", InspectLimits::kTokens},
                      {"cells", InspectLimits::kCells},
                      {"edits", InspectLimits::kEdits},
                      {"capture_bytes", limits.bytes_each},
                      {"capture_seconds", limits.kept.count()}};
  const auto tell = [this, exchange, answer](const std::string& model, const EngineRef& engine) mutable {
    const LanguageInterp inside = inspector_->model_of(engine);
    const InterpFacts& facts = inside.facts();
    answer["model"] = {{"id", model},
                       {"family", facts.family},
                       {"layers", facts.layers},
                       {"hidden", facts.hidden},
                       {"heads", facts.heads},
                       {"vocabulary", facts.vocabulary},
                       {"chat", engine->model().chat_template() != nullptr},
                       {"attention_layers", facts.attention_layers}};
    exchange->send(json_response(answer));
  };
  with_engine(name, exchange, tell, {request.caller.name, {}});
}

template <typename Wanted, typename Work>
void Api::look_inside(const HttpRequest& request, const Exchange& exchange, Work work) {
  check_may_inspect();
  const auto wanted = keep_with_room(Wanted::fields().read(json_body(request)), request);
  with_engine(
      wanted->model, exchange,
      [this, wanted, exchange, work, caller = request.caller](const std::string& model, const EngineRef& engine) {
        if (!host_->adapter_of(model).empty()) {
          throw RequestError("model", cat(in_quotes(model), " has an adapter, and is not looked into by name"));
        }
        if (const auto defaults = host_->defaults_of(model); defaults && defaults->system) {
          throw RequestError("model", cat(in_quotes(model), " is a preset, and is not looked into by name"));
        }
        const auto job = std::make_shared<InsideWork>(*inspector_, engine, exchange, caller);
        const bool has_room = inspector_->run(caller.name, [job, wanted, work] {
          try {
            (*job.*work)(*wanted);
          } catch (...) {
            job->fail(std::current_exception());
          }
        });
        if (has_room) return;
        HttpResponse busy = error_response(429, "Too many requests wait to look into models; try again later.", {}, {},
                                           "rate_limit_exceeded");
        busy.headers.emplace_back("Retry-After", "5");
        exchange->send(std::move(busy));
      },
      {request.caller.name, {}});
}

void Api::lens(const HttpRequest& request, const Exchange& exchange) {
  look_inside<LensRequest>(request, exchange, &InsideWork::lens);
}
void Api::attention(const HttpRequest& request, const Exchange& exchange) {
  look_inside<AttentionRequest>(request, exchange, &InsideWork::attention);
}
void Api::norms(const HttpRequest& request, const Exchange& exchange) {
  look_inside<InsideRequest>(request, exchange, &InsideWork::norms);
}
void Api::head_scores(const HttpRequest& request, const Exchange& exchange) {
  look_inside<InsideRequest>(request, exchange, &InsideWork::heads);
}
void Api::patch(const HttpRequest& request, const Exchange& exchange) {
  look_inside<PatchRequest>(request, exchange, &InsideWork::patch);
}
void Api::run_edited(const HttpRequest& request, const Exchange& exchange) {
  look_inside<RunRequest>(request, exchange, &InsideWork::run);
}
void Api::probe(const HttpRequest& request, const Exchange& exchange) {
  look_inside<ProbeRequest>(request, exchange, &InsideWork::probe);
}
void Api::sae_features(const HttpRequest& request, const Exchange& exchange) {
  look_inside<FeaturesRequest>(request, exchange, &InsideWork::features);
}

void Api::capture(const HttpRequest& request, const Exchange& exchange) {
  check_may_inspect();
  const std::string_view id = path_parameter(request.path, kCapture);
  const auto found = inspector_->captures().find(id, request.caller.key);
  if (!found) throw RequestError("id", cat("there is no capture ", in_quotes(id)), "not_found", 404);
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.headers.emplace_back("Content-Disposition", cat("attachment; filename=\"", id, ".safetensors\""));
  response.body = found->log->safetensors(found->tokens);
  exchange->send(std::move(response));
}

void Api::delete_capture(const HttpRequest& request, const Exchange& exchange) {
  check_may_inspect();
  const std::string_view id = path_parameter(request.path, kCapture);
  if (!inspector_->captures().remove(id, request.caller.key)) {
    throw RequestError("id", cat("there is no capture ", in_quotes(id)), "not_found", 404);
  }
  exchange->send(json_response({{"id", std::string(id)}, {"deleted", true}}));
}

}  // namespace wick
