// Small trace files, read into the same memory. Trade-off: only plain .et files.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "trace/graph.hpp"
#include "trace/usual.hpp"

namespace yantra {

class SmallFile {
public:
    // Regular, readable, at most `most_bytes`, and neither packed nor JSON. It becomes the current
    // file.
    bool load(const std::string& path, std::size_t most_bytes);

    std::string_view content() const { return {content_.room.get(), size_}; }

    bool is_same(const std::string& path);

    std::shared_ptr<Graph> usual_graph(bool kernels);   // as the function of that name

private:
    struct Buffer {
        char* of(std::size_t bytes);

        std::unique_ptr<char[]> room;
        std::size_t bytes = 0;
    };

    Buffer content_;
    Buffer other_;
    std::size_t size_ = 0;

    Buffer known_;
    std::size_t known_size_ = 0;
    std::shared_ptr<const Graph> known_graph_;
    bool known_with_kernels_ = false;
    bool is_known_ = false;   // it is the current file
    UsualRoom usual_room_;
};

}  // namespace yantra
