#pragma once

#include <string>
#include <string_view>

namespace wick {

// OpenAI's names of Whisper's tensors, which ggml files use, as Hugging Face has them:
//   "encoder.blocks.0.attn.query.weight" is "model.encoder.layers.0.self_attn.q_proj.weight"
// What is not known in a name stays as it is.
std::string hugging_face_name(std::string_view openai_name);

}  // namespace wick
