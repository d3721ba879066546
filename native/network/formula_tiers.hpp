// FormulaTiers: links crossed by formula, by label (NetworkParameters::formula_groups): the sum of
// latencies + bytes over the narrowest rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/unsupported.hpp"
#include "base/variant.hpp"
#include "network/parameters.hpp"
#include "network/ways.hpp"

namespace yantra::inline YANTRA_RUN {

class FormulaTiers {
public:
    FormulaTiers(const NetworkParameters& parameters, const Ways& ways) {
        if (parameters.formula_groups.empty()) {
            return;
        }
        by_formula_.resize(ways.links());
        for (u32 link = 0; link < ways.links(); ++link) {
            by_formula_[link] = parameters.formula_groups[ways.group(link)];
        }
    }

    bool any() const { return !by_formula_.empty(); }
    bool has(u32 link) const { return !by_formula_.empty() && by_formula_[link]; }
    const std::vector<bool>& links() const { return by_formula_; }

    struct Stretch {
        std::size_t links = 0;
        double latency_ns = 0.0;
        double bytes_per_ns = std::numeric_limits<double>::infinity();
    };
    Stretch stretch(const Ways& ways, std::span<const u32> way) const {
        Stretch of;
        for (; of.links < way.size() && has(way[of.links]); ++of.links) {
            of.latency_ns += ways.latency_ns(way[of.links]);
            of.bytes_per_ns = std::min(of.bytes_per_ns, ways.bytes_per_ns(way[of.links]));
        }
        return of;
    }

    // Throws Unsupported if formula links are narrower than the others.
    void check(const Ways& ways, std::span<const u32> way) const {
        double formula = std::numeric_limits<double>::infinity();
        double others = std::numeric_limits<double>::infinity();
        for (u32 link : way) {
            double& least = has(link) ? formula : others;
            least = std::min(least, ways.bytes_per_ns(link));
        }
        if (formula < others && std::isfinite(others)) {
            refuse();
        }
    }
    [[noreturn]] static void refuse() {
        throw Unsupported("tier_networks: a message crosses a link by formula that is slower than all links it "
                          "shares, so the formula would not hold; take a tier that is at least as fast as those beyond it");
    }

private:
    std::vector<bool> by_formula_;
};

}  // namespace yantra
