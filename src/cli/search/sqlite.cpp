#include "cli/search/sqlite.h"

#include "base/error.h"
#include "base/shared_library.h"
#include "base/text.h"

namespace wick {
namespace {

// As sqlite3.h has them.
constexpr int kOk = 0, kRow = 100, kDone = 101, kNull = 5;
constexpr int kReadWrite = 2, kCreate = 4, kFullMutex = 0x10000;

struct Library {
  int (*open)(const char*, void**, int, const char*);
  int (*close)(void*);
  int (*prepare)(void*, const char*, int, void**, const char**);
  int (*step)(void*);
  int (*finalize)(void*);
  int (*bind_null)(void*, int);
  int (*bind_integer)(void*, int, int64_t);
  int (*bind_text)(void*, int, const char*, int, void (*)(void*));
  int (*type)(void*, int);
  int64_t (*integer)(void*, int);
  double (*number)(void*, int);
  const unsigned char* (*text)(void*, int);
  int (*bytes)(void*, int);
  int64_t (*last_id)(void*);
  const char* (*message)(void*);
  int (*busy_timeout)(void*, int);

  static const Library& get() {
    static const Library library = [] {
      const SharedLibrary sqlite({"libsqlite3.so.0"}, "search needs SQLite (the package libsqlite3-0)");
      Library all{};
      sqlite.find("sqlite3_open_v2", all.open);
      sqlite.find("sqlite3_close_v2", all.close);
      sqlite.find("sqlite3_prepare_v2", all.prepare);
      sqlite.find("sqlite3_step", all.step);
      sqlite.find("sqlite3_finalize", all.finalize);
      sqlite.find("sqlite3_bind_null", all.bind_null);
      sqlite.find("sqlite3_bind_int64", all.bind_integer);
      sqlite.find("sqlite3_bind_text", all.bind_text);
      sqlite.find("sqlite3_column_type", all.type);
      sqlite.find("sqlite3_column_int64", all.integer);
      sqlite.find("sqlite3_column_double", all.number);
      sqlite.find("sqlite3_column_text", all.text);
      sqlite.find("sqlite3_column_bytes", all.bytes);
      sqlite.find("sqlite3_last_insert_rowid", all.last_id);
      sqlite.find("sqlite3_errmsg", all.message);
      sqlite.find("sqlite3_busy_timeout", all.busy_timeout);
      return all;
    }();
    return library;
  }
};

struct Statement {
  void* handle = nullptr;
  ~Statement() { Library::get().finalize(handle); }
};

}  // namespace

Sqlite::Sqlite(const std::filesystem::path& path) : path_(path) {
  const Library& library = Library::get();
  if (library.open(path.c_str(), &database_, kReadWrite | kCreate | kFullMutex, nullptr) != kOk) {
    const std::string reason = database_ ? library.message(database_) : "out of memory";
    library.close(database_);
    throw Error(ErrorCode::kIo, cat(path, ": ", reason));
  }
  library.busy_timeout(database_, 5000);
}

Sqlite::~Sqlite() { Library::get().close(database_); }

int64_t Sqlite::Row::integer(int column) const { return Library::get().integer(statement_, column); }
double Sqlite::Row::number(int column) const { return Library::get().number(statement_, column); }
std::string Sqlite::Row::text(int column) const {
  const Library& library = Library::get();
  const auto* text = reinterpret_cast<const char*>(library.text(statement_, column));
  return text ? std::string(text, static_cast<size_t>(library.bytes(statement_, column))) : std::string();
}

void Sqlite::each(std::string_view sql, std::initializer_list<Value> values,
                  const std::function<void(const Row&)>& row) const {
  const Library& library = Library::get();
  const auto check = [&](int code) {
    if (code != kOk) throw Error(ErrorCode::kBadFile, cat(path_, ": ", library.message(database_)));
  };
  Statement statement;
  check(library.prepare(database_, sql.data(), static_cast<int>(sql.size()), &statement.handle, nullptr));
  int place = 0;
  for (const Value& value : values) {
    ++place;
    if (const auto* number = std::get_if<int64_t>(&value)) {
      check(library.bind_integer(statement.handle, place, *number));
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      // A text outlives the statement.
      check(library.bind_text(statement.handle, place, text->data() ? text->data() : "", static_cast<int>(text->size()),
                              nullptr));
    } else {
      check(library.bind_null(statement.handle, place));
    }
  }
  for (int code = 0; (code = library.step(statement.handle)) != kDone;) {
    if (code != kRow) check(code);
    row(Row(statement.handle));
  }
}

void Sqlite::run(std::string_view sql, std::initializer_list<Value> values) const {
  each(sql, values, [](const Row&) {});
}

std::optional<int64_t> Sqlite::integer(std::string_view sql, std::initializer_list<Value> values) const {
  std::optional<int64_t> first;
  each(sql, values, [&](const Row& row) {
    if (!first && Library::get().type(row.statement_, 0) != kNull) first = row.integer(0);
  });
  return first;
}

int64_t Sqlite::last_id() const { return Library::get().last_id(database_); }

void Sqlite::transaction(const std::function<void()>& work) const {
  run("BEGIN IMMEDIATE");
  try {
    work();
    run("COMMIT");
  } catch (...) {
    try {
      run("ROLLBACK");
    } catch (const Error&) {  // it has ended by itself
    }
    throw;
  }
}

}  // namespace wick
