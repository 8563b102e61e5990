#include "engine/text/chat_prompt.h"

#include <algorithm>
#include <mutex>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "engine/compute_mutex.h"
#include "models/vision/layer_turns.h"
#include "models/vision/vision_encoder.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

using jinja::Value;

// U+FDD0, which Unicode keeps out of interchange. A template passes it on like a letter, whatever else it does with a
// text (trim, tojson, join); so one set inside each spelling of a control token still shows, in the rendered prompt,
// which spellings are the template's own.
constexpr std::string_view kMark = "\xEF\xB7\x90";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

class Marker {
 public:
  Marker(const Tokenizer& tokenizer, std::optional<int64_t> most) : tokenizer_(tokenizer) {
    if (most) most_ = static_cast<size_t>(*most);
    for (const AddedToken& token : tokenizer.added_tokens()) {
      if (!token.special || token.content.empty()) continue;
      spellings_.push_back(token.content);
      starts_[static_cast<unsigned char>(token.content[0])] = true;
      has_normalized_ = has_normalized_ || token.normalized;
    }
  }

  Value mark(const Value& value) const {
    if (value.is_text()) return Value(mark(std::string(value.bytes())), value.is_markup());
    if (value.is_list() || value.is_tuple()) {
      std::vector<Value> items;
      for (const Value& item : value.items()) items.push_back(mark(item));
      return value.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
    if (!value.is_dict()) return value;
    jinja::Dict dict;
    for (const auto& [key, item] : value.as_dict().entries()) dict.set(mark(key), mark(item));
    return dict;
  }

 private:
  std::string mark(const std::string& original) const {
    std::string text = is_utf8(original) ? original : replace_invalid_utf8(original);
    for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at))
      text.replace(at, 3, "\xEF\xBF\xBD");
    const std::vector<uint32_t> places = places_of(text);
    if (has_normalized_) refuse_disguised(text, places);
    std::string marked;
    size_t done = 0;
    for (const uint32_t place : places) {
      marked.append(text, done, place - done).append(kMark);
      done = place;
    }
    return marked.append(text, done);
  }

  // Inside each control token that the text spells out; and at its edges, when it begins or ends with a part of one
  // that its neighbours might complete. Blanks around it may be cut off by the template.
  std::vector<uint32_t> places_of(std::string_view text) const {
    std::vector<uint32_t> places;
    for (size_t at = 0; at < text.size(); ++at) {
      if (!starts_[static_cast<unsigned char>(text[at])]) continue;
      const bool spelled = std::any_of(spellings_.begin(), spellings_.end(),
                                       [&](const auto& spelling) { return text.substr(at).starts_with(spelling); });
      if (spelled) places.push_back(static_cast<uint32_t>(at + code_point_at(text, at).bytes));
    }
    size_t begin = 0, end = text.size();
    while (begin < end && is_space(text[begin])) ++begin;
    while (end > begin && is_space(text[end - 1])) --end;
    for (const size_t from : {size_t{0}, begin}) {
      if (completes(text.substr(from))) places.push_back(static_cast<uint32_t>(from));
    }
    for (const size_t to : {end, text.size()}) {
      if (opens(text.substr(0, to))) places.push_back(static_cast<uint32_t>(to));
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  // The text begins with the end of a control token.
  bool completes(std::string_view text) const {
    return std::any_of(spellings_.begin(), spellings_.end(), [&](std::string_view spelling) {
      for (size_t cut = 1; cut < spelling.size(); ++cut) {
        if (text.starts_with(spelling.substr(cut))) return true;
      }
      return false;
    });
  }

  // The text ends with the beginning of a control token.
  bool opens(std::string_view text) const {
    return std::any_of(spellings_.begin(), spellings_.end(), [&](std::string_view spelling) {
      for (size_t length = 1; length < spelling.size(); ++length) {
        if (text.ends_with(spelling.substr(0, length))) return true;
      }
      return false;
    });
  }

  // Normalisation may turn other letters into those of a control token.
  void refuse_disguised(const std::string& text, const std::vector<uint32_t>& places) const {
    EncodeOptions options;
    options.add_special = false;
    options.breaks = places;
    options.most = most_;
    const std::vector<int> tokens = tokenizer_.encode(text, options);
    if (most_ && tokens.size() > *most_) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a text takes at least ", tokens.size(), " tokens, but the context is ", *most_));
    }
    for (const int id : tokens) {
      if (!tokenizer_.is_special(id) || id == tokenizer_.special_ids().unk) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a text holds the control token ", in_quotes(tokenizer_.piece(id)), " in other letters"));
    }
  }

  const Tokenizer& tokenizer_;
  std::optional<size_t> most_;
  std::vector<std::string> spellings_;
  bool starts_[256] = {};
  bool has_normalized_ = false;
};

// Puts what pictures become in the places that the template has left for them. What texts spell of one is marked, and
// no place.
std::vector<Sight> place_visuals(const TextModel& model, const ChatVisuals& visuals, std::string& rendered) {
  const auto is_left = [&](const std::string& place, size_t from) {
    return place.empty() ? std::string::npos : rendered.find(place, from);
  };
  std::vector<Sight> sights;
  if (visuals.all.empty()) return sights;
  const Eyes& eyes = model.eyes();
  const Placeholder& places = eyes.placeholder();
  size_t from = 0;
  for (const VisualRef& visual : visuals.all) {
    const std::string& place = visual->is_video() ? places.video() : places.picture();
    Sight sight = eyes.look(*visual, visuals.options);
    const size_t at = is_left(place, from);
    if (at == std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the chat template of ", model.name(), " has no place for ",
                      visual->is_video() ? "video " : "picture ", sights.size() + 1, " of ", visuals.all.size()));
    }
    rendered.replace(at, place.size(), sight.text);
    from = at + sight.text.size();
    sights.push_back(std::move(sight));
  }
  for (const std::string& place : {places.picture(), places.video()}) {
    if (is_left(place, from) == std::string::npos) continue;
    throw Error(ErrorCode::kInvalidArgument,
                cat("the messages show more than the ", visuals.all.size(), " pictures that are given"));
  }
  return sights;
}

// The rows of all pictures at the positions that their tokens have taken.
std::vector<InputEmbeddings> embed_visuals(const TextModel& model, const ChatVisuals& visuals,
                                           std::span<const Sight> sights, std::span<const int32_t> tokens) {
  std::vector<InputEmbeddings> embeddings;
  if (visuals.all.empty()) return embeddings;
  const PictureTokens& known = model.model().vision()->facts().tokens;
  std::vector<int64_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == known.picture || tokens[i] == known.video) places.push_back(static_cast<int64_t>(i));
  }
  int64_t rows = 0;
  for (const Sight& sight : sights) rows += sight.all_rows();
  if (rows != std::ssize(places)) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the prompt has ", places.size(), " places for ", rows, " rows of pictures"));
  }
  size_t next = 0;
  for (const VisualRef& visual : visuals.all) {
    std::vector<InputEmbeddings> parts;
    {
      std::unique_lock lock(compute_mutex());
      const auto let_others = [&] {
        lock.unlock();
        lock.lock();
      };
      const LayerTurns turns(let_others);
      parts = model.eyes().encode(visual, visuals.options, visuals.salt);
    }
    for (InputEmbeddings& part : parts) {
      const auto count = static_cast<size_t>(part.rows.dim(0));
      if (places[next + count - 1] - places[next] != static_cast<int64_t>(count) - 1) {
        throw Error(ErrorCode::kInternal, "the rows of a picture do not stand side by side in the prompt");
      }
      part.position = places[next];
      next += count;
      embeddings.push_back(std::move(part));
    }
  }
  return embeddings;
}

}  // namespace

ChatPrompt make_chat_prompt(const TextModel& model, const ChatInput& input, std::optional<int64_t> most,
                            const ChatVisuals& visuals) {
  const ChatTemplate* chat = model.chat_template();
  if (!chat) throw Error(ErrorCode::kInvalidArgument, cat(model.name(), " has no chat template"));
  const Marker marker(model.tokenizer(), most);
  ChatInput marked = input;
  marked.messages = marker.mark(input.messages);
  marked.tools = marker.mark(input.tools);
  marked.documents = marker.mark(input.documents);
  std::string rendered = chat->render(marked);
  const std::vector<Sight> sights = place_visuals(model, visuals, rendered);

  ChatPrompt prompt;
  std::vector<uint32_t> breaks;
  size_t done = 0;
  for (size_t at = rendered.find(kMark); at != std::string::npos; at = rendered.find(kMark, done)) {
    prompt.text.append(rendered, done, at - done);
    breaks.push_back(static_cast<uint32_t>(prompt.text.size()));
    done = at + kMark.size();
  }
  prompt.text.append(rendered, done);
  EncodeOptions options;
  options.add_special = false;  // the template writes them
  options.breaks = breaks;
  if (most) options.most = static_cast<size_t>(*most);
  prompt.tokens = model.tokenizer().encode(prompt.text, options);
  if (!most || std::ssize(prompt.tokens) <= *most)
    prompt.embeddings = embed_visuals(model, visuals, sights, prompt.tokens);
  return prompt;
}

}  // namespace wick
