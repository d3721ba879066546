// A refused copy has no effect.
#include "trace/tools/stamp.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

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

std::uint64_t changed(const Attribute& item, bool is_tag, std::int64_t microbatch, std::int64_t tag_base) {
    return is_tag ? item.value + static_cast<std::uint64_t>(tag_base) : static_cast<std::uint64_t>(microbatch);
}

}  // namespace

Stamper::Change Stamper::change_of(const std::string& name) {
    return name == "microbatch" ? Change::microbatch : name == "comm_tag" ? Change::tag : Change::none;
}

Stamper::Stamper(const Trace& head) : has_complete_order_(says_complete_order(head)) {
    PartEncoder(head).metadata(record_);
    WireWriter(head_).block(record_);
}

const Stamper::Changes& Stamper::checked(const std::shared_ptr<const Trace>& trace) {
    const auto known = changes_.find(trace.get());
    if (known != changes_.end()) {
        return known->second;
    }
    check_order(*trace);
    Changes changes{trace, {}};
    std::vector<Change> of_name;   // an attribute's name is a number
    for (const std::string& name : trace->attribute_names.names()) {
        of_name.push_back(change_of(name));
    }
    for (std::size_t place = 0; place < trace->size(); ++place) {
        for (const Attribute& item : trace->attributes_of(place)) {
            const Change change = of_name[item.name];
            if (change == Change::none) {
                continue;
            }
            if (!is_integer(item.kind)) {
                refuse(*trace, place, "attribute " + trace->attribute_name(item) + " must be an integer");
            }
            changes.all.push_back({place, change, static_cast<std::size_t>(&item - trace->attributes.data())});
        }
    }
    return changes_.emplace(trace.get(), std::move(changes)).first->second;
}

Stamper::Block Stamper::prepared(const std::shared_ptr<const Trace>& trace) {
    Block block;
    block.trace = trace;
    PartEncoder parts(*trace);
    for (std::size_t place = 0; place < trace->size(); ++place) {
        block.first_piece.push_back(block.pieces.size());
        parts.identity(place, block.bytes);
        block.pieces.push_back({block.bytes.size(), Change::none, 0});
        parts.times(place, block.bytes);
        for (const Attribute& item : trace->attributes_of(place)) {
            const Change change = change_of(trace->attribute_name(item));
            if (change == Change::none) {
                parts.attribute(item, block.bytes);
                continue;
            }
            const auto at = static_cast<std::size_t>(&item - trace->attributes.data());
            block.pieces.push_back({block.bytes.size(), change, at});
        }
        parts.foreign(place, block.bytes);
        block.pieces.push_back({block.bytes.size(), Change::none, 0});
    }
    block.first_piece.push_back(block.pieces.size());
    return block;
}

void Stamper::check(const Trace& trace, const Changes& changes, std::span<const StampEdge> edges,
                    std::optional<std::int64_t> microbatch, std::int64_t tag_base) const {
    for (const StampEdge& edge : edges) {
        if (edge.place >= trace.size()) {
            throw std::invalid_argument("an edge to place " + std::to_string(edge.place) +
                                        ", but the block has " + std::to_string(trace.size()) + " nodes");
        }
        if (edge.earlier >= size()) {
            refuse(trace, edge.place, "an edge from node " + std::to_string(edge.earlier) +
                                          ", but only " + std::to_string(size()) + " nodes are there");
        }
    }
    for (const Changed& one : changes.all) {
        if (one.change == Change::microbatch && !microbatch) {
            continue;
        }
        const Attribute& item = trace.attributes[one.attribute];
        const bool overflows = one.change == Change::tag && tag_base > 0 &&
                               static_cast<std::int64_t>(item.value) >
                                   std::numeric_limits<std::int64_t>::max() - tag_base;
        const auto value = static_cast<std::int64_t>(
            changed(item, one.change == Change::tag, microbatch.value_or(0), tag_base));
        if (overflows || !fits(item.kind, value)) {
            refuse(trace, one.place, "attribute " + trace.attribute_name(item) + " of kind " +
                                         kind_name(item.kind) + " cannot hold " +
                                         (overflows ? "so much" : std::to_string(value)));
        }
    }
}

void Stamper::deps(PartEncoder& parts, const Stamps::Copy& copy, std::span<const std::uint64_t> own,
                   std::span<const StampEdge> edges, bool is_ctrl) {
    ids_.clear();
    for (const std::uint64_t parent : own) {
        ids_.push_back(parent + copy.first);
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

std::uint64_t Stamper::stamp(const std::shared_ptr<const Trace>& trace,
                             std::vector<StampEdge> edges, std::optional<std::int64_t> microbatch,
                             std::int64_t tag_base) {
    const Changes& changes = checked(trace);
    check(*trace, changes, edges, microbatch, tag_base);
    std::ranges::stable_sort(edges, {}, &StampEdge::place);
    stamps_.copies.push_back({trace, size(), stamps_.edges.size(), microbatch, tag_base});
    stamps_.edges.insert(stamps_.edges.end(), edges.begin(), edges.end());
    return std::exchange(stamps_.size, size() + trace->size());
}

std::string Stamper::bytes() {
    std::map<const Trace*, Block> blocks;
    std::string file = head_;
    for (std::size_t copy = 0; copy < stamps_.copies.size(); ++copy) {
        const std::shared_ptr<const Trace>& trace = stamps_.copies[copy].block;
        auto known = blocks.find(trace.get());
        if (known == blocks.end()) {
            known = blocks.emplace(trace.get(), prepared(trace)).first;
        }
        write(known->second, copy, file);
    }
    return file;
}

void Stamper::write(const Block& block, std::size_t at, std::string& file) {
    const Trace& trace = *block.trace;
    const Stamps::Copy& copy = stamps_.copies[at];
    const auto edges = std::span<const StampEdge>(stamps_.edges)
                           .subspan(copy.first_edge, stamps_.end_of_edges(at) - copy.first_edge);
    PartEncoder parts(trace);
    auto next = edges.begin();
    for (std::size_t place = 0; place < trace.size(); ++place) {
        const auto first = next;
        next = std::find_if(first, edges.end(), [place](const StampEdge& e) { return e.place != place; });
        record_.clear();
        PartEncoder::id(copy.first + place, record_);
        std::size_t begin = 0;
        for (std::size_t i = block.first_piece[place]; i < block.first_piece[place + 1]; ++i) {
            const Piece& piece = block.pieces[i];
            begin = i == 0 ? 0 : block.pieces[i - 1].end;
            record_.append(block.bytes, begin, piece.end - begin);
            if (i == block.first_piece[place]) {
                deps(parts, copy, trace.ctrl_deps(place), {first, next}, true);
                deps(parts, copy, trace.data_deps(place), {first, next}, false);
            } else if (piece.change == Change::microbatch && !copy.microbatch) {
                parts.attribute(trace.attributes[piece.attribute], record_);
            } else if (piece.change != Change::none) {
                const Attribute& item = trace.attributes[piece.attribute];
                const bool is_tag = piece.change == Change::tag;
                parts.attribute(item, changed(item, is_tag, copy.microbatch.value_or(0), copy.tag_base), record_);
            }
        }
        WireWriter(file).block(record_);
    }
}

}  // namespace yantra
