#pragma once

#include <string>
#include <vector>

#include "hub/gguf_choice.h"
#include "hub/repo_listing.h"

namespace wick {

struct FileChoice {
  std::vector<RepoFile> files;          // in the order of the list
  std::vector<GgufModelFiles> choices;  // not empty: the user has to name one of these models; `files` is empty then
};

// The files to download. With `include`, those whose path matches one of the patterns (* and ? match slashes, too).
// Else the GGUF file that the name asks for, or what Wick needs of a repository: safetensors, settings, tokenizer; no
// weights of other frameworks, no second copies. Throws Error(kInvalidArgument) naming what there is when nothing fits.
FileChoice choose_files(const RepoListing& listing, const ModelName& name, const std::vector<std::string>& include);

}  // namespace wick
