#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace wick {

// Fails the test unless run() throws Error with this code and a message that contains `part`.
template <typename Run>
void expect_error(const Run& run, ErrorCode code, std::string_view part) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
        << "got:      " << error.what() << "\nexpected: ..." << part << "...";
    return;
  }
  ADD_FAILURE() << "no error, expected: ..." << part << "...";
}

}  // namespace wick
