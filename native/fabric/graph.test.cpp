// A graph lists every link once where it begins and once where it ends, and refuses invalid ones.
#include "fabric/graph.hpp"

#include <functional>
#include <stdexcept>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

FabricColumns any_columns(test::Random& random) {
    FabricColumns columns;
    columns.ranks = static_cast<u32>(2 + random.below(8));
    columns.kinds.assign(columns.ranks, 0);
    columns.kinds.insert(columns.kinds.end(), random.below(5), 1);
    columns.labels = {"a", "b"};
    const u64 devices = columns.kinds.size();
    for (u64 link = random.below(40); link > 0; --link) {
        const u64 from = random.below(devices);
        columns.from.push_back(static_cast<u32>(from));
        columns.to.push_back(static_cast<u32>((from + 1 + random.below(devices - 1)) % devices));
        columns.bytes_per_ns.push_back(static_cast<double>(1 + random.below(9)));
        columns.latency_ns.push_back(static_cast<double>(random.below(9)));
        columns.buffer_bytes.push_back(random.below(9));
        columns.label.push_back(static_cast<u32>(random.below(2)));
        columns.weight.push_back(1.0);
    }
    return columns;
}

void lists_every_link_at_both_ends(const FabricGraph& graph) {
    std::vector<u32> seen(graph.links());
    for (u32 device = 0; device < graph.devices(); ++device) {
        u32 before = 0;
        for (u32 link : graph.out(device)) {
            check(graph.from(link) == device && link >= before, "a link out of its place", link);
            before = link;
            seen[link] += 1;
        }
        for (u32 link : graph.in(device)) {
            check(graph.to(link) == device, "a link that ends elsewhere", link);
            seen[link] += 2;
        }
    }
    for (u32 link = 0; link < graph.links(); ++link) {
        check(seen[link] == 3, "a link that is not listed at its two ends", link);
    }
}

bool is_refused(FabricColumns columns, const std::function<void(FabricColumns&)>& spoil) {
    spoil(columns);
    try {
        const FabricGraph graph(std::move(columns));
        return false;
    } catch (const std::invalid_argument&) {
        return true;
    }
}

FabricColumns one_link() {
    return {3, {0, 0, 0, 1}, {0}, {1}, {1.0}, {0.0}, {0}, {0}, {"all"}, {1.0}, {}, {}, 0};
}

void refuses_what_is_no_graph() {
    using C = FabricColumns;
    const std::function<void(C&)> spoils[] = {
        [](C& c) { c.ranks = 0; },
        [](C& c) { c.ranks = 5; },
        [](C& c) { c.kinds[0] = 1; },
        [](C& c) { c.kinds[3] = 9; },
        [](C& c) { c.from[0] = 4; },
        [](C& c) { c.to[0] = 0; },
        [](C& c) { c.bytes_per_ns[0] = 0.0; },
        [](C& c) { c.latency_ns[0] = -1.0; },
        [](C& c) { c.weight[0] = 0.0; },
        [](C& c) { c.label[0] = 1; },
        [](C& c) { c.label.clear(); },
        [](C& c) { c.box = {0}; },
        [](C& c) { c.coordinates = {0}; },
    };
    u64 at = 0;
    for (const auto& spoil : spoils) {
        check(is_refused(one_link(), spoil), "no graph is refused", at++);
    }
    check(!is_refused(one_link(), [](C&) {}), "a graph is refused", at);
}

void a_box_takes_in_what_its_ranks_alone_are_linked_to() {
    FabricColumns columns{4, {0, 0, 0, 0, 1, 1}, {0, 1, 0, 1, 2, 3}, {4, 4, 5, 5, 5, 5}, {}, {}, {}, {},
                          {"all"}, {}, {0, 0, 1, 1}, {}, 0};
    columns.bytes_per_ns = columns.latency_ns = columns.weight = std::vector<double>(6, 1.0);
    columns.buffer_bytes.assign(6, 0);
    columns.label.assign(6, 0);
    const FabricGraph graph(columns);
    check(graph.box(4) == 0 && graph.box(5) == none && graph.box(3) == 1, "a device in another box", 0);
    check(is_refused(columns, [](FabricColumns& c) { c.to[2] = 4, c.from[2] = 5; }),
          "a switch of a box that leads elsewhere is taken in", 0);
}

}  // namespace

int main() {
    test::Random random(0);
    for (u64 step = 0; step < 200; ++step) {
        lists_every_link_at_both_ends(FabricGraph(any_columns(random)));
    }
    refuses_what_is_no_graph();
    a_box_takes_in_what_its_ranks_alone_are_linked_to();
}
