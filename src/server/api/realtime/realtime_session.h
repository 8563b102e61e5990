#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/api/chat/chat_request.h"
#include "server/api/realtime/realtime.h"
#include "server/api/realtime/realtime_answer.h"
#include "server/api/realtime/realtime_ear.h"
#include "server/api/realtime/realtime_output.h"
#include "server/api/realtime/realtime_settings.h"
#include "server/websocket/web_socket.h"

namespace wick {

// One client of /v1/realtime: what it sends comes on workers, what was heard on threads of the SpeechHost.
class RealtimeSession : public WebSocketListener,
                        public EarOwner,
                        public std::enable_shared_from_this<RealtimeSession> {
 public:
  RealtimeSession(Realtime& realtime, RealtimeSettings settings, Caller caller);

  void on_open(std::shared_ptr<WebSocket> socket) override;
  void on_text(std::string text) override;
  void on_binary(std::string bytes) override;
  void on_close(uint16_t code) override;

  void on_speech(const std::string& item, double begin) override;
  void on_partial(const std::string& item, const std::string& text) override;
  void on_heard(const std::string& item, double end, const std::string& text) override;
  void on_failed(const std::string& item, const std::string& message) override;
  void on_silence(const std::string& event) override;
  void on_deaf(const std::string& message) override;

 private:
  struct Turn {
    std::string role, text;
    std::shared_ptr<RealtimeAnswer> answer;  // instead of a text
    std::string item = {};                   // its id
    OrderedJson part = {};                   // its content as the client is told of it
  };
  // All of these with the lock held.
  void obey(const Json& event);
  void update(const Json& event);
  void append(const Json& event);
  void push(std::string_view bytes);
  void commit(const std::string& event_id);
  void clear();
  void add_item(const Json& event);
  void respond(const Json* wanted);
  void remember(Turn turn);
  // The turn that an event names. Throws RequestError.
  std::vector<Turn>::iterator turn_of(const Json& event);
  void delete_item(const Json& event);
  void retrieve_item(const Json& event);
  void truncate_item(const Json& event);
  static OrderedJson item_json(const Turn& turn);
  OrderedJson last_item() const;  // null: none
  void check_room(bool has_room);
  bool is_answering() const { return answer_ && !answer_->is_over(); }
  EarSettings ear_settings() const;
  ChatRequest chat_request(const RealtimeSettings& settings) const;

  Realtime& realtime_;
  const std::string id_;
  const Caller caller_;
  std::mutex mutex_;  // of what follows
  RealtimeSettings settings_;
  std::shared_ptr<RealtimeOutput> output_;
  std::shared_ptr<RealtimeEar> ear_;
  std::vector<Turn> turns_;
  size_t turn_bytes_ = 0;
  std::shared_ptr<RealtimeAnswer> answer_;  // the last one
  bool is_closed_ = false;
};

}  // namespace wick
