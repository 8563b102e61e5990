// Uses something of each public header, and checks that Wick's own flags stay its own.
#include "base/text.h"

#include <wick/wick.h>

#include <cstdlib>
#include <iostream>

#if defined(__SSE4_2__) && !defined(USER_SSE4_2)
#error "Wick's instruction sets are no business of those who use it"
#endif
#if defined(HWY_DISABLED_TARGETS) || defined(WICK_VERSION)
#error "Wick's definitions are no business of those who use it"
#endif

int main() {
  const double product = matmul(wick::full({1, 3}, std::atof(user_text())), wick::ones({3, 1})).item();
  std::cout << "product " << product << "\n";
  try {
    wick::Model::load("/nowhere");
  } catch (const wick::Error& error) {
    std::cout << "error " << to_string(error.code()) << "\n";
  }
  wick::TextGenerator generator(wick::Model::ember());
  wick::TextOptions options;
  options.max_tokens = 0;
  wick::HookCache seen;
  options.hooks.capture("hook_embed");
  options.capture = &seen;
  const wick::Answer answer = generator.generate("Hello there", options);
  std::cout << "rows " << (seen.at("hook_embed").dim(0) == answer.result.prompt_tokens ? "right" : "wrong") << "\n";
  wick::Transcriber transcriber;
  const auto nothing = transcriber.transcribe(std::vector<float>(16000, 0.f));
  std::cout << "heard '" << nothing.text << "' in " << nothing.seconds << " s\n";
}
