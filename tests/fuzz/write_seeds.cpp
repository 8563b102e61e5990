// Writes the fuzzers' first inputs: write_seeds FOLDER makes a folder for each fuzzer in it.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/template_harness.h"
#include "support/damaged_files.h"
#include "support/hostile_templates.h"
#include "support/places.h"
#include "tensor/dtype.h"

namespace {

void write(const std::filesystem::path& folder, const std::string& good, const std::vector<wick::DamagedFile>& bad) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "good", std::ios::binary) << good;
  for (size_t i = 0; i < bad.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << bad[i].bytes;
  }
}

// Two blocks of every dtype, of bytes that differ.
void write_tensor_data(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (int packed = 0; packed < wick::kDTypeCount - wick::kElementDTypeCount; ++packed) {
    std::string bytes(1, static_cast<char>(packed));
    for (int i = 0; i < 2048; ++i) bytes += static_cast<char>(i * 37 + packed);
    std::ofstream(folder / std::to_string(packed), std::ios::binary) << bytes;
  }
}

// The small tokenizers of the tests, after the byte that says "tokenizer.json"; and a few tiktoken lines.
void write_tokenizers(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& item : std::filesystem::directory_iterator(WICK_SOURCE_DIR "/tests/fixtures/tokenizers")) {
    if (!item.path().string().ends_with(".tokenizer.json")) continue;
    std::ofstream(folder / item.path().filename(), std::ios::binary)
        << '\x02' << std::ifstream(item.path(), std::ios::binary).rdbuf();
  }
  std::ofstream(folder / "tiktoken", std::ios::binary) << "\x01"
                                                       << "YQ== 0\nYg== 1\nYWI= 2\n";
}

void write_texts(const std::filesystem::path& folder, const std::vector<const char*>& texts) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < texts.size(); ++i) std::ofstream(folder / std::to_string(i), std::ios::binary) << texts[i];
}

const std::vector<const char*> kGrammars = {
    "root ::= \"a\\n\\x41\\u00e9\" [^a-z\\]] | . item{2,3} # comment\nitem ::= (\"x\" | root)* ws+\nws ::= \" \"?\n",
    "root ::= \"(\" root* \")\" | [α-ω]{0,5}",
    "root ::= ((\"a\"?)*)+ b\nb ::= \"\" | \"b\" b \"c\" | \"b\" b \"d\"\n",
};

const std::vector<const char*> kSchemas = {
    R"({"type":"object","properties":{"a":{"type":"integer","minimum":-5,"maximum":1200},"b":{"$ref":"#/$defs/x"}},
        "required":["a"],"additionalProperties":{"type":["string","null"]},"$defs":{"x":{"enum":[1,"é",[null],{"k":1.5}]}}})",
    R"({"type":"string","pattern":"^[a-z\\d]{2,}(x|\\.)?$","minLength":3,"maxLength":9,"format":"email"})",
    R"({"anyOf":[{"type":"number","exclusiveMinimum":0.25,"multipleOf":0.01},{"allOf":[{"type":"array","items":{"$ref":"#"}},{"minItems":1,"maxItems":4}]}]})",
    R"({"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":2}},"required":["k"]}],"prefixItems":[true,false]})",
    R"({"patternProperties":{"^x":{"type":"integer","multipleOf":7}},"additionalProperties":false,"propertyNames":{"maxLength":3}})",
};

// The first character chooses the endpoint: chat, completions, responses, tokenize, detokenize.
const std::vector<const char*> kRequests = {
    R"(0{"model":"m","messages":[{"role":"system","content":"x"},{"role":"user","content":[{"type":"text","text":"y"}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f",
        "arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"z"}],"tools":[{"type":"function","function":
        {"name":"f","parameters":{"type":"object"}}}],"tool_choice":{"type":"function","function":{"name":"f"}},
        "response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"}}},"n":2,
        "temperature":0.5,"seed":-3,"stop":["a","b"],"logit_bias":{"5":-100},"logprobs":true,"top_logprobs":3,
        "stream":true,"stream_options":{"include_usage":true},"timeout":1.5,"priority":"high","mirostat":2,
        "chat_template_kwargs":{"a":[1]},"reasoning_effort":"low","dry_breakers":["\n"],"max_completion_tokens":9})",
    R"(1{"prompt":["a",[1,2]],"max_tokens":0,"echo":true,"logprobs":5,"top_k":3,"min_p":0.1,
        "grammar":"root ::= \"a\""})",
    R"(1{"prompt":[1,2,3],"suffix":"","best_of":1,"repetition_penalty":1.1,"xtc_probability":0.5,"ignore_eos":true})",
    R"(2{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call","call_id":"c",
        "name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"instructions":"i",
        "tools":[{"type":"function","name":"f","parameters":{}}],"text":{"format":{"type":"json_object"}},
        "reasoning":{"effort":"high"},"max_output_tokens":4,"metadata":{"k":"v"},"store":false})",
    R"(3{"content":"x","add_special":false,"with_pieces":true})",
    R"(3{"messages":[{"role":"user","content":"\ud83d\ude00"}]})",
    R"(4{"tokens":[1,2,3],"skip_special":true})",
};

void write_templates(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> sources = wick::template_seeds();
  for (const wick::HostileTemplate& hostile : wick::hostile_templates()) {
    if (hostile.source.size() < 2000) sources.push_back(hostile.source);
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << sources[i];
  }
}

// The small pictures of the tests.
void write_pictures(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& item : std::filesystem::directory_iterator(WICK_SOURCE_DIR "/tests/fixtures/pictures")) {
    const auto ending = item.path().extension();
    if (ending == ".rgb" || ending == ".f32" || ending == ".py" || ending == ".mp4" || ending == ".avi") continue;
    std::filesystem::copy_file(item.path(), folder / item.path().filename(),
                               std::filesystem::copy_options::overwrite_existing);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  write(folder / "safetensors", wick::good_safetensors(), wick::damaged_safetensors());
  write(folder / "gguf", wick::good_gguf(), wick::damaged_gguf());
  write(folder / "ggml", wick::good_ggml(), wick::damaged_ggml());
  write(folder / "index", wick::good_index(), wick::damaged_indexes());
  write_tensor_data(folder / "tensor_data");
  write_tokenizers(folder / "tokenizer");
  write_texts(folder / "grammar", kGrammars);
  write_texts(folder / "schema", kSchemas);
  write_templates(folder / "template");
  write_texts(folder / "api_request", kRequests);
  write_pictures(folder / "picture");
}
