// Ranks convert to coordinates and back; hops are a distance.
// needs: fabric/table.cpp
#include "fabric/grid.hpp"

#include <set>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

Grid any_grid(test::Random& random) {
    constexpr Block blocks[] = {Block::ring, Block::fully_connected, Block::switched};
    std::vector<Dimension> dimensions;
    for (u64 left = 1 + random.below(4); left > 0; --left) {
        dimensions.push_back({blocks[random.below(3)], static_cast<u32>(2 + random.below(4)), 1.0, 1.0, 1.0});
    }
    return Grid(dimensions);
}

void a_rank_is_its_coordinates(const Grid& grid) {
    std::set<std::vector<u32>> seen;
    for (u32 rank = 0; rank < grid.ranks(); ++rank) {
        std::vector<u32> coordinates;
        u32 sum = 0;
        for (u32 d = 0; d < grid.dimensions(); ++d) {
            coordinates.push_back(grid.coordinate(rank, d));
            check(coordinates.back() < grid.dimension(d).size, "a coordinate outside", rank);
            sum += coordinates.back() * grid.stride(d);
        }
        check(sum == rank, "coordinates of another rank", rank);
        check(seen.insert(coordinates).second, "two ranks at one place", rank);
    }
}

void a_rank_is_a_member_of_its_group(const Grid& grid, u32 d) {
    std::set<u32> members;
    for (u32 group = 0; group < grid.groups(d); ++group) {
        for (u32 at = 0; at < grid.dimension(d).size; ++at) {
            const u32 rank = grid.member(group, at, d);
            check(rank < grid.ranks() && members.insert(rank).second, "a member of two groups", rank);
            check(grid.group(rank, d) == group, "a member of another group", rank);
            check(grid.coordinate(rank, d) == at, "a member at another place", rank);
            const u32 first = grid.member(group, 0, d);
            check(grid.lowest_difference(first, rank) == (at == 0 ? grid.dimensions() : d),
                  "members that differ elsewhere", rank);
        }
    }
    check(members.size() == grid.ranks(), "ranks without a group", d);
}

void hops_are_a_distance(const Grid& grid, u32 d) {
    const Dimension& dimension = grid.dimension(d);
    for (u32 a = 0; a < dimension.size; ++a) {
        for (u32 b = 0; b < dimension.size; ++b) {
            if (a == b) {
                continue;
            }
            const u32 hops = grid.hops(d, a, b);
            check(hops > 0 && hops == grid.hops(d, b, a), "another way back", a);
            const u32 most = dimension.block == Block::ring       ? dimension.size / 2
                             : dimension.block == Block::switched ? 2
                                                                  : 1;
            check(hops <= most, "a way longer than the block", a);
            for (u32 c = 0; c < dimension.size; ++c) {
                check(c == a || c == b || hops <= grid.hops(d, a, c) + grid.hops(d, c, b),
                      "a detour is shorter", a);
            }
        }
    }
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 step = 0; step < 100; ++step) {
        const Grid grid = any_grid(random);
        a_rank_is_its_coordinates(grid);
        for (u32 d = 0; d < grid.dimensions(); ++d) {
            a_rank_is_a_member_of_its_group(grid, d);
            hops_are_a_distance(grid, d);
        }
    }
}
