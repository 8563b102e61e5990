#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/chat_prompt.h"
#include "engine/text/generator.h"
#include "engine/text/response_format.h"

namespace wick {

// An answer: taken apart, and how it came about.
struct Reply {
  Response response;
  GenerateResult result;
};

struct ReplyEvent {
  const GenerateEvent& step;
  const ResponseDelta& delta;  // what its text added
};
// Answers false to stop.
using ReplyCallback = FunctionRef<bool(const ReplyEvent&)>;

// A talk with a model: messages go through its chat template, answers are taken apart and become messages themselves
// (without their reasoning). One thread at a time.
class Conversation {
 public:
  // Throws Error(kInvalidArgument) when the model has no chat template.
  explicit Conversation(std::shared_ptr<const TextModel> model, const GeneratorOptions& options = {});

  const TextModel& model() const { return generator_.model(); }
  int64_t context() const { return generator_.context(); }
  const std::vector<jinja::Value>& messages() const { return messages_; }  // dicts, as templates want them

  // The first message; an empty text takes it away. The rest of the conversation stays.
  void set_system(std::string_view text);
  std::string system() const;
  void set_tools(const Json& tools);  // a list of them
  void add(std::string_view role, std::string_view content);
  // A message of the user that shows pictures and videos before its text. `name`: the path of each, which to_json()
  // keeps, and load() reads again.
  struct Shown {
    std::string name;
    VisualRef visual;
  };
  void add_user(std::string_view text, std::span<const Shown> shown);
  SightOptions& sight() { return sight_; }
  // Takes over a list of messages, or an object that holds one as "messages" and perhaps "tools". Throws
  // Error(kBadFile) naming the place at fault; then nothing has changed.
  void load(const Json& json);
  std::string to_json() const;  // the list of messages
  void clear();                 // all but the system message and the tools
  // Takes back the last message of the user and what followed; false when there is none.
  bool undo();

  ChatPrompt prompt() const;

  // A message of the user and its answer. When an error is thrown, or the answer is cancelled before its first token,
  // the conversation is as it was.
  Reply ask(std::string_view text, const GenerateParams& params, ReplyCallback callback) {
    return ask(text, {}, params, callback);
  }
  Reply ask(std::string_view text, std::span<const Shown> shown, const GenerateParams& params, ReplyCallback callback);
  // The answer to the messages so far. Throws as make_chat_prompt() and Generator::generate() do.
  Reply answer(const GenerateParams& params, ReplyCallback callback);
  // Another answer to the last message of the user, in place of what followed it; empty when there is none. What was
  // there stays when an error is thrown, or nothing comes before a cancel.
  std::optional<Reply> answer_again(const GenerateParams& params, ReplyCallback callback);

 private:
  size_t last_user() const;  // its index plus one; 0: none
  static bool came_to_nothing(const GenerateResult& result);
  void add_answer(const Response& response);

  ChatVisuals visuals() const;

  Generator generator_;
  std::vector<jinja::Value> messages_;
  mutable std::map<std::string, VisualRef, std::less<>> visuals_;  // by name
  SightOptions sight_;
  std::optional<Json> tools_;
};

}  // namespace wick
