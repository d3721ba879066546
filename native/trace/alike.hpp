// Files that hold the same: a job of thousands of ranks has as many files, most of them equal.
//
// Trade-off: it only counts. What it cannot tell, a file that is missing or no regular one, ends the count,
// and whoever asked reads that file and says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace yantra {

// content_hash(), compiled where the compiler takes its time: a large job has gigabytes of traces.
std::uint64_t hash_of(std::string_view content);

// How many of the files, from the first on, hold these bytes and nothing else.
std::size_t count_alike(std::span<const std::string> paths, std::string_view content);

}  // namespace yantra
