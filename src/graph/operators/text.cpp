#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "graph/executor.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "graph/operators/broadcast.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// ASCII and Latin-1; other letters stay as they are.
std::string with_case(const std::string& text, bool upper) {
  std::string out = text;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) continue;
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  // Latin-1 letters in UTF-8: C3 80-9E are upper case, C3 A0-BE lower case, but for x and the division sign.
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if (static_cast<unsigned char>(out[i]) != 0xC3) continue;
    auto second = static_cast<unsigned char>(out[i + 1]);
    if (!upper && second >= 0x80 && second <= 0x9E && second != 0x97)
      second = static_cast<unsigned char>(second + 0x20);
    if (upper && second >= 0xA0 && second <= 0xBE && second != 0xB7) second = static_cast<unsigned char>(second - 0x20);
    out[i + 1] = static_cast<char>(second);
  }
  return out;
}

void normalizer_op(OpRun& run) {
  const Strings& x = run.strings(0);
  const std::string change = run.get("case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER")
    throw bad_input(cat("case_change_action is '", change, "'"));
  const bool sensitive = run.get("is_case_sensitive", int64_t{0}) != 0;
  const auto* given = run.node().find("stopwords");
  std::vector<std::string> stop = given ? given->strings : std::vector<std::string>();
  const auto key = [&](const std::string& text) { return sensitive ? text : with_case(text, false); };
  for (std::string& word : stop) word = key(word);
  if (x.shape.rank() != 1 && (x.shape.rank() != 2 || x.shape[0] != 1))
    throw Error(ErrorCode::kShape, cat("the input is ", x.shape));
  Strings out;
  for (const std::string& text : x.values) {
    if (std::find(stop.begin(), stop.end(), key(text)) != stop.end()) continue;
    out.values.push_back(change == "NONE" ? text : with_case(text, change == "UPPER"));
  }
  if (out.values.empty()) out.values.emplace_back();
  const auto count = std::ssize(out.values);
  out.shape = x.shape.rank() == 1 ? Shape{count} : Shape{1, count};
  run.set(0, Value(std::move(out)));
}

void string_concat_op(OpRun& run) {
  const Strings &a = run.strings(0), &b = run.strings(1);
  const Shape shape = broadcast(a.shape, b.shape);
  const auto places = [&](const Strings& s) {
    return Longs(spread(reshape(arange(0, static_cast<double>(s.values.size()), 1, DType::kI64), s.shape), shape));
  };
  const Longs left = places(a), right = places(b);
  Strings out{shape, {}};
  int64_t total = 0;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const std::string &first = a.values[left[i]], &second = b.values[right[i]];
    total += static_cast<int64_t>(first.size() + second.size() + sizeof(std::string));
    if (total > run.frame().state().value_limit) throw Error(ErrorCode::kOutOfMemory, "the texts become too long");
    out.values.push_back(first + second);
  }
  run.set(0, Value(std::move(out)));
}

std::vector<std::string> split(const std::string& text, const std::string& delimiter, int64_t most) {
  std::vector<std::string> parts;
  size_t at = 0;
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  if (delimiter.empty()) {
    while (true) {
      while (at < text.size() && is_space(text[at])) ++at;
      if (at == text.size()) return parts;
      size_t end = at;
      if (std::ssize(parts) == most) end = text.size();
      while (end < text.size() && !is_space(text[end])) ++end;
      while (std::ssize(parts) == most && end > at && is_space(text[end - 1])) --end;
      parts.push_back(text.substr(at, end - at));
      if (std::ssize(parts) > most) return parts;
      at = end;
    }
  }
  while (std::ssize(parts) < most) {
    const size_t found = text.find(delimiter, at);
    if (found == std::string::npos) break;
    parts.push_back(text.substr(at, found - at));
    at = found + delimiter.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

void string_split_op(OpRun& run) {
  const Strings& x = run.strings(0);
  const std::string delimiter = run.get("delimiter", "");
  const int64_t most = run.get("maxsplit", INT64_MAX);
  std::vector<std::vector<std::string>> all;
  int64_t longest = 0;
  for (const std::string& text : x.values) {
    all.push_back(split(text, delimiter, most));
    longest = std::max<int64_t>(longest, std::ssize(all.back()));
  }
  Strings out{x.shape.inserted(x.shape.rank(), longest), {}};
  Longs counts(x.shape);
  for (size_t i = 0; i < all.size(); ++i) {
    counts.out()[i] = std::ssize(all[i]);
    all[i].resize(static_cast<size_t>(longest));
    out.values.insert(out.values.end(), all[i].begin(), all[i].end());
  }
  run.set(0, Value(std::move(out)));
  run.set(1, counts.tensor());
}

void tfidf_op(OpRun& run) {
  const int64_t shortest = run.needed("min_gram_length"), longest = run.needed("max_gram_length"),
                skips = run.needed("max_skip_count");
  const auto starts = run.ints("ngram_counts"), columns = run.ints("ngram_indexes");
  const auto weights = run.floats("weights");
  const std::string mode = run.get("mode", "TF");
  const auto* texts = run.node().find("pool_strings");
  const auto numbers = run.ints("pool_int64s");
  const bool by_text = texts != nullptr;
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") throw bad_input(cat("mode is '", mode, "'"));
  if (shortest < 1 || longest < shortest || longest > std::ssize(starts) || skips < 0)
    throw bad_input(cat("grams of ", shortest, " to ", longest));
  const auto pool_size = static_cast<int64_t>(by_text ? texts->strings.size() : numbers.size());
  // All grams of the pool, by length.
  std::map<std::vector<std::string>, size_t> grams;
  size_t count = 0;
  for (size_t n = 1; n <= starts.size(); ++n) {
    const int64_t begin = starts[n - 1], end = n < starts.size() ? starts[n] : pool_size;
    if (begin < 0 || end > pool_size || begin > end || (end - begin) % static_cast<int64_t>(n) != 0)
      throw bad_input("ngram_counts do not fit the pool");
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(n)) {
      std::vector<std::string> gram;
      for (size_t i = 0; i < n; ++i) gram.push_back(by_text ? texts->strings[at + i] : cat(numbers[at + i]));
      grams[gram] = count++;
    }
  }
  if (count != columns.size() || (!weights.empty() && weights.size() != count))
    throw bad_input(cat(count, " grams, ", columns.size(), " columns and ", weights.size(), " weights"));
  int64_t width = 0;
  for (const int64_t column : columns) {
    if (column < 0 || column > (1 << 24)) throw bad_input(cat("column ", column));
    width = std::max(width, column + 1);
  }
  std::vector<std::string> words;
  Shape shape;
  if (by_text) {
    words = run.strings(0).values;
    shape = run.strings(0).shape;
  } else {
    for (const int64_t number : run.tensor(0).to_vector<int64_t>()) words.push_back(cat(number));
    shape = run.tensor(0).shape();
  }
  if (shape.rank() != 1 && shape.rank() != 2) throw Error(ErrorCode::kShape, cat("the input is ", shape));
  const int64_t rows = shape.rank() == 2 ? shape[0] : 1, length = shape.back();
  const Tensor out = zeros(shape.rank() == 2 ? Shape{rows, width} : Shape{width});
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t n = shortest; n <= longest; ++n) {
      for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips) && skip < length; ++skip) {
        for (int64_t at = 0; at + (n - 1) * (skip + 1) < length; ++at) {
          std::vector<std::string> gram;
          for (int64_t i = 0; i < n; ++i) gram.push_back(words[row * length + at + i * (skip + 1)]);
          const auto found = grams.find(gram);
          if (found != grams.end()) out.mutable_data<float>()[row * width + columns[found->second]] += 1;
        }
      }
    }
    for (size_t i = 0; i < columns.size() && mode != "TF"; ++i) {
      float& value = out.mutable_data<float>()[row * width + columns[i]];
      const float weight = weights.empty() ? 1 : weights[i];
      if (value > 0) value = mode == "IDF" ? weight : value * weight;
    }
  }
  run.set(0, out);
}

constexpr Operator kOperators[] = {
    {"StringConcat", string_concat_op},
    {"StringNormalizer", normalizer_op, "case_change_action is_case_sensitive locale stopwords"},
    {"StringSplit", string_split_op, "delimiter maxsplit"},
    {"TfIdfVectorizer", tfidf_op,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights"},
};

}  // namespace

Operators text_operators() { return kOperators; }

}  // namespace wick::graph
