#include "tokenizer/stages/pretokenizers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/stages/byte_level.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/stages/pattern.h"

namespace wick {
namespace {

constexpr int kMaxPreTokenizerDepth = 32;

// What becomes of a match: "a-b" cut at "-" is a b, a - b, a- b, a -b; contiguous joins neighbouring matches.
enum class Behavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

constexpr std::string_view kBehaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

Behavior read_behavior(const Json& json) {
  for (size_t i = 0; i < std::size(kBehaviors); ++i) {
    if (json.as_text() == kBehaviors[i]) return static_cast<Behavior>(i);
  }
  throw Error(ErrorCode::kBadFile, cat(json.place(), ": there is no behavior ", in_quotes(json.as_text())));
}

void merge_with_next(const std::vector<Match>& matches, std::vector<Span>& out) {
  const size_t first = out.size();
  bool previous_match = false;
  for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
    if (match->is_match && !previous_match && out.size() > first) {
      out.back().begin = match->bytes.begin;
    } else {
      out.push_back(match->bytes);
    }
    previous_match = match->is_match;
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

// Appends the pieces that matches and gaps make.
void apply_behavior(const std::vector<Match>& matches, Behavior behavior, std::vector<Span>& out) {
  if (behavior == Behavior::kMergedWithNext) return merge_with_next(matches, out);
  const size_t first = out.size();
  bool previous_match = false;
  for (const Match& match : matches) {
    const bool joins = behavior == Behavior::kContiguous
                           ? match.is_match == previous_match
                           : behavior == Behavior::kMergedWithPrevious && match.is_match && !previous_match;
    if (joins && out.size() > first) {
      out.back().end = match.bytes.end;
    } else if (!(behavior == Behavior::kRemoved && match.is_match)) {
      out.push_back(match.bytes);
    }
    previous_match = match.is_match;
  }
}

// Replaces each piece by what cut(text of the piece) finds in it.
template <typename Cut>
void cut_pieces(Pieces& pieces, Behavior behavior, const Cut& cut) {
  std::vector<Span> ranges;
  ranges.reserve(pieces.ranges.size());
  for (const Span range : pieces.ranges) {
    std::vector<Match> matches = cut(pieces.text().substr(range.begin, range.size()));
    for (Match& match : matches) match.bytes = {match.bytes.begin + range.begin, match.bytes.end + range.begin};
    apply_behavior(matches, behavior, ranges);
  }
  pieces.ranges = std::move(ranges);
}

// Line breaks spelled as themselves, as some files have them, mean the same as with escapes.
std::string with_escapes(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) {
    if (c == '\n' || c == '\r') {
      out += c == '\n' ? "\\n" : "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

// The pattern when its matches become pieces, else the pattern and what becomes of them.
std::string shown(std::string_view pattern, Behavior behavior, bool invert) {
  const bool leaves_no_gaps = pattern.ends_with(R"(|\s+(?!\S)|\s+)");  // all that cut words end so
  const bool pieces = invert ? behavior == Behavior::kRemoved && leaves_no_gaps : behavior == Behavior::kIsolated;
  if (pieces) return std::string(pattern);
  return cat(pattern, " (", kBehaviors[static_cast<size_t>(behavior)], invert ? ", inverted)" : ")");
}

class SplitPreTokenizer : public PreTokenizer {
 public:
  // `pattern`: what list_patterns() says.
  SplitPreTokenizer(Regex regex, std::string pattern, Behavior behavior, bool invert)
      : regex_(std::move(regex)), pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void split(Pieces& pieces) const override {
    cut_pieces(pieces, behavior_, [this](std::string_view text) {
      std::vector<Match> matches = find_all(regex_, text);
      if (invert_) {
        for (Match& match : matches) match.is_match = !match.is_match;
      }
      return matches;
    });
  }

  void list_patterns(std::vector<std::string>& patterns) const override { patterns.push_back(pattern_); }

 private:
  Regex regex_;
  std::string pattern_;
  Behavior behavior_;
  bool invert_;
};

class KnownSplit : public PreTokenizer {
 public:
  explicit KnownSplit(KnownPattern pattern) : pattern_(pattern) {}
  void split(Pieces& pieces) const override {
    std::vector<Span> ranges;
    ranges.reserve(pieces.text().size() / 4 + 8);
    for (const Span range : pieces.ranges) split_known(pattern_, pieces.text(), range, ranges);
    pieces.ranges = std::move(ranges);
  }

  void list_patterns(std::vector<std::string>& patterns) const override { patterns.emplace_back(text_of(pattern_)); }

 private:
  KnownPattern pattern_;
};

// Cuts at characters.
class CharSplit : public PreTokenizer {
 public:
  using Test = std::function<bool(char32_t)>;
  CharSplit(Test test, Behavior behavior, std::string pattern)
      : test_(std::move(test)), behavior_(behavior), pattern_(std::move(pattern)) {}
  void split(Pieces& pieces) const override {
    cut_pieces(pieces, behavior_, [this](std::string_view text) {
      std::vector<Match> matches;
      uint32_t done = 0;
      for (uint32_t at = 0; at < text.size();) {
        const CodePoint c = code_point_at(text, at);
        const uint32_t next = at + c.bytes;
        if (test_(c.value)) {
          if (done < at) matches.push_back({{done, at}, false});
          matches.push_back({{at, next}, true});
          done = next;
        }
        at = next;
      }
      if (done < text.size()) matches.push_back({{done, static_cast<uint32_t>(text.size())}, false});
      return matches;
    });
  }

  void list_patterns(std::vector<std::string>& patterns) const override { patterns.push_back(pattern_); }

 private:
  Test test_;
  Behavior behavior_;
  std::string pattern_;
};

PreTokenizerPtr split_at_set(uint8_t set, Behavior behavior, std::string pattern) {
  return std::make_unique<CharSplit>([set](char32_t c) { return (char_sets_of(c) & set) != 0; }, behavior,
                                     std::move(pattern));
}

// Words between spaces, with each punctuation character a piece of its own.
class BertPreTokenizer : public PreTokenizer {
 public:
  void split(Pieces& pieces) const override {
    const std::string_view text = pieces.text();
    const uint8_t* table = char_set_table();
    std::vector<Span> ranges;
    ranges.reserve(text.size() / 4 + 8);
    for (const Span range : pieces.ranges) {
      uint32_t word = range.begin;  // where the piece at hand starts
      for (uint32_t at = range.begin; at < range.end;) {
        const CodePoint c = code_point_at(text, at);
        const uint8_t sets = c.value < 0x10000 ? table[c.value] : char_sets_of(c.value);
        const uint32_t next = at + c.bytes;
        if (sets & (kSpaces | kPunctuation)) {
          if (word < at) ranges.push_back({word, at});
          if (!(sets & kSpaces)) ranges.push_back({at, next});
          word = next;
        }
        at = next;
      }
      if (word < range.end) ranges.push_back({word, range.end});
    }
    pieces.ranges = std::move(ranges);
  }
  void list_patterns(std::vector<std::string>& patterns) const override { patterns.emplace_back("BertPreTokenizer"); }
};

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex, bool write_letters)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex), write_letters_(write_letters) {}
  void split(Pieces& pieces) const override {
    if (add_prefix_space_) {
      pieces.rewrite([text = pieces.text()](AlignedText::Rewriter& out, Span range) {
        if (range.begin < range.end && text[range.begin] != ' ') out.put(" ", range.begin, range.begin + 1);
        out.keep(range.begin, range.end);
      });
    }
    if (use_regex_) KnownSplit(KnownPattern::kGpt2).split(pieces);
    if (write_letters_) {
      pieces.rewrite([text = pieces.text()](AlignedText::Rewriter& out, Span range) {
        for (uint32_t at = range.begin; at < range.end; ++at) {
          out.put(byte_letters()[static_cast<unsigned char>(text[at])], at, at + 1);
        }
      });
    }
  }
  void list_patterns(std::vector<std::string>& patterns) const override {
    if (add_prefix_space_) patterns.emplace_back("a space in front");
    if (use_regex_) patterns.emplace_back(text_of(KnownPattern::kGpt2));
  }

 private:
  bool add_prefix_space_, use_regex_, write_letters_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  enum class Prepend : uint8_t { kAlways, kFirst, kNever };
  MetaspacePreTokenizer(std::string mark, Prepend prepend, bool cut)
      : mark_(std::move(mark)), prepend_(prepend), cut_(cut) {}
  void split(Pieces& pieces) const override {
    pieces.rewrite([this, at_start = pieces.at_start(), text = pieces.text()](AlignedText::Rewriter& out, Span range) {
      const std::string_view piece = text.substr(range.begin, range.size());
      const bool wanted = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && at_start && range.begin == 0);
      if (wanted && !piece.empty() && piece[0] != ' ' && !piece.starts_with(mark_)) {
        out.put(mark_, range.begin, range.begin + 1);
      }
      uint32_t done = range.begin;
      for (uint32_t at = range.begin; at < range.end; ++at) {
        if (text[at] != ' ') continue;
        out.keep(done, at);
        out.put(mark_, at, at + 1);
        done = at + 1;
      }
      out.keep(done, range.end);
    });
    if (!cut_) return;
    cut_pieces(pieces, Behavior::kMergedWithNext, [this](std::string_view text) {
      std::vector<Match> matches;
      size_t done = 0;
      for (size_t found; (found = text.find(mark_, done)) != std::string_view::npos; done = found + mark_.size()) {
        const auto begin = static_cast<uint32_t>(found);
        if (done < found) matches.push_back({{static_cast<uint32_t>(done), begin}, false});
        matches.push_back({{begin, begin + static_cast<uint32_t>(mark_.size())}, true});
      }
      if (done < text.size()) {
        matches.push_back({{static_cast<uint32_t>(done), static_cast<uint32_t>(text.size())}, false});
      }
      return matches;
    });
  }
  void list_patterns(std::vector<std::string>& patterns) const override { patterns.emplace_back("Metaspace"); }

 private:
  std::string mark_;
  Prepend prepend_;
  bool cut_;
};

class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(int64_t length) : length_(length) {}
  void split(Pieces& pieces) const override {
    cut_pieces(pieces, Behavior::kIsolated, [this](std::string_view text) {
      std::vector<Match> matches;
      uint32_t begin = 0;
      int64_t count = 0;
      for (uint32_t at = 0; at < text.size();) {
        at += code_point_at(text, at).bytes;
        if (++count == length_ || at == text.size()) {
          matches.push_back({{begin, at}, true});
          begin = at;
          count = 0;
        }
      }
      return matches;
    });
  }
  void list_patterns(std::vector<std::string>& patterns) const override {
    patterns.push_back(cat("FixedLength ", length_));
  }

 private:
  int64_t length_;
};

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  void split(Pieces& pieces) const override {
    for (const PreTokenizerPtr& step : steps_) step->split(pieces);
  }
  void list_patterns(std::vector<std::string>& patterns) const override {
    for (const PreTokenizerPtr& step : steps_) step->list_patterns(patterns);
  }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

PreTokenizerPtr read_split(const Json& json) {
  const Json& pattern = json.at("pattern");
  const Behavior behavior = read_behavior(json.at("behavior"));
  const bool invert = json.get("invert", false);
  const Json* regex = pattern.find("Regex");
  const std::string text =
      shown(regex ? with_escapes(regex->as_text()) : cat("the text ", in_quotes(pattern.at("String").as_text())),
            behavior, invert);
  if (const auto known = known_pattern(text)) return std::make_unique<KnownSplit>(*known);
  return std::make_unique<SplitPreTokenizer>(read_pattern(pattern), text, behavior, invert);
}

PreTokenizerPtr read_metaspace(const Json& json) {
  using Prepend = MetaspacePreTokenizer::Prepend;
  const std::string scheme = json.get("prepend_scheme", json.get("add_prefix_space", true) ? "always" : "never");
  const Prepend prepend = scheme == "always" ? Prepend::kAlways : scheme == "first" ? Prepend::kFirst : Prepend::kNever;
  if (prepend == Prepend::kNever && scheme != "never") {
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": there is no prepend_scheme ", in_quotes(scheme)));
  }
  std::string mark = json.get("replacement", "\u2581");
  if (mark.empty() || mark.size() != code_point_at(mark, 0).bytes) {
    throw Error(ErrorCode::kBadFile, cat(json.at("replacement").place(), ": is not a single character"));
  }
  return std::make_unique<MetaspacePreTokenizer>(std::move(mark), prepend, json.get("split", true));
}

PreTokenizerPtr read_at_depth(const Json& json, bool bytes_for_model, int depth) {
  const std::string& type = json.at("type").as_text();
  if (depth > kMaxPreTokenizerDepth)
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": pre-tokenizers are nested too deeply"));
  if (type == "Sequence") {
    std::vector<PreTokenizerPtr> steps;
    const Json::Array& items = json.at("pretokenizers").as_array();
    for (const Json& step : items) {
      steps.push_back(read_at_depth(step, bytes_for_model && &step == &items.back(), depth + 1));
    }
    return std::make_unique<SequencePreTokenizer>(std::move(steps));
  }
  if (type == "Split") return read_split(json);
  if (type == "ByteLevel") {
    return std::make_unique<ByteLevelPreTokenizer>(json.get("add_prefix_space", true), json.get("use_regex", true),
                                                   !bytes_for_model);
  }
  if (type == "Metaspace") return read_metaspace(json);
  if (type == "Whitespace") {
    constexpr std::string_view kWords = R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)";
    return std::make_unique<SplitPreTokenizer>(Regex(kWords, json.place()), type, Behavior::kRemoved, true);
  }
  if (type == "WhitespaceSplit") return split_at_set(kSpaces, Behavior::kRemoved, type);
  if (type == "Digits") {
    return json.get("individual_digits", false) ? split_at_set(kNumbers, Behavior::kIsolated, R"(\p{N})")
                                                : split_at_set(kNumbers, Behavior::kContiguous, R"(\p{N}+)");
  }
  if (type == "Punctuation") {
    const Json* given = json.find("behavior");
    const Behavior behavior = given ? read_behavior(*given) : Behavior::kIsolated;
    const bool runs = behavior == Behavior::kContiguous;
    return split_at_set(kPunctuation, behavior, runs ? std::string(kPunctuationRuns) : shown(type, behavior, false));
  }
  if (type == "BertPreTokenizer") return bert_pretokenizer();
  if (type == "CharDelimiterSplit") {
    const std::string& delimiter = json.at("delimiter").as_text();
    if (delimiter.empty() || delimiter.size() != code_point_at(delimiter, 0).bytes) {
      throw Error(ErrorCode::kBadFile, cat(json.at("delimiter").place(), ": is not a single character"));
    }
    return std::make_unique<CharSplit>([value = code_point_at(delimiter, 0).value](char32_t c) { return c == value; },
                                       Behavior::kRemoved, cat("the text ", in_quotes(delimiter)));
  }
  if (type == "FixedLength") {
    const int64_t length = json.get("length", int64_t{5});
    if (length < 1) throw Error(ErrorCode::kBadFile, cat(json.place(), ": the length is ", length));
    return std::make_unique<FixedLengthPreTokenizer>(length);
  }
  throw Error(ErrorCode::kUnsupported, cat(json.at("type").place(), ": there is no pre-tokenizer ", in_quotes(type)));
}

}  // namespace

PreTokenizerPtr read_pretokenizer(const Json& json, bool bytes_for_model) {
  return read_at_depth(json, bytes_for_model, 0);
}

bool ends_in_byte_level(const Json& json) {
  const Json* step = &json;
  while (step->is_object() && step->get("type", "") == "Sequence") {
    const Json::Array& steps = step->at("pretokenizers").as_array();
    if (steps.empty()) return false;
    step = &steps.back();
  }
  return step->is_object() && step->get("type", "") == "ByteLevel";
}

PreTokenizerPtr split_pretokenizer(const std::vector<std::string_view>& patterns) {
  std::vector<PreTokenizerPtr> steps;
  for (const std::string_view pattern : patterns) {
    if (const auto known = known_pattern(pattern)) {
      steps.push_back(std::make_unique<KnownSplit>(*known));
    } else {
      steps.push_back(std::make_unique<SplitPreTokenizer>(Regex(pattern, "built-in pattern"), std::string(pattern),
                                                          Behavior::kIsolated, false));
    }
  }
  return std::make_unique<SequencePreTokenizer>(std::move(steps));
}

PreTokenizerPtr bert_pretokenizer() { return std::make_unique<BertPreTokenizer>(); }

}  // namespace wick
