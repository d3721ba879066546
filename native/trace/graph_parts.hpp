// Names and children of a graph, built from a Trace or straight from bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.hpp"
#include "trace/graph.hpp"

namespace yantra {

inline constexpr std::size_t max_count = std::numeric_limits<std::uint32_t>::max() - 1;

// Names recur, so large traces reuse the last of the same hash.
class NamePool {
public:
    NamePool(Graph& graph, std::size_t nodes)
        : graph_(graph), at_(graph.name_at.own()), bytes_(graph.name_bytes.own()) {
        at_.reserve(nodes);
        if (nodes >= 2 * remembered) {
            last_put_.assign(remembered, nowhere);
        }
    }

    void add(std::string_view name) {
        if (last_put_.empty()) {
            if (at_.empty()) {
                bytes_.reserve(at_.capacity() * std::min(name.size() + prefix, usual_bytes));
            }
            at_.push_back(put(name));
            return;
        }
        std::uint32_t& at = last_put_[std::hash<std::string_view>()(name) % remembered];
        if (at == nowhere || graph_.name_there(at) != name) {
            at = put(name);
        }
        at_.push_back(at);
    }

private:
    static constexpr std::size_t remembered = 4096;
    static constexpr std::size_t prefix = sizeof(std::uint32_t);   // the length of a name
    static constexpr std::size_t usual_bytes = 64;
    static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t put(std::string_view name) {
        const std::size_t at = bytes_.size();
        if (at + prefix + name.size() > max_count) {
            throw TraceFault(0, "more than 4 GiB of names in one trace");
        }
        const auto length = static_cast<std::uint32_t>(name.size());
        bytes_.append(reinterpret_cast<const char*>(&length), sizeof(length));
        bytes_.append(name);
        return static_cast<std::uint32_t>(at);
    }

    const Graph& graph_;
    std::vector<std::uint32_t>& at_;
    std::string& bytes_;
    std::vector<std::uint32_t> last_put_;
};

// Parents must exist.
inline void add_children(Graph& graph, std::vector<std::uint32_t>& next) {
    std::vector<std::uint32_t>& begin = graph.child_begin.own();
    std::vector<std::uint32_t>& children = graph.child.own();
    begin.assign(graph.size() + std::size_t{1}, 0);
    for (const std::uint32_t parent : graph.parent) {
        ++begin[parent + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    children.resize(graph.parent.size());
    next.assign(begin.begin(), begin.end() - 1);
    for (const std::uint32_t child : graph.file_order) {
        for (std::uint32_t i = graph.parent_begin[child]; i < graph.parent_begin[child + 1]; ++i) {
            children[next[graph.parent[i]]++] = child;
        }
    }
}

inline void add_children(Graph& graph) {
    std::vector<std::uint32_t> next;
    add_children(graph, next);
}

}  // namespace yantra
