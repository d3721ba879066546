// An only child waits for nothing else.
#include <vector>

#include "workload/job.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

// Of the children of each node.
std::vector<u32> of(const std::vector<std::vector<u32>>& children) {
    Graph graph;
    graph.id.own().resize(children.size());
    graph.parent_count.own().resize(children.size());
    graph.child_begin.own() = {0};
    for (const std::vector<u32>& of_node : children) {
        for (u32 child : of_node) {
            graph.child.own().push_back(child);
            ++graph.parent_count.own()[child];
        }
        graph.child_begin.own().push_back(static_cast<u32>(graph.child.size()));
    }
    const SharedVector<u32> only = only_children(graph);
    return {only.begin(), only.end()};
}

}  // namespace

int main() {
    check(of({{1}, {2}, {}}) == std::vector<u32>{1, 2, none}, "children of a chain", 0);
    check(of({{1, 2}, {}, {}}) == std::vector<u32>{none, none, none}, "one of two children is told",
          0);
    check(of({{2}, {2}, {}}) == std::vector<u32>{none, none, none},
          "a child of two parents is told", 0);
}
