#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "interp/probes/linear_probe.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/steering.h"

namespace wick {

// What requests that look into models may name: files of folders that the server was started with. Read once; a request
// never names a path. Immutable and thread-safe.
class InsideShelf {
 public:
  // Empty: none.
  struct Folders {
    std::filesystem::path steering;      // .safetensors files, by their names without the ending
    std::filesystem::path probes;        // the same; each says at which point it reads
    std::filesystem::path autoencoders;  // folders with a cfg.json, by their names
  };
  template <typename Thing>
  using Named = std::map<std::string, Thing>;

  InsideShelf() = default;
  // Throws Error(kIo) when a folder cannot be read, Error(kBadFile) for a file that does not hold what it should.
  explicit InsideShelf(const Folders& folders);

  const Named<SteeringVector>& steering() const { return steering_; }
  const Named<LinearProbe>& probes() const { return probes_; }
  const Named<SparseAutoencoder>& autoencoders() const { return autoencoders_; }

 private:
  Named<SteeringVector> steering_;
  Named<LinearProbe> probes_;
  Named<SparseAutoencoder> autoencoders_;
};

}  // namespace wick
