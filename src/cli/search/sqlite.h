#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace wick {

// A SQLite database. The library is loaded when the first is opened: its interface has been the same for twenty years,
// so that neither its headers nor the library are needed to build Wick or to start it.
class Sqlite {
 public:
  using Value = std::variant<std::nullptr_t, int64_t, std::string_view>;

  // Makes the file if need be. Throws Error(kUnsupported) when this machine does not have the library, Error(kBadFile)
  // naming the file and SQLite's reason, as all of these do.
  explicit Sqlite(const std::filesystem::path& path);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  // A row of a result, good until the next one.
  class Row {
   public:
    int64_t integer(int column) const;
    double number(int column) const;
    std::string text(int column) const;

   private:
    friend class Sqlite;
    explicit Row(void* statement) : statement_(statement) {}
    void* statement_;
  };
  // One statement; `values` stand for its ?s, in order.
  void run(std::string_view sql, std::initializer_list<Value> values = {}) const;
  void each(std::string_view sql, std::initializer_list<Value> values,
            const std::function<void(const Row&)>& row) const;
  // The first number of the first row; empty: there is none, or it is null.
  std::optional<int64_t> integer(std::string_view sql, std::initializer_list<Value> values = {}) const;
  int64_t last_id() const;

  // All that `work` does, or nothing of it when it throws.
  void transaction(const std::function<void()>& work) const;

 private:
  void* database_ = nullptr;
  std::filesystem::path path_;
};

}  // namespace wick
