#pragma once

#include "formats/file_contents.h"

namespace wick {

inline constexpr std::string_view kTorchMagic{"PK\x03\x04", 4};

// Reads what torch.save() wrote of a dictionary of tensors (pytorch_model.bin, *.pt): a zip archive with a Python
// pickle that says which tensor is which part of it. A pickle is a program: here only the few steps that such
// dictionaries are made of are carried out, into plain values, and nothing that it names is ever called. Throws
// Error(kBadFile) naming what is wrong, Error(kUnsupported) for pickles of anything else and for tensors whose rows do
// not follow each other.
FileContents read_torch_archive(const MappedFile& file, int file_index);

}  // namespace wick
