#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "embed/classifier.h"
#include "embed/embedder.h"
#include "server/model_shelf.h"

namespace wick {

// An encoder that the server offers.
struct EncoderEntry {
  std::string name;  // what requests call it
  std::filesystem::path path;
  ModelOptions load;
};

// Models for vectors, and those that judge: rank and classify.
using EmbedHost = ModelShelf<Embedder>;
using JudgeHost = ModelShelf<Classifier>;

std::shared_ptr<EmbedHost> make_embed_host(const std::vector<EncoderEntry>& models);
std::shared_ptr<JudgeHost> make_judge_host(const std::vector<EncoderEntry>& models);

}  // namespace wick
