#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

// What every part of an answer repeats.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  // Unix seconds
  std::string model, fingerprint;
};
AnswerHead make_answer_head(std::string_view id_prefix, const std::string& model);

// "call_" and 24 random letters and digits, and the like.
std::string make_id(std::string_view prefix);

// Changes with the version of Wick and with the model's name.
std::string system_fingerprint(std::string_view model);

}  // namespace wick
