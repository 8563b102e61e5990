#include "tokenizer/stages/normalizers.h"

#include "base/utf8.h"
#include "tokenizer/stages/byte_level.h"
#include "tokenizer/stages/character_map.h"
#include "tokenizer/stages/charsmap.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/stages/pattern.h"

namespace wick {
namespace {

constexpr int kMaxNormalizerDepth = 32;

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalForm form) : form_(form) {}
  void apply(AlignedText& text) const override { normalize(text, form_); }
  bool leaves_alone(std::string_view text) const override { return is_plainly_normal(text, form_); }

 private:
  NormalForm form_;
};

class CharNormalizer : public Normalizer {
 public:
  explicit CharNormalizer(Mapped (*map)(char32_t)) : map_(map) {}
  void apply(AlignedText& text) const override { map_characters(text, map_); }

 private:
  Mapped (*map_)(char32_t);
};

// What SentencePiece's "nmt" rules do to control characters and odd spaces.
Mapped nmt(char32_t c) {
  const bool dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  return blank ? replaced_by(' ') : stays_unless(dropped);
}

Mapped without_mark(char32_t c) { return stays_unless(char_sets_of(c) & kMarks); }

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& aligned) const override {
    const std::string& text = aligned.text();
    uint32_t begin = 0, end = static_cast<uint32_t>(text.size());
    while (left_ && begin < end) {
      const CodePoint c = code_point_at(text, begin);
      if (!(char_sets_of(c.value) & kSpaces)) break;
      begin += c.bytes;
    }
    while (right_ && end > begin) {
      const auto start = static_cast<uint32_t>(previous_start(text, end));
      if (!(char_sets_of(code_point_at(text, start).value) & kSpaces)) break;
      end = start;
    }
    AlignedText::Rewriter out(aligned);
    out.keep(begin, end);
    out.finish();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  void apply(AlignedText& aligned) const override {
    if (aligned.text().empty()) return;
    const auto size = static_cast<uint32_t>(aligned.text().size());
    AlignedText::Rewriter out(aligned);
    out.put(text_, 0, 0);
    out.keep(0, size);
    out.finish();
  }

 private:
  std::string text_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Regex pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(AlignedText& aligned) const override {
    AlignedText::Rewriter out(aligned);
    for (const Match& match : find_all(pattern_, aligned.text())) {
      if (match.is_match) {
        out.put(content_, match.bytes.begin, match.bytes.end);
      } else {
        out.keep(match.bytes.begin, match.bytes.end);
      }
    }
    out.finish();
  }

 private:
  Regex pattern_;
  std::string content_;
};

// Replacing plain text: the same, without the machinery of regular expressions.
class ReplaceTextNormalizer : public Normalizer {
 public:
  ReplaceTextNormalizer(std::string old_text, std::string new_text)
      : old_(std::move(old_text)), new_(std::move(new_text)) {}
  void apply(AlignedText& aligned) const override {
    const std::string& text = aligned.text();
    AlignedText::Rewriter out(aligned);
    size_t at = 0;
    for (size_t found; !old_.empty() && (found = text.find(old_, at)) != std::string::npos; at = found + old_.size()) {
      out.keep(static_cast<uint32_t>(at), static_cast<uint32_t>(found));
      out.put(new_, static_cast<uint32_t>(found), static_cast<uint32_t>(found + old_.size()));
    }
    out.keep(static_cast<uint32_t>(at), static_cast<uint32_t>(text.size()));
    out.finish();
  }
  bool leaves_alone(std::string_view text) const override { return text.find(old_) == std::string_view::npos; }

 private:
  std::string old_, new_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(AlignedText& aligned) const override { bytes_to_letters(aligned); }
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  void apply(AlignedText& text) const override {
    for (const NormalizerPtr& step : steps_) step->apply(text);
  }
  bool leaves_alone(std::string_view text) const override {
    for (const NormalizerPtr& step : steps_) {
      if (!step->leaves_alone(text)) return false;
    }
    return true;
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

NormalizerPtr read_at_depth(const Json& json, int depth) {
  const std::string& type = json.at("type").as_text();
  if (depth > kMaxNormalizerDepth)
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": normalizers are nested too deeply"));
  if (type == "Sequence") {
    std::vector<NormalizerPtr> steps;
    for (const Json& step : json.at("normalizers").as_array()) steps.push_back(read_at_depth(step, depth + 1));
    return sequence_normalizer(std::move(steps));
  }
  if (type == "NFC") return unicode_normalizer(NormalForm::kNfc);
  if (type == "NFD") return unicode_normalizer(NormalForm::kNfd);
  if (type == "NFKC") return unicode_normalizer(NormalForm::kNfkc);
  if (type == "NFKD") return unicode_normalizer(NormalForm::kNfkd);
  if (type == "Lowercase") return std::make_unique<CharNormalizer>(lower_case);
  if (type == "Nmt") return std::make_unique<CharNormalizer>(nmt);
  if (type == "StripAccents") {
    return std::make_unique<CharNormalizer>(without_mark);
  }
  if (type == "Strip") {
    return std::make_unique<StripNormalizer>(json.get("strip_left", true), json.get("strip_right", true));
  }
  if (type == "Prepend") return prepend_normalizer(json.at("prepend").as_text());
  if (type == "Replace") {
    const Json& pattern = json.at("pattern");
    std::string content = json.at("content").as_text();
    if (const Json* text = pattern.find("String")) return replace_normalizer(text->as_text(), std::move(content));
    return std::make_unique<ReplaceNormalizer>(read_pattern(pattern), std::move(content));
  }
  if (type == "BertNormalizer") {
    BertNormalizerOptions options;
    options.clean_text = json.get("clean_text", true);
    options.handle_chinese_chars = json.get("handle_chinese_chars", true);
    options.lowercase = json.get("lowercase", true);
    options.strip_accents = json.get("strip_accents", options.lowercase);
    return bert_normalizer(options);
  }
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Precompiled") {
    const Json& map = json.at("precompiled_charsmap");
    return charsmap_normalizer(Charsmap::from_base64(map.as_text(), map.place()), CharsmapReading::kTokenizers);
  }
  throw Error(ErrorCode::kUnsupported, cat(json.at("type").place(), ": there is no normalizer ", in_quotes(type)));
}

}  // namespace

Mapped lower_case(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? replaced_by(c + 32) : kStays;
  std::u32string lowered;
  append_lower(lowered, c);
  if (lowered.size() == 1) return lowered[0] == c ? kStays : replaced_by(lowered[0]);
  return {false, 2, {lowered[0], lowered[1]}};
}

NormalizerPtr read_normalizer(const Json& json) { return read_at_depth(json, 0); }

NormalizerPtr unicode_normalizer(NormalForm form) { return std::make_unique<UnicodeNormalizer>(form); }
NormalizerPtr prepend_normalizer(std::string text) { return std::make_unique<PrependNormalizer>(std::move(text)); }
NormalizerPtr replace_normalizer(std::string_view old_text, std::string new_text) {
  return std::make_unique<ReplaceTextNormalizer>(std::string(old_text), std::move(new_text));
}
NormalizerPtr sequence_normalizer(std::vector<NormalizerPtr> steps) {
  return std::make_unique<SequenceNormalizer>(std::move(steps));
}

}  // namespace wick
