// Dimension-ordered: corrects coordinates first to last, the shorter way round (Dally and Seitz,
// IEEE Trans. Computers 1987), by a direct link, else a switch of the dimension (coordinate -1
// there), else one step.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/unsupported.hpp"
#include "fabric/routing/routing.hpp"

namespace yantra {

namespace {

class DimensionOrdered final : public Routing {
public:
    DimensionOrdered(const FabricGraph& graph, const RoutingChoice& choice) : graph_(graph), seed_(choice.seed) {
        if (graph.dimensions() == 0) {
            throw std::invalid_argument(
                "routing dimension_ordered needs the coordinates of a grid, which this fabric does not have; "
                "take ecmp or shortest");
        }
        measure();
    }

    void route(const Flow& flow, const LinkLoads*, std::vector<u32>& path) override {
        path.clear();
        u32 at = flow.from;
        for (u32 d = 0; d < graph_.dimensions() && at != flow.to; ++d) {
            while (graph_.coordinate(at, d) != graph_.coordinate(flow.to, d)) {
                at = step(flow, at, d, path);
            }
        }
        if (at != flow.to) {
            at = last(flow, at, path);
        }
        if (at != flow.to) {
            stuck(flow, at, graph_.dimensions());
        }
    }

private:
    void measure() {
        size_.assign(graph_.dimensions(), 0);
        is_ring_.assign(graph_.dimensions(), false);
        for (u32 d = 0; d < graph_.dimensions(); ++d) {
            for (u32 device = 0; device < graph_.devices(); ++device) {
                size_[d] = std::max(size_[d], graph_.coordinate(device, d) + 1);
            }
            for (u32 link = 0; link < graph_.links(); ++link) {
                const i32 from = graph_.coordinate(graph_.from(link), d);
                const i32 to = graph_.coordinate(graph_.to(link), d);
                is_ring_[d] = is_ring_[d] || (from == size_[d] - 1 && to == 0);
            }
        }
    }

    bool differ_in_none_but(u32 a, u32 b, u32 dimension) const {
        for (u32 d = 0; d < graph_.dimensions(); ++d) {
            if (d != dimension && graph_.coordinate(a, d) != graph_.coordinate(b, d)) {
                return false;
            }
        }
        return true;
    }

    i32 one_step(i32 at, i32 to, u32 d) const {
        if (!is_ring_[d]) {
            return to > at ? at + 1 : at - 1;
        }
        const i32 forwards = (to - at + size_[d]) % size_[d];
        const bool backwards = size_[d] - forwards < forwards;
        return (at + (backwards ? size_[d] - 1 : 1)) % size_[d];
    }

    u32 step(const Flow& flow, u32 at, u32 d, std::vector<u32>& path) {
        const i32 here = graph_.coordinate(at, d);
        const i32 there = graph_.coordinate(flow.to, d);
        for (const i32 wanted : {there, i32{-1}, here < 0 ? there : one_step(here, there, d)}) {
            if (wanted != here && take(flow, at, path, [&](u32 next) {
                    return graph_.coordinate(next, d) == wanted && differ_in_none_but(at, next, d);
                })) {
                return graph_.to(path.back());
            }
        }
        const bool is_first = path.empty();
        if (is_first && take(flow, at, path, [&](u32 next) {
                return differ_in_none_but(at, next, none) && graph_.kind(next) == DeviceKind::switched;
            })) {
            return graph_.to(path.back());
        }
        stuck(flow, at, d);
    }

    u32 last(const Flow& flow, u32 at, std::vector<u32>& path) {
        const auto is_there = [&](u32 next) { return next == flow.to; };
        if (take(flow, at, path, is_there)) {
            return flow.to;
        }
        if (take(flow, at, path, [&](u32 next) {
                return differ_in_none_but(at, next, none) && graph_.kind(next) == DeviceKind::switched;
            })) {
            at = graph_.to(path.back());
            return take(flow, at, path, is_there) ? flow.to : at;
        }
        return at;
    }

    template <class IsWanted>
    bool take(const Flow& flow, u32 at, std::vector<u32>& path, IsWanted&& is_wanted) {
        links_.clear();
        for (u32 link : graph_.out(at)) {
            if (is_wanted(graph_.to(link))) {
                links_.push_back(link);
            }
        }
        if (links_.empty()) {
            return false;
        }
        path.push_back(links_[pick(seed_, {flow.from, flow.to, flow.number, 0}, at, links_.size())]);
        return true;
    }

    [[noreturn]] void stuck(const Flow& flow, u32 at, u32 d) const {
        throw Unsupported("the fabric: dimension_ordered from " + graph_.name(flow.from) + " to " +
                          graph_.name(flow.to) + ": " + graph_.name(at) + " has no link " +
                          (d == graph_.dimensions() ? std::string("to it")
                                                    : "along dimension " + std::to_string(d)));
    }

    const FabricGraph& graph_;
    const u64 seed_;
    std::vector<i32> size_;       // by dimension
    std::vector<bool> is_ring_;
    std::vector<u32> links_;
};

const RegisteredRouting registered_dimension_ordered({
    .name = "dimension_ordered",
    .help = "one coordinate after the other, each along the shorter way; for grids",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<DimensionOrdered>(graph, choice);
    },
    .options = {},
});

}  // namespace

}  // namespace yantra
