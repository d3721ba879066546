// Stamper: makes a long trace of copies of short blocks, checked at once and written on request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/stamps.hpp"
#include "trace/tools/encode.hpp"

namespace yantra {

class Stamper {
public:
    explicit Stamper(const Trace& head);

    // Returns its first id. Sets "microbatch" and adds `tag_base` to "comm_tag". Throws
    // std::invalid_argument, without effect.
    std::uint64_t stamp(const std::shared_ptr<const Trace>& block, std::vector<StampEdge> edges,
                        std::optional<std::int64_t> microbatch, std::int64_t tag_base);

    std::uint64_t size() const { return stamps_.size; }
    const Stamps& stamps() const { return stamps_; }
    bool has_complete_order() const { return has_complete_order_; }
    std::string bytes();   // of the file

private:
    enum class Change : std::uint8_t { none, microbatch, tag };
    static Change change_of(const std::string& attribute);

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

    struct Changed {
        std::size_t place = 0;
        Change change = Change::none;
        std::size_t attribute = 0;
    };
    struct Changes {
        std::shared_ptr<const Trace> block;  // held, so that no other block takes its address
        std::vector<Changed> all;
    };

    const Changes& checked(const std::shared_ptr<const Trace>& trace);
    void check(const Trace& trace, const Changes& changes, std::span<const StampEdge> edges,
               std::optional<std::int64_t> microbatch, std::int64_t tag_base) const;
    static Block prepared(const std::shared_ptr<const Trace>& trace);
    void write(const Block& block, std::size_t copy, std::string& file);
    void deps(PartEncoder& parts, const Stamps::Copy& copy, std::span<const std::uint64_t> own,
              std::span<const StampEdge> edges, bool is_ctrl);

    Stamps stamps_;
    std::map<const Trace*, Changes> changes_;
    std::string head_;
    bool has_complete_order_ = false;
    std::string record_;
    std::vector<std::uint64_t> ids_;
};

}  // namespace yantra
