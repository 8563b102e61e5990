#include "server/journal_record.h"

#include <charconv>

#include "base/json.h"
#include "base/json_write.h"
#include "server/http/valid_text.h"

namespace wick {
namespace {

constexpr size_t kMostIdBytes = 128;

void add_text(std::string& out, std::string_view name, std::string_view text) {
  out += cat(",\"", name, "\":");
  append_json_text(out, valid_text(text));
}

void add_number(std::string& out, std::string_view name, int64_t value) { out += cat(",\"", name, "\":", value); }

std::shared_ptr<const std::string> shared_text(const Json& text) {
  return std::make_shared<const std::string>(text.as_text());
}

// JSON readers may take large numbers for fractions, so the hash is text.
uint64_t number_of(const Json& json) {
  const std::string& text = json.as_text();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kBadFile, cat(json.place(), " is not a number"));
  }
  return value;
}

}  // namespace

uint64_t hash_of(std::string_view body) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : body) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string record_text(const JournalEntry& entry) {
  std::string out = cat(R"({"record":")", entry.is_finished() ? "finished" : "accepted", "\"");
  add_text(out, "id", entry.id);
  add_number(out, "created", entry.created);
  add_text(out, "owner", entry.owner);
  add_text(out, "key", entry.key);
  add_text(out, "model", entry.model);
  add_number(out, "seed", entry.seed);
  add_text(out, "body_hash", cat(entry.body_hash));
  if (entry.is_finished()) {
    add_number(out, "finished", entry.finished);
    add_text(out, "response", *entry.response);
  } else {
    add_text(out, "body", *entry.body);
  }
  return out + "}";
}

std::string deleted_record_text(std::string_view id) {
  std::string out = R"({"record":"deleted")";
  add_text(out, "id", id);
  return out + "}";
}

JournalRecord parse_record(std::string_view text) {
  const Json json = Json::parse(text, "record");
  JournalRecord record;
  JournalEntry& entry = record.entry;
  const std::string& kind = json.at("record").as_text();
  entry.id = json.at("id").as_text();
  if (entry.id.empty() || entry.id.size() > kMostIdBytes) {
    throw Error(ErrorCode::kBadFile, cat("the id of a record has ", entry.id.size(), " bytes"));
  }
  record.is_deletion = kind == "deleted";
  if (record.is_deletion) return record;
  entry.created = json.at("created").as_int();
  entry.owner = json.at("owner").as_text();
  entry.key = json.at("key").as_text();
  entry.model = json.at("model").as_text();
  entry.seed = json.at("seed").as_int();
  entry.body_hash = number_of(json.at("body_hash"));
  if (kind == "finished") {
    entry.finished = json.at("finished").as_int();
    entry.response = shared_text(json.at("response"));
  } else if (kind == "accepted") {
    entry.body = shared_text(json.at("body"));
  } else {
    throw Error(ErrorCode::kBadFile, cat("a record is '", kind, "', expected accepted, finished or deleted"));
  }
  return record;
}

}  // namespace wick
