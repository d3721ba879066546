// Stamper: writes a long trace as copies of short ones, the blocks.
//
// Trade-off: a block is encoded once; a copy takes its bytes over and writes anew only what differs
// (ids, dependencies, two attributes). The trace exists only as the bytes of its file, so memory is that
// of the file and of the distinct blocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/tools/encode.hpp"
#include "trace/trace.hpp"

namespace yantra {

// A dependency of a node of a copy on a node that was there before.
struct StampEdge {
    std::uint64_t place = 0;    // in the block
    std::uint64_t earlier = 0;  // id
    bool is_ctrl = false;
};

class Stamper {
public:
    // The metadata of `head` becomes that of the trace.
    explicit Stamper(const Trace& head);

    // Appends a copy of the block, whose ids are 0, 1, …; returns the id of its first node. Sets the
    // attributes "microbatch", adds `tag_base` to the attributes "comm_tag".
    // Throws std::invalid_argument, and adds nothing, when the block or an edge does not fit.
    std::uint64_t stamp(const std::shared_ptr<const Trace>& block, std::vector<StampEdge> edges,
                        std::optional<std::int64_t> microbatch, std::int64_t tag_base);

    std::uint64_t size() const { return size_; }
    const std::string& bytes() const { return file_; }

private:
    enum class Change : std::uint8_t { none, microbatch, tag };

    // Bytes that never change, and then an attribute that does.
    struct Piece {
        std::size_t end = 0;  // in `bytes`; begins where the piece before ends
        Change change = Change::none;
        std::size_t attribute = 0;
    };

    struct Block {
        std::shared_ptr<const Trace> trace;
        std::string bytes;
        std::vector<Piece> pieces;
        std::vector<std::size_t> first_piece;  // n + 1; the first piece of a node is its identity
    };

    const Block& prepared(const std::shared_ptr<const Trace>& trace);
    void check(const Block& block, std::span<const StampEdge> edges,
               std::optional<std::int64_t> microbatch, std::int64_t tag_base) const;
    void deps(PartEncoder& parts, std::span<const std::uint64_t> own,
              std::span<const StampEdge> edges, bool is_ctrl);
    std::uint64_t changed(const Block& block, const Piece& piece, std::int64_t microbatch,
                          std::int64_t tag_base) const;

    std::map<const Trace*, Block> blocks_;
    std::string file_;
    std::uint64_t size_ = 0;
    std::string record_;
    std::vector<std::uint64_t> ids_;
};

}  // namespace yantra
