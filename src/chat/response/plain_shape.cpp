#include "chat/response/shape.h"

namespace wick::response {
namespace {

class PlainShape : public Shape {
 public:
  size_t consume(std::string_view text, bool, Builder& builder) override {
    builder.add_content(text);
    return text.size();
  }
};

}  // namespace

std::unique_ptr<Shape> make_plain_shape() { return std::make_unique<PlainShape>(); }

}  // namespace wick::response
