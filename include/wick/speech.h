#pragma once

// Speech to text: open_audio() reads a sound file, Transcriber writes down what is said.
#include "base/error.h"
#include "media/audio_reader.h"
#include "speech/transcriber.h"
