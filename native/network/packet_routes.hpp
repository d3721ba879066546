// PacketRoutes: what messages between two places cross, found once. Trade-off: memory for each pair
// that communicates.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/variant.hpp"
#include "network/formula_tiers.hpp"
#include "network/packet/simulator.hpp"
#include "network/ways.hpp"

namespace yantra::inline YANTRA_RUN {

class PacketRoutes {
public:
    // Of the simulator, but for `formula`.
    struct OfPair {
        u32 data = 0;
        u32 acks = 0;
        u32 first_way = 0;
        u32 ways = 0;
        u32 target = none;    // if packets choose at each device
        u32 formula = none;   // for by_formula(), if all links go by formula
    };
    struct FormulaWay {
        FormulaTiers::Stretch stretch;
        std::vector<u32> links;
    };

    // Throws std::invalid_argument if receivers take packets only in order, and they may part.
    PacketRoutes(Ways& ways, const FormulaTiers& tiers, packet::Simulator& simulator, u32 entropies);

    const OfPair& between(u32 from, u32 to);
    bool knows(u32 from, u32 to) const { return of_pair_.contains(u64{from} << 32U | to); }
    const FormulaWay& by_formula(const OfPair& of) const { return formula_ways_[of.formula]; }
    // The links avoided have changed.
    void forget() {
        of_pair_.clear();
        if (steering_ != nullptr) {
            steering_->forget();
        }
    }

    template <class Crosses>
    bool any_of(const OfPair& of, Crosses&& crosses) const {
        const packet::Routes& all = simulator_.routes();
        bool found = crosses(all.links_of(of.data)) || crosses(all.links_of(of.acks));
        for (u32 way = 0; way < of.ways && !found; ++way) {
            found = crosses(all.links_of(all.way(of.first_way + way)));
        }
        return found;
    }

private:
    struct ByWays final : packet::Chooser {
        explicit ByWays(Ways& ways) : of(ways) {}
        u32 region(u32 from, u32 to) override { return of.region(from, to); }
        void next(u32 from, u32 to, u32 device, std::vector<u32>& links) override { of.next(from, to, device, links); }
        u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads& loads) override {
            return of.choose(flow, device, links, loads);
        }
        Ways& of;
    };

    bool is_by_formula(OfPair& made);
    void spray(u32 from, u32 to, OfPair& made);

    Ways& ways_;
    ByWays chooser_;
    packet::Steering* steering_ = nullptr;   // if packets choose at each device
    const FormulaTiers& tiers_;
    packet::Simulator& simulator_;
    const u32 entropies_;
    std::unordered_map<u64, OfPair> of_pair_;   // by places
    std::vector<FormulaWay> formula_ways_;
    std::vector<u32> path_;
};

}  // namespace yantra
