// Adapters that come and go while the server runs, by vLLM's endpoints.
#include <filesystem>

#include "base/utf8.h"
#include "server/api/adapter_requests.h"
#include "server/api/api.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 256;

// The name behind "model:", which may be left out.
std::string adapter_name(const std::string& model, const std::string& name) {
  const std::string prefix = cat(model, ":");
  const std::string own = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  if (own.empty() || own.size() > kLongestName) {
    throw RequestError("lora_name", cat("lora_name has ", own.size(), " bytes, expected 1 to ", kLongestName));
  }
  return own;
}

// Clients choose among what lies in one folder.
fs::path adapter_path(const fs::path& folder, const std::string& path) {
  std::error_code error;
  const fs::path base = fs::weakly_canonical(folder, error), wanted = fs::weakly_canonical(base / path, error);
  const auto [end, ignored] = std::mismatch(base.begin(), base.end(), wanted.begin(), wanted.end());
  if (error || end != base.end() || wanted == base) {
    throw RequestError("lora_path", cat("lora_path ", in_quotes(path), " is not in the server's folder of adapters"));
  }
  return wanted;
}

HttpResponse told(const std::string& sentence) {
  HttpResponse response;
  response.body = sentence;
  response.content_type = "text/plain; charset=utf-8";
  return response;
}

}  // namespace

const Fields<LoadAdapterRequest>& LoadAdapterRequest::fields() {
  using R = LoadAdapterRequest;
  static const Fields<R> fields =
      Fields<R>("LoadAdapterRequest", BodyUse::kRequest)
          .add("model", &R::model, "For which model; the first one when it is left out.")
          .add("lora_name", &R::lora_name, "What requests call it: model \"MODEL:NAME\".")
          .required()
          .add("lora_path", &R::lora_path, "A folder as PEFT writes it or a GGUF file, in the server's folder of them.")
          .required()
          .add("scale", &R::scale, "What it is multiplied by.")
          .range(-1000, 1000)
          .refuse("load_inplace", "unload the adapter first");
  return fields;
}

const Fields<UnloadAdapterRequest>& UnloadAdapterRequest::fields() {
  using R = UnloadAdapterRequest;
  static const Fields<R> fields = Fields<R>("UnloadAdapterRequest", BodyUse::kRequest)
                                      .add("model", &R::model, "Of which model; the first one when it is left out.")
                                      .add("lora_name", &R::lora_name, "The adapter's name.")
                                      .required();
  return fields;
}

void Api::check_may_change_adapters() const {
  if (!adapters_.empty()) return;
  throw RequestError("", "adapters cannot be loaded here: the server was started without --adapter-folder",
                     "adapters_not_allowed", 403);
}

void Api::load_adapter(const HttpRequest& request, const Exchange& exchange) {
  check_may_change_adapters();
  const auto wanted = LoadAdapterRequest::fields().read(json_body(request));
  with_engine(wanted.model, exchange,
              [=, this](const std::string& model, const EngineRef& engine) {
                LoraChoice lora;
                lora.name = adapter_name(model, wanted.lora_name);
                lora.path = adapter_path(adapters_, wanted.lora_path);
                lora.scale = static_cast<float>(wanted.scale);
                try {
                  host_->load_adapter(model, *engine, lora);
                } catch (const RequestError&) {
                  throw;
                } catch (const Error& error) {
                  throw RequestError(error.code() == ErrorCode::kInvalidArgument ? "lora_name" : "lora_path",
                                     error.what());
                }
                exchange->send(told(cat("Success: LoRA adapter '", lora.name, "' added successfully.")));
              },
              {});
}

void Api::unload_adapter(const HttpRequest& request, const Exchange& exchange) {
  check_may_change_adapters();
  const auto wanted = UnloadAdapterRequest::fields().read(json_body(request));
  with_engine(wanted.model, exchange,
              [=, this](const std::string& model, const EngineRef& engine) {
                const std::string name = adapter_name(model, wanted.lora_name);
                if (!host_->unload_adapter(model, *engine, name)) {
                  throw RequestError("lora_name", cat("there is no adapter ", in_quotes(name)), "adapter_not_found",
                                     404);
                }
                exchange->send(told(cat("Success: LoRA adapter '", name, "' removed successfully.")));
              },
              {});
}

}  // namespace wick
