// Region: a part of a fabric, and the cheapest ways in it to each of its devices.
//
// The cost of a way is the sum of its links' weights. How far every device is from one destination is a
// field; it is made when somebody asks, by a search backwards from the destination (in breadth where all
// links weigh the same, else Dijkstra's, Numerische Mathematik 1959), and kept until newer ones need the
// room. In breadth a field grows only as far as somebody asks. A rank with one neighbour relays nothing, so fields
// leave such ranks out and all that hang on a switch share its field: 100,000 hosts of a fat tree need 2,700 fields of
// 7,000 numbers, no table of pairs. A rank with a few neighbours, all of them switches, needs no field either: its
// distances follow from theirs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/vector.hpp"
#include "fabric/graph.hpp"
#include "fabric/routing/field_cache.hpp"

namespace yantra {

class Region {
public:
    // One end of a link within the region: the number of the device in it, and the link.
    struct Hop {
        u32 device;
        u32 link;
    };

    // The whole fabric.
    explicit Region(const FabricGraph& graph);
    // Some devices, ascending, and the links between them.
    Region(const FabricGraph& graph, Vector<u32> devices);

    // The sum of weights from one device to another; infinite where there is no way.
    double cost(u32 from, u32 to);
    // The links of `from` that begin a cheapest way to `to`, ascending; until the next call. None where
    // there is no way. Precondition: the two differ.
    std::span<const u32> next(u32 from, u32 to);
    // The link by which every cheapest way ends; none where there are several, or no way. Precondition: as above.
    u32 last(u32 from, u32 to);

    // The same for searches of other kinds. Devices that relay, by a number of the region's own; none for
    // those that do not, which hang on one that does.
    u32 relays() const { return static_cast<u32>(relays_.size()); }
    u32 relay(u32 number) const { return relays_[number]; }
    u32 number(u32 device) const;
    u32 hangs_on(u32 device) const { return hangs_on_.empty() ? none : hangs_on_[device]; }
    std::span<const Hop> out(u32 number) const { return part(out_begin_, out_, number); }
    std::span<const Hop> in(u32 number) const { return part(in_begin_, in_, number); }
    // Of a device that hangs on one: its cheapest links there, and from there.
    std::span<const u32> up_links(u32 device) { return cheapest(graph_.out(device)); }
    std::span<const u32> down_links(u32 device) { return cheapest(graph_.in(device)); }

private:
    struct Field {
        Vector<u16> hops;       // where all links weigh the same, as far as was asked
        Vector<u32> frontier;   // devices at `grown` hops; empty when all are found
        u16 grown = 0;
        Vector<double> weight;  // else
        std::size_t bytes() const {
            return hops.size() * (sizeof(u16) + sizeof(u32)) + weight.size() * sizeof(double);
        }
    };
    static constexpr u16 far = 0xffff;
    static constexpr u32 most_before = 8;

    template <class Of>
    static std::span<const Of> part(const Vector<u32>& begin, const Vector<Of>& of, u32 number) {
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
    Vector<u32> relays_;      // ascending
    Vector<u32> number_;      // by device, of the whole fabric alone
    Vector<u32> hangs_on_;    // the same
    Vector<u32> out_begin_;
    Vector<Hop> out_;
    Vector<u32> in_begin_;
    Vector<Hop> in_;
    std::vector<bool> follows_;    // by number: whether its distances follow from those of devices before it
    FieldCache<Field> fields_;
    Vector<u32> found_;
    Vector<u32> links_;
};

}  // namespace yantra
