#include "network/noc/inputs.hpp"

namespace yantra::noc {

void Inputs::settle(RouterId router, u64 ports) {
    u64 busy = 0;
    for (u64 left = ports; left != 0; left &= left - 1) {
        const auto port = static_cast<u32>(std::countr_zero(left));
        busy |= u64{states_[layout_.port(router, port)].is_idle() ? 0u : 1u} << port;
    }
    busy_ports_[router] = busy;
}

void Inputs::step_done() {
    std::size_t kept = 0;
    for (const RouterId router : awake_) {
        if (busy_ports_[router] != 0) {
            awake_[kept++] = router;
        } else {
            is_awake_[router] = 0;
        }
    }
    awake_.resize(kept);
}

}  // namespace yantra::noc
