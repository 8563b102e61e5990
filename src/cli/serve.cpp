#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/model_arguments.h"
#include "cli/models/running_servers.h"
#include "cli/process.h"
#include "cli/serve/served_models.h"
#include "cli/serve/served_presets.h"
#include "cli/shared_options.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/terminal.h"
#include "server/api/api.h"
#include "server/api/ollama/ollama_kinds.h"
#include "server/heap_limits.h"
#include "server/http/http_server.h"
#include "server/journal.h"
#include "server/web_routes.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kGrace{30};  // for running answers when the server goes
constexpr std::chrono::milliseconds kPoll{100};

struct ServeArguments {
  std::vector<std::string> models, loras, adapters, speech_models, embedding_models, rerank_models, voice_models;
  std::string aligner, host = "127.0.0.1", api_keys, tls_certificate, tls_key, log, quantize = "auto", chat_template;
  std::vector<std::string> cors, allowed_hosts;
  int port = 8080;
  std::string kv = "f16", policy = "priority", speculate, draft, preload = "first";
  int64_t context = 0, max_running = 64, max_waiting = 256, first_token_ms = 250, next_token_ms = 40;
  uint64_t kv_memory = 0, memory = 0;
  std::string journal;
  int64_t journal_entries = 10'000, journal_hours = 24;
  uint64_t journal_size = uint64_t{256} << 20;
  int threads = 0;
  std::string device = "cpu";
  bool no_prefix_cache = false, log_contents = false, inspect = false, open = false;
  std::string steering, probes, autoencoders, adapter_folder, keep_alive;
};

EngineOptions engine_options(const ServeArguments& arguments) {
  EngineOptions options;
  options.context = arguments.context;
  options.kv_dtype = kv_dtype(arguments.kv);
  options.kv_bytes = static_cast<int64_t>(arguments.kv_memory);
  options.max_running = arguments.max_running;
  options.max_waiting = arguments.max_waiting;
  options.policy = arguments.policy == "priority" ? SchedulePolicy::kPriority : SchedulePolicy::kFirstCome;
  options.first_token_seconds = static_cast<double>(arguments.first_token_ms) / 1e3;
  options.next_token_seconds = static_cast<double>(arguments.next_token_ms) / 1e3;
  options.prefix_cache = !arguments.no_prefix_cache;
  if (!arguments.draft.empty()) {
    LoadOptions load;
    load.device = device_named(arguments.device);
    options.drafter = [draft = load_named_model(arguments.draft, load), options](const TextModel& model) {
      return std::make_unique<ModelDrafter>(draft, model, options);
    };
  } else if (arguments.speculate == "mtp") {
    options.drafter = [](const TextModel& model) { return std::make_unique<MtpDrafter>(model.model()); };
  } else if (!arguments.speculate.empty()) {
    options.drafter = [](const TextModel&) { return std::make_unique<LookupDrafter>(); };
  }
  return options;
}

// Those for all requests, and NAME=PATH[=SCALE].
std::vector<LoraChoice> loras_of(const ServeArguments& arguments) {
  std::vector<LoraChoice> loras = loras_named(arguments.loras);
  for (const std::string& text : arguments.adapters) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument, cat("--adapter ", text, ": expected NAME=PATH or NAME=PATH=SCALE"));
    }
    LoraChoice lora = lora_named(text.substr(equals + 1));
    lora.name = text.substr(0, equals);
    for (const LoraChoice& other : loras) {
      if (other.name == lora.name) {
        throw Error(ErrorCode::kInvalidArgument, cat("two adapters are called '", lora.name, "'"));
      }
    }
    loras.push_back(std::move(lora));
  }
  return loras;
}

std::vector<ModelEntry> entries_of(const ServeArguments& arguments) {
  std::vector<ModelEntry> entries;
  std::vector<const Preset*> presets;
  for (const std::string& text : arguments.models) {
    entries.push_back(served_model(text));
    presets.push_back(served_preset(text));
  }
  if (entries.empty()) {
    entries.emplace_back().name = "ember";
    presets.push_back(nullptr);
  }
  if (entries.size() > 1 && !(arguments.loras.empty() && arguments.adapters.empty())) {
    throw Error(ErrorCode::kInvalidArgument, "--lora and --adapter are for a server of one language model");
  }
  const EngineOptions engine = engine_options(arguments);
  for (ModelEntry& entry : entries) {
    entry.load.quantize = arguments.quantize;
    entry.load.device = device_named(arguments.device);
    entry.load.chat_template = arguments.chat_template;
    entry.load.loras = loras_of(arguments);
    entry.load.mtp = arguments.speculate == "mtp";
    entry.load.notice = warn;
    entry.engine = engine;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (presets[i]) apply_preset(*presets[i], entries[i]);
  }
  join_presets(entries, presets);
  return entries;
}

HttpServerOptions server_options(const ServeArguments& arguments, const std::shared_ptr<Metrics>& metrics) {
  HttpServerOptions options;
  options.address = arguments.host;
  options.port = static_cast<uint16_t>(arguments.port);
  options.tls_certificate = arguments.tls_certificate;
  options.tls_key = arguments.tls_key;
  options.cors_origins = arguments.cors;
  options.allowed_hosts = arguments.allowed_hosts;
  options.metrics = metrics;
  if (!arguments.api_keys.empty()) options.keys = std::make_shared<ApiKeys>(ApiKeys::load(arguments.api_keys));
  if (!arguments.log.empty()) {
    const auto bodies = arguments.log_contents ? RequestLog::Bodies::kYes : RequestLog::Bodies::kNo;
    options.log = std::make_shared<RequestLog>(arguments.log, bodies);
  }
  return options;
}

double keep_seconds(const ServeArguments& arguments) {
  if (arguments.keep_alive.empty()) return kKeepForever;
  const auto seconds = duration_seconds(arguments.keep_alive);
  if (!seconds) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("--keep-alive is ", in_quotes(arguments.keep_alive), ", expected a duration like 10m or 1h30m"));
  }
  return *seconds;
}

// Null without --inspect.
std::unique_ptr<Inspector> make_inspector(const ServeArguments& arguments) {
  if (!arguments.inspect) return nullptr;
  InspectOptions options;
  options.folders = {arguments.steering, arguments.probes, arguments.autoencoders};
  return std::make_unique<Inspector>(options);
}

// Null without --journal.
std::shared_ptr<Journal> open_journal(const ServeArguments& arguments) {
  if (arguments.journal.empty()) return nullptr;
  JournalOptions options;
  options.folder = arguments.journal;
  options.most_entries = arguments.journal_entries;
  options.most_bytes = static_cast<int64_t>(arguments.journal_size);
  options.keep_seconds = arguments.journal_hours * 3600;
  return std::make_shared<Journal>(options);
}

void say(const std::string& line) { std::cout << line + "\n" << std::flush; }

void tell_journal(const Journal& journal) {
  for (const std::string& finding : journal.findings()) warn(finding);
  const Journal::Size size = journal.size();
  if (size.entries == 0) return;
  say(cat("The journal holds ", size.entries, " responses, ", size.pending, " of them to be computed"));
}

void tell_ready(const std::string& name, const TextEngine& engine, double seconds) {
  say(fmt::format("{} is ready after {:.2f} s: context {} tokens, {} for keys and values", name, seconds,
                  engine.context(), bytes_text(engine.kv_bytes())));
}

void preload(ModelHost& host, const ServeArguments& arguments, const std::vector<std::string>& names) {
  const auto began = std::chrono::steady_clock::now();
  for (const std::string& name : names) {
    if (arguments.preload == "none" || (arguments.preload == "first" && name != names.front())) continue;
    host.use(name, [name, began](const ModelHost::EngineRef& engine, const Error* error) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
      if (engine) {
        tell_ready(name, *engine, taken.count());
      } else {
        std::cerr << cat("wick: ", name, " cannot be loaded: ", error->what(), "\n");
      }
    });
  }
}

// Keys and certificate as the files have them now. What cannot be read stays as it was.
void reload(HttpServer& server, const ServeArguments& arguments) {
  const auto try_to = [](const auto& act, const std::string& what) {
    try {
      act();
      say(cat("Read ", what, " again"));
    } catch (const Error& error) {
      warn(cat(error.what(), "; ", what, " stay as they were"));
    }
  };
  if (!arguments.api_keys.empty()) {
    try_to([&] { server.replace_keys(std::make_shared<ApiKeys>(ApiKeys::load(arguments.api_keys))); }, "the API keys");
  }
  if (!arguments.tls_certificate.empty()) {
    try_to([&] { server.reload_certificate(); }, "certificate and key");
  }
}

int serve(const ServeArguments& arguments) {
  limit_heap();
  if (arguments.threads > 0) ThreadPool::instance().resize(arguments.threads);
  const std::vector<ModelEntry> entries = entries_of(arguments);
  std::vector<std::string> names;
  for (const ModelEntry& entry : entries) {
    names.push_back(entry.name);
    for (const ModelEntry::Preset& preset : entry.presets) names.push_back(preset.name);
  }
  const auto metrics = std::make_shared<Metrics>();
  const auto host =
      std::make_shared<ModelHost>(entries, static_cast<int64_t>(arguments.memory), keep_seconds(arguments));
  const std::shared_ptr<Journal> journal = open_journal(arguments);
  if (journal) tell_journal(*journal);
  const ServedLoad load{arguments.quantize, arguments.device, arguments.aligner};
  Api::Parts parts;
  parts.journal = journal;
  parts.speech = std::make_shared<SpeechHost>(served_speech_models(arguments.speech_models, load));
  parts.embedders = make_embed_host(served_encoders(arguments.embedding_models, load));
  parts.judges = make_judge_host(served_encoders(arguments.rerank_models, load));
  parts.adapters = arguments.adapter_folder;
  parts.inspector = make_inspector(arguments);
  parts.say = warn;
  parts.voices = make_voice_host(served_encoders(arguments.voice_models, load));
  Api api(host, metrics, std::move(parts));
  Router router;
  api.add_routes(router);
  add_web_routes(router);
  const InterruptWatch watch;  // before there is anything to interrupt
  ReloadWatch reload_watch;
  HttpServer server(std::move(router), server_options(arguments, metrics));
  if (arguments.api_keys.empty() && !server.is_local()) {
    warn(cat("whoever reaches ", server.url(), " may use it, since there are no --api-keys"));
  }

  const Terminal terminal = Terminal::of_stdout();
  std::string models;
  for (const std::string& name : names) models += cat(models.empty() ? "" : ", ", name);
  say(cat("Wick ", WICK_VERSION, " serves ", models, " at ", terminal.paint(server.url(), Colour::kBold)));
  say(terminal.paint(cat("OpenAI-compatible: base URL ", server.url(), "/v1; description: ", server.url(),
                         "/openapi.json; Ctrl-C ends"),
                     Colour::kDim));
  const ServerNote note({getpid(), server.url(), names, std::time(nullptr)});
  preload(*host, arguments, names);
  if (arguments.open && !open_page(server.url())) warn(kNothingOpensPages);
  while (watch.signal() == 0) {
    std::this_thread::sleep_for(kPoll);
    if (reload_watch.take()) reload(server, arguments);
  }
  say("\nFinishing what is being answered; Ctrl-C once more ends at once.");
  api.stop();
  server.stop(kGrace);
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("serve", "Answer over HTTP, as OpenAI's API does, Anthropic's and Ollama's");
  const auto arguments = std::make_shared<ServeArguments>();
  ServeArguments& a = *arguments;
  command->add_option("MODEL", a.models,
                      "Models to offer, as PATH, NAME=PATH or a preset; the first is loaded at once (default: Ember)");
  command
      ->add_option("--speech-model", a.speech_models,
                   "A model for /v1/audio/transcriptions, as PATH or NAME=PATH; may be repeated (also: ember-asr)")
      ->type_name("MODEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--voice-model", a.voice_models,
                   "A model for /v1/audio/speech, as PATH or NAME=PATH; may be repeated")
      ->type_name("MODEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--embedding-model", a.embedding_models,
                   "A model for /v1/embeddings, as PATH or NAME=PATH; may be repeated")
      ->type_name("MODEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--rerank-model", a.rerank_models,
                   "A cross-encoder or classifier for /v1/rerank, /v1/score and /v1/classify; may be repeated")
      ->type_name("MODEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--aligner", a.aligner, "A forced aligner, for Qwen3-ASR's times of words")->type_name("MODEL");
  command->add_option("--host", a.host, "Address to listen at (default: 127.0.0.1)")->type_name("ADDRESS");
  command->add_option("--port", a.port, "Port to listen at; 0: any that is free (default: 8080)")
      ->check(CLI::Range(0, 65535).description(""))
      ->type_name("PORT");
  command->add_flag("--open", a.open, "Have the browser show the page");
  command
      ->add_option("--api-keys", a.api_keys,
                   "Ask for a key; the file has one per line, or \"name: key\", and what it may have")
      ->type_name("FILE");
  command->add_option("--cors", a.cors, "Web pages of this origin may ask; * for all; may be repeated")
      ->type_name("ORIGIN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--allow-host", a.allowed_hosts,
                   "Answer to this name, too; * for all; may be repeated (default: names of the address)")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* certificate = command->add_option("--tls-cert", a.tls_certificate, "HTTPS: the certificate, as PEM");
  CLI::Option* key = command->add_option("--tls-key", a.tls_key, "HTTPS: its private key, as PEM");
  certificate->type_name("FILE")->needs(key);
  key->type_name("FILE")->needs(certificate);
  CLI::Option* log = command->add_option("--log", a.log, "Write a line of JSON per request; - is standard error");
  log->type_name("FILE");
  command->add_flag("--log-contents", a.log_contents, "With --log: also what is asked and answered")->needs(log);

  constexpr char kModel[] = "Models";
  command->add_option("--memory", a.memory, "What all models may take, e.g. 12GiB (default: 3/4 of what is free)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("BYTES")
      ->group(kModel);
  command
      ->add_option("--keep-alive", a.keep_alive,
                   "Unload a model that nobody uses for this long, e.g. 10m (default: when memory is wanted)")
      ->type_name("DURATION")
      ->group(kModel);
  command->add_option("--preload", a.preload, "Load at start: first (default), all or none")
      ->check(CLI::IsMember({"first", "all", "none"}).description(""))
      ->type_name("WHICH")
      ->group(kModel);
  add_quantize_option(*command, a.quantize)->group(kModel);
  add_lora_option(*command, a.loras)->group(kModel);
  command->add_option("--adapter", a.adapters, "An adapter for requests to MODEL:NAME; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=PATH[=SCALE]")
      ->group(kModel);
  command
      ->add_option("--adapter-folder", a.adapter_folder,
                   "Clients may load adapters of this folder while the server runs (POST /v1/load_lora_adapter)")
      ->check(CLI::ExistingDirectory.description(""))
      ->type_name("DIR")
      ->group(kModel);
  command->add_option("--template", a.chat_template, "A built-in chat template for the models' own")
      ->type_name("NAME")
      ->group(kModel);
  add_threads_option(*command, a.threads)->group(kModel);
  add_device_option(*command, a.device)->group(kModel);

  constexpr char kEngine[] = "Engine, per model";
  add_context_option(*command, a.context)->group(kEngine);
  add_kv_option(*command, a.kv)->group(kEngine);
  command->add_option("--kv-memory", a.kv_memory, "For keys and values, e.g. 2GiB (default: from what is free)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("BYTES")
      ->group(kEngine);
  const auto count = [&](const char* name, int64_t& value, const char* help, int64_t least) {
    command->add_option(name, value, help)->check(count_from(least, 1'000'000))->type_name("COUNT")->group(kEngine);
  };
  count("--max-running", a.max_running, "Sequences that are computed at a time (default: 64)", 1);
  count("--max-waiting", a.max_waiting, "Requests that may wait; one more gets status 429 (default: 256)", 1);
  command->add_option("--policy", a.policy, "Who goes first: priority (default) or first-come")
      ->check(CLI::IsMember({"priority", "first-come"}).description(""))
      ->type_name("POLICY")
      ->group(kEngine);
  count("--ttft-target-ms", a.first_token_ms, "Aim at a first token after this many ms (default: 250)", 1);
  count("--tpot-target-ms", a.next_token_ms, "Aim at a token every so many ms (default: 40)", 1);
  command->add_flag("--no-prefix-cache", a.no_prefix_cache, "Compute every prompt from its beginning")->group(kEngine);
  CLI::Option* speculate =
      command->add_option("--speculate", a.speculate,
                          "Speculative decoding with drafts from the text, or by the model's own layer for it (mtp); "
                          "same answers");
  speculate->check(CLI::IsMember({"lookup", "ngram", "mtp"}).description(""))->type_name("lookup|mtp")->group(kEngine);
  command->add_option("--draft", a.draft, "Speculative decoding with drafts of a smaller model; same answers")
      ->type_name("MODEL")
      ->group(kEngine)
      ->excludes(speculate);

  constexpr char kInspect[] = "Looking into models";
  CLI::Option* inspect = command->add_flag(
      "--inspect", a.inspect, "Let clients capture and change what models compute; for the page's tab Inside");
  inspect->group(kInspect);
  const auto folder = [&](const char* name, std::string& path, const char* what) {
    command->add_option(name, path, what)->type_name("DIR")->needs(inspect)->group(kInspect);
  };
  folder("--steering", a.steering, "A folder of steering vectors that requests may name");
  folder("--probes", a.probes, "A folder of probes that requests may name");
  folder("--autoencoders", a.autoencoders, "A folder of sparse autoencoders, each a folder, that requests may name");

  constexpr char kJournal[] = "Responses in the background";
  CLI::Option* journal = command->add_option(
      "--journal", a.journal, "Keep them in this folder, where they survive the server; without it there are none");
  journal->type_name("DIR")->group(kJournal);
  command->add_option("--journal-hours", a.journal_hours, "How long one is kept when it is done (default: 24)")
      ->check(count_from(1, 100'000))
      ->type_name("HOURS")
      ->needs(journal)
      ->group(kJournal);
  command->add_option("--journal-entries", a.journal_entries, "How many there may be, done or not (default: 10000)")
      ->check(count_from(1, 10'000'000))
      ->type_name("COUNT")
      ->needs(journal)
      ->group(kJournal);
  command->add_option("--journal-size", a.journal_size, "What they may take, in memory, too (default: 256MiB)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("BYTES")
      ->needs(journal)
      ->group(kJournal);
  command->footer(
      "Answers depend on the request alone, not on what else is being answered. docs/server.md says more.\n\n"
      "Examples:\n"
      "  wick serve\n"
      "  wick serve models/Qwen3-0.6B small=model.gguf --port 8000\n"
      "  wick serve Qwen/Qwen3-0.6B draft=unsloth/Qwen3-0.6B-GGUF:Q4_K_M\n"
      "  wick serve --host 0.0.0.0 --api-keys keys.txt --tls-cert cert.pem --tls-key key.pem");
  command->callback([&action, arguments] { action = [arguments] { return serve(*arguments); }; });
}

}  // namespace wick
