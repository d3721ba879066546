// Neighbourhoods: the positions that a plan's programs name on a level, and their distances, by
// hops in each dimension, so that ranks of different communicators compare.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/grid.hpp"
#include "fold/capabilities.hpp"
#include "model/model.hpp"

namespace yantra {

struct Offset {
    i32 by;
    bool by_xor;
    bool operator==(const Offset&) const = default;
};

u32 neighbour(const Place& place, const Offset& offset);

struct Neighbourhood {
    std::vector<Offset> offsets;
    bool waits_for_all = false; // sends nothing; ends this long after its last member comes
    bool by_position = false;   // operations are listed by position, so none are equal
};

class Neighbourhoods {
public:
    Neighbourhoods(const Model& model, const Grid& grid, const FoldingCapabilities& capabilities)
        : model_(model), grid_(grid), capabilities_(capabilities) {}

    u32 plan_number(u32 plan);
    const Neighbourhood& of(u32 plan, u32 level);
    bool looks_same_from_each(const Plan& plan, const Level& level) const;
    u64 distance(u32 from, u32 to);

private:
    const Model& model_;
    const Grid& grid_;
    const FoldingCapabilities& capabilities_;
    std::map<std::vector<u64>, u32> number_of_content_;
    std::unordered_map<u32, u32> number_of_plan_;
    std::map<std::pair<u32, u32>, Neighbourhood> neighbourhoods_;   // by plan number and level
    std::map<std::vector<u64>, u64> distances_;   // by dimensions crossed and hops in each
};

}  // namespace yantra
