#include "server/api/generation/token_logprobs.h"

#include <algorithm>
#include <cmath>

#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr double kImpossible = -9999;  // as OpenAI writes the logarithm of zero, which JSON has no number for

double finite(float logprob) { return std::isfinite(logprob) ? static_cast<double>(logprob) : kImpossible; }

// Control tokens by name.
std::string bytes_of(int32_t token, const Tokenizer& tokenizer) {
  return tokenizer.is_special(token) ? std::string(tokenizer.piece(token)) : tokenizer.bytes(token);
}

TopLogprob top_logprob(int32_t token, float logprob, const Tokenizer& tokenizer) {
  const std::string bytes = bytes_of(token, tokenizer);
  TopLogprob entry{replace_invalid_utf8(bytes), finite(logprob), {}};
  for (const char byte : bytes) entry.bytes.push_back(static_cast<unsigned char>(byte));
  return entry;
}

}  // namespace

std::string shown_token(int32_t token, const Tokenizer& tokenizer) {
  return replace_invalid_utf8(bytes_of(token, tokenizer));
}

const Fields<TopLogprob>& TopLogprob::fields() {
  using R = TopLogprob;
  static const Fields<R> fields = Fields<R>("TopLogprob", BodyUse::kResponse)
                                      .add("token", &R::token, "What it stands for.")
                                      .add("logprob", &R::logprob, "Natural logarithm of its probability.")
                                      .add("bytes", &R::bytes, "The same as bytes: it may be half a character.");
  return fields;
}

const Fields<TokenLogprob>& TokenLogprob::fields() {
  using R = TokenLogprob;
  static const Fields<R> fields = Fields<R>("TokenLogprob", BodyUse::kResponse)
                                      .add_all(TopLogprob::fields())
                                      .add("top_logprobs", &R::top_logprobs, "The likeliest in its place.");
  return fields;
}

const Fields<ChatLogprobs>& ChatLogprobs::fields() {
  static const Fields<ChatLogprobs> fields =
      Fields<ChatLogprobs>("ChatLogprobs", BodyUse::kResponse).add("content", &ChatLogprobs::content, "One per token.");
  return fields;
}

TokenLogprob token_logprob(const SampledToken& choice, const Tokenizer& tokenizer) {
  TokenLogprob entry;
  static_cast<TopLogprob&>(entry) = top_logprob(choice.token, choice.logprob, tokenizer);
  for (const auto& [token, logprob] : choice.top) entry.top_logprobs.push_back(top_logprob(token, logprob, tokenizer));
  return entry;
}

const Fields<CompletionLogprobs>& CompletionLogprobs::fields() {
  using R = CompletionLogprobs;
  static const Fields<R> fields =
      Fields<R>("CompletionLogprobs", BodyUse::kResponse)
          .add("tokens", &R::tokens, "What each stands for.")
          .add("token_logprobs", &R::token_logprobs, "Natural logarithms of their probabilities.")
          .add("top_logprobs", &R::top_logprobs, "The likeliest in their places, from text to logarithm.")
          .add("text_offset", &R::text_offset, "Where each begins in the text, in characters.");
  return fields;
}

void CompletionLogprobs::add(const SampledToken& choice, const Tokenizer& tokenizer, int64_t& offset,
                             bool first_of_prompt) {
  const std::string text = shown_token(choice.token, tokenizer);
  OrderedJson top = OrderedJson::object();
  for (const auto& [token, logprob] : choice.top) top[shown_token(token, tokenizer)] = finite(logprob);
  tokens.push_back(text);
  token_logprobs.push_back(first_of_prompt ? std::nullopt : std::optional(finite(choice.logprob)));
  top_logprobs.push_back(first_of_prompt ? OrderedJson(nullptr) : std::move(top));
  text_offset.push_back(offset);
  // A character that is split over tokens counts once, with the one it begins in.
  const std::string bytes = bytes_of(choice.token, tokenizer);
  offset += std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xC0) != 0x80; });
}

}  // namespace wick
