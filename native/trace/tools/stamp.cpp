// Everything is checked before the first byte is written, so that a refused copy leaves no trace.
#include "trace/tools/stamp.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/wire_writer.hpp"

namespace yantra {

namespace {

template <typename Narrow>
bool within(std::int64_t value) {
    return value >= std::numeric_limits<Narrow>::min() && value <= std::numeric_limits<Narrow>::max();
}

bool fits(AttributeKind kind, std::int64_t value) {
    switch (kind) {
        case AttributeKind::int32:
        case AttributeKind::sint32:
        case AttributeKind::sfixed32: return within<std::int32_t>(value);
        case AttributeKind::uint32:
        case AttributeKind::fixed32: return within<std::uint32_t>(value);
        case AttributeKind::uint64:
        case AttributeKind::fixed64: return value >= 0;
        case AttributeKind::boolean: return value == 0 || value == 1;
        default: return true;
    }
}

[[noreturn]] void refuse(const Trace& block, std::size_t place, const std::string& problem) {
    throw std::invalid_argument("node " + std::to_string(block.id[place]) + " '" +
                                std::string(block.name(place)) + "' of the block: " + problem);
}

void check_order(const Trace& block) {
    for (std::size_t place = 0; place < block.size(); ++place) {
        if (block.id[place] != place) {
            refuse(block, place, "its id must be " + std::to_string(place) + ", its place");
        }
        const auto later = [place](std::uint64_t parent) { return parent >= place; };
        if (std::ranges::any_of(block.data_deps(place), later) ||
            std::ranges::any_of(block.ctrl_deps(place), later)) {
            refuse(block, place, "it must depend on earlier nodes only");
        }
    }
}

}  // namespace

Stamper::Stamper(const Trace& head) {
    PartEncoder(head).metadata(record_);
    WireWriter(file_).block(record_);
}

const Stamper::Block& Stamper::prepared(const std::shared_ptr<const Trace>& trace) {
    const auto known = blocks_.find(trace.get());
    if (known != blocks_.end()) {
        return known->second;
    }
    check_order(*trace);
    Block block;
    block.trace = trace;
    PartEncoder parts(*trace);
    for (std::size_t place = 0; place < trace->size(); ++place) {
        block.first_piece.push_back(block.pieces.size());
        parts.identity(place, block.bytes);
        block.pieces.push_back({block.bytes.size(), Change::none, 0});
        parts.times(place, block.bytes);
        for (const Attribute& item : trace->attributes_of(place)) {
            const std::string& name = trace->attribute_name(item);
            const Change change = name == "microbatch" ? Change::microbatch
                                  : name == "comm_tag" ? Change::tag
                                                       : Change::none;
            if (change == Change::none) {
                parts.attribute(item, block.bytes);
                continue;
            }
            if (!is_integer(item.kind)) {
                refuse(*trace, place, "attribute " + name + " must be an integer");
            }
            const auto at = static_cast<std::size_t>(&item - trace->attributes.data());
            block.pieces.push_back({block.bytes.size(), change, at});
        }
        block.pieces.push_back({block.bytes.size(), Change::none, 0});
    }
    block.first_piece.push_back(block.pieces.size());
    return blocks_.emplace(trace.get(), std::move(block)).first->second;
}

std::uint64_t Stamper::changed(const Block& block, const Piece& piece, std::int64_t microbatch,
                               std::int64_t tag_base) const {
    if (piece.change == Change::microbatch) {
        return static_cast<std::uint64_t>(microbatch);
    }
    return block.trace->attributes[piece.attribute].value + static_cast<std::uint64_t>(tag_base);
}

void Stamper::check(const Block& block, std::span<const StampEdge> edges,
                    std::optional<std::int64_t> microbatch, std::int64_t tag_base) const {
    const Trace& trace = *block.trace;
    for (const StampEdge& edge : edges) {
        if (edge.place >= trace.size()) {
            throw std::invalid_argument("an edge to place " + std::to_string(edge.place) +
                                        ", but the block has " + std::to_string(trace.size()) + " nodes");
        }
        if (edge.earlier >= size_) {
            refuse(trace, edge.place, "an edge from node " + std::to_string(edge.earlier) +
                                          ", but only " + std::to_string(size_) + " nodes are there");
        }
    }
    for (std::size_t place = 0; place < trace.size(); ++place) {
        for (std::size_t i = block.first_piece[place]; i < block.first_piece[place + 1]; ++i) {
            const Piece& piece = block.pieces[i];
            if (piece.change == Change::none || (piece.change == Change::microbatch && !microbatch)) {
                continue;
            }
            const Attribute& item = trace.attributes[piece.attribute];
            const bool overflows = piece.change == Change::tag && tag_base > 0 &&
                                   static_cast<std::int64_t>(item.value) >
                                       std::numeric_limits<std::int64_t>::max() - tag_base;
            const auto value = static_cast<std::int64_t>(
                changed(block, piece, microbatch.value_or(0), tag_base));
            if (overflows || !fits(item.kind, value)) {
                refuse(trace, place, "attribute " + trace.attribute_name(item) + " of kind " +
                                         kind_name(item.kind) + " cannot hold " +
                                         (overflows ? "so much" : std::to_string(value)));
            }
        }
    }
}

void Stamper::deps(PartEncoder& parts, std::span<const std::uint64_t> own,
                   std::span<const StampEdge> edges, bool is_ctrl) {
    ids_.clear();
    for (const std::uint64_t parent : own) {
        ids_.push_back(parent + size_);
    }
    for (const StampEdge& edge : edges) {
        if (edge.is_ctrl == is_ctrl) {
            ids_.push_back(edge.earlier);
        }
    }
    if (is_ctrl) {
        parts.ctrl_deps(ids_, record_);
    } else {
        parts.data_deps(ids_, record_);
    }
}

std::uint64_t Stamper::stamp(const std::shared_ptr<const Trace>& trace, std::vector<StampEdge> edges,
                             std::optional<std::int64_t> microbatch, std::int64_t tag_base) {
    const Block& block = prepared(trace);
    check(block, edges, microbatch, tag_base);
    std::ranges::stable_sort(edges, {}, &StampEdge::place);
    PartEncoder parts(*trace);
    auto next = edges.begin();
    for (std::size_t place = 0; place < trace->size(); ++place) {
        const auto first = next;
        next = std::find_if(first, edges.end(), [place](const StampEdge& e) { return e.place != place; });
        record_.clear();
        PartEncoder::id(size_ + place, record_);
        std::size_t begin = 0;
        for (std::size_t i = block.first_piece[place]; i < block.first_piece[place + 1]; ++i) {
            const Piece& piece = block.pieces[i];
            begin = i == 0 ? 0 : block.pieces[i - 1].end;
            record_.append(block.bytes, begin, piece.end - begin);
            if (i == block.first_piece[place]) {
                deps(parts, trace->ctrl_deps(place), {first, next}, true);
                deps(parts, trace->data_deps(place), {first, next}, false);
            } else if (piece.change == Change::microbatch && !microbatch) {
                parts.attribute(trace->attributes[piece.attribute], record_);
            } else if (piece.change != Change::none) {
                parts.attribute(trace->attributes[piece.attribute],
                                changed(block, piece, microbatch.value_or(0), tag_base), record_);
            }
        }
        WireWriter(file_).block(record_);
    }
    return std::exchange(size_, size_ + trace->size());
}

}  // namespace yantra
