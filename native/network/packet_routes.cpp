#include "network/packet_routes.hpp"

#include <map>

namespace yantra::inline YANTRA_RUN {

PacketRoutes::PacketRoutes(Ways& ways, const FormulaTiers& tiers, packet::Simulator& simulator, u32 entropies)
    : ways_(ways), chooser_(ways), tiers_(tiers), simulator_(simulator), entropies_(entropies) {
    if (ways_.by_packet()) {
        simulator_.add_ways({});
    }
    if (ways_.by_load()) {
        steering_ = &simulator_.steer_by(chooser_);
    }
}

const PacketRoutes::OfPair& PacketRoutes::between(u32 from, u32 to) {
    const u64 pair = u64{from} << 32U | to;
    const auto found = of_pair_.find(pair);
    if (found != of_pair_.end()) {
        return found->second;
    }
    OfPair made;
    ways_.route(from, to, 0, nullptr, path_);
    if (is_by_formula(made)) {
        return of_pair_[pair] = made;
    }
    ways_.route(to, from, 0, nullptr, path_);
    made.acks = simulator_.add_route(path_);
    ways_.route(from, to, 0, nullptr, path_);
    made.data = simulator_.add_route(path_);
    if (ways_.by_packet()) {
        spray(from, to, made);
    }
    if (steering_ != nullptr) {
        made.target = steering_->target(from, to);
    }
    return of_pair_[pair] = made;
}

bool PacketRoutes::is_by_formula(OfPair& made) {
    if (!tiers_.any()) {
        return false;
    }
    const FormulaTiers::Stretch stretch = tiers_.stretch(ways_, path_);
    if (stretch.links < path_.size()) {
        tiers_.check(ways_, path_);
        return false;
    }
    made.formula = static_cast<u32>(formula_ways_.size());
    formula_ways_.push_back({stretch, path_});
    return true;
}

// Those that leave by another port than the first are left out.
void PacketRoutes::spray(u32 from, u32 to, OfPair& made) {
    std::map<std::vector<u32>, u32> found = {{path_, made.data}};
    std::vector<u32> routes = {made.data};
    const u32 port = path_[0];
    for (u32 packet = 1; packet < entropies_; ++packet) {
        ways_.route(from, to, packet, nullptr, path_);
        if (path_[0] == port && found.emplace(path_, 0).second) {
            routes.push_back(simulator_.add_route(path_));
        }
    }
    made.first_way = simulator_.add_ways(routes);
    made.ways = static_cast<u32>(routes.size());
}

}  // namespace yantra
