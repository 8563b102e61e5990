#include "tokenizer/models/merge_finder.h"

namespace wick {

void MergeFinder::add(std::string_view left, std::string_view right) {
  Pending& next = pending_[added_ % pending_.size()];
  if (added_ >= pending_.size()) tell(next);
  next = {{left, right, added_}, hash_bytes(left), hash_bytes(right)};
  vocabulary_.prefetch(next.left_hash);
  vocabulary_.prefetch(next.right_hash);
  ++added_;
}

void MergeFinder::finish() {
  const auto size = static_cast<uint32_t>(pending_.size());
  for (uint32_t rank = added_ > size ? added_ - size : 0; rank < added_; ++rank) tell(pending_[rank % size]);
  added_ = 0;
}

void MergeFinder::tell(Pending& pending) {
  Merge& merge = pending.merge;
  merge.left_id = vocabulary_.find(merge.left, pending.left_hash);
  merge.right_id = vocabulary_.find(merge.right, pending.right_hash);
  if (merge.right.starts_with(continuing_prefix_)) {
    joined_ = merge.left;
    joined_ += merge.right.substr(continuing_prefix_.size());
    // Most files list pieces in the order in which merges make them.
    const int next = last_result_ + 1;
    const bool is_next = !vocabulary_.has_duplicates() && vocabulary_.has(next) && vocabulary_.piece(next) == joined_;
    merge.result = is_next ? next : vocabulary_.find(joined_);
    last_result_ = merge.result;
  }
  found_(merge);
}

}  // namespace wick
