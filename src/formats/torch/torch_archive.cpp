#include "formats/torch/torch_archive.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/checked.h"
#include "base/utf8.h"
#include "formats/byte_reader.h"
#include "formats/safetensors/safetensors.h"
#include "formats/torch/zip_entries.h"

namespace wick {
namespace {

constexpr size_t kMostSteps = 5'000'000;

struct TorchTensor {
  std::string_view storage;  // its name in the archive
  std::string_view type;     // as safetensors spells it
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

// What a pickle makes. Texts are those of the file; what has parts has them in a list of Pickle's, so that values are
// small and nothing holds itself.
struct Value {
  enum class Kind : uint8_t { kNone, kMark, kNumber, kText, kTuple, kList, kDict, kGlobal, kStorage, kTensor };
  Kind kind = Kind::kNone;
  int64_t number = 0;          // also where the parts, or the tensor, are listed
  std::string_view text = {};  // kGlobal: module, line break, name; kStorage: its name
  std::string_view type = {};  // of a storage
};
using Values = std::vector<Value>;

struct StorageType {
  std::string_view global, type;
};
constexpr StorageType kStorages[] = {
    {"torch\nFloatStorage", "F32"},  {"torch\nHalfStorage", "F16"}, {"torch\nBFloat16Storage", "BF16"},
    {"torch\nDoubleStorage", "F64"}, {"torch\nLongStorage", "I64"}, {"torch\nIntStorage", "I32"},
    {"torch\nShortStorage", "I16"},  {"torch\nCharStorage", "I8"},  {"torch\nByteStorage", "U8"},
    {"torch\nBoolStorage", "BOOL"},
};

class Pickle {
 public:
  explicit Pickle(ByteReader reader) : reader_(reader) {}

  // The names and tensors of the dictionary that it makes.
  std::vector<std::pair<std::string, TorchTensor>> run() {
    for (size_t step = 0; step < kMostSteps; ++step) {
      const auto op = reader_.read<uint8_t>();
      if (op == '.') return result(pop());
      carry_out(op);
    }
    throw reader_.bad("has too many steps");
  }

 private:
  using Kind = Value::Kind;

  std::vector<std::pair<std::string, TorchTensor>> result(const Value& dict) const {
    if (dict.kind != Kind::kDict) throw unknown("a value");
    std::vector<std::pair<std::string, TorchTensor>> named;
    const Values& items = parts(dict);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind != Kind::kText || items[i + 1].kind != Kind::kTensor) {
        throw unknown(cat("something under ", in_quotes(items[i].text)));
      }
      named.emplace_back(items[i].text, tensors_[static_cast<size_t>(items[i + 1].number)]);
    }
    return named;
  }

  Error unknown(const std::string& what) const {
    return {ErrorCode::kUnsupported, cat(reader_.path(), ": holds ", what,
                                         ", which is not of a dictionary of tensors, and nothing else is carried out")};
  }
  Value pop() {
    if (stack_.empty()) throw reader_.bad("takes a value where there is none");
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  Value& top() {
    if (stack_.empty()) throw reader_.bad("uses a value where there is none");
    return stack_.back();
  }
  // All above the last mark.
  Values pop_marked() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [](const Value& value) { return value.kind == Kind::kMark; });
    if (mark == stack_.rend()) throw reader_.bad("has no mark");
    Values values(std::make_move_iterator(mark.base()), std::make_move_iterator(stack_.end()));
    stack_.erase(mark.base() - 1, stack_.end());
    return values;
  }
  void push(Value value) { stack_.push_back(std::move(value)); }
  void push_number(int64_t number) { push({.kind = Kind::kNumber, .number = number}); }
  const Values& parts(const Value& value) const { return lists_[static_cast<size_t>(value.number)]; }
  void push_items(Kind kind, Values items) {
    lists_.push_back(std::move(items));
    push({.kind = kind, .number = std::ssize(lists_) - 1});
  }
  void push_tuple(size_t count) {
    if (stack_.size() < count) throw reader_.bad("takes values where there are none");
    Values items(std::make_move_iterator(stack_.end() - static_cast<ptrdiff_t>(count)),
                 std::make_move_iterator(stack_.end()));
    stack_.resize(stack_.size() - count);
    push_items(Kind::kTuple, std::move(items));
  }
  std::string_view text_since(size_t start) const {
    const auto span = reader_.since(start);
    return {reinterpret_cast<const char*>(span.data()), span.size()};
  }
  std::string_view read_text(uint64_t bytes) {
    const size_t start = reader_.position();
    reader_.skip(bytes);
    return text_since(start);
  }
  std::string_view read_global() {  // two lines
    const size_t start = reader_.position();
    for (int lines = 0; lines < 2;) lines += reader_.read<char>() == '\n';
    std::string_view name = text_since(start);
    name.remove_suffix(1);
    return name;
  }
  void recall(uint32_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) throw reader_.bad(cat("asks for memo ", place, ", which is not there"));
    push(found->second);
  }
  void add_items(Values items) {
    if (top().kind != Kind::kDict || items.size() % 2 != 0) throw reader_.bad("sets items of what is no dictionary");
    Values& to = lists_[static_cast<size_t>(top().number)];
    to.insert(to.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  }

  void carry_out(uint8_t op) {
    switch (op) {
      case 0x80:  // PROTO
        if (const auto version = reader_.read<uint8_t>(); version != 2) {
          throw unknown(cat("a pickle of protocol ", static_cast<int>(version)));
        }
        break;
      case 'c': push({.kind = Kind::kGlobal, .text = read_global()}); break;
      case '(': push({.kind = Kind::kMark}); break;
      case ')': push_items(Kind::kTuple, {}); break;
      case ']': push_items(Kind::kList, {}); break;
      case '}': push_items(Kind::kDict, {}); break;
      case 't': push_items(Kind::kTuple, pop_marked()); break;
      case 0x85: push_tuple(1); break;
      case 0x86: push_tuple(2); break;
      case 0x87: push_tuple(3); break;
      case 'N': push({}); break;
      case 0x88: push_number(1); break;
      case 0x89: push_number(0); break;
      case 'K': push_number(reader_.read<uint8_t>()); break;
      case 'M': push_number(reader_.read<uint16_t>()); break;
      case 'J': push_number(reader_.read<int32_t>()); break;
      case 0x8a: push_long(); break;
      case 'X': push({.kind = Kind::kText, .text = read_text(reader_.read<uint32_t>())}); break;
      case 'q': memo_[reader_.read<uint8_t>()] = top(); break;
      case 'r': memo_[reader_.read<uint32_t>()] = top(); break;
      case 'h': recall(reader_.read<uint8_t>()); break;
      case 'j': recall(reader_.read<uint32_t>()); break;
      case 'Q': push_storage(); break;
      case 'R': call(); break;
      case 'u': add_items(pop_marked()); break;
      case 's': {
        Values items(2);
        items[1] = pop();
        items[0] = pop();
        add_items(std::move(items));
        break;
      }
      case 'b':  // BUILD: what PyTorch notes beside the tensors
        pop();
        top();
        break;
      default: throw unknown(cat("a pickle with step ", static_cast<int>(op)));
    }
  }

  void push_long() {  // LONG1: two's complement, lowest byte first
    const auto count = reader_.read<uint8_t>();
    if (count > 8) throw reader_.bad("has a number of more than 8 bytes");
    uint64_t number = 0;
    for (int i = 0; i < count; ++i) {
      const auto byte = reader_.read<uint8_t>();
      number |= static_cast<uint64_t>(byte) << (8 * i);
      if (i + 1 == count && byte >= 0x80 && count < 8) number |= ~uint64_t{0} << (8 * count);
    }
    push_number(static_cast<int64_t>(number));
  }

  // ("storage", torch.FloatStorage, "0", "cpu", elements)
  void push_storage() {
    const Value id = pop();
    const Values* given = id.kind == Kind::kTuple ? &parts(id) : nullptr;
    if (!given || given->size() != 5 || (*given)[0].text != "storage" || (*given)[1].kind != Kind::kGlobal ||
        (*given)[2].kind != Kind::kText) {
      throw unknown("a reference to something else than a storage");
    }
    const auto type = std::find_if(std::begin(kStorages), std::end(kStorages),
                                   [&](const StorageType& one) { return one.global == (*given)[1].text; });
    if (type == std::end(kStorages)) throw unknown(cat("a ", in_quotes((*given)[1].text)));
    push({.kind = Kind::kStorage, .text = (*given)[2].text, .type = type->type});
  }

  void call() {
    const Value arguments = pop(), global = pop();
    if (global.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) throw unknown("a call of a value");
    const Values given = parts(arguments);
    if (global.text == "collections\nOrderedDict" && given.empty()) return push_items(Kind::kDict, {});
    if (global.text == "torch._utils\n_rebuild_parameter" && !given.empty() && given[0].kind == Kind::kTensor) {
      return push(given[0]);
    }
    if (global.text != "torch._utils\n_rebuild_tensor_v2") throw unknown(cat("a call of ", in_quotes(global.text)));
    const auto numbers = [&](const Value& value) {
      std::vector<int64_t> list;
      if (value.kind != Kind::kTuple) throw reader_.bad("gives a tensor no shape");
      for (const Value& item : parts(value)) {
        if (item.kind != Kind::kNumber) throw reader_.bad("gives a tensor a shape that is no number");
        list.push_back(item.number);
      }
      return list;
    };
    if (given.size() < 4 || given[0].kind != Kind::kStorage || given[1].kind != Kind::kNumber) {
      throw reader_.bad("makes a tensor of something else than a storage");
    }
    tensors_.push_back({given[0].text, given[0].type, given[1].number, numbers(given[2]), numbers(given[3])});
    push({.kind = Kind::kTensor, .number = std::ssize(tensors_) - 1});
  }

  ByteReader reader_;
  Values stack_;
  std::vector<Values> lists_;
  std::vector<TorchTensor> tensors_;
  std::unordered_map<uint32_t, Value> memo_;
};

// Checks a tensor against its storage.
TensorEntry entry_of(const MappedFile& file, const std::string& name, const TorchTensor& tensor,
                     const std::map<std::string, ZipEntry, std::less<>>& entries, const std::string& folder) {
  const auto bad = [&](const std::string& what) {
    return bad_file(file.path(), cat("tensor ", in_quotes(name), ": ", what));
  };
  const auto storage = entries.find(cat(folder, "data/", tensor.storage));
  if (storage == entries.end()) throw bad(cat("its storage ", in_quotes(tensor.storage), " is not in the archive"));
  if (tensor.shape.size() > kMaxRank || tensor.shape.size() != tensor.strides.size()) {
    throw bad(cat("has ", tensor.shape.size(), " dimensions and ", tensor.strides.size(), " strides"));
  }
  TensorEntry entry;
  entry.name = name;
  entry.type = tensor.type;
  const SafetensorsType* type = safetensors_type(tensor.type);
  entry.dtype = type->dtype;
  try {
    entry.shape = Shape(std::span<const int64_t>(tensor.shape));
  } catch (const Error& error) {
    throw bad(error.what());
  }
  const int64_t numel = entry.shape.numel(), size = type->bits / 8;
  const auto end = checked_add(tensor.offset, numel);
  const auto bytes = end ? checked_mul(*end, size) : std::nullopt;
  if (tensor.offset < 0 || !bytes || *bytes > storage->second.bytes) {
    throw bad(cat(tensor.type, " ", entry.shape, " does not fit the ", storage->second.bytes, " bytes of its storage"));
  }
  int64_t step = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (numel > 0 && tensor.shape[i] != 1 && tensor.strides[i] != step) {
      throw Error(ErrorCode::kUnsupported,
                  cat(file.path(), ": tensor ", in_quotes(name), " is stored in another order than its rows'"));
    }
    step *= tensor.shape[i];
  }
  entry.bytes = numel * size;
  entry.offset = storage->second.offset + tensor.offset * size;
  return entry;
}

}  // namespace

FileContents read_torch_archive(const MappedFile& file, int file_index) {
  const auto entries = read_zip_entries(file);
  constexpr std::string_view kPickle = "data.pkl";
  const auto pickle = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.first == kPickle || entry.first.ends_with(cat("/", kPickle));
  });
  if (pickle == entries.end()) throw bad_file(file.path(), "is a zip archive, but none that torch.save() wrote");
  const std::string folder = pickle->first.substr(0, pickle->first.size() - kPickle.size());
  const auto bytes_of = [&](const ZipEntry& entry) {
    return file.bytes().subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.bytes));
  };
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end()) {
    const auto bytes = bytes_of(order->second);
    if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) != "little") {
      throw Error(ErrorCode::kUnsupported, cat(file.path(), ": its numbers begin with the highest byte"));
    }
  }
  ByteReader reader(bytes_of(pickle->second), file.path());
  reader.set_place("the pickle", pickle->first);
  FileContents contents;
  for (const auto& [name, tensor] : Pickle(reader).run()) {
    contents.entries.push_back(entry_of(file, name, tensor, entries, folder));
    contents.entries.back().file = file_index;
  }
  sort_by_offset(contents.entries);
  return contents;
}

}  // namespace wick
