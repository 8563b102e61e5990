#pragma once

#include "base/shared_library.h"

// A library of the system that pictures of one kind are read with, loaded by the first of them. Headers are enough to
// build; without them the reader is built as a refusal.
//
//   #define WICK_FUNCTIONS(each) each(tjInitDecompress) each(tjDestroy)
//   WICK_SYSTEM_LIBRARY(Turbojpeg, WICK_FUNCTIONS, "JPEG is read with libjpeg-turbo (...)", "libturbojpeg.so.0")
//   Turbojpeg::get().tjInitDecompress();
#define WICK_LIBRARY_MEMBER(name) decltype(&::name) name = nullptr;
#define WICK_LIBRARY_FIND(name) library.find(#name, name);
#define WICK_SYSTEM_LIBRARY(Type, functions, need, ...)       \
  struct Type {                                               \
    functions(WICK_LIBRARY_MEMBER) static const Type& get() { \
      static const Type loaded;                               \
      return loaded;                                          \
    }                                                         \
                                                              \
   private:                                                   \
    Type() {                                                  \
      const SharedLibrary library({__VA_ARGS__}, need);       \
      functions(WICK_LIBRARY_FIND)                            \
    }                                                         \
  };
