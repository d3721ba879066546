#include "network/noc/wires.hpp"

#include <algorithm>

namespace yantra::noc {

namespace {

constexpr u32 node_channel_cycles = 1;   // between a node and its router

}  // namespace

Wires::Wires(const Layout& layout, const Shape& shape, const RouterTimes& times)
    : layout_(layout), inject_cycles_(1 + node_channel_cycles + times.arrival) {
    u32 longest = inject_cycles_;
    for (u32 router = 0; router < shape.routers(); ++router) {
        for (u32 port = 0; port < shape.ports(); ++port) {
            const bool is_local = port >= shape.first_local();
            const u32 beside = is_local ? none : shape.neighbour(router, port);
            const u32 cycles = is_local ? node_channel_cycles : shape.dimensions()[port / 2].link_cycles;
            const PortId far = beside == none ? PortId::none : layout.port(RouterId(beside), port ^ 1u);
            const u32 out = times.after_switch + cycles + (is_local ? 0 : times.arrival);
            far_ends_.add(far);
            upstream_.add(is_local ? layout.source(shape.node_at(router, port)) : far);
            out_cycles_.add(out);
            credit_cycles_.add(1 + cycles);
            longest = std::max({longest, out, 1 + cycles});
        }
    }
    slots_.resize(std::bit_ceil(u64{longest} + 1));
}

}  // namespace yantra::noc
