// Counts equal files: most of a large job's trace files are.
//
// Trade-off: it stops at a file that is missing or not regular, and leaves that one to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace yantra {

// Separate, to be compiled optimised: a large job has gigabytes of traces.
std::uint64_t hash_of(std::string_view content);

// How many files, from the first on, hold exactly these bytes.
std::size_t count_alike(std::span<const std::string> paths, std::string_view content);

}  // namespace yantra
