#pragma once

#include <gtest/gtest.h>

#include "engine/ember.h"
#include "engine/text/text_model.h"

// For the start of a test, or SetUp: skips in a program that was built without the model.
#define WICK_NEEDS_EMBER() \
  if (!has_ember()) GTEST_SKIP() << "built without Ember (WICK_EMBER=OFF)"

namespace wick {

// For members of fixtures, which are made before SetUp can skip; null where it does.
inline std::shared_ptr<const TextModel> ember_or_null(const LoadOptions& options = {}) {
  return has_ember() ? TextModel::ember(options) : nullptr;
}

}  // namespace wick
