// Neighbourhoods: which positions of a level the programs of a plan name, and how far away they are.
//
// Plans are compared by a number that stands for all but their members, and distances by a number that
// stands for the hops in each dimension. So ranks that use different communicators can be compared.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "base/vector.hpp"
#include "fabric/grid.hpp"
#include "fold/capabilities.hpp"
#include "model/model.hpp"

namespace yantra {

// A position that a program names, relative to the rank's own.
struct Offset {
    i32 by;
    bool by_xor;
    bool operator==(const Offset&) const = default;
};

// The rank at an offset from a place.
u32 neighbour(const Place& place, const Offset& offset);

struct Neighbourhood {
    Vector<Offset> offsets;
    bool waits_for_all = false; // a program sends nothing and ends so long after its last member comes
    bool by_position = false;   // a program lists the operations of each position, so none are equal
};

class Neighbourhoods {
public:
    Neighbourhoods(const Model& model, const Grid& grid, const FoldingCapabilities& capabilities)
        : model_(model), grid_(grid), capabilities_(capabilities) {}

    // Equal for plans that differ in nothing but their members.
    u32 plan_number(u32 plan);
    const Neighbourhood& of(u32 plan, u32 level);
    // Whether the network looks the same from each position of a level. It does if the level is the
    // whole of one uniform dimension.
    bool looks_same_from_each(const Plan& plan, const Level& level) const;
    // Equal for pairs of ranks between which the network adds the same to a message of one size.
    u64 distance(u32 from, u32 to);

private:
    const Model& model_;
    const Grid& grid_;
    const FoldingCapabilities& capabilities_;
    std::map<Vector<u64>, u32> number_of_content_;
    std::unordered_map<u32, u32> number_of_plan_;
    std::map<std::pair<u32, u32>, Neighbourhood> neighbourhoods_;   // by number of the plan, and level
    std::map<Vector<u64>, u64> distances_;   // by dimensions that are crossed and hops in each
};

}  // namespace yantra
