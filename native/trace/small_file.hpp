// One small trace file after the other, read into the same memory and decoded from it.
//
// A job of many ranks has as many files of some 100 kB. To keep each, or to take new memory for each, costs
// more than to decode it. Trade-off: it takes only plain .et files and says nothing of any other; whoever
// asked reads that one another way and says what is wrong.
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
    // Whether the file could be read, is a regular one of at most so many bytes, neither packed nor JSON. Then
    // it is the one that the rest is about.
    bool load(const std::string& path, std::size_t most_bytes);

    std::string_view content() const { return {content_.room.get(), size_}; }

    // Whether another file holds the same bytes and nothing else.
    bool is_same(const std::string& path);

    std::shared_ptr<Graph> usual_graph(bool kernels);   // as the function of that name

private:
    struct Buffer {
        // Makes room for so many bytes, and a few more as the next files may be longer.
        char* of(std::size_t bytes);

        std::unique_ptr<char[]> room;
        std::size_t bytes = 0;
    };

    Buffer content_;
    Buffer other_;
    std::size_t size_ = 0;

    // The file whose graph was made last: the next one may be like it.
    Buffer known_;
    std::size_t known_size_ = 0;
    std::shared_ptr<const Graph> known_graph_;
    bool known_with_kernels_ = false;
    bool is_known_ = false;   // it is the one that is loaded
    UsualRoom usual_room_;
};

}  // namespace yantra
