#include "tokenizer/stages/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr size_t kMaxPatternBytes = 100'000;
constexpr size_t kJitStackBytes = size_t{8} << 20;
constexpr uint32_t kMatchLimit = 50'000'000;
constexpr uint32_t kHeapLimitKib = 512 * 1024;

// What matching needs besides the pattern; one per thread.
struct MatchState {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr);

  MatchState() {
    if (!data || !context) throw Error(ErrorCode::kOutOfMemory, "no memory for matching regular expressions");
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  MatchState(const MatchState&) = delete;
  MatchState& operator=(const MatchState&) = delete;
  ~MatchState() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  std::string written;
  explicit Code(pcre2_code* compiled, std::string_view pattern) : code(compiled), written(pattern) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
};

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

Regex::Regex(std::string_view pattern, const std::string& place) {
  compile(translate_pattern(pattern, place), pattern, place);
}

Regex Regex::literal(std::string_view text, const std::string& place) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                       (c >= 'a' && c <= 'z');
    if (plain) {
      escaped += c;
    } else {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      escaped += cat("\\x{", kDigits[(c >> 4) & 15], kDigits[c & 15], "}");
    }
  }
  Regex regex;
  regex.compile(escaped, text, place);
  return regex;
}

void Regex::compile(const std::string& pattern, std::string_view written, const std::string& place) {
  if (pattern.size() > kMaxPatternBytes) {
    throw Error(ErrorCode::kBadFile, cat(place, ": the regular expression has ", pattern.size(), " bytes, at most ",
                                         kMaxPatternBytes, " are read"));
  }
  int error = 0;
  PCRE2_SIZE position = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &position, nullptr);
  if (!code) {
    throw Error(ErrorCode::kBadFile, cat(place, ": the regular expression ", in_quotes(written),
                                         " is malformed: ", message_of(error), " (near byte ", position, ")"));
  }
  code_ = std::make_unique<const Code>(code, written);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // without it matching is slower, not wrong
}

std::optional<Span> Regex::find(std::string_view text, uint32_t from) const {
  thread_local MatchState state;
  const auto match = [&](uint32_t options) {
    return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, state.data, state.context);
  };
  int found = match(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    throw Error(ErrorCode::kUnsupported, cat("the regular expression ", in_quotes(code_->written),
                                             " cannot be run on this text: ", message_of(found)));
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(state.data);
  if (bounds[0] < from || bounds[1] < bounds[0]) {  // \\K in a look-around
    throw Error(ErrorCode::kUnsupported,
                cat("the regular expression ", in_quotes(code_->written), " matches backwards"));
  }
  return Span{static_cast<uint32_t>(bounds[0]), static_cast<uint32_t>(bounds[1])};
}

}  // namespace wick
