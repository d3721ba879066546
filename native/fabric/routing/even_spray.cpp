// Even spray: divides a flow evenly among all cheapest ways: the average of spraying packets
// (Dixit, Prakash, Hu and Kompella, INFOCOM 2013). Trade-off: no chance collisions, but flows with
// many links.
#include <functional>
#include <map>
#include <utility>

#include "base/hash.hpp"
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

constexpr std::size_t most_remembered = 4'000'000;   // links, of 12 bytes

class EvenSpray final : public HopByHop {
public:
    using HopByHop::HopByHop;

    void divide(const Flow& flow, Division& into) override {
        into = {};
        Region& region = region_of(flow);
        u32 from = flow.from;
        while (from != flow.to) {   // as long as only one link leads on
            const std::span<const u32> next = region.next(from, flow.to);
            if (next.size() != 1) {
                break;
            }
            add(next, 1.0, into);
            from = graph_.to(next[0]);
        }
        if (from == flow.to) {
            return;
        }
        const u32 last = region.last(from, flow.to);
        const Division& middle = known(region, from, last == none ? flow.to : graph_.from(last));
        into.links.insert(into.links.end(), middle.links.begin(), middle.links.end());
        into.parts.insert(into.parts.end(), middle.parts.begin(), middle.parts.end());
        if (last != none) {
            add({&last, 1}, 1.0, into);
        }
    }

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads*) override {
        return pick(seed_, flow, device, links.size());
    }

    static void add(std::span<const u32> links, double part, Division& into) {
        into.links.insert(into.links.end(), links.begin(), links.end());
        into.parts.insert(into.parts.end(), links.size(), part / static_cast<double>(links.size()));
    }

    const Division& known(Region& region, u32 from, u32 to) {
        if (remembered_ > most_remembered) {
            known_.clear();
            remembered_ = 0;
        }
        const auto [found, is_new] = known_.try_emplace({&region, u64{from} << 32U | to});
        if (is_new) {
            found->second = between(region, from, to);
            remembered_ += found->second.links.size() + 4;
        }
        return found->second;
    }

    Division between(Region& region, u32 from, u32 to) {
        Division into;
        std::map<std::pair<double, u32>, double, std::greater<>> parts;   // by cost to the end, and device
        if (from != to) {
            parts[{region.cost(from, to), from}] = 1.0;
        }
        while (!parts.empty()) {
            const auto [at, part] = *parts.begin();
            parts.erase(parts.begin());
            const std::span<const u32> next = region.next(at.second, to);
            if (next.empty()) {
                no_way(from, to);
            }
            const std::size_t begin = into.links.size();
            add(next, part, into);
            for (std::size_t hop = begin; hop < into.links.size(); ++hop) {
                if (const u32 device = graph_.to(into.links[hop]); device != to) {
                    parts[{region.cost(device, to), device}] += into.parts[hop];
                }
            }
        }
        return into;
    }

    struct HashOfEnds {
        std::size_t operator()(const std::pair<const Region*, u64>& of) const {
            return mix(of.second, reinterpret_cast<std::uintptr_t>(of.first));
        }
    };
    std::unordered_map<std::pair<const Region*, u64>, Division, HashOfEnds> known_;
    std::size_t remembered_ = 0;
};

const RegisteredRouting registered_even_spray({
    .name = "even_spray",
    .help = "a flow divided evenly among the ways of least weight; where only packets are known, as spray",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<EvenSpray>(graph, choice);
    },
    .by_packet = true,
    .divides = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
