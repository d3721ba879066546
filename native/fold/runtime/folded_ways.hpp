// FoldedWays: one link for each class of links, for a network that shares them
// (fold/flow_partition.hpp). Messages of one pair in one tick clash. Trade-off: only pairs that the
// search knew have ways.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "fold/flow_classes.hpp"
#include "network/ways.hpp"

namespace yantra::inline YANTRA_RUN {

class FoldedWays final : public Ways {
public:
    using Clash = std::function<void(u32 from, u32 to)>;

    FoldedWays(const Model& model, const Grid& grid, const FlowClasses& classes, Clash clash)
        : Ways(model.network, grid), classes_(classes), clash_(std::move(clash)) {}

    u32 links() const override { return static_cast<u32>(classes_.one_of.size()); }
    u32 one_of(u32 of_class) const override { return classes_.one_of[of_class]; }
    u32 place(RankId rank) const override { return rank.index(); }
    const std::vector<u32>* class_of() const override { return &classes_.class_of; }
    void came_at_once(u32 from, u32 to) override { clash_(from, to); }

    void find(u32 from, u32 to, u32 /*packet*/, const LinkLoads* /*loads*/, Way& way) override {
        const auto found = classes_.ways.find(FlowClasses::pair(from, to));
        ensure(found != classes_.ways.end(), "a message between ranks that were not to send any");
        way = found->second;
    }

    std::vector<LinkUse> uses(const std::vector<LinkUse>& of_classes) const override {
        std::vector<LinkUse> sums(groups());
        for (u32 of_class = 0; of_class < of_classes.size(); ++of_class) {
            LinkUse& sum = sums[group(of_class)];
            sum.bytes += of_classes[of_class].bytes * classes_.count[of_class];
            sum.messages += of_classes[of_class].messages * classes_.count[of_class];
            sum.busy_ticks += of_classes[of_class].busy_ticks * classes_.count[of_class];
        }
        return sums;
    }
    std::vector<LinkRecord> records(const std::vector<LinkUse>& of_classes) const override {
        std::vector<LinkUse> of_links(Ways::links());
        for (u32 link = 0; link < of_links.size(); ++link) {
            const u32 of_class = classes_.class_of[link];
            of_links[link] = of_class == none ? LinkUse{} : of_classes[of_class];
        }
        return Ways::records(of_links);
    }

private:
    const FlowClasses& classes_;
    const Clash clash_;
};

}  // namespace yantra
