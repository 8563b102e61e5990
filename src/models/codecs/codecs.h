#pragma once

#include "models/codecs/codec.h"

namespace wick {

// One function per codec, each in the file of its name.
std::unique_ptr<Codec> load_encodec(const WeightSource& source, const ModelOptions& options);
std::unique_ptr<Codec> load_mimi(const WeightSource& source, const ModelOptions& options);
std::unique_ptr<Codec> load_qwen3_codec(const WeightSource& source, const ModelOptions& options);
std::unique_ptr<Codec> load_lfm2_detokenizer(const WeightSource& source, const ModelOptions& options);

}  // namespace wick
