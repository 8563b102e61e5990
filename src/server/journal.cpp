#include "server/journal.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

int64_t system_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// A name that nothing has yet.
fs::path free_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    fs::path name = path;
    name += cat(".damaged-", number);
    if (!fs::exists(name)) return name;
  }
}

}  // namespace

Journal::Journal(JournalOptions options) : options_(std::move(options)), lock_(options_.folder) {
  if (!options_.now) options_.now = system_seconds;
  file_.emplace(options_.folder / "journal.wick",
                [this](std::string_view text, int64_t bytes) { return take(text, bytes); });
  report(file_->found());
  forget_expired();
  file_bytes_ = file_->bytes();
}

void Journal::report(const JournalScan& scan) {
  if (scan.torn) {
    findings_.push_back(cat(file_->path(), ": the last record, at byte ", scan.torn->offset,
                            ", was never finished; its ", scan.torn->bytes, " bytes are cut off"));
  }
  if (scan.damage.empty()) return;
  const fs::path copy = free_name(file_->path());
  std::error_code error;
  fs::copy_file(file_->path(), copy, error);
  if (error) throw Error(ErrorCode::kIo, cat(copy, ": cannot write: ", error.message()));
  fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write, error);
  for (const JournalScan::Piece& piece : scan.damage) {
    findings_.push_back(cat(file_->path(), ": ", piece.bytes, " bytes at byte ", piece.offset,
                            " are damaged and left out; a copy of the file is ", copy));
  }
  rewrite();
}

// What a record of the file says; later ones go over earlier ones.
bool Journal::take(std::string_view text, int64_t record_bytes) {
  JournalRecord record;
  try {
    record = parse_record(text);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadFile) throw;  // no memory, say: what cannot be read now is not damaged
    return false;
  }
  const auto known = slots_.find(record.entry.id);
  if (record.is_deletion) {
    if (known != slots_.end()) drop(known);
    return true;
  }
  if (known != slots_.end() && known->second.entry.is_finished()) return true;  // the first response counts
  // A clock that was ahead must not keep a response forever.
  record.entry.finished = std::min(record.entry.finished, options_.now());
  put(std::move(record.entry), record_bytes);
  return true;
}

void Journal::put(JournalEntry entry, int64_t record_bytes) {
  uint64_t number = ++last_number_;
  if (const auto known = slots_.find(entry.id); known != slots_.end()) {
    number = known->second.number;
    drop(known);
  }
  if (!entry.key.empty()) ids_by_key_[{entry.owner, entry.key}] = entry.id;
  live_bytes_ += record_bytes;
  pending_ += entry.is_finished() ? 0 : 1;
  std::string id = entry.id;
  slots_.emplace(std::move(id), Slot{std::move(entry), record_bytes, number});
}

// An entry with its key and a place for both, made before the file is written: what is on the disk must not be missing
// here because there was no memory for it.
struct Journal::Place {
  Slots slots;
  std::map<Key, std::string> ids_by_key;
};

// With state_ held.
Journal::Place Journal::make_place(const JournalEntry& entry, int64_t record_bytes) {
  Place place;
  place.slots.emplace(entry.id, Slot{entry, record_bytes, last_number_ + 1});
  if (!entry.key.empty()) place.ids_by_key.emplace(Key{entry.owner, entry.key}, entry.id);
  slots_.reserve(slots_.size() + 1);
  return place;
}

// With state_ held. Allocates nothing.
void Journal::put(Place place) noexcept {
  const Slot& slot = place.slots.begin()->second;
  ++last_number_;
  live_bytes_ += slot.record_bytes;
  pending_ += 1;
  if (!place.ids_by_key.empty()) {
    const auto known = ids_by_key_.find(place.ids_by_key.begin()->first);
    if (known == ids_by_key_.end()) {
      ids_by_key_.insert(place.ids_by_key.extract(place.ids_by_key.begin()));
    } else {
      known->second.swap(place.ids_by_key.begin()->second);
    }
  }
  slots_.insert(place.slots.extract(place.slots.begin()));
}

void Journal::drop(Slots::iterator slot) {
  const JournalEntry& entry = slot->second.entry;
  drop(slot, {entry.owner, entry.key});
}

// Allocates nothing.
void Journal::drop(Slots::iterator slot, const Key& its_key) noexcept {
  const JournalEntry& entry = slot->second.entry;
  const auto key = ids_by_key_.find(its_key);
  if (key != ids_by_key_.end() && key->second == entry.id) ids_by_key_.erase(key);
  live_bytes_ -= slot->second.record_bytes;
  pending_ -= entry.is_finished() ? 0 : 1;
  slots_.erase(slot);
}

bool Journal::is_expired(const JournalEntry& entry) const {
  return entry.is_finished() && options_.now() - entry.finished >= options_.keep_seconds;
}

// Without a word in the file: whoever reads it later comes to the same conclusion.
void Journal::forget_expired() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const auto next = std::next(slot);
    if (is_expired(slot->second.entry)) drop(slot);
    slot = next;
  }
}

// With writing_ held. A file that could not be written before is written anew, without what failed then.
void Journal::append(std::string_view frames) {
  if (file_->is_doubtful()) rewrite();
  file_->append(frames);
}

// With writing_ held.
void Journal::rewrite() {
  std::vector<std::pair<uint64_t, JournalEntry>> entries;
  {
    const std::lock_guard lock(state_);
    for (const auto& [id, slot] : slots_) entries.emplace_back(slot.number, slot.entry);
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> frames;
  for (const auto& [number, entry] : entries) frames.push_back(journal_frame(record_text(entry)));
  file_->rewrite(frames);
}

Journal::Acceptance Journal::accept(JournalEntry request) {
  const std::lock_guard turn(writing_);
  request.created = options_.now();
  request.body_hash = hash_of(*request.body);
  const std::string frame = journal_frame(record_text(request));
  Place place;
  {
    const std::lock_guard lock(state_);
    if (slots_.contains(request.id)) throw Error(ErrorCode::kInternal, cat("the id ", request.id, " is taken"));
    if (const auto known = ids_by_key_.find({request.owner, request.key}); known != ids_by_key_.end()) {
      const JournalEntry& entry = slots_.at(known->second).entry;
      const bool is_same = entry.body_hash == request.body_hash;
      if (!is_expired(entry))
        return {is_same ? Verdict::kKnown : Verdict::kOtherBody, is_same ? entry : JournalEntry()};
    }
    const bool is_full =
        std::ssize(slots_) >= options_.most_entries || live_bytes_ + std::ssize(frame) > options_.most_bytes;
    if (is_full) forget_expired();
    if (std::ssize(slots_) >= options_.most_entries) return {Verdict::kTooMany, {}};
    if (live_bytes_ + std::ssize(frame) > options_.most_bytes) return {Verdict::kTooLarge, {}};
    place = make_place(request, std::ssize(frame));
  }
  append(frame);
  const std::lock_guard lock(state_);
  file_bytes_ = file_->bytes();
  put(std::move(place));
  return {Verdict::kNew, std::move(request)};
}

std::vector<std::string> Journal::finish(std::vector<Result> results) {
  const std::lock_guard turn(writing_);
  std::vector<JournalEntry> entries;
  {
    const std::lock_guard lock(state_);
    for (Result& result : results) {
      const auto slot = slots_.find(result.id);
      if (slot == slots_.end() || slot->second.entry.is_finished()) continue;
      JournalEntry entry = slot->second.entry;
      entry.finished = options_.now();
      entry.response = std::make_shared<const std::string>(std::move(result.response));
      entry.body.reset();
      entries.push_back(std::move(entry));
    }
  }
  std::vector<std::string> frames, ids;
  std::string all;
  for (const JournalEntry& entry : entries) {
    all += frames.emplace_back(journal_frame(record_text(entry)));
    ids.push_back(entry.id);
  }
  if (!all.empty()) append(all);
  // From here on nothing is allocated: what is on the disk is true here, too.
  const std::lock_guard lock(state_);
  file_bytes_ = file_->bytes();
  for (size_t i = 0; i < entries.size(); ++i) {
    Slot& slot = slots_.find(ids[i])->second;
    live_bytes_ += std::ssize(frames[i]) - slot.record_bytes;
    slot.record_bytes = std::ssize(frames[i]);
    if (!slot.entry.is_finished()) --pending_;  // the same id may be among the results twice
    slot.entry = std::move(entries[i]);
  }
  return ids;
}

bool Journal::erase(std::string_view id) {
  const std::lock_guard turn(writing_);
  const std::string name(id);
  Key key;  // of the entry, for drop()
  {
    const std::lock_guard lock(state_);
    const auto slot = slots_.find(name);
    if (slot == slots_.end() || is_expired(slot->second.entry)) return false;
    key = {slot->second.entry.owner, slot->second.entry.key};
  }
  append(journal_frame(deleted_record_text(id)));
  const std::lock_guard lock(state_);
  file_bytes_ = file_->bytes();
  drop(slots_.find(name), key);
  return true;
}

std::optional<JournalEntry> Journal::find(std::string_view id) const {
  const std::lock_guard lock(state_);
  const auto slot = slots_.find(std::string(id));
  if (slot == slots_.end() || is_expired(slot->second.entry)) return std::nullopt;
  return slot->second.entry;
}

std::vector<JournalEntry> Journal::pending() const {
  const std::lock_guard lock(state_);
  std::vector<const Slot*> slots;
  for (const auto& [id, slot] : slots_) {
    if (!slot.entry.is_finished()) slots.push_back(&slot);
  }
  std::sort(slots.begin(), slots.end(), [](const Slot* a, const Slot* b) { return a->number < b->number; });
  std::vector<JournalEntry> entries;
  for (const Slot* slot : slots) entries.push_back(slot->entry);
  return entries;
}

void Journal::tidy() {
  const std::lock_guard turn(writing_);
  {
    const std::lock_guard lock(state_);
    forget_expired();
    const int64_t bytes = file_->bytes();
    if (!file_->is_doubtful() && (bytes < options_.compact_from_bytes || bytes < 2 * live_bytes_)) return;
  }
  rewrite();
  const std::lock_guard lock(state_);
  file_bytes_ = file_->bytes();
}

Journal::Size Journal::size() const {
  const std::lock_guard lock(state_);
  return {std::ssize(slots_), pending_, file_bytes_};
}

}  // namespace wick
