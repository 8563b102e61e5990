// The steps of BERT's normalizer work on single characters, so a table of their results replaces them.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/stages/character_map.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/stages/normalizers.h"

namespace wick {
namespace {

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertNormalizerOptions options) : options_(options) {
    for (size_t c = 0; c < ascii_.size(); ++c) {
      const std::string result = by_steps(static_cast<char32_t>(c));
      ascii_[c] = result.empty() ? kDropped : result[0];
    }
  }

  void apply(AlignedText& text) const override {
    if (text.tracked() || !apply_by_table(text)) apply_steps(text);
  }

 private:
  static constexpr char kDropped = '\xFF';
  static constexpr char32_t kTableEnd = 0x20000;
  static constexpr size_t kPage = 256;
  // What becomes of 256 characters, one after the other.
  struct Page {
    std::array<uint16_t, kPage + 1> begin{};
    std::string bytes;
    bool reorders = false;  // some could change places with their neighbours
  };

  void apply_steps(AlignedText& text) const {
    if (options_.clean_text) {
      map_characters(text, [table = char_set_table()](char32_t c) {
        const uint8_t sets = c < 0x10000 ? table[c] : char_sets_of(c);
        if (sets & kSpaces) return c == ' ' ? kStays : replaced_by(' ');
        return stays_unless(c == 0xFFFD || (sets & kOthers));
      });
    }
    if (options_.handle_chinese_chars) {
      map_characters(text, [](char32_t c) { return is_chinese(c) ? Mapped{false, 3, {' ', c, ' '}} : kStays; });
    }
    if (options_.strip_accents) {
      normalize(text, NormalForm::kNfd);
      map_characters(text, [](char32_t c) { return stays_unless(c >= 0x300 && (char_sets_of(c) & kNonSpacingMarks)); });
    }
    if (options_.lowercase) map_characters(text, lower_case);
  }

  std::string by_steps(char32_t c) const {
    std::string character;
    append_utf8(character, c);
    AlignedText text(character, 0, false);
    apply_steps(text);
    return text.text();
  }

  const Page& page_of(char32_t c) const {
    const Page* page = pages_[c / kPage].load(std::memory_order_acquire);
    return page ? *page : make_page(c / kPage);
  }

  const Page& make_page(size_t number) const {
    auto page = std::make_unique<Page>();
    for (size_t i = 0; i < kPage; ++i) {
      const auto c = static_cast<char32_t>(number * kPage + i);
      const bool surrogate = c >= 0xD800 && c < 0xE000;
      const std::string result = surrogate ? "" : by_steps(c);
      page->bytes += result;
      page->begin[i + 1] = static_cast<uint16_t>(page->bytes.size());
      if (options_.strip_accents && !result.empty() && combining_class(c) != 0) page->reorders = true;
    }
    const std::lock_guard lock(making_);
    if (const Page* made = pages_[number].load(std::memory_order_relaxed)) return *made;
    made_.push_back(std::move(page));
    pages_[number].store(made_.back().get(), std::memory_order_release);
    return *made_.back();
  }

  // False when a character is not in the table: then nothing has happened.
  bool apply_by_table(AlignedText& aligned) const {
    const std::string& text = aligned.text();
    std::string out;
    out.resize(text.size());
    size_t size = 0;
    for (size_t at = 0; at < text.size();) {
      if (const auto byte = static_cast<unsigned char>(text[at]); byte < 0x80) {
        // What is left of the text fits: so far no character has needed more room than `out` has.
        out[size] = ascii_[byte];
        size += ascii_[byte] != kDropped;
        ++at;
        continue;
      }
      const CodePoint c = code_point_at(text, at);
      if (c.value >= kTableEnd) return false;
      const Page& page = page_of(c.value);
      if (page.reorders) return false;
      const uint16_t begin = page.begin[c.value % kPage], end = page.begin[c.value % kPage + 1];
      at += c.bytes;
      const size_t needed = size + (end - begin) + (text.size() - at);
      if (needed > out.size()) out.resize(needed + needed / 4);
      page.bytes.copy(out.data() + size, end - begin, begin);
      size += end - begin;
    }
    out.resize(size);
    aligned = AlignedText(std::move(out));
    return true;
  }

  BertNormalizerOptions options_;
  std::array<char, 128> ascii_{};
  mutable std::array<std::atomic<const Page*>, kTableEnd / kPage> pages_{};  // null: not asked for yet
  mutable std::mutex making_;
  mutable std::vector<std::unique_ptr<const Page>> made_;
};

}  // namespace

NormalizerPtr bert_normalizer(BertNormalizerOptions options) { return std::make_unique<BertNormalizer>(options); }

}  // namespace wick
