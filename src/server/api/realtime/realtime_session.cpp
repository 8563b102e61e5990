#include "server/api/realtime/realtime_session.h"

#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "base/utf8.h"
#include "server/api/json_text.h"

namespace wick {
namespace {

constexpr std::string_view kTranscription = "conversation.item.input_audio_transcription.";

int64_t milliseconds(double seconds) { return std::llround(seconds * 1000); }

std::string event_id_of(const Json& event) {
  const Json* id = event.is_object() ? event.find("event_id") : nullptr;
  return id && id->is_text() ? id->as_text() : std::string();
}

// A message of a conversation.item.create.
struct MessagePart {
  std::string type, text;
  static const Fields<MessagePart>& fields() {
    using R = MessagePart;
    static const Fields<R> fields = Fields<R>("RealtimeContent", BodyUse::kRequest)
                                        .add("type", &R::type, "")
                                        .words({"input_text", "text", "output_text"})
                                        .required()
                                        .add("text", &R::text, "")
                                        .required();
    return fields;
  }
};
struct ItemPart {
  std::string type, role;
  std::optional<std::string> id;
  std::vector<MessagePart> content;
  static const Fields<ItemPart>& fields() {
    using R = ItemPart;
    static const Fields<R> fields = Fields<R>("RealtimeItem", BodyUse::kRequest)
                                        .add("type", &R::type, "")
                                        .words({"message"})
                                        .required()
                                        .add("role", &R::role, "")
                                        .words({"user", "assistant", "system"})
                                        .required()
                                        .add("id", &R::id, "")
                                        .add("content", &R::content, "")
                                        .required();
    return fields;
  }
};

}  // namespace

RealtimeSession::RealtimeSession(Realtime& realtime, RealtimeSettings settings, Caller caller)
    : realtime_(realtime), id_(make_id("sess_")), caller_(std::move(caller)), settings_(std::move(settings)) {}

void RealtimeSession::on_open(std::shared_ptr<WebSocket> socket) {
  const std::lock_guard lock(mutex_);
  output_ = std::make_shared<RealtimeOutput>(std::move(socket));
  ear_ = std::make_shared<RealtimeEar>(*realtime_.speech_, caller_.name, weak_from_this(), ear_settings(),
                                       realtime_.options_.most_unheard_seconds);
  output_->send("session.created", {{"session", settings_.json(id_)}});
}

void RealtimeSession::on_close(uint16_t) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  ear_->stop();
  if (answer_) answer_->cancel("client_cancelled");
}

void RealtimeSession::on_text(std::string text) {
  const std::lock_guard lock(mutex_);
  std::string event_id;
  try {
    const Json event = json_text(text, "the event");
    event_id = event_id_of(event);
    obey(event);
  } catch (const RequestError& error) {
    output_->send_error(error.word(), error.what(), error.param(), event_id);
  } catch (const Error& error) {
    output_->send_error("invalid_value", error.what(), {}, event_id);
  }
}

void RealtimeSession::on_binary(std::string bytes) {
  const std::lock_guard lock(mutex_);
  try {
    push(bytes);
  } catch (const RequestError& error) {
    output_->send_error(error.word(), error.what(), error.param());
  }
}

void RealtimeSession::obey(const Json& event) {
  if (!event.is_object()) throw RequestError({}, "the event is not an object", "invalid_type");
  const Json* type = event.find("type");
  if (!type || !type->is_text()) throw RequestError("type", "type is missing", "missing_required_parameter");
  const std::string& name = type->as_text();
  if (name == "input_audio_buffer.append") return append(event);
  if (name == "input_audio_buffer.commit") return commit(event_id_of(event));
  if (name == "input_audio_buffer.clear") return clear();
  if (name == "session.update" || name == "transcription_session.update") return update(event);
  if (name == "conversation.item.create") return add_item(event);
  if (name == "conversation.item.delete") return delete_item(event);
  if (name == "conversation.item.retrieve") return retrieve_item(event);
  if (name == "conversation.item.truncate") return truncate_item(event);
  if (name == "response.create") return respond(event.find("response"));
  if (name == "response.cancel") {
    if (!is_answering()) throw RequestError({}, "there is no answer to cancel", "response_cancel_not_active");
    return answer_->cancel("client_cancelled");
  }
  throw RequestError("type", cat("there is no event of the type ", in_quotes(name)), "unknown_event");
}

void RealtimeSession::update(const Json& event) {
  const Json* session = event.find("session");
  if (!session) throw RequestError("session", "session is missing", "missing_required_parameter");
  RealtimeSettings changed = settings_;
  changed.update(*session);
  if (!realtime_.host_->has(changed.model)) {
    throw RequestError("session.model", cat("there is no model ", in_quotes(changed.model)), "model_not_found");
  }
  if (!realtime_.speech_->has(changed.speech_model)) {
    throw RequestError("session.audio.input.transcription.model", realtime_.speech_->unknown(changed.speech_model),
                       "model_not_found");
  }
  const bool hears_otherwise = !changed.hears_like(settings_);
  settings_ = std::move(changed);
  if (hears_otherwise) check_room(ear_->set(ear_settings()));
  output_->send("session.updated", {{"session", settings_.json(id_)}});
}

EarSettings RealtimeSession::ear_settings() const {
  EarSettings ear;
  ear.model = settings_.speech_model;
  ear.options.language = settings_.language;
  ear.options.context = settings_.prompt;
  ear.sample_rate = settings_.sample_rate;
  ear.finds_turns = settings_.turn_detection.has_value();
  ear.pauses = settings_.pauses();
  return ear;
}

void RealtimeSession::append(const Json& event) {
  const Json* audio = event.find("audio");
  if (!audio || !audio->is_text()) {
    throw RequestError("audio", "audio is missing or not text", "missing_required_parameter");
  }
  const auto bytes = decode_base64(audio->as_text());
  if (!bytes) throw RequestError("audio", "audio is not Base64", "invalid_base64");
  push(*bytes);
}

void RealtimeSession::push(std::string_view bytes) {
  if (bytes.size() % 2 != 0) {
    throw RequestError("audio", cat("audio has ", bytes.size(), " bytes, but a sample has two"), "invalid_audio");
  }
  check_room(ear_->push(bytes));
}

void RealtimeSession::check_room(bool has_room) {
  if (has_room) return;
  constexpr std::string_view kMessage = "The sound comes faster than the server can hear it.";
  output_->send_error("overloaded", kMessage, {}, {}, "server_error");
  output_->close(WebSocketClose::kTryLater, std::string(kMessage));
  ear_->stop();
}

void RealtimeSession::commit(const std::string& event_id) {
  std::string item;
  check_room(ear_->commit(item, event_id));
  if (item.empty()) {
    throw RequestError({}, "there is no sound to commit", "input_audio_buffer_commit_empty");
  }
  if (settings_.turn_detection) return;  // as if a pause had come; see on_heard() and on_silence()
  output_->send("input_audio_buffer.committed", {{"previous_item_id", last_item()}, {"item_id", item}});
}

void RealtimeSession::clear() {
  check_room(ear_->clear());
  output_->send("input_audio_buffer.cleared", OrderedJson::object());
}

void RealtimeSession::add_item(const Json& event) {
  const Json* item = event.find("item");
  if (!item) throw RequestError("item", "item is missing", "missing_required_parameter");
  ItemPart part;
  ItemPart::fields().read(*item, "item", part);
  std::string text;
  for (const MessagePart& content : part.content) text += content.text;
  const std::string id = part.id.value_or(make_id("item_"));
  if (turn_bytes_ + text.size() + id.size() > realtime_.options_.most_conversation_bytes) {
    throw RequestError("item",
                       cat("the conversation is longer than ", realtime_.options_.most_conversation_bytes, " bytes"),
                       "conversation_too_long");
  }
  const char* kind = part.role == "assistant" ? "output_text" : "input_text";
  if (std::any_of(turns_.begin(), turns_.end(), [&](const Turn& turn) { return turn.item == id; })) {
    throw RequestError("item.id", cat("there is an item ", in_quotes(id), " already"), "item_exists");
  }
  remember({part.role, text, nullptr, id, {{"type", kind}, {"text", text}}});
}

// Of an answer that has said nothing, the client has not heard.
OrderedJson RealtimeSession::last_item() const {
  const auto last = std::find_if(turns_.rbegin(), turns_.rend(),
                                 [](const Turn& turn) { return !turn.answer || !turn.answer->text().empty(); });
  return last == turns_.rend() ? OrderedJson() : OrderedJson(last->item);
}

OrderedJson RealtimeSession::item_json(const Turn& turn) {
  if (turn.answer) return turn.answer->item_json();
  return {{"id", turn.item},       {"object", "realtime.item"}, {"type", "message"},
          {"status", "completed"}, {"role", turn.role},         {"content", OrderedJson::array({turn.part})}};
}

void RealtimeSession::remember(Turn turn) {
  const OrderedJson told = {{"previous_item_id", last_item()}, {"item", item_json(turn)}};
  output_->send("conversation.item.added", told);
  output_->send("conversation.item.done", told);
  turn_bytes_ += turn.text.size() + turn.item.size();
  turns_.push_back(std::move(turn));
}

std::vector<RealtimeSession::Turn>::iterator RealtimeSession::turn_of(const Json& event) {
  const Json* id = event.find("item_id");
  if (!id || !id->is_text()) throw RequestError("item_id", "item_id is missing", "missing_required_parameter");
  const auto turn =
      std::find_if(turns_.begin(), turns_.end(), [&](const Turn& each) { return each.item == id->as_text(); });
  if (turn == turns_.end()) {
    throw RequestError("item_id", cat("there is no item ", in_quotes(id->as_text())), "item_not_found");
  }
  return turn;
}

void RealtimeSession::delete_item(const Json& event) {
  const auto turn = turn_of(event);
  if (turn->answer && !turn->answer->is_over()) {
    throw RequestError("item_id", cat("the item ", in_quotes(turn->item), " is still being written"));
  }
  const std::string item = turn->item;
  turn_bytes_ -= turn->answer ? 0 : turn->text.size() + turn->item.size();
  turns_.erase(turn);
  output_->send("conversation.item.deleted", {{"item_id", item}});
}

void RealtimeSession::retrieve_item(const Json& event) {
  output_->send("conversation.item.retrieved", {{"item", item_json(*turn_of(event))}});
}

void RealtimeSession::truncate_item(const Json& event) {
  const auto turn = turn_of(event);
  throw RequestError("item_id", cat("the item ", in_quotes(turn->item), " has no sound to cut: answers here are text"),
                     "unsupported_value");
}

void RealtimeSession::respond(const Json* wanted) {
  if (settings_.type == "transcription") {
    throw RequestError("session.type", "a session for transcription does not answer", "unsupported_value");
  }
  if (is_answering()) {
    throw RequestError({}, cat("the answer ", answer_->id(), " is still being written"),
                       "conversation_already_has_active_response");
  }
  RealtimeSettings settings = settings_;
  if (wanted && !wanted->is_null()) settings.update_response(*wanted);
  ChatRequest request = chat_request(settings);
  if (request.messages.empty()) throw RequestError({}, "the conversation is empty", "conversation_empty");
  answer_ = std::make_shared<RealtimeAnswer>(output_, realtime_.metrics_.latency(settings.model), last_item());
  turns_.push_back({"assistant", {}, answer_, answer_->item(), {}});
  answer_->start(*realtime_.host_, settings.model, std::move(request), realtime_.grammars_, caller_);
}

ChatRequest RealtimeSession::chat_request(const RealtimeSettings& settings) const {
  ChatRequest request;
  request.model = settings.model;
  request.temperature = settings.temperature;
  request.ignore_eos = settings.ignore_eos;
  request.max_completion_tokens = settings.max_output_tokens;
  const auto add = [&](const std::string& role, std::string text) {
    if (text.empty()) return;
    ChatMessage& message = request.messages.emplace_back();
    message.role = role;
    message.content = TextContent{std::move(text)};
  };
  add("system", settings.instructions);
  for (const Turn& turn : turns_) add(turn.role, turn.answer ? turn.answer->text() : turn.text);
  return request;
}

void RealtimeSession::on_speech(const std::string& item, double begin) {
  const std::lock_guard lock(mutex_);
  // First the answer: it is what the user wants to hear no more of.
  if (is_answering() && settings_.turn_detection && settings_.turn_detection->interrupt_response) {
    answer_->cancel("turn_detected");
  }
  output_->send("input_audio_buffer.speech_started", {{"audio_start_ms", milliseconds(begin)}, {"item_id", item}});
}

void RealtimeSession::on_partial(const std::string& item, const std::string& text) {
  const std::lock_guard lock(mutex_);
  output_->send(cat(kTranscription, "partial"), {{"item_id", item}, {"content_index", 0}, {"text", text}});
}

void RealtimeSession::on_heard(const std::string& item, double end, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  if (settings_.turn_detection) {
    output_->send("input_audio_buffer.speech_stopped", {{"audio_end_ms", milliseconds(end)}, {"item_id", item}});
    output_->send("input_audio_buffer.committed", {{"previous_item_id", last_item()}, {"item_id", item}});
  }
  if (!text.empty()) {
    remember({"user", text, nullptr, item, {{"type", "input_audio"}, {"transcript", text}}});
    output_->send(cat(kTranscription, "delta"), {{"item_id", item}, {"content_index", 0}, {"delta", text}});
  }
  output_->send(cat(kTranscription, "completed"), {{"item_id", item}, {"content_index", 0}, {"transcript", text}});
  const bool answers = !text.empty() && settings_.type == "realtime" && settings_.turn_detection &&
                       settings_.turn_detection->create_response;
  if (!answers || is_answering()) return;
  try {
    respond(nullptr);
  } catch (const RequestError& error) {
    output_->send_error(error.word(), error.what(), error.param());
  }
}

void RealtimeSession::on_failed(const std::string& item, const std::string& message) {
  if (item.empty()) return on_deaf(message);
  const std::lock_guard lock(mutex_);
  output_->send(cat(kTranscription, "failed"),
                {{"item_id", item},
                 {"content_index", 0},
                 {"error", {{"type", "server_error"}, {"code", "transcription_failed"}, {"message", message}}}});
}

void RealtimeSession::on_silence(const std::string& event) {
  const std::lock_guard lock(mutex_);
  output_->send_error("input_audio_buffer_commit_empty", "there is no speech to commit", {}, event);
}

void RealtimeSession::on_deaf(const std::string& message) {
  const std::lock_guard lock(mutex_);
  output_->send_error("transcription_failed", message, {}, {}, "server_error");
}

}  // namespace wick
