// Files that hold the same: a job of thousands of ranks has as many files, most of them equal.
//
// Trade-off: it only counts. What it cannot tell, a file that is missing or no regular one, ends the count,
// and whoever asked reads that file and says what is wrong.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace yantra {

// How many of the files, from the first on, hold these bytes and nothing else.
std::size_t count_alike(std::span<const std::string> paths, std::string_view content);

}  // namespace yantra
