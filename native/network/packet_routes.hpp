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
        u32 formula = none;   // for by_formula(), if all links go by formula
    };
    struct FormulaWay {
        FormulaTiers::Stretch stretch;
        std::vector<u32> links;
    };

    PacketRoutes(Ways& ways, const FormulaTiers& tiers, packet::Simulator& simulator, u32 entropies)
        : ways_(ways), tiers_(tiers), simulator_(simulator), entropies_(entropies) {}

    const OfPair& between(u32 from, u32 to);
    const FormulaWay& by_formula(const OfPair& of) const { return formula_ways_[of.formula]; }
    // The links avoided have changed.
    void forget() { of_pair_.clear(); }

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
    bool is_by_formula(OfPair& made);
    void spray(u32 from, u32 to, OfPair& made);

    Ways& ways_;
    const FormulaTiers& tiers_;
    packet::Simulator& simulator_;
    const u32 entropies_;
    std::unordered_map<u64, OfPair> of_pair_;   // by places
    std::vector<FormulaWay> formula_ways_;
    std::vector<u32> path_;
};

}  // namespace yantra
