#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace wick {

// A library of the system that is loaded when it is needed, so that starting the program does not wait for it, and that
// stays until the program ends: its threads and tables must not go before those who use them.
class SharedLibrary {
 public:
  // The first of the names that is there. Throws Error(kUnsupported) that begins with `need` and ends with the system's
  // reason: "downloads need libcurl, which cannot be loaded: ...".
  SharedLibrary(std::initializer_list<std::string> names, std::string_view need) {
    for (const std::string& name : names) {
      if (handle_) break;
      name_ = name;
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle_) throw Error(ErrorCode::kUnsupported, cat(need, ", which cannot be loaded: ", dlerror()));
  }

  template <typename Function>
  void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (!function) throw Error(ErrorCode::kUnsupported, cat(name_, " is too old: it has no ", name));
  }

 private:
  std::string name_;
  void* handle_ = nullptr;
};

}  // namespace wick
