// Region: a part of a fabric, and the cheapest ways in it, by fields: all distances to one
// destination, backwards (breadth-first for equal weights, else Dijkstra, Numerische Mathematik
// 1959). Ranks with one neighbour share its field.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fabric/graph.hpp"
#include "fabric/routing/field_cache.hpp"

namespace yantra {

class Region {
public:
    struct Hop {
        u32 device;
        u32 link;
    };

    // The whole fabric.
    explicit Region(const FabricGraph& graph);
    Region(const FabricGraph& graph, std::vector<u32> devices);

    // Infinite if there is no way.
    double cost(u32 from, u32 to);
    // Ascending; valid until the next call; empty without a way. Precondition: `from` and `to`
    // differ.
    std::span<const u32> next(u32 from, u32 to);
    // The last link of every cheapest way; none if there are several, or no way.
    u32 last(u32 from, u32 to);

    u32 relays() const { return static_cast<u32>(relays_.size()); }
    u32 relay(u32 number) const { return relays_[number]; }
    u32 number(u32 device) const;
    u32 hangs_on(u32 device) const { return hangs_on_.empty() ? none : hangs_on_[device]; }
    std::span<const Hop> out(u32 number) const { return part(out_begin_, out_, number); }
    std::span<const Hop> in(u32 number) const { return part(in_begin_, in_, number); }
    std::span<const u32> up_links(u32 device) { return cheapest(graph_.out(device)); }
    std::span<const u32> down_links(u32 device) { return cheapest(graph_.in(device)); }

private:
    struct Field {
        std::vector<u16> hops;       // with equal weights, as far as needed
        std::vector<u32> frontier;   // devices at `grown` hops; empty when complete
        u16 grown = 0;
        std::vector<double> weight;  // with other weights
        std::size_t bytes() const {
            return hops.size() * (sizeof(u16) + sizeof(u32)) + weight.size() * sizeof(double);
        }
    };
    static constexpr u16 far = 0xffff;
    static constexpr u32 most_before = 8;

    template <class Of>
    static std::span<const Of> part(const std::vector<u32>& begin, const std::vector<Of>& of,
                                    u32 number) {
        return {of.data() + begin[number], begin[number + 1] - begin[number]};
    }
    void find_what_hangs();
    void join();
    Field& field(u32 number);
    void grow(Field& field);
    Field by_weight(u32 number) const;
    double to_field(u32 from, u32 to, double most);
    double distance(u32 from, u32 to);
    std::span<const u32> cheapest(std::span<const u32> links);

    const FabricGraph& graph_;
    std::vector<u32> relays_;      // ascending
    std::vector<u32> number_;      // by device, only of the whole fabric
    std::vector<u32> hangs_on_;    // likewise
    std::vector<u32> out_begin_;
    std::vector<Hop> out_;
    std::vector<u32> in_begin_;
    std::vector<Hop> in_;
    std::vector<bool> follows_;    // by number: whether its distances follow from earlier devices'
    FieldCache<Field> fields_;
    std::vector<u32> found_;
    std::vector<u32> links_;
};

}  // namespace yantra
