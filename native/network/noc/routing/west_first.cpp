// west_first: down in dimension 0 first, then any shortest way, by the port with the emptiest
// buffers (Glass and Ni, "The turn model for adaptive routing", ISCA 1992). Trade-off: half of the
// pairs have one way.
#include <memory>
#include <stdexcept>

#include "network/noc/routing.hpp"

namespace yantra::noc {

namespace {

class WestFirst final : public Routing {
public:
    WestFirst(const Shape& shape, u32 vcs) : Routing(shape, vcs) {
        if (shape.dimensions().size() != 2 || shape.wraps()) {
            throw std::invalid_argument("routing west_first: a mesh of two dimensions is expected; take xy or adaptive");
        }
    }

    void route(const Head& head, Rng&, Offers& offers) const override {
        const u32 x = shape_.coordinate(head.router, 0);
        const u32 y = shape_.coordinate(head.router, 1);
        const u32 to_x = shape_.coordinate(head.destination, 0);
        const u32 to_y = shape_.coordinate(head.destination, 1);
        const u32 along_x = to_x < x ? 1 : 0;
        const u32 along_y = to_y < y ? 3 : 2;
        const bool goes_y = to_x == x || (to_x > x && to_y != y && head.used[along_y] < head.used[along_x]);
        offers.add({all_vcs(), goes_y ? along_y : along_x, 0});
    }
};

const RegisteredRouting registered_west_first({
    "west_first",
    "west before all else, then any shortest way, on a mesh of two dimensions",
    [](const Shape& shape, u32 vcs) -> std::unique_ptr<Routing> { return std::make_unique<WestFirst>(shape, vcs); },
});

}  // namespace

}  // namespace yantra::noc
