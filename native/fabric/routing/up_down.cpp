// Up/down: up from the ranks, then down, so that no cycle can deadlock (Schroeder et al.,
// "Autonet", IEEE JSAC 1991). Up is further from the nearest rank. Of the ways with fewest hops,
// one by hash. A way may not exist.
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"
#include "fabric/routing/hop_by_hop.hpp"

namespace yantra {

namespace {

struct UpDownField {
    std::vector<u16> down;    // only over links down
    std::vector<u16> any;     // up, then down
    std::size_t bytes() const { return (down.size() + any.size()) * sizeof(u16); }
};

constexpr u16 far = 0xffff;

class UpDown final : public HopByHop {
public:
    UpDown(const FabricGraph& graph, const RoutingChoice& choice) : HopByHop(graph, choice) { find_heights(); }

    void route(const Flow& flow, const LinkLoads*, std::vector<u32>& path) override {
        path.clear();
        if (flow.from == flow.to) {
            return;
        }
        Region& region = region_of(flow);
        u32 at = flow.from;
        if (region.hangs_on(at) != none) {
            at = take(region.up_links(at), flow, at, path);
        }
        const bool hangs = region.hangs_on(flow.to) != none;
        climb(region, at, hangs ? region.hangs_on(flow.to) : flow.to, flow, path);
        if (hangs && path_end(path, flow) != flow.to) {
            take(region.down_links(flow.to), flow, region.hangs_on(flow.to), path);
        }
    }

private:
    u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads*) override {
        return pick(seed_, {flow.from, flow.to, flow.number, 0}, device, links.size());
    }
    u32 take(std::span<const u32> links, const Flow& flow, u32 device, std::vector<u32>& path) {
        path.push_back(links[choose(flow, device, links, nullptr)]);
        return graph_.to(path.back());
    }
    u32 path_end(const std::vector<u32>& path, const Flow& flow) const {
        return path.empty() ? flow.from : graph_.to(path.back());
    }

    void find_heights() {
        height_.assign(graph_.devices(), none);
        std::vector<u32> found;
        for (u32 rank = 0; rank < graph_.ranks(); ++rank) {
            height_[rank] = 0;
            found.push_back(rank);
        }
        for (std::size_t at = 0; at < found.size(); ++at) {
            for (u32 link : graph_.out(found[at])) {
                const u32 next = graph_.to(link);
                if (height_[next] == none) {
                    height_[next] = height_[found[at]] + 1;
                    found.push_back(next);
                }
            }
        }
    }
    bool is_up(u32 link) const {
        const u32 from = graph_.from(link);
        const u32 to = graph_.to(link);
        return height_[to] != height_[from] ? height_[to] > height_[from] : to < from;
    }

    UpDownField search(const Region& region, u32 to) const {
        UpDownField field;
        field.down.assign(region.relays(), far);
        field.any.assign(region.relays(), far);
        field.down[to] = field.any[to] = 0;
        std::vector<std::pair<u32, bool>> found{{to, true}, {to, false}};   // whether only links down are left
        for (std::size_t next = 0; next < found.size(); ++next) {
            const auto [at, goes_down] = found[next];
            const u16 hops = static_cast<u16>((goes_down ? field.down : field.any)[at] + 1);
            for (const Region::Hop& hop : region.in(at)) {
                const bool up = is_up(hop.link);
                if (!up && goes_down && field.down[hop.device] == far) {
                    field.down[hop.device] = hops;
                    found.push_back({hop.device, true});
                }
                if (up != goes_down && field.any[hop.device] == far) {
                    field.any[hop.device] = hops;
                    found.push_back({hop.device, false});
                }
            }
        }
        return field;
    }

    void climb(Region& region, u32 from, u32 to, const Flow& flow, std::vector<u32>& path) {
        FieldCache<UpDownField>& cache = caches_.try_emplace(&region, region.relays()).first->second;
        const UpDownField& field =
            cache.get(region.number(to), [&](u32 number) { return search(region, number); });
        u32 at = region.number(from);
        if (field.any[at] == far) {
            throw Unsupported("the fabric: no way from " + graph_.name(flow.from) + " to " + graph_.name(flow.to) +
                              " goes up and then down; take another routing, as shortest");
        }
        bool goes_down = false;
        for (const u32 end = region.number(to); at != end;) {
            const u32 left = (goes_down ? field.down : field.any)[at] - 1u;
            links_.clear();
            for (const Region::Hop& hop : region.out(at)) {
                const bool up = is_up(hop.link);
                if (up ? !goes_down && field.any[hop.device] == left : field.down[hop.device] == left) {
                    links_.push_back(hop.link);
                }
            }
            const u32 link = links_[choose(flow, region.relay(at), links_, nullptr)];
            goes_down = goes_down || !is_up(link);
            path.push_back(link);
            at = region.number(graph_.to(link));
        }
    }

    std::vector<u32> height_;   // by device: hops to the nearest rank
    std::unordered_map<const Region*, FieldCache<UpDownField>> caches_;
    std::vector<u32> links_;
};

const RegisteredRouting registered_up_down({
    .name = "up_down",
    .help = "up, then down, of the ways with the fewest hops one by a hash of the flow; free of deadlock",
    .make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        return std::make_unique<UpDown>(graph, choice);
    },
    .by_hash = true,
    .options = {HopByHop::stay_in_box()},
});

}  // namespace

}  // namespace yantra
