#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace wick {

// Reads JSON from front to back without building a document, so that a hostile header of many small values costs no
// more memory than its text. `Json` is the comfortable way for everything else.
//
//   reader.begin_object();
//   for (std::string name; reader.next_name(name);) { ... one of text(), integer(), begin_...(), skip() ... }
//   reader.finish();
//
// Throws Error(kBadFile) naming the source, and the byte where the text stops being JSON. Invalid UTF-8 is an error;
// nesting inside skip() is limited to 64 levels. The text must outlive the reader.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string source);

  // The place named in messages until the next call: set_place("tensor", "a", "shape") gives "tensor 'a': 'shape'".
  // Each part may be empty.
  void set_place(std::string_view noun, std::string_view name, std::string_view field) {
    noun_ = noun;
    name_ = name;
    field_ = field;
  }

  void begin_object();
  bool next_name(std::string& name);  // false: the object has ended
  void begin_list();
  bool next_item();  // false: the list has ended
  std::string text();
  int64_t integer();
  void skip();    // any value
  void finish();  // nothing but blanks may follow

  size_t position() const { return at_; }
  Error bad_place(std::string_view what) const;  // "model.safetensors: tensor 'a': 'shape' <what>"

 private:
  static constexpr int kMaxDepth = 64;

  char peek();  // the next character that is not blank; 0 at the end
  void expect(char character);
  void begin(char bracket, std::string_view expected);
  bool next(char closing);
  void read_text(std::string& out);
  void read_escape(std::string& out);
  uint32_t read_hex();
  std::string_view read_number();
  void skip_word();
  Error syntax(std::string_view what) const;
  Error wrong_kind(std::string_view expected);

  std::string_view text_;
  std::string source_;
  std::string noun_;
  std::string name_;
  std::string field_;
  size_t at_ = 0;
  bool fresh_ = false;  // just after an opening bracket
};

}  // namespace wick
