// Every routing is without circles on every shape that it takes; wrong ones are found out.
// needs: network/noc, network/noc/routing
#include "network/noc/circle.hpp"

#include <stdexcept>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::noc;
using test::check;

std::vector<Shape> shapes() {
    return {
        Shape({{4, false, 1}, {4, false, 1}}, 1), Shape({{4, true, 1}, {4, true, 1}}, 1), Shape({{5, true, 1}}, 1),
        Shape({{2, true, 1}, {3, true, 1}}, 1),   Shape({{5, false, 1}, {3, true, 1}}, 2), Shape({{8, true, 1}}, 1),
        Shape({{3, false, 1}, {3, false, 1}, {3, false, 1}}, 1),
    };
}

class NoDateline final : public Routing {
public:
    using Routing::Routing;
    void route(const Head& head, Rng& random, Offers& offers) const override {
        offers.add({all_vcs(), dimension_order_port(shape_, head, true, random), 0});
    }
};

class AllTurns final : public Routing {
public:
    using Routing::Routing;
    void route(const Head& head, Rng& random, Offers& offers) const override {
        for (u32 dimension = 0; dimension < 2; ++dimension) {
            const u32 from = shape_.coordinate(head.router, dimension);
            const u32 to = shape_.coordinate(head.destination, dimension);
            if (from != to) {
                offers.add({all_vcs(), 2 * dimension + (to > from ? 0 : 1), static_cast<u32>(random.below(2))});
            }
        }
    }
    u32 most_offers() const override { return 2; }
};

void registered_routings_have_no_circles() {
    u64 looked_at = 0;
    for (const RoutingKind& kind : routings()) {
        u64 of_kind = 0;
        for (const Shape& shape : shapes()) {
            for (u32 vcs = 1; vcs <= 5; ++vcs) {
                std::unique_ptr<Routing> routing;
                try {
                    routing = kind.make(shape, vcs);
                } catch (const std::invalid_argument&) {
                    continue;
                }
                const CircleFound found = find_circle(*routing, shape, vcs);
                check(found.circle.empty(), kind.name.c_str(), looked_at);
                check(!found.lacks_escapes && !found.leaves_shape, kind.name.c_str(), looked_at);
                ++of_kind;
                ++looked_at;
            }
        }
        check(of_kind > 0, "a routing that takes none of the shapes", looked_at);
    }
    check(routings().size() >= 3, "the routings that this test links", 0);
}

// Walks as the first offer says.
void ways_are_shortest() {
    Rng random(1, 2, 3);
    const std::vector<u32> used(16, 0);
    for (const RoutingKind& kind : routings()) {
        for (const Shape& shape : shapes()) {
            std::unique_ptr<Routing> routing;
            try {
                routing = kind.make(shape, 4);
            } catch (const std::invalid_argument&) {
                continue;
            }
            std::vector<Offer> offers(routing->most_offers());
            for (u32 from = 0; from < shape.routers(); ++from) {
                for (u32 to = 0; to < shape.routers(); ++to) {
                    u8 half = 0;
                    u32 port = shape.first_local();
                    u32 steps = 0;
                    for (u32 at = from; at != to; ++steps) {
                        u32 count = 0;
                        Offers filled(offers.data(), count);
                        routing->route({at, to, port, 3, half, used.data()}, random, filled);
                        check(count > 0 && steps < 64, kind.name.c_str(), from);
                        at = shape.neighbour(at, offers[0].port);
                        port = offers[0].port ^ 1u;
                    }
                    check(steps == shape.hops(from, to), kind.name.c_str(), from);
                }
            }
        }
    }
}

void wrong_routings_are_found_out() {
    const Shape ring({{5, true, 1}}, 1);
    check(find_circle(NoDateline(ring, 2), ring, 2).circle.size() >= 3, "a ring without a dateline", 0);
    const Shape line({{5, false, 1}}, 1);
    check(find_circle(NoDateline(line, 1), line, 1).circle.empty(), "a line has no circle", 0);
    const Shape mesh({{3, false, 1}, {3, false, 1}}, 1);
    check(find_circle(AllTurns(mesh, 2), mesh, 2).circle.size() >= 4, "all turns of a mesh", 0);
}

}  // namespace

int main() {
    registered_routings_have_no_circles();
    ways_are_shortest();
    wrong_routings_are_found_out();
}
