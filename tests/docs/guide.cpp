// The program in docs/getting-started.md. tests/docs/run_commands checks that it shows this code and its output.
#include <wick/text.h>

#include <iostream>

int main() {
  wick::Chat chat(wick::Model::ember());  // or wick::Model::load(path) of a folder or a .gguf file
  wick::TextOptions options;
  options.sampling.emplace().temperature = 0;
  for (const char* question : {"My name is Tom.", "What is my name?"}) {
    const auto show = [](const wick::TextEvent& event) {
      std::cout << event.text << std::flush;  // as it is generated
      return true;                            // false cancels
    };
    const wick::Answer answer = chat.ask(question, options, show);
    std::cout << " (" << answer.result.tokens.size() << " tokens)\n";
  }
}
