#include "trace/small_file.hpp"

#include <utility>

#include "trace/open_file.hpp"

namespace yantra {

namespace {

constexpr std::string_view gzip = "\x1f\x8b";
constexpr std::string_view before_json = " \t\r\n\xef\xbb\xbf";   // white space and a UTF-8 mark

// Some .et files begin like JSON.
bool may_be_json(std::string_view content) {
    const std::size_t first = content.find_first_not_of(before_json);
    return first == std::string_view::npos || content[first] == '{';
}

}  // namespace

char* SmallFile::Buffer::of(std::size_t wanted) {
    if (bytes < wanted) {
        bytes = wanted + wanted / 8;
        room = std::make_unique_for_overwrite<char[]>(bytes);
    }
    return room.get();
}

bool SmallFile::load(const std::string& path, std::size_t most_bytes) {
    if (is_known_) {
        std::swap(content_, known_);
        known_size_ = size_;
        is_known_ = false;
    }
    size_ = 0;
    const OpenFile file(path.c_str());
    if (!file.is_regular() || file.size() > most_bytes) {
        return false;
    }
    const auto size = static_cast<std::size_t>(file.size());
    if (!file.read_into(content_.of(size), size)) {
        return false;
    }
    size_ = size;
    return !content().starts_with(gzip) && !may_be_json(content());
}

bool SmallFile::is_same(const std::string& path) {
    return OpenFile(path.c_str()).holds(content(), other_.of(size_));
}

std::shared_ptr<Graph> SmallFile::usual_graph(bool kernels) {
    std::shared_ptr<Graph> graph;
    if (known_graph_ != nullptr && known_with_kernels_ == kernels && !is_known_) {
        graph = usual_graph_like(content(), {{known_.room.get(), known_size_}, *known_graph_}, kernels, usual_room_);
    }
    if (graph == nullptr) {
        usual_room_.places.clear();   // they are those of another file
        graph = yantra::usual_graph(content(), kernels, usual_room_);
    }
    if (graph != nullptr) {
        known_graph_ = graph;
        known_with_kernels_ = kernels;
        is_known_ = true;
    }
    return graph;
}

}  // namespace yantra
