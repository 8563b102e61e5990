#include "chat/response/json_scan.h"

#include "base/json.h"

namespace wick::response {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_arguments(std::string_view key) { return key == "arguments" || key == "parameters"; }
bool fits_call(std::string_view key) {
  return key == "name" || key == "type" || key == "function" || key == "id" || is_arguments(key);
}

}  // namespace

bool JsonScan::push(char c) {
  if (in_text_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_text_ = false;
      if (open_.empty()) state_ = State::kDone;
    }
    return true;
  }
  if (!started_) {
    started_ = true;
    container_ = c == '{' || c == '[';
  } else if (open_.empty() && (is_space(c) || c == ',' || c == '}' || c == ']')) {
    state_ = State::kDone;  // a number or word has ended
    return false;
  }
  if (c == '"') {
    in_text_ = true;
  } else if (c == '{' || c == '[') {
    open_ += c == '{' ? '}' : ']';
  } else if (c == '}' || c == ']') {
    if (open_.empty() || open_.back() != c) {
      state_ = State::kBad;
    } else {
      open_.pop_back();
      if (open_.empty()) state_ = State::kDone;
    }
  }
  return true;
}

void JsonCall::announce(Builder& builder) {
  if (begun_ || !name_) return;
  begun_ = true;
  builder.begin_call(*name_, id_.value_or(""));
  builder.add_arguments(early_arguments_);
  early_arguments_.clear();
}

void JsonCall::end_value(Builder& builder) {
  if (key_ == "name") {
    name_ = decoded_text(value_);
    announce(builder);
  } else if (key_ == "id") {
    id_ = decoded_text(value_);
  } else if (key_ == "function") {
    if (value_.starts_with('"')) {  // {"function": "name", ...}
      name_ = decoded_text(value_);
      announce(builder);
    } else {
      JsonCall inner;
      inner.id_ = id_;
      for (const char c : value_) inner.push(c, builder);
      begun_ = begun_ || inner.begun_;
      has_arguments_ = has_arguments_ || inner.has_arguments_;
    }
  } else if (is_arguments(key_) && !scan_.is_container()) {
    const std::string text = decoded_text(value_);  // an object inside a text, or null
    has_arguments_ = true;
    const std::string arguments = text == "null" || text.empty() ? "{}" : text;
    if (begun_) {
      builder.add_arguments(arguments);
    } else {
      early_arguments_ += arguments;
    }
  }
}

bool JsonCall::push_value(char c, Builder& builder) {
  if (!scan_.started() && is_space(c)) return true;
  const bool taken = scan_.push(c);
  if (taken) {
    if (is_arguments(key_) && scan_.is_container()) {
      has_arguments_ = true;
      if (begun_) {
        builder.add_arguments({&c, 1});
      } else {
        early_arguments_ += c;
      }
    } else {
      value_ += c;
    }
  }
  if (scan_.state() == JsonScan::State::kBad) state_ = State::kBad;
  if (scan_.state() == JsonScan::State::kDone) {
    end_value(builder);
    part_ = Part::kKeyOrEnd;
  }
  return taken;
}

JsonCall::State JsonCall::push(char c, Builder& builder) {
  if (state_ != State::kOpen) return state_;
  raw_ += c;
  if (part_ == Part::kValue && push_value(c, builder)) return state_;
  switch (part_) {
    case Part::kBrace:
      if (c == '{') {
        part_ = Part::kKeyOrEnd;
      } else if (!is_space(c)) {
        state_ = State::kBad;
      }
      break;
    case Part::kKeyOrEnd:
      if (c == '"') {
        key_.clear();
        part_ = Part::kKey;
      } else if (c == '}') {
        if (begun_ && !has_arguments_) builder.add_arguments("{}");
        state_ = begun_ ? State::kDone : State::kBad;
      } else if (!is_space(c) && c != ',') {
        state_ = State::kBad;
      }
      break;
    case Part::kKey:
      if (c == '"' && !escaped_) {
        if (std::exchange(first_key_, false)) first_key_fits_ = fits_call(key_);
        part_ = Part::kColon;
      } else {
        key_ += c;
        escaped_ = c == '\\' && !escaped_;
      }
      break;
    case Part::kColon:
      if (c == ':') {
        part_ = Part::kValue;
        scan_ = {};
        value_.clear();
      } else if (!is_space(c)) {
        state_ = State::kBad;
      }
      break;
    case Part::kValue: break;
  }
  return state_;
}

std::string decoded_text(std::string_view json) {
  if (!json.starts_with('"')) return std::string(json);
  try {
    return Json::parse(json, "tool call").as_text();
  } catch (const Error&) {
    return std::string(json.substr(1, json.size() < 2 ? 0 : json.size() - 2));
  }
}

}  // namespace wick::response
