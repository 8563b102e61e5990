#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/model_fixtures.h"

namespace wick {

// A folder with a fixture of Qwen3-TTS and a tokenizer of letters for its 176 tokens: bytes from blank on, the newline,
// and the control tokens where the fixture has them.
inline std::filesystem::path make_tiny_voice(const std::filesystem::path& folder, const std::string& fixture) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors"}) {
    fs::copy_file(family_folder(fixture) / name, folder / name, fs::copy_options::overwrite_existing);
  }
  fs::copy(family_folder("qwen3_tts-talker") / "speech_tokenizer", folder / "speech_tokenizer",
           fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
  }
  nlohmann::json vocabulary = nlohmann::json::object();
  int next = 0;
  for (char c = '!'; c <= '~'; ++c) vocabulary[std::string(1, c)] = next++;
  vocabulary["\u0120"] = next++;  // a blank, as byte-level vocabularies spell it
  vocabulary["\u010a"] = next++;  // a newline
  nlohmann::json added = nlohmann::json::array();
  const auto add = [&](int id, const char* content, bool special) {
    added.push_back({{"id", id},
                     {"content", content},
                     {"special", special},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
  };
  add(164, "<|im_start|>", true);
  add(165, "<|im_end|>", true);
  add(166, "assistant", false);
  add(171, "<tts_pad>", true);
  add(172, "<tts_text_bos>", true);
  add(173, "<tts_text_eod>", true);
  const nlohmann::json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", true}};
  const nlohmann::json tokenizer = {{"version", "1.0"},
                                    {"truncation", nullptr},
                                    {"padding", nullptr},
                                    {"added_tokens", added},
                                    {"normalizer", nullptr},
                                    {"pre_tokenizer", byte_level},
                                    {"post_processor", nullptr},
                                    {"decoder", byte_level},
                                    {"model",
                                     {{"type", "BPE"},
                                      {"dropout", nullptr},
                                      {"unk_token", nullptr},
                                      {"continuing_subword_prefix", ""},
                                      {"end_of_word_suffix", ""},
                                      {"fuse_unk", false},
                                      {"byte_fallback", false},
                                      {"vocab", vocabulary},
                                      {"merges", nlohmann::json::array()}}}};
  std::ofstream(folder / "tokenizer.json") << tokenizer;
  return folder;
}

}  // namespace wick
