#include "server/api/responses/response_store.h"

#include <algorithm>

#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"

namespace wick {

void ResponseStore::keep(const std::string& id, Stored stored) {
  constexpr size_t kBookkeeping = 512;
  const size_t bytes = stored.input.size() + stored.output.size() + id.size() + kBookkeeping;
  if (bytes > most_each()) return;
  const std::lock_guard lock(mutex_);
  if (const auto known = slots_.find(id); known != slots_.end()) drop(known);
  Client& client = clients_[stored.client];
  client.ids.emplace(++last_number_, id);
  client.bytes += bytes;
  bytes_ += bytes;
  slots_.emplace(id, Slot{std::make_shared<const Stored>(std::move(stored)), last_number_, bytes});
  while (bytes_ > most_bytes_) {
    const auto most = std::max_element(clients_.begin(), clients_.end(),
                                       [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    drop(slots_.find(most->second.ids.begin()->second));
  }
}

std::shared_ptr<const ResponseStore::Stored> ResponseStore::find(std::string_view owner, std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(id);
  return slot != slots_.end() && slot->second.stored->owner == owner ? slot->second.stored : nullptr;
}

bool ResponseStore::erase(std::string_view owner, std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(id);
  if (slot == slots_.end() || slot->second.stored->owner != owner) return false;
  drop(slot);
  return true;
}

void ResponseStore::drop(Slots::iterator slot) {
  const auto client = clients_.find(slot->second.stored->client);
  client->second.ids.erase(slot->second.number);
  client->second.bytes -= slot->second.bytes;
  bytes_ -= slot->second.bytes;
  if (client->second.ids.empty()) clients_.erase(client);
  slots_.erase(slot);
}

OrderedJson input_items(const Json& input) {
  OrderedJson items = OrderedJson::array();
  if (input.is_text()) {
    items.push_back({{"type", "message"},
                     {"role", "user"},
                     {"content", OrderedJson::array({{{"type", "input_text"}, {"text", input.as_text()}}})}});
  } else {
    items = to_ordered(input);
  }
  for (OrderedJson& item : items) {
    if (!item.is_object()) continue;
    if (!item.contains("type")) item["type"] = "message";
    if (!item.contains("id") || !item["id"].is_string()) {
      item["id"] = make_id(item["type"] == "message" ? "msg_" : "item_");
    }
  }
  return items;
}

}  // namespace wick
