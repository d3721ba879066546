// A job's trace files: equal ones share a number, and small ones have their graph.
//
// By a hash of all bytes, as ranks may differ only in a few group names; equal hashes are verified
// by reading again, unless kept. Trade-off: only small plain files (trace/small_file.hpp) are read
// here; others are left to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/vector.hpp"
#include "trace/small_file.hpp"

namespace yantra {

class KnownFiles {
public:
    struct Known {
        std::uint32_t number;
        std::string path;
        std::optional<std::string> kept;   // its content
    };
    // Of successive ranks: file numbers, and new graphs with the first rank that has each.
    struct Read {
        Vector<std::uint32_t> numbers;
        Vector<std::shared_ptr<Graph>> graphs;
        Vector<std::uint64_t> ranks;
    };

    // Reads `<prefix>.<rank>.et` of `count` ranks, up to one that is unusual or larger than
    // `most_bytes`.
    Read read(const std::string& prefix, std::uint64_t first, std::uint64_t count, std::size_t most_bytes,
              bool kernels);

    Vector<Known> alike(std::uint64_t hash) const;
    // Adds a file; returns its number.
    std::uint32_t add(std::uint64_t hash, std::string path, std::optional<std::string> kept);

private:
    std::optional<std::uint32_t> number_of_loaded(std::uint64_t hash);

    SmallFile file_;
    std::unordered_multimap<std::uint64_t, Known> known_;
};

}  // namespace yantra
