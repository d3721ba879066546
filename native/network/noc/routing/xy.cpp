// xy: dimension order, lowest first; a ring's VCs are halved at the dateline (Dally and Seitz
// 1987). Trade-off: one way a pair.
#include <memory>
#include <stdexcept>
#include <string>

#include "network/noc/routing.hpp"

namespace yantra::noc {

namespace {

class Xy final : public Routing {
public:
    Xy(const Shape& shape, u32 vcs) : Routing(shape, vcs), is_halved_(shape.wraps()) {
        if (is_halved_ && vcs < 2) {
            throw std::invalid_argument("routing xy: on a ring, packets on both sides of the dateline need VCs of "
                                        "their own; take vcs 2 or more, not " + std::to_string(vcs));
        }
    }

    void route(const Head& head, Rng& random, Offers& offers) const override {
        const u32 port = dimension_order_port(shape_, head, true, random);
        const bool is_ring = is_halved_ && shape_.dimensions()[port / 2].wraps;
        offers.add({is_ring ? half_of(all_vcs(), vcs_, head.half) : all_vcs(), port, 0});
    }

private:
    bool is_halved_;
};

const RegisteredRouting registered_xy({
    "xy",
    "dimension order, with two halves of the VCs on rings",
    [](const Shape& shape, u32 vcs) -> std::unique_ptr<Routing> { return std::make_unique<Xy>(shape, vcs); },
});

}  // namespace

}  // namespace yantra::noc
