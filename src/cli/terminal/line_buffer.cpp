#include "cli/terminal/line_buffer.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/char_width.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

bool is_word(std::string_view text, size_t at) {
  return (char_sets_of(code_point_at(text, at).value) & (kLetters | kNumbers | kMarks)) != 0;
}

bool combines(char32_t value) { return value >= 0x300 && char_width(value) == 0; }

}  // namespace

size_t LineBuffer::left_of(size_t at) const {
  while (at > 0) {
    at = previous_start(text_, at);
    if (!combines(code_point_at(text_, at).value)) break;
  }
  return at;
}

size_t LineBuffer::right_of(size_t at) const {
  if (at >= text_.size()) return text_.size();
  at += code_point_at(text_, at).bytes;
  while (at < text_.size() && combines(code_point_at(text_, at).value)) at += code_point_at(text_, at).bytes;
  return at;
}

size_t LineBuffer::word_left() const {
  size_t at = cursor_;
  while (at > 0 && !is_word(text_, left_of(at))) at = left_of(at);
  while (at > 0 && is_word(text_, left_of(at))) at = left_of(at);
  return at;
}

size_t LineBuffer::word_right() const {
  size_t at = cursor_;
  while (at < text_.size() && !is_word(text_, at)) at = right_of(at);
  while (at < text_.size() && is_word(text_, at)) at = right_of(at);
  return at;
}

size_t LineBuffer::line_start() const {
  const size_t before = cursor_ == 0 ? std::string::npos : text_.rfind('\n', cursor_ - 1);
  return before == std::string::npos ? 0 : before + 1;
}

size_t LineBuffer::line_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

void LineBuffer::insert(std::string_view text) {
  const std::string behind = text_.substr(cursor_);
  text_.resize(cursor_);
  text_.append(text).append(behind);
  cursor_ = text_.size() - behind.size();
}

void LineBuffer::erase(size_t begin, size_t end) {
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void LineBuffer::kill(size_t begin, size_t end) {
  if (begin == end) return;
  killed_ = text_.substr(begin, end - begin);
  erase(begin, end);
}

void LineBuffer::go_to_line(size_t start) {
  size_t column = 0;
  for (size_t at = line_start(); at < cursor_; at = right_of(at)) ++column;
  cursor_ = start;
  for (; column > 0 && cursor_ < text_.size() && text_[cursor_] != '\n'; --column) cursor_ = right_of(cursor_);
}

void LineBuffer::recall(size_t place) {
  if (place_ == history_.size()) draft_ = text_;
  place_ = place;
  text_ = place_ == history_.size() ? draft_ : history_[place_];
  cursor_ = text_.size();
}

void LineBuffer::up() {
  const size_t start = line_start();
  if (start > 0) {
    const size_t before = start >= 2 ? text_.rfind('\n', start - 2) : std::string::npos;
    go_to_line(before == std::string::npos ? 0 : before + 1);
  } else if (place_ > 0) {
    recall(place_ - 1);
  }
}

void LineBuffer::down() {
  const size_t end = line_end();
  if (end < text_.size()) {
    go_to_line(end + 1);
  } else if (place_ < history_.size()) {
    recall(place_ + 1);
  }
}

LineBuffer::Outcome LineBuffer::enter() {
  if (cursor_ == text_.size() && text_.ends_with('\\')) {  // the line goes on
    text_.back() = '\n';
    return Outcome::kEdited;
  }
  cursor_ = text_.size();
  return Outcome::kAccepted;
}

LineBuffer::Outcome LineBuffer::tab() {
  choices_ = complete_ ? complete_(std::string_view(text_).substr(0, cursor_)) : std::vector<std::string>();
  if (choices_.empty()) {
    if (!text_.starts_with('/')) insert("\t");
    return Outcome::kEdited;
  }
  std::string common = choices_.front();
  for (const std::string& choice : choices_) {
    const auto parted = std::mismatch(common.begin(), common.end(), choice.begin(), choice.end());
    common.erase(parted.first, common.end());
  }
  while (!common.empty() && !is_utf8(common)) common.pop_back();
  if (common.size() <= cursor_ && choices_.size() > 1) return Outcome::kChoices;
  const std::string behind = text_.substr(cursor_);
  text_ = common + behind;
  cursor_ = common.size();
  return Outcome::kEdited;
}

std::optional<std::string> LineBuffer::search_prompt() const {
  if (!searches_) return std::nullopt;
  return cat(found_ ? "(search '" : "(not found: '", query_, "') ");
}

void LineBuffer::search_from(size_t place) {
  for (size_t at = place; at > 0; --at) {
    const size_t where = history_[at - 1].find(query_);
    if (where == std::string::npos) continue;
    place_ = at - 1;
    text_ = history_[place_];
    cursor_ = where;
    found_ = true;
    return;
  }
  found_ = false;
}

LineBuffer::Outcome LineBuffer::press_while_searching(const Key& key) {
  switch (key.kind) {
    case KeyKind::kText:
      query_ += key.text;
      search_from(std::min(place_ + 1, history_.size()));  // the same entry may fit still
      return Outcome::kEdited;
    case KeyKind::kBackspace:
      if (!query_.empty()) query_.erase(previous_start(query_, query_.size()));
      search_from(history_.size());
      return Outcome::kEdited;
    case KeyKind::kSearch:
      if (!query_.empty()) search_from(place_);
      return Outcome::kEdited;
    case KeyKind::kInterrupt:
      searches_ = false;
      place_ = history_.size();
      text_ = text_before_;
      cursor_ = text_.size();
      return Outcome::kEdited;
    default:  // the text is taken, and the key does what it does
      searches_ = false;
      return press(key);
  }
}

LineBuffer::Outcome LineBuffer::press(const Key& key) {
  if (searches_) return press_while_searching(key);
  switch (key.kind) {
    case KeyKind::kText:
    case KeyKind::kPaste: insert(key.text); break;
    case KeyKind::kNewline: insert("\n"); break;
    case KeyKind::kEnter: return enter();
    case KeyKind::kBackspace: erase(left_of(cursor_), cursor_); break;
    case KeyKind::kDelete: erase(cursor_, right_of(cursor_)); break;
    case KeyKind::kLeft: cursor_ = left_of(cursor_); break;
    case KeyKind::kRight: cursor_ = right_of(cursor_); break;
    case KeyKind::kUp: up(); break;
    case KeyKind::kDown: down(); break;
    case KeyKind::kHome: cursor_ = line_start(); break;
    case KeyKind::kEnd: cursor_ = line_end(); break;
    case KeyKind::kWordLeft: cursor_ = word_left(); break;
    case KeyKind::kWordRight: cursor_ = word_right(); break;
    case KeyKind::kKillWordLeft: kill(word_left(), cursor_); break;
    case KeyKind::kKillWordRight: kill(cursor_, word_right()); break;
    case KeyKind::kKillLeft: kill(line_start(), cursor_); break;
    case KeyKind::kKillRight: kill(cursor_, line_end()); break;
    case KeyKind::kYank: insert(killed_); break;
    case KeyKind::kClearScreen: return Outcome::kClearScreen;
    case KeyKind::kTab: return tab();
    case KeyKind::kSearch:
      searches_ = found_ = true;
      query_.clear();
      text_before_ = text_;
      place_ = history_.size();
      break;
    case KeyKind::kInterrupt: return Outcome::kInterrupted;
    case KeyKind::kSuspend: return Outcome::kSuspend;
    case KeyKind::kEndOfInput:
      if (text_.empty()) return Outcome::kEnded;
      erase(cursor_, right_of(cursor_));
      break;
    case KeyKind::kUnknown: break;
  }
  return Outcome::kEdited;
}

LineLayout lay_out(std::string_view prompt, std::string_view more, std::string_view text, size_t cursor, int width) {
  LineLayout layout;
  int column = 0;
  const auto start_row = [&] {
    layout.rows.emplace_back();
    column = 0;
  };
  const auto put = [&](std::string_view piece, int columns) {
    if (column + columns > width && column > 0) start_row();
    layout.rows.back() += piece;
    column += columns;
  };
  const auto put_prompt = [&](std::string_view piece) {
    for (size_t at = 0; at < piece.size(); at += code_point_at(piece, at).bytes) {
      const CodePoint c = code_point_at(piece, at);
      put(piece.substr(at, c.bytes), char_width(c.value));
    }
  };
  const auto note_cursor = [&](int next_columns) {  // where the next character will be
    if (column + next_columns > width && column > 0) start_row();
    layout.cursor_row = layout.rows.size() - 1;
    layout.cursor_column = column;
  };

  start_row();
  put_prompt(prompt);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const int columns = c.value == '\t' ? 4 : char_width(c.value);
    if (at == cursor) note_cursor(c.value == '\n' ? 1 : columns);
    if (c.value == '\n') {
      start_row();
      put_prompt(more);
    } else {
      put(c.value == '\t' ? "    " : text.substr(at, c.bytes), columns);
    }
    at += c.bytes;
  }
  if (cursor >= text.size()) note_cursor(1);
  return layout;
}

}  // namespace wick
