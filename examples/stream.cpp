// A conversation whose answers are shown while they are generated, and end early when they get long.
#include <wick/text.h>

#include <iostream>

int main() {
  wick::Chat chat(wick::Model::ember());
  for (const char* message : {"My name is Tom.", "What is my name?", "Tell me a story about a fox."}) {
    std::cout << "> " << message << "\n";
    size_t shown = 0;
    const auto show = [&](const wick::TextEvent& event) {
      std::cout << event.text << std::flush;  // empty during prefill
      shown += event.text.size();
      return shown < 200;  // false cancels
    };
    const wick::Answer answer = chat.ask(message, {}, show);
    std::cout << "\n(" << answer.result.tokens.size() << " tokens, " << to_string(answer.result.reason) << ")\n";
  }
}
