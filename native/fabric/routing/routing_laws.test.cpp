// Every registered routing keeps the laws, and wrong ones break the law named.
//
// needs: fabric, fabric/routing
#include "fabric/routing/routing_laws.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include "base/test.hpp"
#include "fabric/routing/hop_by_hop.hpp"

namespace {

using namespace yantra;
using test::check;

enum class Fault : u8 { none_at_all, fickle, by_packet, by_load, stops_early, circles, no_way_is_a_way, loses_parts, refuses };

template <Fault fault>
class Wrong final : public HopByHop {
public:
    using HopByHop::HopByHop;

    void route(const Flow& flow, const LinkLoads* loads, std::vector<u32>& path) override {
        if (fault == Fault::no_way_is_a_way && graph_.out(flow.to).empty()) {
            path.clear();
            return;
        }
        HopByHop::route(flow, loads, path);
        if (fault == Fault::stops_early && path.size() > 2) {
            path.pop_back();
        } else if (fault == Fault::circles && path.size() > 2) {
            const u32 back = path.front() ^ 1U;   // links of a pair follow each other
            const u32 there = path.front();
            path.insert(path.begin(), back);
            path.insert(path.begin(), there);
        }
    }

    void divide(const Flow& flow, Division& into) override {
        HopByHop::route(flow, nullptr, into.links);
        into.parts.assign(into.links.size(), 0.5);
    }

private:
    u32 choose(const Flow& flow, u32, std::span<const u32> links, const LinkLoads* loads) override {
        const auto count = static_cast<u32>(links.size());
        if (fault == Fault::fickle) {
            return ++asked_ % count;
        }
        if (fault == Fault::by_packet) {
            return flow.packet % count;
        }
        if (fault == Fault::by_load && loads != nullptr && loads->load(links[0]) > 0.0) {
            return 1;
        }
        return 0;
    }

    u32 asked_ = 0;
};

template <Fault fault>
void is_caught(const std::string& law) {
    RoutingKind wrong;
    wrong.name = "wrong_" + law;
    wrong.make = [](const FabricGraph& graph, const RoutingChoice& choice) -> std::unique_ptr<Routing> {
        if (fault == Fault::refuses) {
            throw std::invalid_argument("it needs a fabric that nobody has");
        }
        return std::make_unique<Wrong<fault>>(graph, choice);
    };
    wrong.divides = fault == Fault::loses_parts;
    const std::string broken = broken_law(wrong);
    check(law.empty() ? broken.empty() : broken.rfind(law + ":", 0) == 0, (law + ", not " + broken).c_str(), 0);
}

}  // namespace

int main() {
    check(routing_kinds().size() >= 7, "routings are missing", routing_kinds().size());
    for (const RoutingKind& kind : routing_kinds()) {
        const std::string broken = broken_law(kind);
        check(broken.empty(), (kind.name + " breaks " + broken).c_str(), 0);
        std::printf("%s\n", kind.name.c_str());
    }
    is_caught<Fault::none_at_all>("");
    is_caught<Fault::fickle>("a_path_depends_on_its_flow_alone");
    is_caught<Fault::by_packet>("packets_stay_together");
    is_caught<Fault::by_load>("loads_do_not_matter");
    is_caught<Fault::stops_early>("a_path_joins_its_ends");
    is_caught<Fault::circles>("no_link_comes_twice");
    is_caught<Fault::no_way_is_a_way>("where_there_is_no_way_it_says_so");
    is_caught<Fault::loses_parts>("a_divided_flow_arrives_whole");
    is_caught<Fault::refuses>("it_runs_on_a_fabric");
}
