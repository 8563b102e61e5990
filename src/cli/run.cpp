#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/chat/answer_printer.h"
#include "cli/commands.h"
#include "cli/model_arguments.h"
#include "cli/models/file_kind.h"
#include "cli/read_text.h"
#include "cli/run_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/visual_arguments.h"
#include "engine/text/conversation.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

struct RunArguments : ModelArguments {
  std::string text, prompt, file, system, messages, tools;
  VisualArguments visuals;
  int64_t logprobs = -1;  // -1: none
  bool raw = false, json = false, stats = false, reasoning = false;
};

// Whether somebody has put text there: a pipe or a file. Other things (a closed input, a service's socket) count only
// when there is no other prompt.
bool has_piped_input(bool has_prompt) {
  if (isatty(STDIN_FILENO)) return false;
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0) return false;
  return !has_prompt || S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode);
}

// Who forgot that the input is open should learn why nothing happens: a pipe may stay silent for ever.
void tell_waiting() {
  constexpr int kPatience = 1000;  // milliseconds
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, kPatience) == 0) {
    std::cerr << "wick: waiting for the end of standard input, which continues the prompt; < /dev/null gives none\n";
  }
}

// The parts that are there, one below the other.
std::string read_prompt(const RunArguments& arguments) {
  std::string prompt;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) prompt += cat(prompt.empty() ? "" : "\n", part);
  };
  add(arguments.prompt);
  add(arguments.text);
  if (!arguments.file.empty()) add(without_last_newline(read_text(arguments.file)));
  const bool has_prompt = !prompt.empty() || !arguments.messages.empty();
  if (!arguments.visuals.reads_input() && has_piped_input(has_prompt)) {
    if (has_prompt) tell_waiting();
    add(without_last_newline(read_input()));
  }
  return prompt;
}

// Plain continuation: no template, and the answer is the text as it comes.
Reply continue_text(const std::shared_ptr<const TextModel>& model, const RunArguments& arguments,
                    const std::string& prompt, const GenerateParams& params, ReplyCallback callback) {
  Generator generator(model, generator_options(arguments));
  Reply reply;
  reply.result = generator.generate(model->tokenizer().encode(prompt), params, [&](const GenerateEvent& event) {
    ResponseDelta delta;
    delta.content = event.text;
    reply.response.content += event.text;
    return callback({event, delta});
  });
  return reply;
}

Reply answer(const std::shared_ptr<const TextModel>& model, const RunArguments& arguments, const std::string& prompt,
             const GenerateParams& params, ReplyCallback callback) {
  Conversation conversation(model, generator_options(arguments));
  if (!arguments.messages.empty()) conversation.load(read_json(arguments.messages, "--messages"));
  if (!arguments.tools.empty()) conversation.set_tools(read_json(arguments.tools, "--tools"));
  if (!arguments.system.empty()) conversation.set_system(arguments.system);
  conversation.sight() = arguments.visuals.sight();
  const std::vector<Conversation::Shown> shown = arguments.visuals.load();
  for (const Conversation::Shown& each : shown) {
    if (!arguments.stats) break;
    std::cerr << shown_text(each, model->eyes().look(*each.visual, conversation.sight())) << "\n";
  }
  if (!prompt.empty() || !shown.empty()) conversation.add_user(prompt, shown);
  return conversation.answer(params, callback);
}

// Why the text ends where it does, when that is not its own end.
void tell_end(const GenerateResult& result, const Terminal& terminal) {
  if (result.reason != StopReason::kContextFull) return;
  std::cerr << terminal.paint(cat("wick: the context of ", result.prompt_tokens + std::ssize(result.tokens),
                                  " tokens is full; --context may give more"),
                              Colour::kWarn)
            << "\n";
}

void tell_no_prompt(const RunArguments& arguments) {
  std::error_code ignored;
  const bool is_model = arguments.model.empty() || std::filesystem::exists(arguments.model, ignored);
  std::cerr << (is_model ? "wick: there is no prompt"
                         : cat("wick: ", in_quotes(arguments.model), " is taken as MODEL, and there is no prompt"))
            << ": give one with -p, --file, --messages or through a pipe; wick chat is interactive\n";
}

// `wick run "Who are you?"`: words that name no model are the prompt, and Ember answers.
void take_words_as_prompt(RunArguments& arguments) {
  if (!arguments.text.empty() || !arguments.prompt.empty() || !arguments.file.empty()) return;
  if (!reads_like_a_prompt(arguments.model) || try_named_path(arguments.model)) return;
  arguments.text = std::exchange(arguments.model, "");
}

int run(RunArguments& arguments) {
  const std::string other = other_kind_of_file(arguments.model);
  if (!other.empty()) throw Error(ErrorCode::kBadFile, cat(arguments.model, ": ", other));
  take_words_as_prompt(arguments);
  const std::string prompt = read_prompt(arguments);
  if (prompt.empty() && arguments.messages.empty() && arguments.visuals.empty()) {
    tell_no_prompt(arguments);
    return 2;
  }
  const auto model = load_text_model(arguments);
  GenerateParams params = generate_params(arguments, *model);
  if (arguments.logprobs >= 0) params.sampling.logprobs = arguments.logprobs;
  const auto drafter = make_drafter(arguments, *model);
  params.drafter = drafter.get();
  const bool chats = !arguments.raw && model->chat_template();
  if (!chats && !arguments.raw &&
      !(arguments.messages.empty() && arguments.tools.empty() && arguments.system.empty() &&
        arguments.visuals.empty())) {
    throw Error(ErrorCode::kInvalidArgument, cat(model->name(), " has no chat template; name one with --template"));
  }

  const Terminal out = Terminal::of_stdout(), err = Terminal::of_stderr();
  const bool shown = isatty(STDOUT_FILENO) != 0;
  AnswerPrinter printer({arguments.reasoning || shown, shown, out.colour, shown ? out.width : 0});
  PromptProgress progress;
  std::vector<SampledToken> choices;
  const InterruptWatch watch;
  const auto each = [&](const ReplyEvent& event) {
    progress.show(event.step);
    if (event.step.token && arguments.logprobs >= 0) choices.push_back(*event.step.token);
    if (!arguments.json) printer.add(event.delta);
    return watch.signal() == 0;
  };
  const Reply reply =
      chats ? answer(model, arguments, prompt, params, each) : continue_text(model, arguments, prompt, params, each);
  if (arguments.json) {
    std::cout << to_json(reply, *model, params.sampling.seed, choices)
                     .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  } else {
    printer.finish();
  }
  if (arguments.stats || (shown && isatty(STDERR_FILENO))) {
    std::string text = rate_text(reply.result);
    if (params.sampling.temperature > 0) text += cat(", seed ", params.sampling.seed);
    std::cerr << err.paint(text, Colour::kDim) << "\n";
  }
  tell_end(reply.result, err);
  return watch.signal() ? 128 + watch.signal() : 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Answer one prompt");
  const auto arguments = std::make_shared<RunArguments>();
  arguments->add_options(*command);
  command->add_option("PROMPT", arguments->text,
                      "The prompt; it may stand alone, without MODEL, when it is more than a word");
  command->add_option("-p,--prompt", arguments->prompt, "The prompt; text from a pipe is put below it");
  command->add_option("--file", arguments->file, "Read the prompt from a file")->type_name("FILE");
  command->add_flag("--raw", arguments->raw,
                    "Continue the prompt as it is, without chat template; control tokens in it count");
  command->add_option("--system", arguments->system, "The system message");
  command->add_option("--messages", arguments->messages, "JSON: the conversation so far, as wick template takes it")
      ->type_name("FILE|JSON");
  command->add_option("--tools", arguments->tools, "JSON: a list of tools the model may call")->type_name("FILE|JSON");
  arguments->visuals.add_options(*command);
  command->add_flag("--reasoning", arguments->reasoning, "Write the reasoning to a pipe, too");
  command->add_option("--logprobs", arguments->logprobs, "With --json: log-probabilities, and this many alternatives")
      ->check(CLI::Range(int64_t{0}, int64_t{1000}).description(""))
      ->type_name("COUNT");
  command->add_flag("--json", arguments->json, "Print one JSON object at the end, and nothing else");
  command->add_flag("--stats", arguments->stats, "Show speed, token counts and the seed on standard error");
  command->footer(
      "The answer goes to standard output while it is generated, and nothing else does. Ctrl-C ends it.\n\n"
      "Examples:\n"
      "  wick run \"Who are you?\"\n"
      "  wick run models/Qwen3-0.6B -p \"Summarise this:\" < notes.txt\n"
      "  wick run model.gguf --raw -p \"Once upon a time\" -n 100 --temperature 0\n"
      "  wick run -p \"Give me JSON with name and age: Tom is 7 years old.\" --json-mode\n"
      "  wick run models/Qwen3-VL-2B-Instruct --image photo.jpg -p \"What is on the table?\"\n"
      "  wick run -p \"What is 348 plus 275?\" --json --logprobs 3");
  command->callback([command, &action, arguments] {
    arguments->settle(*command);
    if (arguments->raw && !arguments->system.empty()) throw CLI::ExcludesError("--raw", "--system");
    if (arguments->raw && !arguments->messages.empty()) throw CLI::ExcludesError("--raw", "--messages");
    if (arguments->raw && !arguments->tools.empty()) throw CLI::ExcludesError("--raw", "--tools");
    if (arguments->raw && !arguments->visuals.empty()) throw CLI::ExcludesError("--raw", "--image");
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace wick
