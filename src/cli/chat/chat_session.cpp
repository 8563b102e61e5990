#include "cli/chat/chat_session.h"

#include <fmt/core.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/chat/answer_printer.h"
#include "cli/terminal/interrupt.h"
#include "cli/visual_arguments.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr int kPatience = 4;  // Ctrl-C this often while nothing happens, and once more, ends the program

Conversation make_conversation(const std::shared_ptr<const TextModel>& model, const ModelArguments& arguments) {
  if (!model->chat_template()) {
    std::string names;
    for (const auto name : ChatTemplate::built_in_names()) names += cat(names.empty() ? "" : ", ", name);
    throw Error(ErrorCode::kInvalidArgument,
                cat(model->name(), " has no chat template, so it may not be made for chats. Name one with --template (",
                    names, "), or continue a text with wick run --raw"));
  }
  return Conversation(model, generator_options(arguments));
}

fs::path last_conversation() {
  const fs::path history = LineHistory::default_path();
  return history.empty() ? history : history.parent_path() / "conversation.json";
}

// "7.35 million"
std::string count_text(int64_t count) {
  const auto value = static_cast<double>(count);
  return count >= 1'000'000'000 ? fmt::format("{:.3g} billion", value / 1e9)
                                : fmt::format("{:.3g} million", value / 1e6);
}

}  // namespace

ChatSession::ChatSession(ModelArguments& arguments, std::shared_ptr<const TextModel> model, LineEditor* editor)
    : arguments_(arguments),
      model_(std::move(model)),
      conversation_(make_conversation(model_, arguments)),
      drafter_(make_drafter(arguments, *model_)),
      params_(generate_params(arguments, *model_)),
      editor_(editor),
      terminal_(Terminal::of_stdout()),
      interactive_(editor != nullptr) {
  params_.drafter = drafter_.get();
}

void ChatSession::show_next(std::vector<Conversation::Shown> shown) {
  for (Conversation::Shown& each : shown) {
    const Sight sight = model_->eyes().look(*each.visual, conversation_.sight());
    if (interactive_) say(cat(shown_text(each, sight), " and goes before the next message.\n"));
    shown_.push_back(std::move(each));
  }
}

void ChatSession::go_on() {
  const fs::path path = last_conversation();
  std::error_code ignored;
  if (path.empty() || !fs::exists(path, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, "there is no conversation to continue yet; wick chat begins one");
  }
  conversation_.load(Json::load(path));
}

void ChatSession::keep() const {
  const fs::path path = last_conversation();
  if (interactive_ && !path.empty()) write_private(path, conversation_.to_json() + "\n");
}

int ChatSession::run() { return interactive_ ? run_at_terminal() : run_in_pipe(); }

void ChatSession::say(std::string_view text) const {
  WordWrap wrap(interactive_ ? terminal_.width : 0);
  std::cout << terminal_.paint(wrap.add(text), Colour::kDim) << "\n" << std::flush;
}

void ChatSession::complain(std::string_view text) {
  failed_ = true;
  if (interactive_) {
    WordWrap wrap(terminal_.width);
    std::cout << terminal_.paint(wrap.add(without_controls(text)), Colour::kWarn) << "\n" << std::flush;
  } else {
    std::cerr << "wick: " << text << "\n";
  }
}

void ChatSession::greet() const {
  const ModelFacts& facts = model_->model().facts();
  std::cout << terminal_.paint(model_->name(), Colour::kBold)
            << terminal_.paint(cat("  ", count_text(facts.parameters), " parameters, context of ",
                                   conversation_.context(), " tokens"),
                               Colour::kDim)
            << "\n";
  say("Type a message. /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.\n");
}

int ChatSession::run_at_terminal() {
  greet();
  const auto count = conversation_.messages().size() - (conversation_.system().empty() ? 0 : 1);
  if (count > 0) say(cat("The last conversation goes on; it has ", count, " messages.\n"));
  editor_->set_completion(completions);
  LineEditor::note_interrupts();
  bool asked_to_leave = false;
  while (signal_ == 0) {
    const LineEditor::Line line = editor_->read("> ");
    if (line.end == LineEditor::End::kEndOfInput) break;
    if (line.end == LineEditor::End::kInterrupt) {
      if (!line.text.empty()) continue;
      if (asked_to_leave) break;
      asked_to_leave = true;
      say("Press Ctrl-C again, or Ctrl-D, to leave.");
      continue;
    }
    asked_to_leave = false;
    if (!take(line.text)) break;
  }
  return signal_ == 0 ? 0 : 128 + signal_;
}

int ChatSession::run_in_pipe() {
  std::string text;
  for (std::string line; signal_ == 0 && std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    text += line;
    if (text.ends_with('\\')) {  // the line goes on
      text.back() = '\n';
      continue;
    }
    if (!take(std::exchange(text, ""))) break;
  }
  if (!text.empty()) take(text);
  return signal_ != 0 ? 128 + signal_ : failed_ ? 1 : 0;
}

bool ChatSession::take(const std::string& line) {
  const std::string text(trimmed(line));
  if (text.empty()) return true;
  if (text.starts_with("//")) {  // a message that begins with a slash
    ask(text.substr(1));
    return true;
  }
  if (text.starts_with('/')) return command(text);
  ask(text);
  return true;
}

// Each answer gets a seed of its own, so that the same question may be answered differently.
GenerateParams ChatSession::next_params() {
  GenerateParams params = params_;
  params.sampling.seed += static_cast<uint64_t>(answers_++);
  return params;
}

template <typename Answer>
void ChatSession::with_answer(const Answer& answer) {
  AnswerPrinter printer({interactive_, interactive_, terminal_.colour, interactive_ ? Terminal::of_stdout().width : 0});
  PromptProgress progress;
  std::optional<InterruptWatch> watch;
  if (interactive_) watch.emplace(kPatience);
  const auto each = [&](const ReplyEvent& event) {
    progress.show(event.step);
    printer.add(event.delta);
    return !watch || watch->signal() == 0;
  };
  const Reply reply = answer(ReplyCallback(each));
  printer.finish();
  if (watch && watch->signal() == SIGTERM) signal_ = SIGTERM;
  show(reply);
}

void ChatSession::ask(const std::string& text) {
  try {
    const std::string message = attached_ + text;
    with_answer([&](ReplyCallback each) { return conversation_.ask(message, shown_, next_params(), each); });
    attached_.clear();
    shown_.clear();
    keep();
  } catch (const Error& error) {
    complain(
        cat(error.what(), next_is_too_long(attached_ + text) ? ". The message was not taken; /clear starts anew" : ""));
  }
}

bool ChatSession::next_is_too_long(const std::string& text) {
  try {
    conversation_.add("user", text);
    const bool too_long = std::ssize(conversation_.prompt().tokens) > conversation_.context();
    conversation_.undo();
    return too_long;
  } catch (const Error&) {
    conversation_.undo();
    return false;
  }
}

void ChatSession::show(const Reply& reply) {
  const GenerateResult& result = reply.result;
  if (result.reason == StopReason::kCancelled && result.tokens.empty()) {
    say("stopped; the message was not taken\n");
    return;
  }
  used_ = result.prompt_tokens + std::ssize(result.tokens);
  if (interactive_) {
    std::string line = cat(result.tokens.size(), " tokens");
    if (result.decode_rate() > 0) line += cat(", ", std::llround(result.decode_rate()), "/s");
    if (!result.tokens.empty()) line += fmt::format(", first after {:.0f} ms", result.prefill_seconds * 1e3);
    line += cat(", context ", used_, " of ", conversation_.context());
    if (result.drafted > 0) line += cat(", ", result.accepted, " of ", result.drafted, " drafted tokens accepted");
    if (result.reason == StopReason::kCancelled) line = cat("stopped; ", line);
    if (result.reason == StopReason::kLength) line = cat("cut off; ", line);
    say(line + "\n");
  }
  if (result.reason == StopReason::kContextFull) {
    const std::string text =
        cat("The context of ", conversation_.context(), " tokens is full; /clear starts a new conversation");
    if (interactive_) {
      std::cout << terminal_.paint(text, Colour::kWarn) << "\n" << std::flush;
    } else {
      std::cerr << "wick: " << text << "\n";
    }
  }
}

void ChatSession::regenerate(const std::string&) {
  try {
    with_answer([&](ReplyCallback each) {
      auto reply = conversation_.answer_again(next_params(), each);
      if (!reply) throw Error(ErrorCode::kInvalidArgument, "there is no message to answer yet");
      return std::move(*reply);
    });
    keep();
  } catch (const Error& error) {
    complain(error.what());
  }
}

}  // namespace wick
