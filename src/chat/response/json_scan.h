#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/response/builder.h"

namespace wick::response {

// Follows the structure of one JSON value, byte by byte.
class JsonScan {
 public:
  enum class State { kOpen, kDone, kBad };

  // False for a byte behind the end of a number or word: it belongs to what follows.
  bool push(char c);
  State state() const { return state_; }
  bool started() const { return started_; }
  bool is_container() const { return container_; }

 private:
  State state_ = State::kOpen;
  bool started_ = false, container_ = false, in_text_ = false, escaped_ = false;
  std::string open_;  // the brackets that are open
};

// Reads a call written as a JSON object with "name" and "arguments" (or "parameters"), in either order, and hands the
// arguments on as they arrive, byte for byte.
class JsonCall {
 public:
  enum class State { kOpen, kDone, kBad };

  State push(char c, Builder& builder);
  State state() const { return state_; }
  bool begun() const { return begun_; }            // the call has been passed on
  const std::string& raw() const { return raw_; }  // what was read so far

  // Anything but "name", "type", "function", "id" or the arguments as the first key: this is no call.
  bool first_key_fits() const { return first_key_fits_; }

 private:
  enum class Part { kBrace, kKeyOrEnd, kKey, kColon, kValue };
  bool push_value(char c, Builder& builder);
  void end_value(Builder& builder);
  void announce(Builder& builder);

  State state_ = State::kOpen;
  Part part_ = Part::kBrace;
  std::string raw_, key_, value_;
  JsonScan scan_;
  std::optional<std::string> name_, id_;
  std::string early_arguments_;  // came before the name
  bool begun_ = false, has_arguments_ = false, first_key_fits_ = true, first_key_ = true, escaped_ = false;
};

// The contents of a JSON text in quotes; the text itself when it is none.
std::string decoded_text(std::string_view json);

}  // namespace wick::response
