// An only child is told where its parent has no other and it waits for nothing else.
#include <vector>

#include "model/test.hpp"
#include "workload/job.hpp"

namespace {

using namespace yantra;
using test::check;

std::vector<u32> of(const std::vector<std::vector<u32>>& parents) {
    std::vector<test::Node> nodes;
    for (const std::vector<u32>& some : parents) {
        nodes.push_back({test::timed(0, 1), some});
    }
    return only_children(*test::job_of(nodes)->graph);
}

}  // namespace

int main() {
    check(of({{}, {0}, {1}}) == std::vector<u32>{1, 2, none}, "children of a chain", 0);
    check(of({{}, {0}, {0}}) == std::vector<u32>{none, none, none}, "one of two children is told", 0);
    check(of({{}, {}, {0, 1}}) == std::vector<u32>{none, none, none}, "a child of two parents is told", 0);
    return 0;
}
