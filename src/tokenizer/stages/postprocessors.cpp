#include "tokenizer/stages/postprocessors.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr int kMaxPostProcessorDepth = 32;

int read_id(const Json& json, const Vocabulary& vocabulary) {
  const int64_t id = json.as_int();
  if (!vocabulary.has(id)) {
    throw Error(ErrorCode::kBadFile,
                cat(json.place(), ": the id ", id, " is not in the vocabulary of ", vocabulary.size()));
  }
  return static_cast<int>(id);
}

std::vector<TemplatePart> read_template(const Json& json, const Json& special_tokens, const Vocabulary& vocabulary) {
  std::vector<TemplatePart> parts;
  for (const Json& item : json.as_array()) {
    TemplatePart part;
    if (const Json* sequence = item.find("Sequence")) {
      const std::string& id = sequence->at("id").as_text();
      if (id != "A" && id != "B") {
        throw Error(ErrorCode::kBadFile, cat(sequence->at("id").place(), ": is ", in_quotes(id), ", expected A or B"));
      }
      part.kind = id == "A" ? TemplatePart::Kind::kFirst : TemplatePart::Kind::kSecond;
      part.type_id = sequence->get("type_id", 0);
    } else {
      const Json& token = item.at("SpecialToken");
      part.kind = TemplatePart::Kind::kTokens;
      part.type_id = token.get("type_id", 0);
      for (const Json& id : special_tokens.at(token.at("id").as_text()).at("ids").as_array()) {
        part.ids.push_back(read_id(id, vocabulary));
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// ["[SEP]", 102]
TemplatePart read_token(const Json& json, int type_id, const Vocabulary& vocabulary) {
  const Json::Array& items = json.as_array();
  if (items.size() != 2) throw Error(ErrorCode::kBadFile, cat(json.place(), ": expected a token and its id"));
  return {TemplatePart::Kind::kTokens, type_id, {read_id(items[1], vocabulary)}};
}

void read_into(const Json& json, const Vocabulary& vocabulary, PostProcessor& out, int depth) {
  using Kind = TemplatePart::Kind;
  const std::string& type = json.at("type").as_text();
  if (depth > kMaxPostProcessorDepth)
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": post-processors are nested too deeply"));
  if (type == "Sequence") {
    for (const Json& step : json.at("processors").as_array()) read_into(step, vocabulary, out, depth + 1);
    return;
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    if (json.get("trim_offsets", true)) {
      out.trim_offsets = true;
      out.add_prefix_space = json.get("add_prefix_space", true);
    }
    if (type == "ByteLevel") return;
  }
  if (out.has_template) {
    throw Error(ErrorCode::kUnsupported, cat(json.place(), ": a second template of tokens is not supported"));
  }
  out.has_template = true;
  if (type == "TemplateProcessing") {
    const Json& tokens = json.at("special_tokens");
    out.single = read_template(json.at("single"), tokens, vocabulary);
    out.pair = read_template(json.at("pair"), tokens, vocabulary);
  } else if (type == "BertProcessing") {
    const TemplatePart cls = read_token(json.at("cls"), 0, vocabulary);
    const TemplatePart sep = read_token(json.at("sep"), 0, vocabulary);
    TemplatePart last = sep;
    last.type_id = 1;
    out.single = {cls, {Kind::kFirst, 0, {}}, sep};
    out.pair = {cls, {Kind::kFirst, 0, {}}, sep, {Kind::kSecond, 1, {}}, last};
  } else if (type == "RobertaProcessing") {
    const TemplatePart cls = read_token(json.at("cls"), 0, vocabulary);
    const TemplatePart sep = read_token(json.at("sep"), 0, vocabulary);
    out.single = {cls, {Kind::kFirst, 0, {}}, sep};
    out.pair = {cls, {Kind::kFirst, 0, {}}, sep, sep, {Kind::kSecond, 0, {}}, sep};
  } else {
    throw Error(ErrorCode::kUnsupported,
                cat(json.at("type").place(), ": there is no post-processor ", in_quotes(type)));
  }
}

void append(Encoding& out, const Encoding& part, int type_id) {
  out.ids.insert(out.ids.end(), part.ids.begin(), part.ids.end());
  out.offsets.insert(out.offsets.end(), part.offsets.begin(), part.offsets.end());
  out.type_ids.insert(out.type_ids.end(), part.ids.size(), type_id);
  out.special_mask.insert(out.special_mask.end(), part.ids.size(), 0);
  out.attention_mask.insert(out.attention_mask.end(), part.ids.size(), 1);
}

void keep(Encoding& encoding, size_t length, bool from_left) {
  const size_t count = encoding.ids.size();
  if (count <= length) return;
  const auto cut = [&](auto& list) {
    if (list.size() != count) return;  // not filled in yet
    if (from_left) {
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count - length));
    } else {
      list.resize(length);
    }
  };
  cut(encoding.offsets);
  cut(encoding.type_ids);
  cut(encoding.special_mask);
  cut(encoding.attention_mask);
  cut(encoding.ids);
}

}  // namespace

size_t PostProcessor::added(bool is_pair) const {
  size_t count = 0;
  for (const TemplatePart& part : is_pair ? pair : single) count += part.ids.size();
  return count;
}

Encoding PostProcessor::apply(Encoding first, const Encoding* second, bool add_special) const {
  Encoding out;
  for (const TemplatePart& part : second ? pair : single) {
    switch (part.kind) {
      case TemplatePart::Kind::kFirst: append(out, first, part.type_id); break;
      case TemplatePart::Kind::kSecond:
        if (second) append(out, *second, part.type_id);
        break;
      case TemplatePart::Kind::kTokens:
        if (!add_special) break;
        for (const int id : part.ids) {
          out.ids.push_back(id);
          out.offsets.push_back({});
          out.type_ids.push_back(part.type_id);
          out.special_mask.push_back(1);
          out.attention_mask.push_back(1);
        }
        break;
    }
  }
  return out;
}

PostProcessor read_postprocessor(const Json& json, const Vocabulary& vocabulary) {
  PostProcessor processor;
  read_into(json, vocabulary, processor, 0);
  return processor;
}

PostProcessor surround(std::vector<int> before, std::vector<int> after) {
  using Kind = TemplatePart::Kind;
  PostProcessor processor;
  processor.has_template = true;
  processor.single = {{Kind::kTokens, 0, before}, {Kind::kFirst, 0, {}}, {Kind::kTokens, 0, after}};
  processor.pair = {{Kind::kTokens, 0, before},
                    {Kind::kFirst, 0, {}},
                    {Kind::kTokens, 0, after},
                    {Kind::kSecond, 1, {}},
                    {Kind::kTokens, 1, after}};
  return processor;
}

void truncate(Encoding& first, Encoding* second, const Truncation& truncation, size_t added) {
  if (truncation.max_length < static_cast<int64_t>(added)) {
    throw Error(ErrorCode::kInvalidArgument, cat("truncation to ", truncation.max_length,
                                                 " tokens leaves no room for the ", added, " tokens around the text"));
  }
  const size_t room = static_cast<size_t>(truncation.max_length) - added;
  const size_t total = first.ids.size() + (second ? second->ids.size() : 0);
  if (total <= room) return;
  const size_t surplus = total - room;
  if (truncation.strategy != Truncation::Strategy::kLongestFirst) {
    const bool is_first = truncation.strategy == Truncation::Strategy::kOnlyFirst;
    Encoding* target = is_first ? &first : second;
    if (!target || target->ids.size() <= surplus) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("truncation to ", truncation.max_length, " tokens would leave nothing of the ",
                      is_first ? "first" : "second", " text"));
    }
    return keep(*target, target->ids.size() - surplus, truncation.from_left);
  }
  if (!second) return keep(first, room, truncation.from_left);
  // The shorter text stays whole if it takes less than half, else both get half.
  size_t shorter = first.ids.size(), longer = second->ids.size();
  const bool swapped = shorter > longer;
  if (swapped) std::swap(shorter, longer);
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  keep(first, swapped ? longer : shorter, truncation.from_left);
  keep(*second, swapped ? shorter : longer, truncation.from_left);
}

void pad(Encoding& encoding, size_t length, const Padding& padding) {
  if (padding.multiple_of > 0) {
    const auto multiple = static_cast<size_t>(padding.multiple_of);
    length = (length + multiple - 1) / multiple * multiple;
  }
  if (encoding.ids.size() >= length) return;
  const size_t missing = length - encoding.ids.size();
  const auto fill = [&](auto& list, auto value) {
    list.insert(padding.on_left ? list.begin() : list.end(), missing, value);
  };
  fill(encoding.ids, padding.pad_id);
  fill(encoding.offsets, Span{});
  fill(encoding.type_ids, padding.pad_type_id);
  fill(encoding.special_mask, uint8_t{1});
  fill(encoding.attention_mask, uint8_t{0});
}

}  // namespace wick
