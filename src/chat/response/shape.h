#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "chat/response/builder.h"

namespace wick::response {

// Reads one way of writing tool calls.
class Shape {
 public:
  Shape() = default;
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;
  virtual ~Shape() = default;

  // Reads from the front of the text and says how many bytes it is done with. 0: more text is needed to decide, which
  // is no answer when the text is final.
  virtual size_t consume(std::string_view text, bool final, Builder& builder) = 0;
  // True once after consume() returned 0 because the state changed: it wants to see the same text again.
  virtual bool changed_without_reading() { return false; }
  // After the last byte: what a reader still holds.
  virtual void finish(Builder&) {}
};

std::unique_ptr<Shape> make_plain_shape();
std::unique_ptr<Shape> make_tagged_shape(const Json* tools);
std::unique_ptr<Shape> make_arg_key_shape(const Json* tools);
std::unique_ptr<Shape> make_dsml_shape();
std::unique_ptr<Shape> make_minimax_shape(const Json* tools);
std::unique_ptr<Shape> make_llama3_shape();
std::unique_ptr<Shape> make_mistral_shape();
std::unique_ptr<Shape> make_deepseek_shape();
std::unique_ptr<Shape> make_kimi_shape();
std::unique_ptr<Shape> make_llama4_shape(const Json* tools);
std::unique_ptr<Shape> make_lfm2_shape(const Json* tools);
std::unique_ptr<Shape> make_gemma4_shape(const Json* tools);
std::unique_ptr<Shape> make_harmony_shape();

}  // namespace wick::response
