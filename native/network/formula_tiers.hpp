// FormulaTiers: the links that messages cross by formula, whatever the network of the others is.
//
// Links of some labels (NetworkParameters::formula_groups). A message crosses such links that follow each other in
// the sum of their latencies + its bytes over the rate of the narrowest, and never waits there.
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
    // The links by formula with which a way begins.
    Stretch stretch(const Ways& ways, std::span<const u32> way) const {
        Stretch of;
        for (; of.links < way.size() && has(way[of.links]); ++of.links) {
            of.latency_ns += ways.latency_ns(way[of.links]);
            of.bytes_per_ns = std::min(of.bytes_per_ns, ways.bytes_per_ns(way[of.links]));
        }
        return of;
    }

    // For who sends bytes over a way as they come: links by formula add latency alone where they are no narrower
    // than the others. Unsupported where they are.
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
