// A model answers a question: generate [MODEL [QUESTION]]. Without a model, Ember does, which is inside the library.
#include <wick/text.h>

#include <iostream>

int main(int argc, char** argv) try {
  const wick::Model model = argc > 1 ? wick::Model::load(argv[1]) : wick::Model::ember();
  wick::Chat chat(model);
  std::cout << chat.ask(argc > 2 ? argv[2] : "Who are you?").content << "\n";
} catch (const wick::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
