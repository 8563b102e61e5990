#include "jinja/builtins/growing.h"

#include <algorithm>
#include <cstring>

#include "jinja/builtins/characters.h"

namespace wick::jinja {
namespace {

constexpr size_t kGrowingList = 16;

}  // namespace

Value join_texts(const Value& left, std::string_view right) {
  const Text& text = left.as_text();
  if (right.empty() && !text.markup) return left;
  const size_t size = text.bytes.size() + right.size();
  // Bytes that continue a character might complete one that `left` has begun: then lengths cannot be added.
  const bool continues = !right.empty() && (static_cast<uint8_t>(right[0]) & 0xC0) == 0x80;
  if (size < kGrowingText || continues) {
    require_memory(static_cast<int64_t>(size));
    return cat(text.bytes, right);
  }
  spend_work_on_bytes(right.size());
  std::shared_ptr<TextBuffer> buffer = text.buffer;
  if (!buffer || buffer->used != text.bytes.size() || buffer->room - buffer->used < right.size()) {
    buffer = std::make_shared<TextBuffer>(size + size / 2);
    std::memcpy(buffer->data.get(), text.bytes.data(), text.bytes.size());
    buffer->used = text.bytes.size();
  }
  if (!right.empty()) std::memcpy(buffer->data.get() + buffer->used, right.data(), right.size());
  buffer->used = size;
  return {std::make_shared<const Text>(std::move(buffer), text.length + count_characters(right))};
}

std::shared_ptr<const Items> join_lists(const Items& left, const Items& right) {
  const size_t size = left.values.size() + right.values.size();
  spend_work(static_cast<int64_t>(right.values.size() / 2));
  std::shared_ptr<ItemBuffer> buffer = left.buffer;
  const bool extends = buffer && buffer->values.size() == left.values.size() && buffer->values.capacity() >= size &&
                       right.depth <= buffer->depth;
  if (!extends) {
    const size_t room = size < kGrowingList ? size : size + size / 2;
    buffer = std::make_shared<ItemBuffer>(room, std::max(left.depth, right.depth));
    buffer->values.assign(left.values.begin(), left.values.end());
  }
  for (const Value& item : right.values) buffer->values.push_back(item);  // they may lie in the same buffer
  return std::make_shared<const Items>(std::move(buffer));
}

}  // namespace wick::jinja
