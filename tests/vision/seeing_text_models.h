#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "engine/text/text_model.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {

// Writes a fixture that sees, with a tokenizer of words, a template and a processor, so that engines can run it.
inline void write_seeing_model(const std::string& fixture, const std::string& processor,
                               const std::filesystem::path& folder,
                               const std::string& place = "<|vision_start|><|image_pad|><|vision_end|>") {
  copy_model(family_folder(fixture), folder, "{", "{");
  constexpr const char* kSpecial[] = {"<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"};
  std::ofstream tokenizer(folder / "tokenizer.json");
  tokenizer << R"({"version":"1.0","added_tokens":[)";
  for (int i = 0; i < 4; ++i) {
    tokenizer << (i ? "," : "") << R"({"id":)" << 180 + i << R"(,"content":")" << kSpecial[i]
              << R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  }
  tokenizer << R"(],"pre_tokenizer":{"type":"WhitespaceSplit"},)"
            << R"("model":{"type":"WordLevel","unk_token":"a0","vocab":{)";
  for (int id = 0; id < 180; ++id) tokenizer << (id ? "," : "") << "\"a" << id << "\":" << id;
  tokenizer << "}}}";
  std::ofstream(folder / "chat_template.jinja")
      << "{% for m in messages %}{% if m.content is string %} {{ m.content }}{% else %}{% for p in m.content %}"
         "{% if p.type == 'image' %}"
      << place
      << "{% elif p.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
         "{% else %} {{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %} a7";
  std::ofstream(folder / "preprocessor_config.json") << processor;
}

constexpr const char* kQwenProcessor =
    R"({"image_processor_type":"Qwen2VLImageProcessorFast","patch_size":16,"merge_size":2,"temporal_patch_size":2,)"
    R"("size":{"shortest_edge":1024,"longest_edge":65536},"image_mean":[0.5,0.5,0.5],"image_std":[0.5,0.5,0.5]})";
constexpr const char* kSiglipProcessor =
    R"({"image_processor_type":"SiglipImageProcessor","size":{"height":32,"width":32},)"
    R"("image_mean":[0.5,0.5,0.5],"image_std":[0.5,0.5,0.5]})";

inline std::shared_ptr<const TextModel> seeing_text_model(const std::string& fixture = "qwen3_vl",
                                                          const std::string& processor = kQwenProcessor) {
  const TempFolder folder;
  const bool is_gemma = fixture.starts_with("gemma");  // whose templates leave the beginning alone
  write_seeing_model(fixture, processor, folder.path(),
                     is_gemma ? "<|vision_start|>" : "<|vision_start|><|image_pad|><|vision_end|>");
  auto model = TextModel::load(folder.path());
  if (model->sees()) model->eyes();  // reads the processor's files while they are there
  return model;
}

// A picture with something in it, another for another seed.
inline VisualRef some_picture(int width, int height, uint32_t seed) {
  auto visual = std::make_shared<Visual>();
  visual->picture = plain_picture(width, height, 0, 0, 0);
  for (uint8_t& value : visual->picture.rgb) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<uint8_t>(seed >> 24);
  }
  return visual;
}

}  // namespace wick
