#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// The first byte says what kind of file the others are.
Tokenizer load(uint8_t kind, std::string_view file) {
  switch (kind % 3) {
    case 0: return Tokenizer::from_sentencepiece(file);
    case 1: return Tokenizer::from_tiktoken(file, "");
    default: return Tokenizer::from_json(file);
  }
}

void use(const Tokenizer& tokenizer, std::string_view text, SpecialTokens special) {
  try {
    EncodeOptions options;
    options.special = special;
    const Encoding encoding = tokenizer.encode_with_offsets(text, options);
    require(encoding.ids == tokenizer.encode(text, options));
    for (const Span span : encoding.offsets) require(span.begin <= span.end && span.end <= text.size());
    for (const int id : encoding.ids) require(tokenizer.has(id));
    Detokenizer detokenizer(tokenizer);
    std::string streamed;
    for (const int id : encoding.ids) {
      const std::string part = detokenizer.push(id);
      require(is_utf8(part));
      streamed += part;
    }
    require(streamed + detokenizer.finish() == tokenizer.decode(encoding.ids));
  } catch (const Error& error) {
    require(*error.what() != '\0');
  }
}

}  // namespace
}  // namespace wick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const wick::Tokenizer tokenizer = wick::load(data[0], file);
    wick::use(tokenizer, "Hello  world's 123\n\tGr\u00F6\u00DFe e\u0301 \u4E16\u754C <s></s>",
              wick::SpecialTokens::kAllow);
    wick::use(tokenizer, file.substr(0, 300), wick::SpecialTokens::kAsText);
  } catch (const wick::Error& error) {
    if (*error.what() == '\0') std::abort();
  }
  return 0;
}
