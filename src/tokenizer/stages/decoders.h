#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace wick {

// Takes tokens one by one and hands on text as soon as it cannot change any more. What is handed on is always whole
// characters. After a stage that joins all tokens into one, the next stages see parts of that single token.
class DecodeStream {
 public:
  using Next = std::function<void(std::string_view)>;
  virtual ~DecodeStream() = default;
  virtual void push(std::string_view token, const Next& next) = 0;
  virtual void finish(const Next& next) { (void)next; }
};

// A step on the way from pieces back to text. Thread-safe; the state is in the streams it starts.
class PieceDecoder {
 public:
  virtual ~PieceDecoder() = default;
  // `joined`: the tokens are parts of one, because an earlier step joined them.
  virtual std::unique_ptr<DecodeStream> start(bool joined) const = 0;
  virtual bool joins() const { return false; }
};

using DecoderPtr = std::shared_ptr<const PieceDecoder>;

// The steps of the "decoder" of a tokenizer.json, in order. Throws Error(kBadFile).
std::vector<DecoderPtr> read_decoders(const Json& json);

DecoderPtr byte_level_decoder();
DecoderPtr raw_bytes_decoder();  // pieces are bytes, not text
DecoderPtr byte_fallback_decoder();
DecoderPtr fuse_decoder();
DecoderPtr replace_text_decoder(std::string old_text, std::string new_text);
DecoderPtr strip_decoder(char32_t content, int64_t start, int64_t stop);
DecoderPtr wordpiece_decoder(std::string prefix, bool cleanup);
DecoderPtr spaced_decoder();  // joins with a blank: what happens without any decoder

// Streams chained one after the other.
class DecodeChain {
 public:
  explicit DecodeChain(const std::vector<DecoderPtr>& decoders);
  void push(std::string_view token, std::string& out) { push_from(0, token, out); }
  void finish(std::string& out);

 private:
  void push_from(size_t stage, std::string_view token, std::string& out);
  std::vector<std::unique_ptr<DecodeStream>> stages_;
};

}  // namespace wick
