// Names on the command line: points of a forward pass, and lists of numbers.
#include <charconv>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/microscope/microscope.h"

namespace wick {
namespace {

constexpr std::string_view kLayer = "blocks.*.", kHook = "hook_";

// "blocks.*.attn.hook_z" as attn_z.
std::string without_hook(std::string name) {
  if (name.starts_with(kLayer)) name.erase(0, kLayer.size());
  if (const size_t at = name.find(kHook); at != std::string::npos) name.erase(at, kHook.size());
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

struct Ends {
  int64_t first, last;
};

// "5", "-1", "0-3", or "3-" to the end.
Ends read_ends(std::string_view option, std::string_view text, int64_t count) {
  const auto fail = [&](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, cat(option, ": ", in_quotes(text), " ", why));
  };
  int64_t ends[2] = {0, 0};
  const char *at = text.data(), *end = at + text.size();
  int read = 0;
  for (; read < 2 && at < end; ++read) {
    const auto [rest, error] = std::from_chars(at, end, ends[read]);
    if (error != std::errc()) throw fail("is no list of numbers as 0-3,5,-1");
    if (ends[read] < 0) ends[read] += count;
    if (ends[read] < 0 || ends[read] >= count) {
      throw fail(count > 0 ? cat("is out of range: there are 0 to ", count - 1)
                           : std::string("names none: there are none"));
    }
    at = rest;
    if (read == 0 && at < end && *at++ != '-') throw fail("is no list of numbers as 0-3,5,-1");
  }
  if (read == 0 || at != end) throw fail("is no list of numbers as 0-3,5,-1");
  if (read == 1) ends[1] = text.ends_with('-') ? count - 1 : ends[0];
  if (ends[1] < ends[0]) throw fail("ends before it begins");
  return {ends[0], ends[1]};
}

}  // namespace

std::string short_name(HookPoint point) { return without_hook(hook_name(point, HookSite::kEveryLayer)); }

HookPoint point_named(std::string_view option, std::string_view name) {
  std::vector<std::string> known;
  for (const std::string& full : hook_names()) {
    const HookPoint point = HookSite::parse(full).point;
    const std::string own = without_hook(full);
    const bool of_attention = own.starts_with("attn_") && full.find("attn.") != std::string::npos;
    if (name == full || name == own || (of_attention && name == own.substr(5))) return point;
    if (name.size() > kLayer.size() && full.ends_with(name) && full.size() == name.size() + kLayer.size()) return point;
    known.push_back(own);
    if (of_attention) known.push_back(own.substr(5));
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = nearest(name, views);
  std::string list;
  for (const std::string_view each : views) {
    if (near.empty()) list += cat(list.empty() ? "; there are " : ", ", each);
  }
  throw Error(ErrorCode::kInvalidArgument, cat(option, ": there is no point ", in_quotes(name),
                                               near.empty() ? list : cat("; did you mean ", near, "?")));
}

std::vector<int64_t> index_list(std::string_view option, std::string_view text, int64_t count) {
  std::vector<int64_t> out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const Ends ends = read_ends(option, text.substr(0, comma), count);
    for (int64_t i = ends.first; i <= ends.last; ++i) out.push_back(i);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return out;
}

std::vector<int> int_list(std::string_view option, std::string_view text, int64_t count) {
  const std::vector<int64_t> numbers = index_list(option, text, count);
  return {numbers.begin(), numbers.end()};
}

std::vector<std::string> numbers_text(std::span<const int> numbers) {
  std::vector<std::string> out;
  for (const int number : numbers) out.push_back(cat(number));
  return out;
}

}  // namespace wick
