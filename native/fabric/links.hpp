// Links: a grid's directed links by number, and a message's way over them, dimensions ascending; on
// one dimension this is upstream's model (astra-sim-semantics 2.4). Memory does not grow with
// ranks.
#pragma once

#include <string>
#include <vector>

#include "fabric/grid.hpp"

namespace yantra {

class Links {
public:
    // A rank, or a switch of a dimension (`at` is then a rank of its group).
    struct Stop {
        u32 at = none;
        u32 in_switch_of = none;

        bool is(u32 rank) const { return at == rank && in_switch_of == none; }
    };
    // Ranks, or none for the one switch of the group; several are numbered from the last rank on.
    struct Ends {
        u32 from;
        u32 to;
    };

    explicit Links(const Grid& grid);

    std::vector<u32> first_of_dimensions() const {
        return {first_link_.begin(), first_link_.end() - 1};
    }
    u32 count() const { return first_link_.back(); }
    u32 dimension_of(u32 link) const;
    Ends ends_of(u32 link) const;
    std::string name(u32 link) const;

    // One hop towards `dst`; returns the link.
    [[gnu::always_inline]] u32 next(Stop& stop, u32 dst) const {
        const bool in_switch = stop.in_switch_of != none;
        const u32 d = in_switch ? stop.in_switch_of & ((1u << dimension_bits) - 1)
                                : grid_.lowest_difference(stop.at, dst);
        const Dimension& dimension = grid_.dimension(d);
        const u32 rank = stop.at;
        const u32 from = grid_.coordinate(rank, d);
        u32 to = grid_.coordinate(dst, d);
        u32 link = first_link_[d];
        switch (dimension.block) {
            case Block::fully_connected:
                link += rank * dimension.size + to;
                break;
            case Block::switched:
                if (!in_switch) {
                    stop.in_switch_of = d;
                    return link + rank * 2;
                }
                stop.in_switch_of = none;
                stop.at += (to - from) * grid_.stride(d);
                return link + stop.at * 2 + 1;
            case Block::table:
                return next_in_table(stop, dst, d);
            case Block::ring: {  // clockwise unless the other way is shorter
                const u32 clockwise = to >= from ? to - from : to + dimension.size - from;
                const bool backwards = dimension.size - clockwise < clockwise;
                link += rank * 2 + (backwards ? 1 : 0);
                to = backwards ? (from == 0 ? dimension.size - 1 : from - 1)
                               : (from + 1 == dimension.size ? 0 : from + 1);
                break;
            }
        }
        stop.at += (to - from) * grid_.stride(d);
        return link;
    }

private:
    static constexpr u32 dimension_bits = 5;  // 2^31 ranks have at most 31 dimensions

    u32 links_per_group(u32 dimension) const;
    u32 next_in_table(Stop& stop, u32 dst, u32 dimension) const;
    u32 name_of(u32 device, u32 group, u32 dimension) const;

    const Grid& grid_;
    std::vector<u32> first_link_;    // of each dimension; one more at the end
    std::vector<u32> first_switch_;  // of each dimension: its first switch's number
};

struct LinkClasses {
    std::vector<u32> class_of;    // by link; none where no message passes
    std::vector<u32> dimension;   // by class
    std::vector<u64> count;       // by class: its links
};

}  // namespace yantra
