// A message arrives by the fewest links, each beginning where the last ended.
// needs: fabric/grid.cpp, fabric/table.cpp
#include <vector>

#include "fabric/links.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

Grid any_grid(test::Random& random) {
    constexpr Block blocks[] = {Block::ring, Block::fully_connected, Block::switched};
    std::vector<Dimension> dimensions;
    for (u64 left = 1 + random.below(3); left > 0; --left) {
        dimensions.push_back({blocks[random.below(3)], static_cast<u32>(2 + random.below(5)), 1.0, 1.0, 1.0});
    }
    return Grid(dimensions);
}

u32 slow_hops(const Dimension& dimension, u32 from, u32 to) {
    const u32 size = dimension.size;
    std::vector<u32> hops(size + 1, none);
    std::vector<u32> found{from};
    hops[from] = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const u32 at = found[i];
        for (u32 next = 0; next <= size; ++next) {
            const bool is_ring = next < size && ((at + 1) % size == next || (next + 1) % size == at);
            const bool linked = dimension.block == Block::switched ? (at == size) != (next == size)
                                : dimension.block == Block::ring   ? is_ring
                                                                   : next < size;
            if (linked && hops[next] == none) {
                hops[next] = hops[at] + 1;
                found.push_back(next);
            }
        }
    }
    return hops[to];
}

u32 slow_hops(const Grid& grid, u32 from, u32 to) {
    u32 sum = 0;
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        const u32 hops = slow_hops(grid.dimension(d), grid.coordinate(from, d), grid.coordinate(to, d));
        check(grid.coordinate(from, d) == grid.coordinate(to, d) ||
                  grid.hops(d, grid.coordinate(from, d), grid.coordinate(to, d)) == hops,
              "a block is crossed in another number of hops", from);
        sum += hops;
    }
    return sum;
}

void arrives(const Grid& grid, const Links& links, u32 from, u32 to) {
    Links::Stop stop{from, none};
    u32 hops = 0;
    while (!stop.is(to)) {
        const Links::Stop before = stop;
        const u32 link = links.next(stop, to);
        check(link < links.count(), "a link that is not there", link);
        const auto [begin, end] = links.ends_of(link);
        check(begin == (before.in_switch_of == none ? before.at : none), "a link from elsewhere", link);
        check(end == (stop.in_switch_of == none ? stop.at : none), "a link to elsewhere", link);
        check(++hops <= 100, "a message goes round", from);
    }
    check(hops == slow_hops(grid, from, to), "a way of another length", from);
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 step = 0; step < 60; ++step) {
        const Grid grid = any_grid(random);
        const Links links(grid);
        for (u32 from = 0; from < grid.ranks(); ++from) {
            for (u32 to = 0; to < grid.ranks(); ++to) {
                if (from != to) {
                    arrives(grid, links, from, to);
                }
            }
        }
    }
}
