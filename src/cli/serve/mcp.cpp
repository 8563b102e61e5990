// wick mcp: models as tools of the Model Context Protocol, over standard input and output.
#include <atomic>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/serve/served_models.h"
#include "cli/shared_options.h"
#include "server/api/api.h"
#include "server/api/mcp/mcp_session.h"

namespace wick {
namespace {

struct McpArguments {
  std::vector<std::string> models, speech_models, embedding_models, classifiers;
  ServedLoad load;
  int64_t context = 0;
  int threads = 0;
};

int mcp(const McpArguments& arguments) {
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  std::vector<ModelEntry> entries;
  for (const std::string& text : arguments.models) entries.push_back(served_model(text));
  if (entries.empty()) entries.push_back(served_model("ember"));
  for (ModelEntry& entry : entries) {
    entry.load.quantize = arguments.load.quantize;
    entry.load.device = device_named(arguments.load.device);
    entry.load.notice = warn;
    entry.engine.context = arguments.context;
  }
  Api::Parts parts;
  const std::vector<SpeechEntry> listeners = served_speech_models(arguments.speech_models, arguments.load);
  const McpOffer offer{!listeners.empty(), !arguments.embedding_models.empty(), !arguments.classifiers.empty()};
  parts.speech = std::make_shared<SpeechHost>(listeners);
  parts.embedders = make_embed_host(served_encoders(arguments.embedding_models, arguments.load));
  parts.judges = make_judge_host(served_encoders(arguments.classifiers, arguments.load));
  Api api(std::make_shared<ModelHost>(std::move(entries)), std::make_shared<Metrics>(), std::move(parts));
  Router router;
  api.add_routes(router);
  std::atomic<bool> can_write = true;
  {
    McpSession session(std::move(router), offer, [&](const std::string& message) {
      std::cout << message << '\n' << std::flush;
      if (!std::cout.good()) can_write = false;
    });
    std::string line;
    while (can_write && std::getline(std::cin, line)) {
      if (!line.empty()) session.take(line);
    }
    if (can_write) session.wait();
  }
  api.stop();
  if (!can_write) throw Error(ErrorCode::kIo, "standard output cannot be written");
  return 0;
}

}  // namespace

void add_mcp(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("mcp", "Offer models as tools to agents (Model Context Protocol)");
  const auto arguments = std::make_shared<McpArguments>();
  McpArguments& a = *arguments;
  command->add_option("MODEL", a.models, "Models to chat with, as PATH or NAME=PATH (default: Ember)");
  const auto models = [&](const char* name, std::vector<std::string>& list, const char* help) {
    command->add_option(name, list, help)
        ->type_name("MODEL")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  models("--speech-model", a.speech_models, "A model that transcribes (default: Ember-ASR)");
  models("--embedding-model", a.embedding_models, "A model for vectors; without it there is no tool embed");
  models("--classifier", a.classifiers, "A model that classifies; without it there is no tool classify");
  add_quantize_option(*command, a.load.quantize);
  add_context_option(*command, a.context);
  add_threads_option(*command, a.threads);
  add_device_option(*command, a.load.device);
  command->footer(
      "A message per line on standard input and output, as agents expect that start their servers themselves:\n\n"
      "  {\"mcpServers\": {\"wick\": {\"command\": \"wick\", \"args\": [\"mcp\", \"models/Qwen3-0.6B\"]}}}");
  command->callback([&action, arguments] { action = [arguments] { return mcp(*arguments); }; });
}

}  // namespace wick
