// The trace files of a job's ranks: those that hold the same have one number, and small ones their graph.
//
// Files are told apart by a hash of all their bytes, as the traces of two ranks may differ in the names of a few
// groups alone. Where another has the same hash, it is read once more and compared, unless it is kept. Trade-off: of
// the files themselves it reads only small plain ones (trace/small_file.hpp); whoever asked reads the others and says
// what is in them.
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
    // Of the files of ranks that follow each other: their numbers, and the graphs of those that are new with the
    // first rank that has each.
    struct Read {
        Vector<std::uint32_t> numbers;
        Vector<std::shared_ptr<Graph>> graphs;
        Vector<std::uint64_t> ranks;
    };

    // Reads `<prefix>.<rank>.et` of `count` ranks from the first on, up to one that is not as files usually are, or
    // has more bytes.
    Read read(const std::string& prefix, std::uint64_t first, std::uint64_t count, std::size_t most_bytes,
              bool kernels);

    // Those whose contents have a hash.
    Vector<Known> alike(std::uint64_t hash) const;
    // Takes one more, and returns its number.
    std::uint32_t add(std::uint64_t hash, std::string path, std::optional<std::string> kept);

private:
    std::optional<std::uint32_t> number_of_loaded(std::uint64_t hash);

    SmallFile file_;
    std::unordered_multimap<std::uint64_t, Known> known_;
};

}  // namespace yantra
