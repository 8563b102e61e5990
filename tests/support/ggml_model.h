#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/convert_weight.h"
#include "formats/gguf/gguf_types.h"
#include "support/file_bytes.h"

namespace wick {

// OpenAI's name of a tensor that Hugging Face calls "model.encoder.layers.3.fc1.weight".
inline std::string openai_name(std::string name) {
  name.erase(0, std::string("model.").size());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"embed_positions.weight", "positional_embedding"},
      {"embed_tokens", "token_embedding"},
      {"encoder.layer_norm", "encoder.ln_post"},
      {"decoder.layer_norm", "decoder.ln"},
      {"self_attn_layer_norm", "attn_ln"},
      {"encoder_attn_layer_norm", "cross_attn_ln"},
      {"final_layer_norm", "mlp_ln"},
      {"self_attn.", "attn."},
      {"encoder_attn.", "cross_attn."},
      {"q_proj", "query"},
      {"k_proj", "key"},
      {"v_proj", "value"},
      {"out_proj", "out"},
      {"fc1", "mlp.0"},
      {"fc2", "mlp.2"},
      {"layers", "blocks"},
  };
  for (const auto& [from, to] : changes) {
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  }
  return name;
}

// A Whisper as whisper.cpp's converter writes it, its weights quantised as the plan says.
inline std::string ggml_model(const WeightSource& source, const std::vector<std::string>& vocabulary,
                              std::string_view plan = "auto") {
  const auto setting = [&](std::string_view name) { return source.config().at(name).to<int32_t>(); };
  GgmlBytes file({setting("vocab_size"), setting("max_source_positions"), setting("d_model"),
                  setting("encoder_attention_heads"), setting("encoder_layers"), setting("max_target_positions"),
                  setting("d_model"), setting("decoder_attention_heads"), setting("decoder_layers"),
                  setting("num_mel_bins"), plan == "auto" ? 0 : 2007});
  file.vocabulary(vocabulary);
  for (const std::string& name : source.names()) {
    const bool is_weight = name.ends_with(".weight") && source.get(name).weight.rank() == 2 &&
                           name.find("embed_positions") == std::string::npos;
    const Tensor tensor = is_weight ? load_weight(source, name, QuantizePlan::named(plan)).weight.contiguous()
                                    : convert_tensor(source.get(name).weight, DType::kF32).contiguous();
    std::vector<int32_t> sizes;
    for (int64_t d = tensor.rank(); d-- > 0;) sizes.push_back(static_cast<int32_t>(tensor.dim(d)));
    if (name.find("conv") != std::string::npos && name.ends_with(".bias")) sizes.insert(sizes.begin(), 1);
    const auto bytes = static_cast<size_t>(bytes_of(tensor.dtype(), tensor.numel()));
    file.tensor(openai_name(name), sizes, gguf_type(tensor.dtype())->code);
    file.data({reinterpret_cast<const char*>(tensor.raw()), bytes});
  }
  return file.bytes();
}

}  // namespace wick
