// adaptive: any shortest way, with escape VCs in dimension order (Duato, IEEE TPDS 1993): VC 0, on
// rings VC 1 for the other half. Packets of several flits take only empty VCs. Trade-off: it needs
// more VCs than xy.
#include <memory>
#include <stdexcept>
#include <string>

#include "network/noc/routing.hpp"

namespace yantra::noc {

namespace {

class Adaptive final : public Routing {
public:
    Adaptive(const Shape& shape, u32 vcs) : Routing(shape, vcs), escapes_(shape.wraps() ? 2 : 1) {
        if (vcs <= escapes_) {
            throw std::invalid_argument("routing adaptive: " + std::to_string(escapes_ + 1) +
                                        " or more vcs are expected, of which " + std::to_string(escapes_) +
                                        " for escapes, not " + std::to_string(vcs));
        }
    }

    void route(const Head& head, Rng& random, Offers& offers) const override {
        const bool is_inside = head.in_port < shape_.first_local();
        const bool has_escaped = is_inside && head.in_vc < escapes_;
        if (!has_escaped) {
            offer_shortest(head, offers);
        }
        const u32 port = dimension_order_port(shape_, head, has_escaped, random);
        const bool is_ring = shape_.dimensions()[port / 2].wraps;
        offers.add({is_ring && head.half == 1 ? u64{2} : u64{1}, port, 0});
    }

    u32 most_offers() const override { return static_cast<u32>(2 * shape_.dimensions().size() + 1); }
    bool takes_empty_vcs() const override { return true; }
    u64 escape_vcs() const override { return escapes_ == 2 ? 3 : 1; }

private:
    // The emptiest port first.
    void offer_shortest(const Head& head, Offers& offers) const {
        const u64 vcs = all_vcs() & ~escape_vcs();
        for (u32 dimension = 0; dimension < shape_.dimensions().size(); ++dimension) {
            const u32 from = shape_.coordinate(head.router, dimension);
            const u32 to = shape_.coordinate(head.destination, dimension);
            if (from == to) {
                continue;
            }
            const auto [size, wraps, cycles] = shape_.dimensions()[dimension];
            const u32 up = to > from ? to - from : to + size - from;
            if (wraps ? 2 * up <= size : to > from) {
                offers.add({vcs, 2 * dimension, priority(head, 2 * dimension)});
            }
            if (wraps ? 2 * up >= size : to < from) {
                offers.add({vcs, 2 * dimension + 1, priority(head, 2 * dimension + 1)});
            }
        }
    }

    static u32 priority(const Head& head, u32 port) {
        constexpr u32 highest = 0xffffffffu;
        return highest - head.used[port];
    }

    u32 escapes_;
};

const RegisteredRouting registered_adaptive({
    "adaptive",
    "any shortest way, with VCs to escape by in dimension order",
    [](const Shape& shape, u32 vcs) -> std::unique_ptr<Routing> { return std::make_unique<Adaptive>(shape, vcs); },
});

}  // namespace

}  // namespace yantra::noc
