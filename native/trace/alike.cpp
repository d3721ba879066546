#include "trace/alike.hpp"

#include <memory>

#include "base/content_hash.hpp"
#include "trace/open_file.hpp"

namespace yantra {

std::uint64_t hash_of(std::string_view content) { return content_hash(content); }

std::size_t count_alike(std::span<const std::string> paths, std::string_view content) {
    const auto room = std::make_unique_for_overwrite<char[]>(content.size());
    std::size_t count = 0;
    while (count < paths.size() && OpenFile(paths[count].c_str()).holds(content, room.get())) {
        ++count;
    }
    return count;
}

}  // namespace yantra
