#pragma once

#include "models/config_reader.h"
#include "models/mixers/mixers.h"

namespace wick {

// What families with recurrent mixers read alike.

// `times` the hidden size, by a setting such as "expand".
int64_t expanded_size(const ConfigReader& config, std::string_view setting, int64_t hidden);
// "auto" or missing: a sixteenth of the hidden size.
int64_t time_step_rank(const ConfigReader& config, std::string_view setting, int64_t hidden);
// Between what steps of time are kept: time_step_limit.
void read_time_step_limit(const ConfigReader& config, Mamba2& mixer);
// Mamba 2 as Bamba spells its settings, of `inner` channels.
Mamba2 read_bamba_mixer(const ConfigReader& config, const DecoderConfig& decoder, int64_t inner);
// Whether each layer has attention; the others get a recurrent mixer. By `setting`, which names a kind for every layer;
// empty where it is missing. Throws Error naming the setting where it says something else.
std::vector<bool> read_attention_layers(const ConfigReader& config, std::string_view setting, int64_t layers);
void place_attention(DecoderConfig& decoder, const std::vector<bool>& attends);
// What Bamba, Jamba and Falcon H1 call the second half of a layer.
void name_feed_forward(DecoderNames& names);
// Where Transformers does not look at a window that the settings have.
void refuse_window(const ConfigReader& config);

}  // namespace wick
