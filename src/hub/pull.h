#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub/choose_files.h"
#include "hub/hub_cache.h"

namespace wick {

struct PullProgress {
  int64_t done = 0, total = 0;  // bytes of all files, those that were there already left out
  std::string what;             // the file that is at work
};

struct PullOptions {
  std::string endpoint = "https://huggingface.co";
  std::string token;  // empty: none
  std::vector<std::string> include;
  int jobs = 8;  // transfers at once, of files and of pieces of large files
  int64_t piece_bytes = int64_t{64} << 20;
  int tries = 6;                                      // in a row that bring nothing
  double first_wait = 0.5;                            // seconds before the second try; doubles with each
  std::function<void(const PullProgress&)> progress;  // on the caller's thread
  std::function<bool()> stop;                         // asked on the caller's thread, some times a second

  // HF_ENDPOINT and HF_TOKEN, else the token that `hf auth login` left (HF_TOKEN_PATH, or token in HF_HOME).
  // Throws Error(kUnsupported) when HF_HUB_OFFLINE forbids to use the network.
  static PullOptions of_environment();
};

struct PulledFile {
  std::string name;
  int64_t bytes = 0;
  bool was_there = false;
};

struct PullResult {
  std::string commit;
  std::filesystem::path path;  // what find_model() gives for the name now
  std::vector<PulledFile> files;
  int64_t downloaded = 0;               // bytes that came over the network
  std::vector<GgufModelFiles> choices;  // not empty: nothing was downloaded, one of these has to be named
};

// Downloads a model into the cache, in the layout of huggingface_hub. Every file is compared with its checksum before
// it gets its name. Files that are there already are not read again; what a pull that was stopped or killed has brought
// is used by the next; pulls of the same model at the same time share the work. Empty when `stop` said so. Throws
// Error: kIo for the network and the disk, kInvalidArgument for a model or file that is not there, kBadFile for answers
// that cannot be right.
std::optional<PullResult> pull_model(const ModelName& name, const HubCache& cache, const PullOptions& options);

}  // namespace wick
