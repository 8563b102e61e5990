#pragma once

#include "base/text.h"
#include "base/utf8.h"
#include "interp/interp_model.h"
#include "interp/run_with_cache.h"
#include "server/api/microscope/inspect_request.h"
#include "server/api/request_error.h"
#include "server/inside_shelf.h"

namespace wick {

// What one request may ask for.
struct InspectLimits {
  static constexpr int64_t kTokens = 512;     // of a text that is looked at
  static constexpr int64_t kCells = 20'000;   // of a sweep
  static constexpr int64_t kEdits = 256;      // steering and features included
  static constexpr int64_t kAblations = 4;    // each encodes every row
  static constexpr int64_t kFeatures = 64;    // of one change
  static constexpr int64_t kHeads = 1024;     // of an edit
  static constexpr int64_t kPoints = 64;      // names in a capture
  static constexpr int64_t kEdges = 1 << 14;  // of attention that are cut
  static constexpr int64_t kContinue = 128;   // tokens
  static constexpr int64_t kFollowed = 16;    // tokens or features that each cell tells of
};

// The text that changes are for.
struct ChangedText {
  int64_t tokens = 0;                       // of the prompt
  int64_t most_tokens = 0;                  // with the answer
  const ActivationCache* source = nullptr;  // where "patch" takes its values; null: it is refused
};

// Adds the changes to `spec`; `place` stands before their names in messages. Throws RequestError naming the field for
// layers, heads, positions and names that are not there and values that do not fit; a pass that does not come to a
// point that is to be changed fails.
void add_changes(HookSpec& spec, const ChangesRequest& changes, const InterpModel& model, const ChangedText& text,
                 const InsideShelf& shelf, const std::string& place);
// The one of that name. Throws RequestError listing what there is; `what` says what is looked for.
template <typename Thing>
const Thing& named(const InsideShelf::Named<Thing>& things, const std::string& name, const char* what,
                   const std::string& place) {
  if (const auto found = things.find(name); found != things.end()) return found->second;
  std::string known;
  for (const auto& [one, thing] : things) known += cat(known.empty() ? "" : ", ", in_quotes(one));
  throw RequestError(place,
                     cat("there is no ", what, " ", in_quotes(name), "; known are: ", known.empty() ? "none" : known));
}

// The sites that "patch" edits need of the source; empty: none.
std::vector<std::string> patched_sites(const ChangesRequest& changes);

// Positions counted from the start. Throws RequestError for one that is not in [0, text.most_tokens).
std::vector<int64_t> positions_from_start(const std::vector<int64_t>& positions, const ChangedText& text,
                                          const std::string& place);
// Throws RequestError unless it is the name of a hook point, of a layer that the model has.
HookSite checked_site(const std::string& name, const InterpModel& model, const std::string& place);

}  // namespace wick
