#include "speech/qwen3_tts/tts_config.h"

#include "models/config_check.h"
#include "models/families/families.h"
#include "models/read_count.h"

namespace wick {
namespace {

constexpr std::string_view kModelType = "qwen3_tts", kTokenizerType = "qwen3_tts_tokenizer_12hz";

int32_t read_id(const Json& json, std::string_view name, int64_t vocabulary) {
  const int64_t id = json.at(name).as_int();
  if (id < 0 || id >= vocabulary) throw bad_setting(cat(name, " = ", id, ", which is outside the ", vocabulary));
  return static_cast<int32_t>(id);
}

std::map<std::string, int32_t> read_ids(const Json& json, std::string_view name, int64_t vocabulary) {
  std::map<std::string, int32_t> ids;
  const Json* member = json.find(name);
  if (!member || member->is_null()) return ids;
  for (const auto& [key, value] : member->as_object()) {
    const int64_t id = value.as_int();
    if (id < 0 || id >= vocabulary) throw bad_setting(cat(name, " gives '", key, "' the code ", id));
    ids[key] = static_cast<int32_t>(id);
  }
  return ids;
}

DecoderConfig read_stack(const ConfigReader& config, const std::string& prefix) {
  DecoderConfig decoder = qwen3_config(config);
  decoder.family = kModelType;
  decoder.tied = false;
  decoder.names.embed = decoder.names.head = "";
  decoder.names.layers = prefix + "layers.";
  decoder.names.final_norm = prefix + "norm";
  check_decoder_config(decoder);
  return decoder;
}

SpeakerEncoderConfig read_speaker(const Json& json, int64_t hidden) {
  const ConfigReader config(json);
  SpeakerEncoderConfig speaker;
  const auto numbers = [&](std::string_view name, std::vector<int64_t> usual) {
    std::vector<int64_t> given = config.has(name) ? config.integers(name) : std::move(usual);
    if (given.size() != 5) throw bad_setting(cat(name, " has ", given.size(), " numbers, expected 5"));
    for (const int64_t number : given) {
      if (number < 1 || number > (1 << 16)) throw bad_setting(cat(name, " has ", number));
    }
    return given;
  };
  const auto count = [&](std::string_view name, int64_t usual) {
    return config.has(name) ? read_count(config, name) : usual;
  };
  const std::vector<int64_t> channels = numbers("enc_channels", {512, 512, 512, 512, 1536});
  for (size_t i = 1; i < 4; ++i) {
    if (channels[i] != channels[0])
      throw Error(ErrorCode::kUnsupported, "config.json: enc_channels of different sizes");
  }
  speaker.width = channels[0];
  speaker.mixed = channels[4];
  speaker.kernels = numbers("enc_kernel_sizes", {5, 3, 3, 3, 1});
  speaker.dilations = numbers("enc_dilations", {1, 2, 3, 4, 1});
  speaker.bins = count("mel_dim", 128);
  speaker.squeezed = count("enc_se_channels", 128);
  speaker.attention = count("enc_attention_channels", 128);
  speaker.groups = count("enc_res2net_scale", 8);
  speaker.output = count("enc_dim", hidden);
  speaker.sample_rate = static_cast<int>(config.integer("sample_rate", 24000));
  if (speaker.output != hidden || speaker.width % speaker.groups != 0 || speaker.groups < 2 || speaker.bins > 512 ||
      speaker.mixed != 3 * speaker.width || speaker.sample_rate != 24000 || speaker.kernels[4] != 1) {
    throw bad_setting(cat("speaker_encoder_config makes ", speaker.output, " numbers of ", speaker.width,
                          " channels at ", speaker.sample_rate, " Hz, which do not fit each other or the talker's ",
                          hidden));
  }
  for (const int64_t kernel : speaker.kernels) {
    if (kernel % 2 == 0) throw bad_setting(cat("enc_kernel_sizes has ", kernel, ", expected odd numbers"));
  }
  return speaker;
}

}  // namespace

bool is_qwen3_tts(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type && type->is_text() && type->as_text() == kModelType;
}

TtsConfig read_tts_config(const Json& config) {
  TtsConfig tts;
  const std::string kind = config.at("tts_model_type").as_text();
  if (kind != "custom_voice" && kind != "voice_design" && kind != "base") {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: tts_model_type '", kind, "'; custom_voice, voice_design and base are known"));
  }
  tts.kind = kind == "base" ? TtsKind::kBase : kind == "custom_voice" ? TtsKind::kCustomVoice : TtsKind::kVoiceDesign;
  tts.is_small = config.get("tts_model_size", std::string()) == "0b6";
  const std::string tokenizer = config.get("tokenizer_type", std::string(kTokenizerType));
  if (tokenizer != kTokenizerType) {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: tokenizer_type '", tokenizer, "', expected ", kTokenizerType));
  }
  const Json& talker = config.at("talker_config");
  const ConfigReader settings(talker);
  tts.talker = read_stack(settings, "talker.model.");
  const Json& small = talker.at("code_predictor_config");
  const ConfigReader predictor(small);
  tts.predictor = read_stack(predictor, "talker.code_predictor.model.");
  tts.codes = tts.talker.vocabulary;
  tts.group_entries = tts.predictor.vocabulary;
  tts.text_vocabulary = read_count(settings, "text_vocab_size", 1 << 24);
  tts.text_width = read_count(settings, "text_hidden_size");
  tts.code_groups = read_count(settings, "num_code_groups", 256);
  if (tts.code_groups < 2 || predictor.integer("num_code_groups", tts.code_groups) != tts.code_groups) {
    throw bad_setting(cat("num_code_groups = ", tts.code_groups, ", expected 2 or more, and the predictor's"));
  }
  if (tts.codes <= 1024) throw bad_setting(cat("vocab_size = ", tts.codes, ", expected more than 1024"));
  TtsIds& ids = tts.ids;
  ids.text_bos = read_id(config, "tts_bos_token_id", tts.text_vocabulary);
  ids.text_eos = read_id(config, "tts_eos_token_id", tts.text_vocabulary);
  ids.text_pad = read_id(config, "tts_pad_token_id", tts.text_vocabulary);
  ids.bos = read_id(talker, "codec_bos_id", tts.codes);
  ids.eos = read_id(talker, "codec_eos_token_id", tts.codes);
  ids.pad = read_id(talker, "codec_pad_id", tts.codes);
  ids.think = read_id(talker, "codec_think_id", tts.codes);
  ids.nothink = read_id(talker, "codec_nothink_id", tts.codes);
  ids.think_bos = read_id(talker, "codec_think_bos_id", tts.codes);
  ids.think_eos = read_id(talker, "codec_think_eos_id", tts.codes);
  tts.languages = read_ids(talker, "codec_language_id", tts.codes);
  tts.speakers = read_ids(talker, "spk_id", tts.codes);
  if (const Json* dialects = talker.find("spk_is_dialect"); dialects && dialects->is_object()) {
    for (const auto& [name, dialect] : dialects->as_object()) {
      if (!dialect.is_text()) continue;
      if (!tts.languages.contains(dialect.as_text())) {
        throw bad_setting(cat("spk_is_dialect gives '", name, "' the dialect '", dialect.as_text(),
                              "', which codec_language_id does not have"));
      }
      tts.dialects[name] = dialect.as_text();
    }
  }
  if (tts.kind == TtsKind::kCustomVoice && tts.speakers.empty()) throw bad_setting("spk_id names no speaker");
  if (tts.kind == TtsKind::kBase) {
    const Json* speaker = config.find("speaker_encoder_config");
    static const Json kNone = Json::parse("{}", "config.json");
    tts.speaker = read_speaker(speaker && speaker->is_object() ? *speaker : kNone, tts.talker.hidden);
  }
  return tts;
}

}  // namespace wick
