#include "hub/pull.h"

#include <algorithm>
#include <fstream>

#include "base/env.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/output_file.h"
#include "base/text.h"
#include "hub/pull_work.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostListing = size_t{32} << 20;
constexpr int kListingTries = 3;
constexpr int64_t kSpareBytes = int64_t{64} << 20;  // left to others on the disk

std::string saved_token() {
  const auto named = env_text("HF_TOKEN_PATH");
  std::ifstream file(named ? fs::path(*named) : hub_home() / "token");
  std::string token;
  std::getline(file, token);
  token.erase(token.find_last_not_of(" \r\t") + 1);
  return token;
}

void check_room(const PullWork& work, const fs::path& folder) {
  std::error_code problem;
  const fs::space_info space = fs::space(folder, problem);
  if (problem || !std::in_range<int64_t>(space.available)) return;
  const int64_t missing = work.missing_bytes(), room = static_cast<int64_t>(space.available);
  if (missing == 0 || missing <= room - kSpareBytes) return;
  throw Error(ErrorCode::kIo,
              cat(folder, ": ", bytes_text(missing), " are to come, but the disk has room for ", bytes_text(room)));
}

// Only when everything is there, so that a name always means a whole model.
void write_ref(const fs::path& folder, const std::string& revision, const std::string& commit) {
  if (revision == commit) return;
  const fs::path path = folder / "refs" / revision;
  std::error_code problem;
  fs::create_directories(path.parent_path(), problem);
  if (problem) throw Error(ErrorCode::kIo, cat(path.parent_path(), ": cannot create: ", problem.message()));
  OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(commit)));
  file.finish();
}

}  // namespace

PullOptions PullOptions::of_environment() {
  const std::string offline = env_text("HF_HUB_OFFLINE").value_or("0");
  if (offline != "0") throw Error(ErrorCode::kUnsupported, "HF_HUB_OFFLINE is set: nothing is downloaded");
  PullOptions options;
  if (const auto endpoint = env_text("HF_ENDPOINT")) options.endpoint = *endpoint;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  const auto token = env_text("HF_TOKEN");
  options.token = token ? *token : saved_token();
  return options;
}

std::optional<PullResult> pull_model(const ModelName& name, const HubCache& cache, const PullOptions& options) {
  const auto stop = [&] { return options.stop && options.stop(); };
  PullOptions asking = options;  // without a network it fails soon
  asking.tries = std::min(options.tries, kListingTries);
  const std::string answer = Fetcher(asking, name, stop).text(listing_url(options.endpoint, name), kMostListing);
  if (stop()) return std::nullopt;
  const RepoListing listing = parse_listing(answer, cat("list of files of ", name.repo));
  FileChoice choice = choose_files(listing, name, options.include);
  PullResult result;
  result.commit = listing.commit;
  result.choices = std::move(choice.choices);
  if (!result.choices.empty()) return result;

  PullWork work(name, cache, options, listing.commit, choice.files);
  const fs::path folder = cache.folder_of(name.repo);
  check_room(work, folder);
  if (!work.run()) return std::nullopt;
  write_ref(folder, name.revision, listing.commit);
  result.files = work.files();
  result.downloaded = work.downloaded();
  result.path = folder / "snapshots" / listing.commit;
  const std::string& first = choice.files.front().name;
  if (options.include.empty() && (!name.file.empty() || first.ends_with(".gguf") || first.ends_with(".bin"))) {
    result.path /= first;
  }
  return result;
}

}  // namespace wick
