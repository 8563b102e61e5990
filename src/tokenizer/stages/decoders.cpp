#include "tokenizer/stages/decoders.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/stages/byte_level.h"
#include "tokenizer/stages/byte_tokens.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/stages/pattern.h"

namespace wick {
namespace {

constexpr int kMaxDecoderDepth = 32;
constexpr std::string_view kReplacement = "\uFFFD";

using Next = DecodeStream::Next;

// Makes a decoder of a function that makes streams.
class SimpleDecoder : public PieceDecoder {
 public:
  using Start = std::function<std::unique_ptr<DecodeStream>(bool joined)>;
  SimpleDecoder(Start start, bool joins) : start_(std::move(start)), joins_(joins) {}
  std::unique_ptr<DecodeStream> start(bool joined) const override { return start_(joined); }
  bool joins() const override { return joins_; }

 private:
  Start start_;
  bool joins_;
};

DecoderPtr make_decoder(SimpleDecoder::Start start, bool joins = false) {
  return std::make_shared<SimpleDecoder>(std::move(start), joins);
}

// For steps that must see the joined token as a whole: collects it, then runs the step on it.
class HoldAll : public DecodeStream {
 public:
  explicit HoldAll(std::unique_ptr<DecodeStream> step) : step_(std::move(step)) {}
  void push(std::string_view token, const Next&) override { text_ += token; }
  void finish(const Next& next) override {
    step_->push(text_, next);
    step_->finish(next);
  }

 private:
  std::unique_ptr<DecodeStream> step_;
  std::string text_;
};

template <typename Stream, typename... Args>
std::unique_ptr<DecodeStream> whole_tokens(bool joined, const Args&... args) {
  std::unique_ptr<DecodeStream> stream = std::make_unique<Stream>(args...);
  if (joined) return std::make_unique<HoldAll>(std::move(stream));
  return stream;
}

std::string replace_text(std::string_view text, std::string_view old_text, std::string_view new_text) {
  std::string out;
  size_t at = 0;
  for (size_t found; !old_text.empty() && (found = text.find(old_text, at)) != std::string_view::npos;
       at = found + old_text.size()) {
    out += text.substr(at, found - at);
    out += new_text;
  }
  out += text.substr(at);
  return out;
}

// Bytes that become characters; a broken character becomes U+FFFD once it is sure to be broken.
class ByteStream : public DecodeStream {
 public:
  explicit ByteStream(bool letters) : letters_(letters) {}
  void push(std::string_view token, const Next& next) override {
    if (const auto bytes = letters_ ? letters_to_bytes(token) : std::nullopt) {
      rest_ += *bytes;
    } else {
      rest_ += token;
    }
    emit(false, next);
  }
  void finish(const Next& next) override { emit(true, next); }

 private:
  void emit(bool all, const Next& next) {
    std::string out;
    size_t at = 0;
    while (at < rest_.size()) {
      const Utf8Part part = utf8_part_at(rest_, at);
      if (part.cut && !all) break;
      out += part.valid ? std::string_view(rest_).substr(at, part.bytes) : kReplacement;
      at += part.bytes;
    }
    rest_.erase(0, at);
    if (!out.empty()) next(out);
  }

  bool letters_;
  std::string rest_;
};

// A run of "<0xNN>" tokens: text when it is valid UTF-8 as a whole, else one U+FFFD a token.
class ByteFallbackStream : public DecodeStream {
 public:
  void push(std::string_view token, const Next& next) override {
    if (const auto byte = byte_of_token(token)) {
      run_ += static_cast<char>(*byte);
      return;
    }
    finish(next);
    next(token);
  }
  void finish(const Next& next) override {
    if (run_.empty()) return;
    if (is_utf8(run_)) {
      next(run_);
    } else {
      for (size_t i = 0; i < run_.size(); ++i) next(kReplacement);
    }
    run_.clear();
  }

 private:
  std::string run_;
};

class FuseStream : public DecodeStream {
 public:
  void push(std::string_view token, const Next& next) override { next(token); }
};

// Takes up to `start` characters off the front and up to `stop` off the end of each token.
class StripStream : public DecodeStream {
 public:
  StripStream(char32_t content, int64_t start, int64_t stop) : start_(start), stop_(stop) {
    append_utf8(content_, content);
  }
  void push(std::string_view token, const Next& next) override {
    for (int64_t i = 0; i < start_ && token.starts_with(content_); ++i) token.remove_prefix(content_.size());
    for (int64_t i = 0; i < stop_ && token.ends_with(content_); ++i) token.remove_suffix(content_.size());
    next(token);
  }

 protected:
  std::string content_;
  int64_t start_, stop_;
};

// The same on one token that comes in parts: what may have to go at the end is held back.
class StripJoinedStream : public StripStream {
 public:
  using StripStream::StripStream;
  void push(std::string_view part, const Next& next) override {
    while (start_ > 0 && part.starts_with(content_)) {
      part.remove_prefix(content_.size());
      --start_;
    }
    if (part.empty()) return;
    start_ = 0;
    held_ += part;
    size_t keep = held_.size();
    for (int64_t i = 0; i < stop_ && std::string_view(held_).substr(0, keep).ends_with(content_); ++i) {
      keep -= content_.size();
    }
    if (keep > 0) next(std::string_view(held_).substr(0, keep));
    held_.erase(0, keep);
  }

 private:
  std::string held_;
};

class ReplaceTextStream : public DecodeStream {
 public:
  ReplaceTextStream(std::string old_text, std::string new_text)
      : old_(std::move(old_text)), new_(std::move(new_text)) {}
  void push(std::string_view token, const Next& next) override { next(replace_text(token, old_, new_)); }

 private:
  std::string old_, new_;
};

class ReplaceRegexStream : public DecodeStream {
 public:
  ReplaceRegexStream(std::shared_ptr<const Regex> regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}
  void push(std::string_view token, const Next& next) override {
    std::string out;
    for (const Match& match : find_all(*regex_, token)) {
      out += match.is_match ? std::string_view(content_) : token.substr(match.bytes.begin, match.bytes.size());
    }
    next(out);
  }

 private:
  std::shared_ptr<const Regex> regex_;
  std::string content_;
};

class MetaspaceStream : public DecodeStream {
 public:
  MetaspaceStream(std::string mark, bool drop_first, bool joined)
      : mark_(std::move(mark)), drops_(drop_first), joined_(joined) {}
  void push(std::string_view token, const Next& next) override {
    next(replace_text(token, mark_, drops_ ? "" : " "));
    if (!joined_) drops_ = false;
  }

 private:
  std::string mark_;
  bool drops_, joined_;
};

// Blanks before punctuation and in contractions.
std::string clean_up(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{{" .", "."},
                                                                                     {" ?", "?"},
                                                                                     {" !", "!"},
                                                                                     {" ,", ","},
                                                                                     {" ' ", "'"},
                                                                                     {" n't", "n't"},
                                                                                     {" 'm", "'m"},
                                                                                     {" do not", " don't"},
                                                                                     {" 's", "'s"},
                                                                                     {" 've", "'ve"},
                                                                                     {" 're", "'re"}}};
  for (const auto& [old_text, new_text] : kRules) {
    if (text.find(old_text) != std::string::npos) text = replace_text(text, old_text, new_text);
  }
  return text;
}

class WordPieceStream : public DecodeStream {
 public:
  WordPieceStream(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void push(std::string_view token, const Next& next) override {
    std::string text;
    if (first_) {
      text = token;
    } else if (token.starts_with(prefix_)) {
      text = token.substr(prefix_.size());
    } else {
      text = cat(" ", token);
    }
    first_ = false;
    next(cleanup_ ? clean_up(std::move(text)) : text);
  }

 private:
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

struct CtcOptions {
  std::string pad, delimiter;
  bool cleanup = true;
};

class CtcStream : public DecodeStream {
 public:
  explicit CtcStream(CtcOptions options) : options_(std::move(options)) {}
  void push(std::string_view token, const Next& next) override {
    if (has_last_ && token == last_) return;
    last_ = token;
    has_last_ = true;
    std::string text = replace_text(token, options_.pad, "");
    if (options_.cleanup) text = replace_text(clean_up(std::move(text)), options_.delimiter, " ");
    if (!text.empty()) next(text);
  }

 private:
  CtcOptions options_;
  std::string last_;
  bool has_last_ = false;
};

// The suffix at the end of words becomes a blank, but for the last token.
class SuffixStream : public DecodeStream {
 public:
  explicit SuffixStream(std::string suffix) : suffix_(std::move(suffix)) {}
  void push(std::string_view token, const Next& next) override {
    if (has_held_) next(replace_text(held_, suffix_, " "));
    held_ = token;
    has_held_ = true;
  }
  void finish(const Next& next) override {
    if (has_held_) next(replace_text(held_, suffix_, ""));
  }

 private:
  std::string suffix_, held_;
  bool has_held_ = false;
};

class SpacedStream : public DecodeStream {
 public:
  void push(std::string_view token, const Next& next) override {
    next(first_ ? std::string(token) : cat(" ", token));
    first_ = false;
  }

 private:
  bool first_ = true;
};

DecoderPtr read_replace(const Json& json) {
  const Json& pattern = json.at("pattern");
  std::string content = json.at("content").as_text();
  if (const Json* text = pattern.find("String")) return replace_text_decoder(text->as_text(), std::move(content));
  const auto regex = std::make_shared<const Regex>(read_pattern(pattern));
  return make_decoder(
      [regex, content](bool joined) { return whole_tokens<ReplaceRegexStream>(joined, regex, content); });
}

DecoderPtr read_metaspace(const Json& json) {
  const std::string scheme = json.get("prepend_scheme", json.get("add_prefix_space", true) ? "always" : "never");
  const std::string mark = json.get("replacement", "\u2581");
  return make_decoder(
      [mark, drop = scheme != "never"](bool joined) { return std::make_unique<MetaspaceStream>(mark, drop, joined); });
}

DecoderPtr read_strip(const Json& json) {
  const std::string& content = json.at("content").as_text();
  if (content.empty() || content.size() != code_point_at(content, 0).bytes) {
    throw Error(ErrorCode::kBadFile, cat(json.at("content").place(), ": is not a single character"));
  }
  return strip_decoder(code_point_at(content, 0).value, json.get("start", int64_t{0}), json.get("stop", int64_t{0}));
}

void read_into(const Json& json, std::vector<DecoderPtr>& out, int depth) {
  const std::string& type = json.at("type").as_text();
  if (depth > kMaxDecoderDepth) throw Error(ErrorCode::kBadFile, cat(json.place(), ": decoders are nested too deeply"));
  if (type == "Sequence") {
    for (const Json& step : json.at("decoders").as_array()) read_into(step, out, depth + 1);
  } else if (type == "ByteLevel") {
    out.push_back(byte_level_decoder());
  } else if (type == "ByteFallback") {
    out.push_back(byte_fallback_decoder());
  } else if (type == "Fuse") {
    out.push_back(fuse_decoder());
  } else if (type == "Strip") {
    out.push_back(read_strip(json));
  } else if (type == "Replace") {
    out.push_back(read_replace(json));
  } else if (type == "Metaspace") {
    out.push_back(read_metaspace(json));
  } else if (type == "WordPiece") {
    out.push_back(wordpiece_decoder(json.get("prefix", "##"), json.get("cleanup", true)));
  } else if (type == "BPEDecoder") {
    out.push_back(make_decoder(
        [suffix = json.get("suffix", "</w>")](bool joined) { return whole_tokens<SuffixStream>(joined, suffix); }));
  } else if (type == "CTC") {
    const CtcOptions options{json.get("pad_token", "<pad>"), json.get("word_delimiter_token", "|"),
                             json.get("cleanup", true)};
    out.push_back(make_decoder([options](bool joined) { return whole_tokens<CtcStream>(joined, options); }));
  } else {
    throw Error(ErrorCode::kUnsupported, cat(json.at("type").place(), ": there is no decoder ", in_quotes(type)));
  }
}

}  // namespace

std::vector<DecoderPtr> read_decoders(const Json& json) {
  std::vector<DecoderPtr> decoders;
  read_into(json, decoders, 0);
  return decoders;
}

DecoderPtr byte_level_decoder() {
  return make_decoder([](bool joined) { return whole_tokens<ByteStream>(joined, true); }, true);
}
DecoderPtr raw_bytes_decoder() {
  return make_decoder([](bool joined) { return whole_tokens<ByteStream>(joined, false); }, true);
}
DecoderPtr byte_fallback_decoder() {
  return make_decoder([](bool joined) { return whole_tokens<ByteFallbackStream>(joined); });
}
DecoderPtr fuse_decoder() {
  return make_decoder([](bool) { return std::make_unique<FuseStream>(); }, true);
}
DecoderPtr replace_text_decoder(std::string old_text, std::string new_text) {
  return make_decoder([old_text, new_text](bool joined) {
    // A single character is never cut in two, so parts of a token can be replaced one by one.
    const bool single = !old_text.empty() && old_text.size() == code_point_at(old_text, 0).bytes;
    return whole_tokens<ReplaceTextStream>(joined && !single, old_text, new_text);
  });
}
DecoderPtr strip_decoder(char32_t content, int64_t start, int64_t stop) {
  return make_decoder([content, start, stop](bool joined) -> std::unique_ptr<DecodeStream> {
    if (joined) return std::make_unique<StripJoinedStream>(content, start, stop);
    return std::make_unique<StripStream>(content, start, stop);
  });
}
DecoderPtr wordpiece_decoder(std::string prefix, bool cleanup) {
  return make_decoder(
      [prefix, cleanup](bool joined) { return whole_tokens<WordPieceStream>(joined, prefix, cleanup); });
}
DecoderPtr spaced_decoder() {
  return make_decoder([](bool joined) { return whole_tokens<SpacedStream>(joined); });
}

DecodeChain::DecodeChain(const std::vector<DecoderPtr>& decoders) {
  bool joined = false;
  for (const DecoderPtr& decoder : decoders) {
    stages_.push_back(decoder->start(joined));
    joined |= decoder->joins();
  }
}

void DecodeChain::push_from(size_t stage, std::string_view token, std::string& out) {
  if (stage == stages_.size()) {
    out += token;
    return;
  }
  stages_[stage]->push(token, [&](std::string_view text) { push_from(stage + 1, text, out); });
}

void DecodeChain::finish(std::string& out) {
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage]->finish([&](std::string_view text) { push_from(stage + 1, text, out); });
  }
}

}  // namespace wick
