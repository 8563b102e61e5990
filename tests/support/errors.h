#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/text.h"

// Fails unless the expression throws wick::Error with this code and a message that contains this text.
#define EXPECT_ERROR(expression, error_code, text)                                                \
  try {                                                                                           \
    (void)(expression);                                                                           \
    ADD_FAILURE() << #expression << " did not throw";                                             \
  } catch (const ::wick::Error& error) {                                                          \
    EXPECT_EQ(to_string(error.code()), to_string(::wick::ErrorCode::error_code)) << error.what(); \
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)                            \
        << "message: " << error.what() << "\nexpected to contain: " << text;                      \
  }
