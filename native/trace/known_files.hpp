// A job's trace files: equal ones share a number, and small ones have their graph. Equal hashes are
// verified. Trade-off: only small plain files (trace/small_file.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/small_file.hpp"

namespace yantra {

class KnownFiles {
public:
    struct Known {
        std::uint32_t number;
        std::string path;
        std::optional<std::string> kept;   // its content
    };
    struct Read {
        std::vector<std::uint32_t> numbers;
        std::vector<std::shared_ptr<Graph>> graphs;
        std::vector<std::uint64_t> ranks;
    };

    // Up to one that is unusual or larger than `most_bytes`.
    Read read(const std::string& prefix, std::uint64_t first, std::uint64_t count, std::size_t most_bytes,
              bool kernels);

    std::vector<Known> alike(std::uint64_t hash) const;
    // Adds a file; returns its number.
    std::uint32_t add(std::uint64_t hash, std::string path, std::optional<std::string> kept);

private:
    std::optional<std::uint32_t> number_of_loaded(std::uint64_t hash);

    SmallFile file_;
    std::unordered_multimap<std::uint64_t, Known> known_;
};

}  // namespace yantra
